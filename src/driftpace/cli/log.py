"""``driftpace log``: the events of a campaign."""

import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from driftpace.cli.amend import describe_mapping
from driftpace.cli.options import ListForm, Name, ShownList, Storage
from driftpace.cli.output import plural

Body = Mapping[str, Any]
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
                describe(entry.kind, entry.body, entry.key),
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
            describe(record["kind"], record, record["key"]),
            json.dumps({key: value for key, value in record.items() if key not in _COMMON}, ensure_ascii=False),
        ]
        for record in records
    ]
    print_csv((*_COMMON, "details", "body"), lines)


def describe(kind: str, body: Body, key: str | None) -> str:
    """Return an entry in a few words.

    >>> describe("delivered", {"period": 2, "rows": 40, "repeated": 0, "unlabelled": 3, "source": "tasks.csv"}, None)
    'period 2: 40 rows from tasks.csv; skipped 3 without a label'
    """
    text = _DESCRIPTIONS.get(kind)
    return "" if text is None else text(body, key)


def _asked(body: Body, key: str | None) -> str:
    period = f"period {body['period']}" + (f" ({key})" if key else "")
    received = f", {body['received']:,} received" if body["received"] else ""
    return f"{period}: {plural(body['samples'], 'row')}{received}, {body['missing']:,} missing"


def _delivered(body: Body, _: str | None) -> str:
    source = f" from {body['source']}" if body["source"] else ""
    counts = [
        (body["unlabelled"], "without a label"),
        (body.get("other_period_rows"), "drawn for another period"),
        (body["repeated"], "already added"),
    ]
    skipped = ", ".join(f"{count:,} {reason}" for count, reason in counts if count)
    unknown = "".join(
        f"; {record['rows']:,} with an unknown {record['column']}, counted as {record['category']}"
        for record in body.get("unknown_categories", ())
    )
    rows = plural(body["rows"], "row")
    return f"period {body['period']}: {rows}{source}{f'; skipped {skipped}' if skipped else ''}{unknown}"


def _decided(body: Body, _: str | None) -> str:
    reason = f": {body['reason']}" if body["reason"] else ""
    return f"period {body['period']}: {plural(body['samples'], 'row')}{reason}"


def _closed(body: Body, _: str | None) -> str:
    period = f"period {body['period']}" + (f" ({body['key']})" if body["key"] else "")
    reason = f"; {body['why']}" if body["why"] else ""
    return f"{period}: {body['received']:,} of {plural(body['samples'], 'row')} received{reason}"


def _certified(body: Body, key: str | None) -> str:
    served = body.get("served")
    if served is None:
        return f"period {key}"
    accuracy = "" if served["accuracy"] is None else f", accuracy {served['accuracy']:.0%}"
    return f"period {key}: prior loss {served['loss']:.3g}{accuracy}"


def _budgeted(body: Body, _: str | None) -> str:
    periods = plural(body["periods"], "period")
    return f"period {body['period']}: {body['money']} and {periods} added: {body['reason']}"


def _selected(body: Body, _: str | None) -> str:
    source = body["source"] or "a pool"
    return f"period {body['period']}: {plural(body['rows'], 'row')} drawn from {body['pool']:,} in {source}"


_DESCRIPTIONS: dict[str, Callable[[Body, str | None], str]] = {
    "created": lambda body, _: f"predicts {body['definition'].get('target', 'a number')}",
    "asked": _asked,
    "approved": _decided,
    "overridden": _decided,
    "budgeted": _budgeted,
    "amended": lambda body, _: (
        f"period {body['period']}: {describe_mapping(body['unknown_categories'])}: {body['reason']}"
    ),
    "selected": _selected,
    "delivered": _delivered,
    "forgotten": lambda body, _: f"period {body['period']}: {plural(body['rows'], 'row')} discarded: {body['reason']}",
    "closed": _closed,
    "fitted": lambda body, _: f"period {body['period']}: model fitted, {plural(body['rows'], 'row')}",
    "certified": _certified,
    "imported": lambda body, _: (
        f"{plural(body['entries'], 'entry', 'entries')} of {body['name']} from {body['source']}"
    ),
}
