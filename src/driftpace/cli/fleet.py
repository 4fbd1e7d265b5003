"""Commands for campaigns of segments: what ask, tell, status, ledger and undo do where a campaign has a model for each."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftpace.cli.output import Form, ListForm
from driftpace.errors import ParameterError

if TYPE_CHECKING:
    from driftpace.campaign import FleetCampaign
    from driftpace.campaign.fleet import FleetOrder
    from driftpace.campaign.fleet.sampling import FleetSample
    from driftpace.cli.output import Line

LONG = 500
"""Segments from which work on them shows its progress."""


def has_segments(storage: str | None, name: str) -> bool:
    """Return whether a campaign has segments; an unknown name is refused by the command itself."""
    from driftpace.cli.stores import opened_to_read

    with opened_to_read(storage) as store:
        head = store.head(name)
        return head is not None and head.summary.get("segments") is not None


def refuse_for_one_model(name: str, **given: Any) -> None:
    """Refuse options that are for campaigns of segments."""
    for option, value in given.items():
        if value is not None:
            flag = option.replace("_", "-")
            raise ParameterError(f"--{flag} must be left out for {name!r}, which has no segments; got it.")


def refuse_options(name: str, **given: Any) -> None:
    """Refuse options that are for campaigns of one model."""
    for option, value in given.items():
        if value not in (None, False):
            flag = option.replace("_", "-").rstrip("-")
            raise ParameterError(f"--{flag} must be left out for {name!r}, which follows segments; got it.")


def ask(
    name: str,
    *,
    key: str | None,
    pool: int | None,
    select: Path | None,
    sheet: str | None,
    out: Path | None,
    per_segment: Path | None,
    form: Form,
    dry_run: bool,
    who: str | None,
    storage: str | None,
    executor: Any = None,
) -> int:
    """Write the order of all segments, or the rows that are drawn for each, and return the exit code."""
    from driftpace.campaign.fleet.sampling import segments_of
    from driftpace.campaign.fleet.serialization import order_json
    from driftpace.campaign.fleet.text import order_lines, order_sentence
    from driftpace.cli.options import user_name
    from driftpace.cli.output import NOTHING_WRITTEN, print_answer, print_json, print_note

    _check_files(select, out, per_segment)
    notes: list[Line] = []
    with _opened(storage, name, executor) as campaign:
        user = user_name(who)
        if select is not None:
            columns = _pool(campaign, select, sheet)
            names = segments_of(columns, campaign.definition)
            order = campaign.ask(key=key, pool=pool, segments=names, who=user, dry_run=dry_run)
            if not dry_run and order.missing:
                sample = campaign.sample(columns, source=_printable(select.name), who=user)
                order = campaign.ask(key=key)
                notes = _write_rows(campaign, sample, out, per_segment)
        else:
            order = campaign.ask(key=key, pool=pool, who=user, dry_run=dry_run)
            if out is not None and not dry_run:
                notes = [_write_order(order, out)]
    if form is Form.JSON:
        print_json(order_json(order))
        for label, text in notes:
            print_note(f"{label}: {text}")
    else:
        print_answer(f"{name}: {order_sentence(order)}", [*order_lines(order), *notes])
    if dry_run:
        print_note(NOTHING_WRITTEN)
    return order.code


def tell(
    name: str,
    file: str | None,
    *,
    key: str | None,
    final: bool | None,
    sheet: str | None,
    again: bool,
    accept: list[str],
    form: Form,
    dry_run: bool,
    who: str | None,
    storage: str | None,
    executor: Any = None,
) -> None:
    """Add the rows of a file, and close the period when none are missing."""
    from driftpace.campaign.fleet.serialization import receipt_json
    from driftpace.campaign.fleet.text import receipt_lines, receipt_sentence
    from driftpace.campaign.refusals import refusals_noted
    from driftpace.cli.files import read_bytes, read_rows
    from driftpace.cli.options import user_name
    from driftpace.cli.output import print_change

    options: dict[str, Any] = {"key": key, "final": final, "who": user_name(who), "dry_run": dry_run}
    source = ""
    with _opened(storage, name, executor) as campaign:
        if file is None:
            receipt = campaign.tell(**options)
        else:
            source, data = read_bytes(file)
            with refusals_noted(campaign, source=source, who=options["who"], dry_run=dry_run):
                rows = read_rows(campaign, source, data, sheet=sheet)
                receipt = campaign.tell(rows, again=again, accept=accept, source=source, **options)
    print_change(
        form,
        f"{name}: {receipt_sentence(receipt, source)}",
        receipt_lines(receipt),
        receipt_json(receipt),
        written=not dry_run,
    )


def status(name: str, form: Form, storage: str | None) -> None:
    """Print the totals and the segments that matter; in JSON all of them."""
    from driftpace.campaign.fleet.serialization import status_json
    from driftpace.campaign.fleet.text import HEADS, segment_cells, status_lines
    from driftpace.cli.output import print_answer, print_json, print_table

    with _opened(storage, name) as campaign:
        current = campaign.status()
    if form is Form.JSON:
        print_json(status_json(current))
        return
    print_answer(f"{name}: {current.todo}", status_lines(current))
    rows = current.segments.attention()
    if rows:
        print()
        print_table(HEADS, [segment_cells(row) for row in rows], right=(1, 2, 3, 4))


def ledger(name: str, *, segment: str | None, last: int | None, form: ListForm, storage: str | None) -> None:
    """Print the closed periods of all segments together, or those of one."""
    from driftpace.cli.output import flat, print_csv, print_json, print_table

    with _opened(storage, name) as campaign:
        if segment is not None:
            campaign.segments[segment]
            columns = campaign.segment(segment).history.columns()
            columns.pop("assumptions", None)
            records = [dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)]
        else:
            records = [period.to_values() for period in campaign.ledger()]
    records = [{key: _plain(value) for key, value in record.items()} for record in records[-(last or 0) :]]
    if form is ListForm.JSON:
        print_json(records)
        return
    if not records:
        print("No period is closed yet.")
        return
    lines = [flat(record) for record in records]
    if form is ListForm.CSV:
        print_csv(list(lines[0]), [list(line.values()) for line in lines])
        return
    heads: tuple[str, ...] = _SHOWN if segment is None else _SHOWN_SEGMENT
    heads += tuple(head for head in _SHOWN_MONEY if any(line.get(head) is not None for line in lines))
    rows = [["-" if line.get(head) is None else _short(line[head]) for head in heads] for line in lines]
    print_table([head.replace("_", " ") for head in heads], rows, right=range(2 if segment is None else 1, len(heads)))


_SHOWN = ("period", "key", "segments", "samples", "received", "not_met", "without_rows", "set_aside")
_SHOWN_MONEY = ("cost", "money_left")
_SHOWN_SEGMENT = ("period", "outcome", "asked", "samples", "epsilon", "risk_bound", "certificate")
"""Columns of the ledger; those of money where there is a budget."""


def undo(
    name: str,
    *,
    entry: int | None,
    delivery: str | None,
    period: str | None,
    reason: str,
    form: Form,
    dry_run: bool,
    who: str | None,
    storage: str | None,
    executor: Any = None,
) -> None:
    """Take back a delivery, a draw or the closing of a period."""
    from driftpace.campaign.fleet.serialization import undone_json
    from driftpace.campaign.fleet.text import status_lines
    from driftpace.cli.options import user_name
    from driftpace.cli.output import print_change
    from driftpace.formatting import plural

    with _opened(storage, name, executor) as campaign:
        keys = {closed.key: closed.period for closed in campaign.ledger() if closed.key is not None}
        number = None
        if period is not None:
            number = keys.get(period, int(period) if period.isdecimal() and len(period) < 9 else None)
            if number is None:
                raise ParameterError(f"--period must be the number or key of the period closed last; got {period!r}.")
        undone = campaign.undo(
            entry, delivery=delivery, period=number, reason=reason, who=user_name(who), dry_run=dry_run
        )
    what = _UNDONE[undone.kind]
    rows = f" of {plural(undone.rows, 'row')}" if undone.rows else ""
    print_change(
        form,
        f"{name}: {what}{rows} undone; {undone.status.todo}",
        status_lines(undone.status),
        undone_json(undone),
        written=not dry_run,
    )


_UNDONE = {
    "delivered": "Delivery",
    "selected": "Draw",
    "budgeted": "Change of the budget",
    "closed": "Closing of a period",
    "undone": "Undo",
}


def budget(
    name: str,
    *,
    add: str,
    periods: int,
    prices: dict[str, str],
    reason: str,
    form: Form,
    dry_run: bool,
    who: str | None,
    storage: str | None,
) -> None:
    """Add money or periods to the budget that segments share."""
    from driftpace.campaign.fleet.serialization import status_json
    from driftpace.campaign.fleet.text import status_lines
    from driftpace.cli.options import user_name
    from driftpace.cli.output import print_change

    with _opened(storage, name) as campaign:
        current = campaign.add_money(add, periods=periods, reason=reason, who=user_name(who), dry_run=dry_run, **prices)
    first = f"{name}: {current.money_left} left for period {current.period} and later; {current.todo}"
    print_change(form, first, status_lines(current), status_json(current, segments=False), written=not dry_run)


@contextmanager
def _opened(storage: str | None, name: str, executor: Any = None) -> "Iterator[FleetCampaign]":
    from driftpace.campaign import FleetCampaign
    from driftpace.cli.stores import opened, require_campaign

    with opened(storage) as store, _progress() as progress:
        require_campaign(store, name)
        yield FleetCampaign.open(name, storage=store, executor=executor, progress=progress)


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    """Show how many segments are done, at a terminal and where there are many."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("segments"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: list[Any] = []

        def show(done: int, total: int) -> None:
            if total >= LONG:
                tasks[:] = tasks or [bar.add_task("", total=total)]
                bar.update(tasks[0], completed=done, total=total)

        yield show


