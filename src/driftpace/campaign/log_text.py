"""Descriptions of log entries; text that users wrote is quoted, never interpreted."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from driftpace.campaign.text import capitalized, named_periods, period_name
from driftpace.formatting import number, plural, rows_and_labels, strip_bidi

if TYPE_CHECKING:
    from driftpace.storage.base import Entry

Body = Mapping[str, Any]

TITLES = {
    "created": "Created",
    "added": "Added",
    "saved": "Saved",
    "learned": "Pool",
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
    "undone": "Undone",
    "revised": "Revised",
    "retrained": "Retrained",
    "upgraded": "Upgraded",
    "erased": "Erased",
    "archived": "Archived",
    "unarchived": "Unarchived",
}
MAX_QUOTE = 600
"""Characters of a user's text that a description has; the JSON has all of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EntryText:
    """The description of a log entry.

    Attributes
    ----------
    title : str
        The kind of the entry for people.
    action : str
        What happened, without a full stop.
    detail : str
        Continues ``action``: the reason, or what was skipped; begins with its punctuation.
    who : str
        Who did it; empty where the log does not say.
    warning : bool
        Whether the entry is a missed target.
    """

    title: str
    action: str
    detail: str = ""
    who: str = ""
    warning: bool = False

    @property
    def text(self) -> str:
        """The description without ``who``, for tables that have a column for it."""
        return f"{self.action}{self.detail}"

    @property
    def sentence(self) -> str:
        """The whole description as a sentence."""
        by = f", by {self.who}" if self.who else ""
        return f"{self.action}{by}{self.detail}."


def describe_entry(entry: "Entry") -> EntryText:
    """Return the description of a log entry.

    >>> from driftpace.storage.base import Entry
    >>> described = describe_entry(Entry(kind="delivered", at="2026-11-15T10:00:00Z", seq=3, body={"period": 2, "rows": 12,
    ...     "source": "w46.csv", "repeated": 1, "unlabelled": 0, "who": "Ada"}))
    >>> described.sentence
    '12 rows received for period 2 from “w46.csv”, by Ada; 1 duplicate row was skipped.'
    >>> described.text
    '12 rows received for period 2 from “w46.csv”; 1 duplicate row was skipped'
    """
    if entry.kind == "certified":
        return _certified(entry)
    action, detail = _PARTS.get(entry.kind, _unknown)(entry)
    return EntryText(
        title=TITLES.get(entry.kind, strip_bidi(entry.kind)),
        action=strip_bidi(action),
        detail=strip_bidi(detail),
        who=" ".join(strip_bidi(str(entry.body.get("who") or "")).split())[:100],
    )


def quoted(text: Any) -> str:
    """Return a user's text in quotation marks, shortened and without bidirectional control characters."""
    plain = " ".join(strip_bidi(str(text)).split())
    return f"“{plain if len(plain) <= MAX_QUOTE else plain[: MAX_QUOTE - 1] + '…'}”"


Parts = tuple[str, str]
"""The action and the detail of an entry."""


def _because(body: Body) -> str:
    return f": {quoted(body['reason'])}" if body.get("reason") else ""


def _from_source(body: Body) -> str:
    return f" from {quoted(body['source'])}" if body.get("source") else ""


def _of_period(body: Body, preposition: str) -> str:
    return f" {preposition} period {body['period']}" if "period" in body else ""


def _created(entry: "Entry") -> Parts:
    definition = entry.body.get("definition", {})
    target, segment = definition.get("target"), definition.get("segment")
    predicts = f" to predict {quoted(target)}" if target else ""
    predicts += f" of each {quoted(segment)}" if segment else ""
    past = len(entry.body.get("history") or ())
    history = f" with {plural(past, 'period')} of a tracker's history" if past else ""
    return f"Campaign created{predicts}{history}", ""


def _added(entry: "Entry") -> Parts:
    return f"{plural(entry.body['segments'], 'segment')} added", ""


