"""Prompts of ``driftpace init`` at a terminal."""

from pathlib import Path
from typing import Any

import typer

from driftpace.cli.options import split_names


def prompt_for(name: str | None, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name and the options, with the answers filled in."""
    given = dict(given)
    if name is None:
        name = str(typer.prompt("Name of the campaign"))
    if "table" not in given and "features" not in given:
        answer = _optional("File to infer the columns from (empty: none)")
        if answer:
            given["table"] = Path(answer)
    columns: list[str] = []
    if "table" in given:
        from driftpace.cli.files import read_table_option

        columns = list(read_table_option(given["table"], given.get("sheet")))
        typer.echo(f"  Columns: {', '.join(columns)}.")
    if "target" not in given:
        given["target"] = str(typer.prompt("Column to predict"))
    if "classes" not in given and given["target"] not in columns:
        answer = _optional(
            "If it is one of several classes, which ones (a,b,...; of two the negative first; empty: it is a number)"
        )
        if answer:
            given["classes"] = answer
    if "table" not in given and "features" not in given:
        answer = _optional("Columns to predict from (a,b,...; empty: all but dates, free text and ids)")
        if split_names(answer):
            given["features"] = answer
    if not {"epsilon", "tolerance", "metric"} & set(given):
        typer.echo("How much worse than the best possible model may the model be?")
        answer = typer.prompt("As a share of the best loss (5%) or in units of the loss (0.02)", default="5%")
        given |= parse_target(str(answer))
    return name, given


def parse_target(answer: str) -> dict[str, float]:
    """Return a target: a percentage is a tolerance, a number an epsilon.

    >>> parse_target("5 %"), parse_target("0.02")
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
            f"the target must be a percentage such as 5% or a number such as 0.02; got {answer!r}."
        ) from None


def _optional(question: str) -> str:
    return str(typer.prompt(question, default="", show_default=False))
