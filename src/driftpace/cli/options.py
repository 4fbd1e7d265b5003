"""Options that several commands share, and shell completion of their values."""

import os
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import typer

from driftpace.cli.output import Form, ListForm
from driftpace.cli.stores import DEFAULT_STORAGE

MAX_COMPLETIONS = 200
COMPLETION_TIMEOUT = 1.0
"""Seconds to wait for a locked store while the user waits for a completion."""


class Missing(StrEnum):
    """What to do with missing features."""

    IMPUTE = "impute"
    DROP = "drop"
    REFUSE = "refuse"


def campaign_names(ctx: Any, incomplete: str) -> list[str]:
    """Return the campaigns whose name starts with what was typed; none where the store cannot be read."""
    from driftpace.storage import open_reader

    return _complete(
        lambda place: open_reader(place),
        lambda store: store.heads(search=incomplete, limit=MAX_COMPLETIONS),
        ctx,
        incomplete,
    )


def token_names(ctx: Any, incomplete: str) -> list[str]:
    """Return the tokens whose name starts with what was typed; none where the store cannot be read."""
    from driftpace.storage import open_store

    return _complete(
        lambda place: open_store(place, create=False, wait=COMPLETION_TIMEOUT),
        lambda store: store.tokens(),
        ctx,
        incomplete,
    )


def one_of(*choices: str) -> Callable[[str], list[str]]:
    """Return a completion that offers those of the choices that start with what was typed.

    >>> one_of("cost", "income")("c")
    ['cost']
    """
    return lambda incomplete: [choice for choice in choices if choice.startswith(incomplete)]


def loss_completion(incomplete: str) -> list[str]:
    """Return the registered losses whose name starts with what was typed."""
    from driftpace.losses import loss_names

    return one_of(*loss_names())(incomplete)


def _complete(open_place: Callable[[str], Any], read: Callable[[Any], Any], ctx: Any, incomplete: str) -> list[str]:
    place = ctx.params.get("storage") or os.environ.get("DRIFTPACE_STORAGE") or DEFAULT_STORAGE
    try:
        store = open_place(place)
        try:
            return [record.name for record in read(store) if record.name.startswith(incomplete)]
        finally:
            store.close()
    except Exception:  # a message would garble the command line
        return []


Name = Annotated[str, typer.Argument(metavar="NAME", help="The campaign.", autocompletion=campaign_names)]
Storage = Annotated[
    str | None,
    typer.Option(
        "--storage",
        envvar="DRIFTPACE_STORAGE",
        metavar="PLACE",
        help=f"The store: a SQLite file, or postgresql://user@host/database. Default: {DEFAULT_STORAGE} in the working directory.",
        show_default=False,
    ),
]
Shown = Annotated[Form, typer.Option("--format", help="Output format.")]
ShownList = Annotated[ListForm, typer.Option("--format", help="Output format.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would happen and write nothing.")]
Who = Annotated[
    str | None, typer.Option("--who", help="Your name, for the log. Default: the login name.", show_default=False)
]
Reason = Annotated[str, typer.Option("--reason", help="The reason, for the log.", show_default=False)]
STUDIO = "Label Studio"
Project = Annotated[
    int | None,
    typer.Option(
        help="ID of the Label Studio project. The token is read from LABEL_STUDIO_API_KEY.", rich_help_panel=STUDIO
    ),
]
Key = Annotated[
    str | None,
    typer.Option("--key", metavar="NAME", help="Your name of the period, such as 2026-W46.", show_default=False),
]

Sheet = Annotated[
    str | None,
    typer.Option("--sheet", metavar="NAME", help="The sheet of an Excel file. Default: the first.", show_default=False),
]


Engine = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="ENGINE",
        help="Where segments are worked on: local, processes, dask, ray or spark. Default: in this process.",
        show_default=False,
        rich_help_panel="Segments",
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="ADDRESS",
        help="Address of a dask, ray or spark cluster. Default: a new one here.",
        show_default=False,
        rich_help_panel="Segments",
    ),
]


def open_engine(executor: str | None, address: str | None, *, owner: str, workers: int | None = None) -> Any:
    """Return the executor of a name and an address; None where none is named."""
    if executor is None and address is None:
        return None
    from driftpace.executors import open_executor

    return open_executor(executor, address=address, workers=workers, owner=owner)


def user_name(given: str | None) -> str:
    """Return who runs the command, for the log: as given, else the login name, else nothing."""
    from driftpace.cli.files import printable

    if given is not None:
        return printable(given)
    import getpass

    try:
        return printable(getpass.getuser())
    except (OSError, KeyError, ImportError):
        return ""


def parse_season(text: str | None) -> int | str | None:
    """Return a season as it was given: a number of periods, or its name.

    >>> parse_season("12"), parse_season("month"), parse_season(None)
    (12, 'month', None)
    """
    return int(text) if text is not None and text.isascii() and text.isdigit() else text


Splines = Annotated[
    str | None,
    typer.Option(
        "--splines",
        metavar="NAME[,NAME...]|all",
        help="Numeric columns that may have a curve in place of a line; NAME:b-spline for a B-spline. Default: none.",
        show_default=False,
    ),
]
Interactions = Annotated[
    str | None,
    typer.Option(
        "--interactions",
        metavar="NAME*NAME[,...]|all",
        help="Pairs of columns that are multiplied, or all pairs of numeric ones. Default: none.",
        show_default=False,
    ),
]


def parse_splines(text: str | None) -> Any:
    """Return splines as settings have them.

    >>> parse_splines("all"), parse_splines("age,income:b-spline")
    (True, {'age': 'natural', 'income': 'b-spline'})
    """
    names = split_names(text)
    if names is None or names == ["all"]:
        return None if names is None else True
    kinds = ("natural", "b-spline")
    pairs = [
        name.rpartition(":") if name.endswith(tuple(f":{kind}" for kind in kinds)) else (name, "", "natural")
        for name in names
    ]
    return {name: kind for name, _, kind in pairs}


def parse_interactions(text: str | None) -> Any:
    """Return interactions as settings have them.

    >>> parse_interactions("all"), parse_interactions("age*income")
    (True, [['age', 'income']])
    """
    names = split_names(text)
    if names is None or names == ["all"]:
        return None if names is None else True
    return [[name.strip() for name in pair.split("*")] for pair in names]


def parse_borrow(text: str | None) -> Any:
    """Return what segments learn from each other, as settings have it.

    >>> parse_borrow("all"), parse_borrow("none"), parse_borrow("drift, start")
    (True, False, ['drift', 'start'])
    """
    whole = {"all": True, "none": False}
    return whole.get((text or "").strip().lower(), split_names(text))


def split_names(text: str | None) -> list[str] | None:
    """Return names separated by commas.

    >>> split_names("age, sex"), split_names(None)
    (['age', 'sex'], None)
    """
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]