def _saved(entry: "Entry") -> Parts:
    if "chunk" not in entry.body:
        return f"State after entry {entry.body['record']} saved", ""
    return f"{plural(entry.body['segments'], 'segment')} saved (part {entry.body['chunk']})", ""


def _budgeted(entry: "Entry") -> Parts:
    body = entry.body
    horizon = f" and {plural(body['periods'], 'period')} to its horizon" if body["periods"] else ""
    return f"{body['money']} added to the budget{horizon} from period {body['period']}", _because(body)


def _amended(entry: "Entry") -> Parts:
    mapping = ", ".join(
        f"unlisted categories of {quoted(column)} count as {quoted(category)}"
        for column, category in entry.body["unknown_categories"].items()
    )
    added = entry.body.get("new_classes", ())
    classes = f"{', '.join(quoted(name) for name in added)} may be a class" if added else ""
    what = " and ".join(part for part in (mapping, classes) if part)
    return f"From period {entry.body['period']}, {what}", _because(entry.body)


def _asked(entry: "Entry") -> Parts:
    body = entry.body
    period = period_name(body["period"], entry.key)
    of = f" of {plural(body['incomplete'], 'segment')}" if "segments" in body else ""
    if body["received"]:
        more = f"{body['missing']:,} more{of}" if body["missing"] else "no more"
        return f"With {plural(body['received'], 'row')} received, {period} needs {more}", ""
    if body["missing"] == 0:
        return f"Nothing to label in {period}", ""
    return f"{plural(body['missing'], 'row')}{of} to label for {period}", ""


def _approved(entry: "Entry") -> Parts:
    body = entry.body
    return f"Order of {plural(body['samples'], 'row')}{_of_period(body, 'for')} approved", _because(body)


def _overridden(entry: "Entry") -> Parts:
    body = entry.body
    asked, risk = body.get("asked"), body.get("risk_bound")
    instead = f" instead of {asked:,}" if asked is not None and asked != body["samples"] else ""
    expected = "" if risk is None else f"; expected excess loss {number(risk)}"
    rows = plural(body["samples"], "row")
    return f"Order{_of_period(body, 'for')} set to {rows}{instead}{expected}", _because(body)


def _selected(entry: "Entry") -> Parts:
    body = entry.body
    pool = f" of {body['pool']:,}" if body.get("pool") else ""
    rows = plural(body["rows"], "row")
    weighted = ", informative ones more often" if body.get("weighted") else ""
    return f"{rows}{pool} sampled for labelling{_of_period(body, 'in')}{_from_source(body)}{weighted}", ""


def _delivered(entry: "Entry") -> Parts:
    body = entry.body
    periods = named_periods(body.get("other_periods", {}))
    counts = [
        (int(body.get("repeated") or 0), "duplicate row", "duplicate rows"),
        (int(body.get("unlabelled") or 0), "unlabelled row", "unlabelled rows"),
        (
            int(body.get("other_period_rows") or 0),
            f"row of another period{periods}",
            f"rows of another period{periods}",
        ),
        (int(body.get("incomplete") or 0), "row with a missing feature", "rows with a missing feature"),
        *(
            (rows, f"row without {quoted(column)}", f"rows without {quoted(column)}")
            for column, rows in body.get("without", {}).items()
        ),
        (int(body.get("doubled") or 0), "row with the id of another", "rows with the id of another"),
    ]
    reasons = [plural(count, singular, many) for count, singular, many in counts if count]
    skipped = ""
    if reasons:
        *first, last = reasons
        listed = f"{', '.join(first)} and {last}" if first else last
        skipped = f"; {listed} {'was' if sum(count for count, *_ in counts) == 1 else 'were'} skipped"
    cells = "".join(
        f"; {plural(record['rows'], 'row')} with an unlisted category of {quoted(record['column'])}, "
        f"counted as {quoted(record['category'])}"
        for record in body.get("unknown_categories", ())
    )
    cells += "".join(
        f"; {plural(record['cells'], 'missing cell')} of {quoted(record['column'])}, counted as {quoted(record['value'])}"
        for record in body.get("filled", ())
    )
    other = int(body.get("others") or 0)
    others = f"; {plural(other, 'row')} of them {'was' if other == 1 else 'were'} not drawn" if other else ""
    if "mismatch" in body:
        columns = ", ".join(str(column["column"]) for column in body["mismatch"]["columns"])
        others += f"; unlike the pool in {quoted(columns)}"
    others += "".join(f"; {warning}" for warning in body.get("warnings", ()))
    if "balanced" in body:
        others += f"; balanced to the pool, {body['balanced']:.1f} effective rows"
    if body.get("set_aside"):
        others += f"; rows of {plural(body['set_aside'], 'segment')} set aside"
    if body.get("contradicted"):
        skipped += f", {body['contradicted']:,} of them with other cells than were counted"
    if body.get("accept"):
        others += f"; numbers of {', '.join(quoted(name) for name in body['accept'])} accepted"
    late = f", {plural(body['late'], 'period')} late" if body.get("late") else ""
    rows = rows_and_labels(body["rows"], body.get("more_labels") or 0)
    action = f"{rows} received for period {body['period']}{_from_source(body)}{late}"
    return action, others + skipped + cells


