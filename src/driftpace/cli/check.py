"""``driftpace check``: what driftpace would make of a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from driftpace.cli.options import Sheet, Shown
from driftpace.cli.output import Form

if TYPE_CHECKING:
    from driftpace.backtest.check_result import TableCheck

MOST_COLUMNS = 60
"""Columns listed where the target is not known."""


def check(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="A CSV, JSON, Arrow, Parquet or Excel file, or a bundled table: gss_income, psid7682."
        ),
    ],
    target: Annotated[str | None, typer.Option(help="Column to predict.")] = None,
    period: Annotated[
        str | None,
        typer.Option(help="Column with the period of a row, or date:month, date:500 or :500, as in backtest."),
    ] = None,
    features: Annotated[str | None, typer.Option(help="Columns to predict from, separated by commas.")] = None,
    exclude: Annotated[str | None, typer.Option(help="Columns not to predict from, separated by commas.")] = None,
    groups: Annotated[str | None, typer.Option(help="Column with the group of a row, such as a person.")] = None,
    weight: Annotated[str | None, typer.Option(help="Column with what a row counts for.")] = None,
    calendar: Annotated[
        str | None,
        typer.Option(metavar="PART[,PART...]", help="Features to make of the dates: month, weekday, hour."),
    ] = None,
    dayfirst: Annotated[
        bool | None,
        typer.Option("--dayfirst/--monthfirst", help="Whether 03/04/2010 is 3 April. Default: the other dates decide."),
    ] = None,
    sheet: Sheet = None,
    form: Shown = Form.TABLE,
) -> None:
    """Check a table: periods, target, features, leakage, drift, and how many labels a period it would take.

    Nothing is written. Without --target, the columns are listed. Exit code: 0 whatever was found, 2 if the file cannot be read or
    an option is wrong.

    Example: driftpace check sales.csv --target demand
    """
    from driftpace.backtest.check import check_table
    from driftpace.backtest.check_text import check_lines
    from driftpace.cli.backtest import find_table
    from driftpace.cli.files import printable
    from driftpace.cli.options import split_names
    from driftpace.cli.output import Stopwatch, print_answer, print_json, print_note
    from driftpace.formatting import plural

    stopwatch = Stopwatch()
    found = check_table(
        find_table(file),
        period=period,
        target=target,
        features=split_names(features),
        exclude=split_names(exclude) or (),
        groups=groups,
        weight=weight,
        calendar=split_names(calendar) or (),
        dayfirst=dayfirst,
        sheet=sheet,
        progress=None,
    )
    if form is Form.JSON:
        print_json(found.to_values(file))
        return
    size = f"{plural(found.rows, 'row')}, {plural(len(found.columns), 'column')}"
    print_answer(f"{printable(Path(file).name)}: {size}.", check_lines(found, file))
    if found.target is None:
        print()
        _print_columns(found)
    print_note(stopwatch.sentence())


def _print_columns(found: "TableCheck") -> None:
    from driftpace.cli.output import print_note, print_table
    from driftpace.formatting import count

    rows = [
        [
            column.name,
            column.holds,
            column.detail,
            count(column.distinct),
            count(column.missing) if column.missing else "",
            column.target or "",
        ]
        for column in found.columns[:MOST_COLUMNS]
    ]
    print_table(("column", "holds", "", "distinct", "missing", "as a target"), rows, right=(3, 4))
    if len(found.columns) > MOST_COLUMNS:
        print_note(f"And {len(found.columns) - MOST_COLUMNS} more columns, in --format json.")
