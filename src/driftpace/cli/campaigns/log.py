"""``driftpace log``: what happened in a campaign."""

import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from driftpace.cli.campaigns.amend import counts
from driftpace.cli.shared.options import ListForm, Name, ShownList, Storage
from driftpace.cli.shared.printing import plural


def log(
    name: Name,
    last: Annotated[int | None, typer.Option(help="Only the last so many entries.", min=1, show_default=False)] = None,
    form: ShownList = ListForm.TABLE,
    storage: Storage = None,
) -> None:
    """Show what happened in a campaign, and when.

    Example: driftpace log churn --last 20
    """
    from driftpace.cli.shared.printing import print_csv, print_json, print_table
    from driftpace.cli.shared.reading import MOST, glanced, require_known

    with glanced(storage) as store:
        require_known(store, name)
        entries = store.entries(name) if last is None else store.latest(name, limit=min(last, MOST))
    if form is ListForm.TABLE:
        rows = [
            (
                str(one.seq),
                one.at[:19].replace("T", " "),
                one.kind,
                said(one.kind, one.body, one.key),
                one.body.get("who", ""),
            )
            for one in entries
        ]
        print_table(("", "when (UTC)", "what", "", "who"), rows, right=(0,))
        return
    from driftpace.campaign.serialization import entry_json

    found = [entry_json(one) for one in entries]
    if form is ListForm.JSON:
        print_json(found)
        return
    heads = ("seq", "at", "kind", "key", "who", "said", "more")
    common = ("seq", "at", "kind", "key", "who")
    rows_csv = [
        [
            *(one.get(head) for head in common),
            said(one["kind"], one, one["key"]),
            json.dumps({key: value for key, value in one.items() if key not in common}, ensure_ascii=False),
        ]
        for one in found
    ]
    print_csv(heads, rows_csv)


def said(kind: str, body: Mapping[str, Any], key: str | None) -> str:
    """Return an entry in a few words.

    >>> said("delivered", {"period": 2, "rows": 40, "repeated": 0, "unlabelled": 3, "source": "tasks.csv"}, None)
    'period 2: 40 rows came from tasks.csv; 3 without a label'
    """
    say = _WORDS.get(kind)
    return "" if say is None else say(body, key)


def _asked(body: Mapping[str, Any], key: str | None) -> str:
    which = f"period {body['period']}" + (f" ({key})" if key else "")
    came = f", {body['came']:,} came" if body["came"] else ""
    return f"{which}: {plural(body['samples'], 'row')}{came}, {body['missing']:,} missing"


def _delivered(body: Mapping[str, Any], _: str | None) -> str:
    source = f" from {body['source']}" if body["source"] else ""
    left = [
        (body["unlabelled"], "without a label"),
        (body.get("elsewhere"), "drawn for another period"),
        (body["repeated"], "told before"),
    ]
    out = "".join(f"; {count:,} {why}" for count, why in left if count)
    other = "".join(
        f"; {one['rows']:,} with another {one['column']} than those listed, as {one['word']}"
        for one in body.get("others", ())
    )
    return f"period {body['period']}: {plural(body['rows'], 'row')} came{source}{out}{other}"


def _decided(body: Mapping[str, Any], _: str | None) -> str:
    why = f": {body['reason']}" if body["reason"] else ""
    return f"period {body['period']}: {plural(body['samples'], 'row')}{why}"


def _closed(body: Mapping[str, Any], _: str | None) -> str:
    which = f"period {body['period']}" + (f" ({body['key']})" if body["key"] else "")
    why = f"; {body['why']}" if body["why"] else ""
    return f"{which}: {body['came']:,} of {plural(body['samples'], 'row')} came{why}"


def _certified(body: Mapping[str, Any], key: str | None) -> str:
    served = body.get("served")
    if served is None:
        return f"period {key}"
    right = "" if served["accuracy"] is None else f", {served['accuracy']:.0%} right"
    return f"period {key}: the model before had a loss of {served['loss']:.3g} on its rows{right}"


_WORDS: dict[str, Callable[[Mapping[str, Any], str | None], str]] = {
    "created": lambda body, _: f"predicts {body['definition'].get('target', 'numbers')}",
    "asked": _asked,
    "approved": _decided,
    "overridden": _decided,
    "budgeted": lambda body, _: (
        f"period {body['period']}: {body['money']} more for {plural(body['periods'], 'more period')}: {body['reason']}"
    ),
    "amended": lambda body, _: f"period {body['period']}: {counts(body['others'])}: {body['reason']}",
    "selected": lambda body, _: (
        f"period {body['period']}: {plural(body['rows'], 'row')} drawn of {body['pool']:,} in {body['source'] or 'a pool'}"
    ),
    "delivered": _delivered,
    "forgotten": lambda body, _: f"period {body['period']}: {plural(body['rows'], 'row')} taken back: {body['reason']}",
    "closed": _closed,
    "fitted": lambda body, _: f"period {body['period']}: the model, with {plural(body['rows'], 'row')}",
    "certified": _certified,
    "imported": lambda body, _: (
        f"{plural(body['entries'], 'entry', 'entries')} of {body['name']} from {body['source']}"
    ),
}
