"""Compute everything that a log leads to again, where its rows are there, and compare it with what the log says.

Where rows were not kept or erased, or a newer method took over, computing goes on from the next state that the log keeps.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from driftpace.campaign.kept_states import RowsOf, keeps_state, kept_base, kept_state
from driftpace.campaign.orders import asked_body, closed_body, evaluate, fitted_body, served_to_plain, values_with
from driftpace.campaign.records import CheckVerdict, Verification
from driftpace.campaign.replay import LogInForce, MissingRowsError, Revised, Step, reports_since, steps
from driftpace.campaign.state import CampaignState, arrays_agree, packed_checkpoint, states_agree, values_agree
from driftpace.campaign.undo import revised_body
from driftpace.storage.base import Entry
from driftpace.storage.codec import METHOD, encode
from driftpace.tracker.head_state import HeadState


class LogMismatch(Exception):
    """Something in a store does not fit; ``entry`` is the first one."""

    def __init__(self, sentence: str, entry: Entry | int | None = None) -> None:
        super().__init__(sentence)
        self.entry = entry.seq if isinstance(entry, Entry) else entry


@dataclass(frozen=True, kw_only=True, slots=True)
class Gap:
    """Entries that cannot be recomputed, from ``first`` to ``last``, and why."""

    first: int
    last: int
    why: str


@dataclass(slots=True)
class _Rounding:
    """The first entry since the last state that was compared whose numbers differ, within rounding; whether any did."""

    first: Entry | None = None
    ever: bool = False

    def compare(self, entry: Entry, expected: Mapping[str, Any]) -> None:
        """Compare an entry with what it should say, or raise LogMismatch."""
        for name, value in expected.items():
            logged = entry.body.get(name)
            if logged == value:
                continue
            if name != "sha256" and not values_agree(logged, value):
                raise LogMismatch(f"{named(entry).capitalize()} differs in {name!r} from what the log leads to.", entry)
            self.first = self.first or entry

    def settle(self, exact: bool) -> None:
        """Take note of a comparison of two states."""
        if exact and self.first is not None:  # everything else is bit for bit the same, so it is no rounding
            raise LogMismatch(f"{named(self.first).capitalize()} differs from what the log leads to.", self.first)
        self.first, self.ever = None, self.ever or not exact


def named(entry: Entry) -> str:
    """Return an entry by its number and kind."""
    return f"entry {entry.seq} ({entry.kind})"


def recompute(log: Sequence[Entry], rows_of: RowsOf, saved: CampaignState) -> Verification:
    """Replay the log where that is possible, and compare every entry and the saved state with what it leads to."""
    changed = _method_change(log)
    if saved.method_number != METHOD:
        until = "" if changed is None else f" up to {named(changed)}"
        return _warning(log, f"the numbers{until} are of another method and not recomputed")
    rounding, gaps, state = _Rounding(), list[Gap](), None
    for part, expected in _expected(resumed_steps(log, rows_of)):
        if isinstance(part, Gap):
            gaps.append(part)
            rounding.settle(exact=rounding.first is None)
            state = None
        else:
            state = part.after
            rounding.compare(part.entry, expected)
            kept = kept_state(part.entry, log, rows_of) if keeps_state(part.entry) else None
            if kept is not None:
                rounding.settle(_same(kept, state, f"The state that {named(part.entry)} keeps"))
    if state is not None:
        rounding.settle(_same(saved, state, "The saved state"))
    absorbed: set[int] = set()
    for entry in log:
        if "base_hash" in entry.body and not isinstance(saved.state, HeadState):
            absorbed |= _check_since_base(log[: entry.seq], rows_of, changed)
    how = "equal up to rounding (written on another machine or with another library version)"
    how = how if rounding.ever else "identical"
    if not gaps:
        return Verification(verdict=CheckVerdict.PASS, sentence=f"{len(log):,} log entries, recomputed: {how}.")
    if not saved.definition.keep_rows:
        return _warning(log, "rows are not stored, so it cannot be recomputed")
    return _warning(log, _not_recomputed(gaps, absorbed, "" if _in_gaps(gaps) == len(log) else how))


def _not_recomputed(gaps: Sequence[Gap], absorbed: Collection[int], how: str) -> str:
    """Return what cannot be recomputed, and how the rest is."""
    parts = [f"entries {gap.first:,} to {gap.last:,} cannot be recomputed, because {gap.why}" for gap in gaps]
    if absorbed:
        first, last = min(absorbed), max(absorbed)
        which = f"period {first}" if first == last else f"periods {first} to {last}"
        parts.append(f"the rows of {which} lead to their certificates")
    return "; ".join([*parts, f"the other entries are {how}"] if how else parts)


def _in_gaps(gaps: Sequence[Gap]) -> int:
    return sum(gap.last - gap.first + 1 for gap in gaps)


def _warning(log: Sequence[Entry], what: str) -> Verification:
    sentence = f"{len(log):,} log entries; their hash chain is whole; {what}."
    return Verification(verdict=CheckVerdict.WARN, sentence=sentence)


def resumed_steps(log: Sequence[Entry], rows_of: RowsOf) -> Iterator[Step | Gap]:
    """Yield each entry of a log with the states before and after it, and what cannot be computed between them."""
    changed = _method_change(log)
    place, state = 0, None
    if changed is not None:
        state = _next_state(log, changed.seq - 1, rows_of)
        yield Gap(first=1, last=len(log) if state is None else state.seq, why="they are of another method")
        if state is None:
            return
        place = state.seq
    while place < len(log):
        try:
            for step in steps(log, rows_of, start=state):
                place = step.entry.seq
                yield step
            return
        except MissingRowsError as error:
            why = str(error).rstrip(".")
        state = _next_state(log, place, rows_of)
        yield Gap(first=place + 1, last=len(log) if state is None else state.seq, why=why)
        if state is None:
            return
        place = state.seq


def _next_state(log: Sequence[Entry], place: int, rows_of: RowsOf) -> CampaignState | None:
    """Return the first state that an entry after so many keeps; None where there is none."""
    for entry in log[place:]:
        state = kept_state(entry, log, rows_of) if keeps_state(entry) else None
        if state is not None:
            return state
    return None


def _method_change(log: Sequence[Entry]) -> Entry | None:
    """Return the last entry by which a method took over that answers differently."""
    changes = (entry for entry in reversed(log) if entry.kind == "upgraded" and "method" in entry.body)
    return next((entry for entry in changes if not entry.body.get("alike")), None)


def _same(saved: CampaignState, state: CampaignState, what: str) -> bool:
    """Return whether two states are the same bit for bit, or raise LogMismatch where they are not equal up to rounding."""
    exact = packed_checkpoint(state)[1] == packed_checkpoint(saved)[1]
    if not exact and not states_agree(saved, state):
        raise LogMismatch(f"{what} differs from the one recomputed from the log.")
    return exact


def _check_since_base(log: Sequence[Entry], rows_of: RowsOf, changed: Entry | None) -> set[int]:
    """Absorb the periods between those with erased rows and their erasure again, and compare their reports and the model.

    Returns these periods, none where their rows were erased since.

    The last entry of the log is the erasure, which keeps the state to start from.
    """
    kept = kept_base(log, rows_of)
    assert kept is not None
    before = log[:-1]
    closing = LogInForce.of(before).closings.get(kept[0])
    if closing is None:
        raise LogMismatch(f"{named(log[-1]).capitalize()} names period {kept[0]}, which was not closed.", log[-1])
    if changed is not None and changed.seq > closing.seq:
        return set()
    try:
        state, reports = reports_since(log, rows_of, kept[0])
    except MissingRowsError:  # erased since: a later base covers it
        return set()
    logged = _logged_reports(before)
    for report, served in reports:
        entry, expected = logged[report.period]
        found = json.loads(json.dumps([encode(report), served_to_plain(served)]))
        if not values_agree(expected, found):
            raise LogMismatch(
                f"{named(entry).capitalize()} differs from what the rows of period {report.period} lead to.", entry
            )
    after = kept_state(log[-1], log, rows_of)
    coefs = [() if one is None or one.state.coef is None else one.state.coef for one in (after, state)]
    if after is not None and not arrays_agree(*coefs):
        raise LogMismatch(f"The state that {named(log[-1])} keeps differs from what the rows lead to.", log[-1])
    return {report.period for report, _ in reports}


def _logged_reports(log: Sequence[Entry]) -> dict[int, tuple[Entry, Any]]:
    """Return the last report of each period with its evaluation, as the log has them, and the entry that has them."""
    found: dict[int, tuple[Entry, Any]] = {}
    for entry in log:
        body = entry.body
        if entry.kind == "certified":
            found[int(entry.key or 0)] = entry, [body["report"], body["served"]]
        elif entry.kind == "revised":
            for period, report, served in zip(body["periods"], body["reports"], body["served"], strict=True):
                found[period] = entry, [report, served]
    return found


def _expected(parts: Iterable[Step | Gap]) -> Iterator[tuple[Step | Gap, Mapping[str, Any]]]:
    """Yield each step of a replay with the values that its entry should have."""
    closing: Step | None = None
    first: Step | None = None  # of a delivery with rows for several closed periods, which has an entry for each
    revising: Step | None = None
    for step in parts:
        if isinstance(step, Gap):
            closing = first = revising = None
            yield step, {}
            continue
        if step.revised is not None:
            late = step.entry.kind == "delivered"
            first = first if late and revising is not None and revising.entry.seq == step.entry.seq - 1 else step
            revising = step
        elif step.entry.kind == "closed":
            closing = step
        revision = None
        if first is not None and first.before is not None and revising is not None and revising.revised is not None:
            revision = first.before, revising.revised
        yield step, json.loads(json.dumps(_values(step, closing, revision)))


def _values(step: Step, closing: Step | None, revision: tuple[CampaignState, Revised] | None) -> Mapping[str, Any]:
    """Return the values that an entry should have, where ``closing`` closed the last period and ``revision`` is the last one."""
    before, body = step.before, step.entry.body
    if before is None:
        return {}
    match step.entry.kind:
        case "asked":
            return asked_body(step.after)
        case "closed":
            return closed_body(before)
        case "fitted" if closing is not None and closing.before is not None:
            return fitted_body(closing.before, closing.after)
        case "certified" if closing is not None and closing.before is not None:
            return {"report": encode(step.after.last), "served": served_to_plain(evaluate(closing.before))}
        case "approved" | "overridden" if step.after.order is not None and before.order is not None:
            order = before.order
            asked = order.received + order.request.samples
            decided = step.after.order.overridden
            risk = {} if decided is None else {"risk_bound": decided.risk_bound}
            samples = {"samples": asked} if step.entry.kind == "approved" else {}
            return {"period": order.period, "asked": asked, **samples, **risk}
        case "forgotten" if before.order is not None:
            return {"period": before.order.period, "rows": before.order.received}
        case "budgeted":
            settings, period = before.definition.budget, before.state.period
            return {"budget": values_with(settings, body["money"], body["periods"], body["prices"], period=period)}
        case "revised" if revision is not None:
            return revised_body(*revision)
    return {}