def _check_files(select: Path | None, out: Path | None, per_segment: Path | None) -> None:
    from driftpace.cli.files import ROW_ENDINGS, require_directory, require_output, require_table

    if select is not None:
        require_table(select, "--select")
        if (out is None) == (per_segment is None):
            raise ParameterError("--select must be used with --out, one file, or --per-segment, a folder of files.")
    elif per_segment is not None:
        raise ParameterError("--per-segment must be used with --select, the file to draw rows from; got none.")
    if out is not None:
        require_output(out, ROW_ENDINGS)
        if out.exists():
            raise ParameterError(f"--out must be a new file; {str(out)!r} exists.")
    if per_segment is not None:
        require_directory(per_segment)
        if per_segment.is_dir() and any(per_segment.iterdir()):
            raise ParameterError(f"--per-segment must be a new or empty folder; {str(per_segment)!r} has files.")


def _pool(campaign: "FleetCampaign", select: Path, sheet: str | None) -> Any:
    from driftpace.cli.files import read_rows

    return read_rows(campaign, _printable(select.name), select, option="--select", exact=True, sheet=sheet)


def _write_order(order: "FleetOrder", out: Path) -> "Line":
    """Write one line for each segment."""
    from driftpace.tables import write_rows

    columns = order.segments.columns()
    names = ("segment", "missing", "received", "risk", "epsilon", "outcome", "status", "problem")
    write_rows(out, {name: columns[name] for name in names}, owner="FleetCampaign.ask")
    return "Written", f"{out}, one line for each of {len(order.segments):,} segments"