def _forgotten(entry: "Entry") -> Parts:
    body = entry.body
    return f"{plural(body['rows'], 'row')} of period {body['period']} withdrawn", _because(body)


def _closed(entry: "Entry") -> Parts:
    body = entry.body
    rows = f"{body['received']:,} of {plural(body['samples'], 'row')}" if body["samples"] else "no rows, as requested"
    reason = f"; {body['why']}" if body.get("why") else ""
    if "segments" in body:
        reason += f"; {body['not_met']:,} of {plural(body['segments'], 'segment')} not met"
    if body.get("cost"):
        reason += f"; {body['cost']['amount']} {body['cost']['currency']}".rstrip() + " paid"
    return f"{capitalized(period_name(body['period'], body.get('key')))} closed with {rows}", reason


def _fitted(entry: "Entry") -> Parts:
    rows, period, held_out = entry.body["rows"], _of_period(entry.body, "in"), entry.body.get("held_out", 0)
    more = f"; {held_out:,} more held out for the audit" if held_out else ""
    return (f"Model fitted to {plural(rows, 'row')}{period}" if rows else f"Model unchanged{period}"), more


def _certified(entry: "Entry") -> EntryText:
    from driftpace.storage.codec import decode

    report, served = decode(entry.body["report"]), entry.body.get("served")
    target = f"(target {number(report.epsilon)})"
    bounded = math.isfinite(report.risk_bound)
    expected = f"Expected excess loss {number(report.risk_bound)}" if bounded else "No bound on the excess loss yet"
    missed = not report.outcome.promised
    outcome = f": {report.outcome.sentence}" if missed else ""
    measured = "" if report.audit is None else f"; {report.audit.sentence}"
    prior = ""
    if served is not None:
        accuracy = "" if served["accuracy"] is None else f", prior accuracy {served['accuracy']:.0%}"
        prior = f"; prior loss {number(served['loss'])}{accuracy}"
    return EntryText(
        title="Target not met" if missed else TITLES["certified"],
        action=f"{expected} in period {report.period} {target}",
        detail=strip_bidi(f"{outcome}{measured}{prior}"),
        warning=missed,
    )


def _imported(entry: "Entry") -> Parts:
    body = entry.body
    name = f" of {quoted(body['name'])}" if body.get("name") else ""
    return f"{plural(body['entries'], 'entry', 'entries')}{name} imported{_from_source(body)}", ""


_UNDONE = {
    "approved": "approval",
    "overridden": "override",
    "budgeted": "change of the budget",
    "amended": "amendment",
    "closed": "closing",
    "retrained": "training of the base",
}


