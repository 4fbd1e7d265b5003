"""The log as people read it: each entry in one sentence. What users wrote is put in quotation marks, never taken apart."""

import math
from dataclasses import dataclass
from typing import Any

from driftpace.campaign.summary import named
from driftpace.service.dashboard.formats import number, plural, straight
from driftpace.storage.base import Entry
from driftpace.storage.codec import decode

TITLES = {
    "created": "Created",
    "asked": "Asked",
    "approved": "Approved",
    "overridden": "Overridden",
    "selected": "Drawn",
    "delivered": "Delivered",
    "forgotten": "Taken back",
    "budgeted": "Budget",
    "amended": "Amended",
    "closed": "Closed",
    "fitted": "Fitted",
    "certified": "Certified",
    "imported": "Imported",
}
LONGEST = 600
"""Characters of what somebody wrote that one line of the log shows; the whole is in the JSON."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One entry of the log: what happened (a word), the sentence, and when; ``careful`` where it is nothing to be glad of."""

    seq: int
    kind: str
    title: str
    sentence: str
    at: str
    careful: bool = False


def line(entry: Entry) -> Line:
    """Return an entry as one line.

    >>> line(Entry(kind="delivered", at="2026-11-15T10:00:00Z", seq=3, body={"period": 2, "rows": 12, "source": "w46.csv",
    ...     "repeated": 1, "unlabelled": 0, "who": "Ada"})).sentence
    '12 rows came for period 2 from “w46.csv”, by Ada; 1 row told before was left out.'
    """
    said = straight(_SENTENCES.get(entry.kind, _other)(entry))
    short = entry.kind == "certified" and not decode(entry.body["report"]).outcome.promised
    title = "Not promised" if short else TITLES.get(entry.kind, straight(entry.kind))
    return Line(seq=entry.seq, kind=entry.kind, title=title, sentence=f"{said}.", at=entry.at, careful=short)


def quoted(text: Any) -> str:
    """Return somebody's words in quotation marks, shortened where they are long.

    Marks that turn the direction of writing are left out: they would turn what the page says after the quotation, too.
    """
    words = " ".join(straight(str(text)).split())
    return f"“{words if len(words) <= LONGEST else words[: LONGEST - 1] + '…'}”"


def _by(entry: Entry) -> str:
    who = " ".join(straight(str(entry.body.get("who") or "")).split())
    return f", by {who[:100]}" if who else ""


def _because(entry: Entry) -> str:
    reason = entry.body.get("reason")
    return f": {quoted(reason)}" if reason else ""


def _created(entry: Entry) -> str:
    past = len(entry.body.get("history") or ())
    before = f", with {plural(past, 'period')} of a tracker before it" if past else ""
    return f"The campaign begins{before}{_by(entry)}"


def _budgeted(entry: Entry) -> str:
    body = entry.body
    more = f"{straight(str(body['money']))} were added to the budget"
    last = f" and {plural(body['periods'], 'period')} to its horizon" if body["periods"] else ""
    return f"{more}{last} from period {body['period']} on{_by(entry)}{_because(entry)}"


def _amended(entry: Entry) -> str:
    others = entry.body["unknown_categories"].items()
    said = ", ".join(f"any other {quoted(column)} counts as {quoted(word)}" for column, word in others)
    return f"From period {entry.body['period']} on {said}{_by(entry)}{_because(entry)}"


def _asked(entry: Entry) -> str:
    body = entry.body
    which = named(body["period"], entry.key)
    if body["received"] and body["missing"]:
        return f"With {plural(body['received'], 'row')} there, {which} needs {body['missing']:,} more{_by(entry)}"
    if body["received"]:
        return f"With {plural(body['received'], 'row')} there, {which} needs no more{_by(entry)}"
    if body["missing"] == 0:
        return f"Nothing is to be labelled in {which}{_by(entry)}"
    return f"{plural(body['missing'], 'row')} are to be labelled for {which}{_by(entry)}".replace(
        "1 row are", "1 row is"
    )


