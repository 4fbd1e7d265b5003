"""Options that several commands have in common, each with one meaning and one help."""

from enum import StrEnum
from typing import Annotated

import typer

from driftpace.cli.shared.completing import campaign_names
from driftpace.cli.shared.reading import DEFAULT_STORAGE


class Form(StrEnum):
    """What stdout carries: words for people, or the answer alone for machines."""

    TABLE = "table"
    JSON = "json"


class ListForm(StrEnum):
    """The same for an answer of many rows."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


Name = Annotated[str, typer.Argument(metavar="NAME", help="The campaign.", autocompletion=campaign_names)]
Storage = Annotated[
    str | None,
    typer.Option(
        "--storage",
        envvar="DRIFTPACE_STORAGE",
        metavar="PLACE",
        help=f"Where the campaigns are: a file, or postgresql://user@host/database. Default: {DEFAULT_STORAGE} in this folder.",
        show_default=False,
    ),
]
Shown = Annotated[Form, typer.Option("--format", help="What to print.")]
ShownList = Annotated[ListForm, typer.Option("--format", help="What to print.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and write nothing.")]
Who = Annotated[
    str | None, typer.Option("--who", help="Who does this, for the log. Default: your login name.", show_default=False)
]
STUDIO = "Label Studio"
Project = Annotated[
    int | None,
    typer.Option(help="Number of the project there. Its token: LABEL_STUDIO_API_KEY.", rich_help_panel=STUDIO),
]
Key = Annotated[
    str | None,
    typer.Option("--key", metavar="NAME", help="Your name of the period, such as 2026-W46.", show_default=False),
]


def who_am_i(given: str | None) -> str:
    """Return who does something, for the log: as given, or the login name; nobody where the system knows no name."""
    from driftpace.cli.shared.tables import readable

    if given is not None:
        return readable(given)
    import getpass

    try:
        return readable(getpass.getuser())
    except (OSError, KeyError, ImportError):
        return ""