def undone_text(kind: str, *, rows: int, period: int) -> str:
    """Return what was undone, as a phrase.

    >>> undone_text("delivered", rows=12, period=3), undone_text("closed", rows=12, period=3)
    ('Delivery of 12 rows for period 3 undone', 'Closing of period 3 undone')
    """
    if kind == "delivered":
        return f"Delivery of {plural(rows, 'row')} for period {period} undone"
    if kind == "selected":
        return f"Draw of {plural(rows, 'row')} for period {period} released"
    if kind == "forgotten":
        return f"{plural(rows, 'withdrawn row')} of period {period} restored"
    if kind == "undone":
        return f"Undo in period {period} undone"
    what = capitalized(_UNDONE.get(kind, kind))
    return f"{what} {'of' if kind == 'closed' else 'in'} period {period} undone"


def _undone(entry: "Entry") -> Parts:
    body = entry.body
    first, last = min(body["entries"]), max(body["entries"])
    which = f"entry {first}" if first == last else f"entries {first} to {last}"
    paid = f"; {body['written_off']} {body['currency']}".rstrip() + " stays paid" if body.get("written_off") else ""
    return f"{undone_text(body['what'], rows=body['rows'], period=body['of_period'])} ({which}){paid}", _because(body)


def _revised(entry: "Entry") -> Parts:
    from driftpace.campaign.records import Revision
    from driftpace.storage.codec import decode

    body = entry.body
    revision = Revision(
        periods=tuple(body["periods"]), risk_before=decode(body["risk_before"]), risk_after=decode(body["risk_after"])
    )
    return capitalized(revision.sentence), ""


def _learned(entry: "Entry") -> Parts:
    from driftpace.campaign.records import PoolComponents

    return (
        f"Components learned from unlabelled rows{_from_source(entry.body)}",
        f": {PoolComponents.of(entry.body).sentence}",
    )


def _retrained(entry: "Entry") -> Parts:
    from driftpace.storage.codec import decode

    body = entry.body
    rows, gain = plural(body["rows"], "row"), decode(body["gain"])
    expected = (
        "" if gain is None or body["given"] else f"; expected to lower the loss by {gain.mean:#.3g} ± {gain.error:#.2g}"
    )
    how = "Base replaced by another model" if body["given"] else f"Base trained again on {rows}"
    return f"{how} before period {body['period']} ({body['model']['sha256'][:12]}){expected}", _because(body)


def _upgraded(entry: "Entry") -> Parts:
    body = entry.body
    if "method" in body:
        return f"Method {body['from']} replaced by method {body['method']}", ""
    return f"Store upgraded from version {body['from']} to {body['to']}", ""


def erased_text(*, rows: int, drawn: int, before: int | None) -> str:
    """Return what was erased, as a phrase.

    >>> erased_text(rows=2, drawn=1, before=None), erased_text(rows=12, drawn=0, before=4)
    ('Content of 2 rows and 1 drawn id erased', 'Content of 12 rows of the periods before 4 erased')
    """
    parts = [plural(rows, "row")] if rows or not drawn else []
    parts += [plural(drawn, "drawn id")] if drawn else []
    which = "" if before is None else f" of the periods before {before}"
    return f"Content of {' and '.join(parts)}{which} erased"


def _erased(entry: "Entry") -> Parts:
    body = entry.body
    return erased_text(rows=body["rows"], drawn=body["drawn"], before=body["before"]), _because(body)


def _unknown(entry: "Entry") -> Parts:
    return f"Entry of an unknown kind: {quoted(entry.kind)}", ""


_PARTS: dict[str, Callable[["Entry"], Parts]] = {
    "created": _created,
    "added": _added,
    "saved": _saved,
    "learned": _learned,
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
    "imported": _imported,
    "undone": _undone,
    "revised": _revised,
    "retrained": _retrained,
    "upgraded": _upgraded,
    "erased": _erased,
    "archived": lambda entry: ("Campaign archived", _because(entry.body)),
    "unarchived": lambda entry: ("Archived campaign opened again", _because(entry.body)),
}