def _write_rows(
    campaign: "FleetCampaign", sample: "FleetSample", out: Path | None, per_segment: Path | None
) -> "list[Line]":
    """Write the drawn rows with an empty column for the label, in one file or one for each segment."""
    from driftpace.formatting import plural
    from driftpace.tables import write_rows

    target = str(campaign.definition.target)
    lines: list[Line] = []
    if out is not None:
        rows = sample.rows(as_text=out.suffix.lower() in (".csv", ".tsv"))
        write_rows(out, rows, empty=[target], owner="FleetCampaign.sample")
        lines.append(("Written", f"{out}, {plural(len(sample), 'row')}; fill in the column {target!r}"))
    if per_segment is not None:
        per_segment.mkdir(parents=True, exist_ok=True)
        for segment, ids in sample.ids.items():
            if ids:
                file = per_segment / f"{_file_name(segment)}.csv"
                write_rows(file, sample.rows(segment, as_text=True), empty=[target], owner="FleetCampaign.sample")
        written = sum(bool(ids) for ids in sample.ids.values())
        lines.append(("Written", f"{per_segment}, {plural(written, 'file')}; fill in the column {target!r}"))
    if sample.short:
        most = sorted(sample.short.items(), key=lambda item: (-item[1], item[0]))[:3]
        named = ", ".join(f"{name} {count:,}" for name, count in most)
        lines.append(
            ("Warning", f"the pool has too few rows of {plural(len(sample.short), 'segment')}, such as {named}")
        )
    return lines


def _printable(text: str) -> str:
    from driftpace.cli.files import printable

    return printable(text)


def _file_name(segment: str) -> str:
    """Return a segment as the name of a file, without characters that some system refuses.

    >>> _file_name("São Paulo"), _file_name("a/b"), _file_name("..")
    ('São Paulo', 'a%2Fb', '%2E%2E')
    """
    name = re.sub(r'[\x00-\x1f/\\:*?"<>|%]', lambda found: f"%{ord(found[0]):02X}", segment)
    return name.replace(".", "%2E") if not name.strip(". ") else name


def _plain(value: Any) -> Any:
    """Return a cell of a ledger as a JSON value."""
    import math

    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float | dict | list) else str(value)


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
