"""``driftpace log``: the events of a campaign."""

import json
from typing import Annotated

import typer

from driftpace.campaign.log_text import describe_entry
from driftpace.cli.options import Name, ShownList, Storage
from driftpace.cli.output import ListForm

_COMMON = ("seq", "at", "kind", "key", "who")


def log(
    name: Name,
    last: Annotated[int | None, typer.Option(help="Only the last N entries.", min=1, show_default=False)] = None,
    form: ShownList = ListForm.TABLE,
    storage: Storage = None,
) -> None:
    """Show the event log of a campaign.

    Example: driftpace log churn --last 20
    """
    from driftpace.cli.output import print_csv, print_json, print_table
    from driftpace.cli.stores import MAX_COUNT, opened_to_read, require_campaign

    with opened_to_read(storage) as store:
        require_campaign(store, name)
        entries = store.entries(name) if last is None else store.latest(name, limit=min(last, MAX_COUNT))
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
            *(record.get(head) for head in _COMMON),
            describe_entry(entry).text,
            json.dumps({key: value for key, value in record.items() if key not in _COMMON}, ensure_ascii=False),
        ]
        for entry, record in zip(entries, records, strict=True)
    ]
    print_csv((*_COMMON, "details", "body"), lines)
