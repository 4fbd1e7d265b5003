"""What ``driftpace plan`` prints: the periods as a table, the answer in plain words; or numbers alone, for machines."""

import csv
import io
import json
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from driftpace.cli.output import Stopwatch
from driftpace.cli.plan.answer import Answer
from driftpace.cli.plan.tables import Grid, compared, periods, traded
from driftpace.cli.plan.words import summary


def tell(answer: Answer, written: Mapping[str, Path], form: str, stopwatch: Stopwatch) -> None:
    """Print the answer; in a form for machines, stdout carries nothing else and the rest goes to stderr."""
    if form != "table":
        print(as_json(answer) if form == "json" else as_csv(answer))
        for what, path in written.items():
            print(f"{what.capitalize()}: {path}", file=sys.stderr)
        print(stopwatch.sentence(), file=sys.stderr)
        return
    grids = [periods(answer.plan), compared(answer), traded(answer)]
    said = [*summary(answer), *((what.capitalize(), str(path)) for what, path in written.items())]
    shown = [grid for grid in grids if grid is not None]
    if sys.stdout.isatty():
        _show(shown, said)
    else:
        print("\n\n".join(_plain(grid) for grid in shown))
        print("\n" + "\n".join(f"{name:<8} {text}" for name, text in said) + "\n")
    print(stopwatch.sentence())


def as_json(answer: Answer) -> str:
    """Return the plan, what the money could hold and would have to be, the other plans and the curve; no clock in it."""
    outlook = answer.problem.outlook
    body = answer.plan.to_dict() | {
        "solved_for": answer.solved,
        "world": {
            "state": answer.world.name or None,
            "rho": outlook.rho,
            "start": outlook.start,
            "steps": outlook.steps,
        },
        "could_hold": None if answer.could_hold is None else answer.could_hold.epsilon,
        "enough": None if answer.enough is None else answer.enough.to_dict()["spent"],
        "baselines": [other.to_dict() for other in answer.baselines],
        "trade_off": [point.to_dict() for point in answer.curve],
    }
    return json.dumps(body, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def as_csv(answer: Answer) -> str:
    """Return one line for each period, with a header."""
    rows = answer.plan.to_dict()["periods"]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().rstrip("\n")


def waiting(what: str) -> AbstractContextManager[object]:
    """Show people at a terminal that something is going on, and nothing to anybody else."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(what)


def _plain(grid: Grid) -> str:
    lines = [grid.heads, *grid.rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(grid.heads))]
    body = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([*([grid.title] if grid.title else []), *body, *([grid.note] if grid.note else [])])


def _show(grids: list[Grid], said: list[tuple[str, str]]) -> None:
    """Print with lines and colours; what is above the target is red."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    for grid in grids:
        table = Table(
            box=box.SIMPLE_HEAD, title=grid.title or None, title_justify="left", title_style="bold", pad_edge=False
        )
        for column, head in enumerate(grid.heads):
            table.add_column(head, justify="left" if column == 0 else "right", overflow="fold")
        for index, row in enumerate(grid.rows):
            *cells, last = (Text(cell) for cell in row)
            last.stylize("red" if index in grid.missed else "green" if grid.judged else "")
            table.add_row(*cells, last)
        console.print(table)
        if grid.note:
            console.print(Text(f"{grid.note}\n"))
    words = Table.grid(padding=(0, 2))
    for name, text in said:
        words.add_row(Text(name, style="bold"), Text(text))
    console.print(words)
    console.print()
