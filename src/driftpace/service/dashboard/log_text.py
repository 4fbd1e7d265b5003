"""Log entries as sentences; text that users wrote is quoted, never interpreted."""

import math
from dataclasses import dataclass
from typing import Any

from driftpace.campaign.summary import named
from driftpace.service.dashboard.formats import number, plural, strip_bidi
from driftpace.storage.base import Entry
from driftpace.storage.codec import decode

TITLES = {
    "created": "Created",
    "asked": "Asked",
    "approved": "Approved",
    "overridden": "Overridden",
    "selected": "Sampled",
    "delivered": "Delivered",
    "forgotten": "Withdrawn",
    "budgeted": "Budget",
    "amended": "Amended",
    "closed": "Closed",
    "fitted": "Fitted",
    "certified": "Certified",
    "imported": "Imported",
}
MAX_QUOTE = 600
"""Characters of a user's text that one line shows; the JSON has all of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LogLine:
    """One entry of the log: its kind, a sentence and the time; ``warning`` marks a missed target."""

    seq: int
    kind: str
    title: str
    sentence: str
    at: str
    warning: bool = False


def log_line(entry: Entry) -> LogLine:
    """Return the line of an entry.

    >>> log_line(Entry(kind="delivered", at="2026-11-15T10:00:00Z", seq=3, body={"period": 2, "rows": 12, "source": "w46.csv",
    ...     "repeated": 1, "unlabelled": 0, "who": "Ada"})).sentence
    '12 rows received for period 2 from “w46.csv”, by Ada; 1 duplicate row was skipped.'
    """
    sentence = strip_bidi(_SENTENCES.get(entry.kind, _unknown)(entry))
    missed = entry.kind == "certified" and not decode(entry.body["report"]).outcome.promised
    title = "Target not met" if missed else TITLES.get(entry.kind, strip_bidi(entry.kind))
    return LogLine(seq=entry.seq, kind=entry.kind, title=title, sentence=f"{sentence}.", at=entry.at, warning=missed)


def quoted(text: Any) -> str:
    """Return a user's text in quotation marks, shortened and without bidirectional control characters."""
    plain = " ".join(strip_bidi(str(text)).split())
    return f"“{plain if len(plain) <= MAX_QUOTE else plain[: MAX_QUOTE - 1] + '…'}”"


def _by(entry: Entry) -> str:
    who = " ".join(strip_bidi(str(entry.body.get("who") or "")).split())
    return f", by {who[:100]}" if who else ""


def _because(entry: Entry) -> str:
    reason = entry.body.get("reason")
    return f": {quoted(reason)}" if reason else ""


def _created(entry: Entry) -> str:
    past = len(entry.body.get("history") or ())
    history = f" with {plural(past, 'period')} of a tracker's history" if past else ""
    return f"Campaign created{history}{_by(entry)}"


def _budgeted(entry: Entry) -> str:
    body = entry.body
    more = f"{strip_bidi(str(body['money']))} added to the budget"
    last = f" and {plural(body['periods'], 'period')} to its horizon" if body["periods"] else ""
    return f"{more}{last} from period {body['period']}{_by(entry)}{_because(entry)}"


def _amended(entry: Entry) -> str:
    others = entry.body["unknown_categories"].items()
    mapping = ", ".join(f"unseen categories of {quoted(column)} count as {quoted(word)}" for column, word in others)
    return f"From period {entry.body['period']}, {mapping}{_by(entry)}{_because(entry)}"


def _asked(entry: Entry) -> str:
    body = entry.body
    which = named(body["period"], entry.key)
    if body["received"] and body["missing"]:
        return f"With {plural(body['received'], 'row')} received, {which} needs {body['missing']:,} more{_by(entry)}"
    if body["received"]:
        return f"With {plural(body['received'], 'row')} received, {which} needs no more{_by(entry)}"
    if body["missing"] == 0:
        return f"Nothing to label in {which}{_by(entry)}"
    return f"{plural(body['missing'], 'row')} to label for {which}{_by(entry)}"


def _approved(entry: Entry) -> str:
    return f"Order of {plural(entry.body['samples'], 'row')} approved{_by(entry)}{_because(entry)}"


def _overridden(entry: Entry) -> str:
    rows, asked = plural(entry.body["samples"], "row"), entry.body.get("asked")
    instead = f" instead of {asked:,}" if asked is not None and asked != entry.body["samples"] else ""
    risk = entry.body.get("risk_bound")
    expected = "" if risk is None else f"; expected excess loss {number(risk)}"
    return f"Order set to {rows}{instead}{expected}{_by(entry)}{_because(entry)}"


def _selected(entry: Entry) -> str:
    body = entry.body
    pool = f" of {body['pool']:,}" if body.get("pool") else ""
    source = f" from {quoted(body['source'])}" if body.get("source") else ""
    return f"{plural(body['rows'], 'row')}{pool} sampled for labelling{source}{_by(entry)}"


def _delivered(entry: Entry) -> str:
    body = entry.body
    source = f" from {quoted(body['source'])}" if body.get("source") else ""
    sentence = f"{plural(body['rows'], 'row')} received for period {body['period']}{source}{_by(entry)}"
    skipped = []
    if body.get("repeated"):
        skipped.append(plural(body["repeated"], "duplicate row"))
    if body.get("unlabelled"):
        skipped.append(plural(body["unlabelled"], "unlabelled row"))
    count = sum(int(body.get(name) or 0) for name in ("repeated", "unlabelled"))
    if skipped:
        sentence += f"; {' and '.join(skipped)} {'was' if count == 1 else 'were'} skipped"
    unseen = "".join(
        f"; {plural(item['rows'], 'row')} with an unseen category of {quoted(item['column'])}, "
        f"counted as {quoted(item['category'])}"
        for item in body.get("unknown_categories", ())
    )
    return f"{sentence}{unseen}"


def _forgotten(entry: Entry) -> str:
    rows = plural(entry.body["rows"], "row")
    return f"{rows} of period {entry.body['period']} withdrawn{_by(entry)}{_because(entry)}"


def _closed(entry: Entry) -> str:
    body = entry.body
    which = named(body["period"], body.get("key"))
    rows = f"{body['received']:,} of {plural(body['samples'], 'row')}" if body["samples"] else "no rows, as requested"
    why = f"; {body['why']}" if body.get("why") else ""
    return f"{which[0].upper()}{which[1:]} closed with {rows}{_by(entry)}{why}"


def _fitted(entry: Entry) -> str:
    rows = entry.body["rows"]
    return f"Model fitted to {plural(rows, 'row')}" if rows else "Model unchanged"


def _certified(entry: Entry) -> str:
    report = decode(entry.body["report"])
    bound, target = number(report.risk_bound), number(report.epsilon)
    if report.outcome.promised:
        return f"Expected excess loss {bound} (target {target})"
    expected = (
        f"Expected excess loss {bound}" if math.isfinite(report.risk_bound) else "No bound on the excess loss yet"
    )
    return f"{expected} (target {target}): {report.outcome.sentence}"


def _imported(entry: Entry) -> str:
    source = f" from {quoted(entry.body['source'])}" if entry.body.get("source") else ""
    return f"{plural(entry.body['entries'], 'entry', 'entries')} imported{source}{_by(entry)}"


def _unknown(entry: Entry) -> str:
    return f"Entry of an unknown kind: {quoted(entry.kind)}"


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
