"""The questions that ``driftpace init`` asks at a terminal; each can be answered by the return key or by what it says itself."""

from pathlib import Path
from typing import Any

import typer

from driftpace.cli.shared.asking import names


def ask_for(name: str | None, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name and what was given, with the answers."""
    given = dict(given)
    if name is None:
        name = str(typer.prompt("What is the campaign called"))
    if "table" not in given and "features" not in given:
        answer = typer.prompt(
            "A file with rows, to read the columns from (return: none)", default="", show_default=False
        )
        if answer:
            given["table"] = Path(answer)
    columns: list[str] = []
    if "table" in given:
        from driftpace.cli.init.looking import columns_of

        columns = list(columns_of(given["table"]))
        typer.echo(f"  It has {', '.join(columns)}.")
    if "target" not in given:
        given["target"] = str(typer.prompt("Which column is to be predicted"))
    if "classes" not in given and given["target"] not in columns:
        answer = typer.prompt(
            "If that is one of two words, which (no,yes; return: it is a number)", default="", show_default=False
        )
        if answer:
            given["classes"] = answer
    if "table" not in given and "features" not in given:
        answer = typer.prompt(
            "Which columns is it predicted from (a,b,...; return: every numeric one)", default="", show_default=False
        )
        if names(answer):
            given["features"] = answer
    if "epsilon" not in given and "tolerance" not in given:
        typer.echo("How good has the model to stay? Say how much worse than the best possible one is accepted,")
        answer = typer.prompt("as a share of its loss (5%), or in units of the loss (0.02)", default="5%")
        given |= target_of(str(answer))
    return name, given


def target_of(answer: str) -> dict[str, float]:
    """Return a target from words: a share with a per cent sign is a tolerance, a plain number an epsilon.

    >>> target_of("5 %"), target_of("0.02")
    ({'tolerance': 0.05}, {'epsilon': 0.02})
    """
    from driftpace.errors import ParameterError

    text = answer.strip()
    try:
        if text.endswith("%"):
            return {"tolerance": float(text[:-1]) / 100.0}
        return {"epsilon": float(text)}
    except ValueError:
        raise ParameterError(
            f"the target must be a share such as 5% or a number such as 0.02; got {answer!r}."
        ) from None
