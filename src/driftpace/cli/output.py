"""Output: sentences with labelled lines, tables, JSON and CSV.

A terminal gets colours and lines (``NO_COLOR`` switches colours off); anything else gets plain text.
"""

import csv
import io
import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any


class Form(StrEnum):
    """What stdout carries: text for people, or JSON."""

    TABLE = "table"
    JSON = "json"


class ListForm(StrEnum):
    """What stdout carries where the answer has many rows."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


Line = tuple[str, str]
"""A label and its text."""

NOTHING_WRITTEN = "Nothing was written."
LABEL_WIDTH = 10
_STYLES = {"Failed": "bold red", "Warning": "yellow"}


def print_json(value: Any, *, flush: bool = False) -> None:
    """Print one JSON value on one line."""
    print(json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")), flush=flush)


def print_csv(heads: Sequence[str], rows: Sequence[Sequence[Any]], *, data: bool = False) -> None:
    """Print rows with a header; ``data`` is printed unchanged, and in anything else no text becomes a formula of a spreadsheet."""
    from driftpace.formatting import no_formula

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    given = [["" if cell is None else cell for cell in row] for row in rows]
    writer.writerows(given if data else [[no_formula(cell) for cell in row] for row in given])
    print(text.getvalue(), end="")


def one_line(text: str) -> str:
    r"""Return text on one line without control characters, which names and reasons may contain.

    >>> one_line("half the team\n is ill\x1b[31m\x9b2J")
    'half the team  is ill?[31m?2J'
    """
    return "".join(char if char.isprintable() else " " if char.isspace() else "?" for char in text)


def print_answer(first: str, lines: Sequence[Line]) -> None:
    """Print a sentence and the labelled lines that belong to it."""
    first, lines = one_line(first), [(label, one_line(text)) for label, text in lines]
    if sys.stdout.isatty():
        _show_answer(first, lines)
        return
    print(first)
    for label, text in lines:
        print(f"{label:<{LABEL_WIDTH}} {text}".rstrip())


def print_result(
    form: Form,
    first: str,
    values: Mapping[str, Any],
    *,
    lines: Sequence[Line] = (),
    notes: Sequence[Line] = (),
    dry_run: bool = False,
) -> None:
    """Print what was done, or what a dry run would do.

    Text shows ``first`` with ``notes`` and ``lines`` below. JSON holds ``values`` and ``dry_run``; notes, which ``values``
    do not hold, go to stderr.

    >>> print_result(Form.JSON, "churn: removed.", {"name": "churn"}, dry_run=True)
    {"name":"churn","dry_run":true}
    """
    if form is Form.JSON:
        print_json({**values, "dry_run": dry_run})
        for label, text in notes:
            print_note(f"{label}: {text}")
    else:
        print_answer(first, [*notes, *lines])
    if dry_run:
        print_note(NOTHING_WRITTEN)


def print_change(form: Form, first: str, lines: Sequence[Line], values: Mapping[str, Any], *, written: bool) -> None:
    """Print a change of a campaign, in JSON its ``values`` alone; where nothing was written, a note says so."""
    if form is Form.JSON:
        print_json(values)
    else:
        print_answer(first, lines)
    if not written:
        print_note(NOTHING_WRITTEN)


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """Print a table; the columns in ``right`` are aligned to the right."""
    rows = [[one_line(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _show_table(heads, rows, right)
        return
    lines = [list(heads), *[list(row) for row in rows]]
    widths = [max(len(line[place]) for line in lines) for place in range(len(heads))]
    for line in lines:
        cells = [
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def print_note(text: str) -> None:
    """Print a sentence to stderr."""
    print(text, file=sys.stderr)


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON object as cells of a CSV line: money as text, nested values as JSON.

    >>> flat({"rows": 3, "cost": {"amount": "1.50", "currency": "EUR"}, "interval": [1, 2]})
    {'rows': 3, 'cost': '1.50 EUR', 'interval': '[1, 2]'}
    """
    cells: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict) and set(value) == {"amount", "currency"}:
            cells[name] = f"{value['amount']} {value['currency']}".rstrip()
        else:
            cells[name] = json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
    return cells


class Stopwatch:
    """Measure the time and memory that a command takes, from when it is made."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def sentence(self) -> str:
        """Return time and peak memory so far, those of finished child processes included.

        >>> Stopwatch().sentence()
        'Took ... s...'
        """
        took = f"Took {time.perf_counter() - self._start:.1f} s"
        try:
            import resource
        except ModuleNotFoundError:  # not on Windows
            return f"{took}."
        parent, child = (
            _megabytes(resource.getrusage(who).ru_maxrss) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        workers = f", and {child:,.0f} MB in the largest worker" if child >= 1.0 else ""
        return f"{took} and {parent:,.0f} MB of memory{workers}."


def _megabytes(peak: int) -> float:
    """Convert; the unit of the peak is a kilobyte, but a byte on macOS."""
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


def _show_answer(first: str, lines: Sequence[Line]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    console.print(Text(first, style="bold"))
    grid = Table.grid(padding=(0, 2))
    for label, text in lines:
        grid.add_row(Text(label, style=_STYLES.get(label, "dim")), Text(text))
    console.print(grid)


def _show_table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, head in enumerate(heads):
        table.add_column(head, justify="right" if place in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


if TYPE_CHECKING:
    from driftpace.campaign.records import Order


def print_order(order: "Order", form: Form, *, dry_run: bool, prefix: str = "", notes: Iterable[Line] = ()) -> None:
    """Print an order; in JSON, notes go to stderr."""
    if form is Form.JSON:
        from driftpace.campaign.serialization import order_json

        print_json(order_json(order))
        for label, text in notes:
            print_note(f"{label}: {text}")
    else:
        from driftpace.campaign.text import order_lines, order_sentence

        print_answer(f"{order.campaign}: {prefix}{order_sentence(order)}", [*order_lines(order), *notes])
    if dry_run:
        print_note(NOTHING_WRITTEN)
