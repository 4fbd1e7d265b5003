"""How answers are printed: words with a name before each line, tables, or numbers alone for machines.

At a terminal there are lines and colours (NO_COLOR switches the colours off); anywhere else it is plain text.
"""

import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

Line = tuple[str, str]
"""What a line is about, and what it says."""

WIDTH = 10
_STYLES = {"Fails": "bold red", "Careful": "yellow", "Kept": "green", "Broken": "red", "Not kept": "red"}


def print_json(value: Any, *, flush: bool = False) -> None:
    """Print JSON, as one value on one line: stdout carries nothing else."""
    print(json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")), flush=flush)


def print_csv(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows([["" if cell is None else cell for cell in row] for row in rows])
    print(text.getvalue(), end="")


def one_line(text: str) -> str:
    r"""Return a text on one line, without signs that would move the cursor or colour the screen: people bring names and reasons.

    >>> one_line("half the team\n is ill\x1b[31m\x9b2J")
    'half the team  is ill?[31m?2J'
    """
    return "".join(sign if sign.isprintable() else " " if sign.isspace() else "?" for sign in text)


def print_answer(first: str, lines: Sequence[Line]) -> None:
    """Print the answer in a sentence, and below it what belongs to it."""
    first, lines = one_line(first), [(name, one_line(text)) for name, text in lines]
    if sys.stdout.isatty():
        _show_answer(first, lines)
        return
    print(first)
    for name, text in lines:
        print(f"{name:<{WIDTH}} {text}".rstrip())


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """Print a table; the columns in ``right`` are numbers."""
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
    """Print a sentence that is not part of the answer."""
    print(text, file=sys.stderr)


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON object as cells of a CSV line: money as words, what is nested as JSON.

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


def _show_answer(first: str, lines: Sequence[Line]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    console.print(Text(first, style="bold"))
    words = Table.grid(padding=(0, 2))
    for name, text in lines:
        words.add_row(Text(name, style=_STYLES.get(name, "dim")), Text(text))
    console.print(words)


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


def plural(count: int, word: str, words: str | None = None) -> str:
    """Return a number with its word; ``words`` where more of them are not only an s longer.

    >>> plural(1, "row"), plural(1200, "row"), plural(2, "entry", "entries")
    ('1 row', '1,200 rows', '2 entries')
    """
    return f"{count:,} {word if count == 1 else words or f'{word}s'}"


def number(value: float) -> str:
    """Return a number as people read it.

    >>> number(0.0787941764), number(float("inf"))
    ('0.0788', 'no known number')
    """
    return "no known number" if value != value or value in (float("inf"), float("-inf")) else f"{value:.3g}"
