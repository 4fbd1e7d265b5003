"""``driftpace ledger`` and ``log``: the closed periods of a campaign, predicted and measured, and its events."""

import json
import math
from typing import Annotated, Any

import typer

from driftpace.cli.options import Name, ShownList, Storage
from driftpace.cli.output import ListForm
from driftpace.errors import ParameterError


def ledger(
    name: Name,
    segment: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only this segment, where the campaign has segments.", show_default=False),
    ] = None,
    last: Annotated[int | None, typer.Option(help="Only the last N periods.", min=1, show_default=False)] = None,
    form: ShownList = ListForm.TABLE,
    storage: Storage = None,
) -> None:
    """Show the closed periods: predicted and measured loss.

    target is the excess loss allowed, expected excess that of the fitted model, upper bound its certificate; measured excess is
    measured on rows that had no part in the decisions, measured mean over the last periods; prior loss and prior accuracy are
    those of the previous model on the new rows, before it was updated.

    Example: driftpace ledger churn --last 12 --format csv
    """
    from driftpace.campaign.ledger import ledger_columns
    from driftpace.cli.fleet import has_segments
    from driftpace.cli.fleet import ledger as print_segments
    from driftpace.cli.output import print_csv, print_json, print_table
    from driftpace.cli.stores import opened_campaign

    if has_segments(storage, name):
        print_segments(name, segment=segment, last=last, form=form, storage=storage)
        return
    if segment is not None:
        raise ParameterError(f"--segment must be left out for {name!r}, which has no segments; got {segment!r:.80}.")
    with opened_campaign(storage, name) as campaign:
        rows = campaign.ledger()[-(last or 0) :]
    if form is ListForm.TABLE:
        if not rows:
            print("No period is closed yet.")
            return
        right = [place for place, column in enumerate(ledger_columns(rows, shown=True)) if column.right]
        print_table(*rows.table(), right=right)
        return
    if form is ListForm.CSV:
        columns = rows.columns()
        print_csv(list(columns), [[_finite(cell) for cell in line] for line in zip(*columns.values(), strict=True)])
        return
    from driftpace.campaign.serialization import ledger_json

    print_json([ledger_json(row) for row in rows])


def _finite(cell: Any) -> Any:
    """Return a cell for a spreadsheet: None where the number is not finite."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _print_refused(name: str, last: int | None, form: ListForm, storage: str | None) -> None:
    """Print the deliveries that were refused: when, which file, why, and who sent it."""
    from dataclasses import asdict

    from driftpace.cli.output import print_csv, print_json, print_table
    from driftpace.cli.stores import opened_to_read, require_campaign

    with opened_to_read(storage) as store:
        require_campaign(store, name)
        refusals = store.refusals(name)[-(last or 0) :]
    records = [asdict(refusal) for refusal in refusals]
    fields = ("at", "source", "sentence", "who")
    if form is ListForm.JSON:
        print_json(records)
    elif form is ListForm.CSV:
        print_csv(fields, [[record[field] for field in fields] for record in records])
    elif not records:
        print("No delivery was refused.")
    else:
        rows = [[record["at"][:19].replace("T", " "), *(record[field] for field in fields[1:])] for record in records]
        print_table(("time (UTC)", "file", "refused because", "who"), rows)


_LOG_COLUMNS = ("seq", "at", "kind", "key", "who")


def log(
    name: Name,
    last: Annotated[int | None, typer.Option(help="Only the last N entries.", min=1, show_default=False)] = None,
    refused: Annotated[
        bool, typer.Option("--refused", help="Show the last deliveries that were refused instead.")
    ] = False,
    form: ShownList = ListForm.TABLE,
    storage: Storage = None,
) -> None:
    """Show the event log of a campaign.

    Example: driftpace log churn --last 20
    """
    if refused:
        _print_refused(name, last, form, storage)
        return
    from driftpace.campaign.log_text import describe_entry
    from driftpace.cli.output import print_csv, print_json, print_table
    from driftpace.cli.stores import MAX_COUNT, opened_to_read, require_campaign

    with opened_to_read(storage) as store:
        require_campaign(store, name)
        entries = store.entries(name) if last is None else store.latest(name, limit=min(last, MAX_COUNT))
    entries = [entry for entry in entries if entry.kind != "saved" or form is not ListForm.TABLE]
    if form is ListForm.TABLE:
        rows = [
            (
                str(entry.seq),
                entry.at[:19].replace("T", " "),
                entry.kind,
                describe_entry(entry).text,
                entry.body.get("who", ""),
            )
            for entry in entries
        ]
        print_table(("", "time (UTC)", "event", "details", "who"), rows, right=(0,))
        return
    from driftpace.campaign.serialization import entry_json

    records = [entry_json(entry) for entry in entries]
    if form is ListForm.JSON:
        print_json(records)
        return
    lines = [
        [
            *(record.get(head) for head in _LOG_COLUMNS),
            describe_entry(entry).text,
            json.dumps({key: value for key, value in record.items() if key not in _LOG_COLUMNS}, ensure_ascii=False),
        ]
        for entry, record in zip(entries, records, strict=True)
    ]
    print_csv((*_LOG_COLUMNS, "details", "body"), lines)