def _approved(entry: Entry) -> str:
    return f"The order of {plural(entry.body['samples'], 'row')} was approved{_by(entry)}{_because(entry)}"


def _overridden(entry: Entry) -> str:
    rows, asked = plural(entry.body["samples"], "row"), entry.body.get("asked")
    instead = f" instead of {asked:,}" if asked is not None and asked != entry.body["samples"] else ""
    risk = entry.body.get("risk_bound")
    foretold = "" if risk is None else f"; {number(risk)} above the best is foretold for it"
    return f"The order was set to {rows}{instead}{foretold}{_by(entry)}{_because(entry)}"


def _selected(entry: Entry) -> str:
    body = entry.body
    pool = f" of {body['pool']:,}" if body.get("pool") else ""
    source = f" from {quoted(body['source'])}" if body.get("source") else ""
    return f"{plural(body['rows'], 'row')}{pool} drawn for labelling{source}{_by(entry)}"


def _delivered(entry: Entry) -> str:
    body = entry.body
    source = f" from {quoted(body['source'])}" if body.get("source") else ""
    said = f"{plural(body['rows'], 'row')} came for period {body['period']}{source}{_by(entry)}"
    out = []
    if body.get("repeated"):
        out.append(f"{plural(body['repeated'], 'row')} told before")
    if body.get("unlabelled"):
        out.append(f"{plural(body['unlabelled'], 'row')} without a label")
    left = sum(int(body.get(name) or 0) for name in ("repeated", "unlabelled"))
    said = f"{said}; {' and '.join(out)} {'was' if left == 1 else 'were'} left out" if out else said
    others = "".join(
        f"; {plural(one['rows'], 'row')} with another {quoted(one['column'])} than those listed, "
        f"taken for {quoted(one['category'])}"
        for one in body.get("unknown_categories", ())
    )
    return f"{said}{others}"


def _forgotten(entry: Entry) -> str:
    rows = plural(entry.body["rows"], "row")
    return f"{rows} of period {entry.body['period']} taken back{_by(entry)}{_because(entry)}"


def _closed(entry: Entry) -> str:
    body = entry.body
    which = named(body["period"], body.get("key"))
    rows = f"{body['received']:,} of {plural(body['samples'], 'row')}" if body["samples"] else "no rows, as asked"
    why = f"; {body['why']}" if body.get("why") else ""
    return f"{which[0].upper()}{which[1:]} closed with {rows}{_by(entry)}{why}"


def _fitted(entry: Entry) -> str:
    rows = entry.body["rows"]
    return f"The model learnt from {plural(rows, 'row')}" if rows else "The model stayed as it was"


def _certified(entry: Entry) -> str:
    report = decode(entry.body["report"])
    bound, target = number(report.risk_bound), number(report.epsilon)
    if report.outcome.promised:
        return f"The target of {target} is promised: {bound} above the best"
    far = f"the bound is {bound} above the best" if math.isfinite(report.risk_bound) else "there is no bound yet"
    return f"The target of {target} is not promised, {far}: {report.outcome.sentence}"


def _imported(entry: Entry) -> str:
    source = f" from {quoted(entry.body['source'])}" if entry.body.get("source") else ""
    return f"{plural(entry.body['entries'], 'entry', 'entries')} before this came{source}{_by(entry)}"


def _other(entry: Entry) -> str:
    return f"Something this version does not know: {quoted(entry.kind)}"


_SENTENCES = {
    "created": _created,
    "asked": _asked,
    "approved": _approved,
    "overridden": _overridden,
    "selected": _selected,
    "delivered": _delivered,
    "forgotten": _forgotten,
    "budgeted": _budgeted,
    "amended": _amended,
    "closed": _closed,
    "fitted": _fitted,
    "certified": _certified,
    "imported": _imported,
}
