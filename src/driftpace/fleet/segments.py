"""A segment of a fleet, and the work that is done on segments one by one: module-level functions that any engine can map."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from driftpace.errors import DriftpaceError, ProtocolError
from driftpace.records import StepReport
from driftpace.tracker.adaptive_method import AdaptiveMethod, AdaptiveMethodState
from driftpace.tracker.late import LateWindow
from driftpace.tracker.method import TellEvent, check_pool
from driftpace.tracker.state import PeriodOrder

FAULTS = (DriftpaceError, ArithmeticError, ValueError)
"""What rows that cannot be used run into; a segment is then set aside, and the others go on."""

CHUNK = 64
"""Segments that are sent to a worker together."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Segment:
    """A segment: the state of its method, its reports, and its last periods where labels may be late.

    ``first`` is the period of the fleet in which it began. ``problems`` says why its rows were set aside, by the period of the
    fleet.
    """

    first: int
    state: AdaptiveMethodState
    reports: tuple[StepReport, ...] = ()
    late: LateWindow | None = None
    problems: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SegmentWork:
    """What is to be done with a segment: rows to add, of an earlier ``period`` or the open one, and whether to close it.

    Without ``event`` and ``close`` it is only asked for its order. ``pool`` is the most rows that the period can have.
    """

    method: AdaptiveMethod
    segment: Segment
    event: TellEvent | None = None
    period: int | None = None
    close: bool = False
    pool: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WorkDone:
    """The segment afterwards, or only its ``order`` where nothing else changed, and why rows were set aside, if they were."""

    segment: Segment | None = None
    order: PeriodOrder | None = None
    problem: str | None = None

    def of(self, before: Segment) -> Segment:
        """Return the segment afterwards, which was sent as it was ``before``."""
        if self.segment is not None:
            return self.segment
        return replace(before, state=replace(before.state, order=self.order))


def is_sized(state: AdaptiveMethodState, pool: int | None) -> bool:
    """Whether the open period was sized with the rows that it has, so that asking changes nothing.

    Raises ProtocolError where it was sized for another pool.
    """
    check_pool(state, pool)
    return state.order is not None and state.order.after == state.gathered


def work_on(chunk: tuple[SegmentWork, ...]) -> tuple[WorkDone, ...]:
    """Return what became of each segment of a chunk."""
    return tuple(_work(one) for one in chunk)


def _work(work: SegmentWork) -> WorkDone:
    if work.period is not None:
        return _tell_late(work)
    if work.event is None and not work.close:
        return _ask(work)
    return _tell(work)


def _ask(work: SegmentWork) -> WorkDone:
    """Size the open period; rows on which that fails are withdrawn."""
    segment = work.segment
    try:
        state, _ = work.method.ask(segment.state, work.pool)
    except ProtocolError:  # a pool of another size is the mistake of the caller
        raise
    except FAULTS as error:
        if not segment.state.gathered:
            raise
        segment = _without_rows(work.method, segment)
        state, _ = work.method.ask(segment.state, work.pool)
        return WorkDone(segment=replace(segment, state=replace(state, look=None)), problem=sentence(error))
    return WorkDone(order=state.order)


def _tell(work: SegmentWork) -> WorkDone:
    """Add rows to the open period, which is sized if it was not, and close it."""
    method, segment, problem = work.method, work.segment, None
    if segment.state.order is None:
        segment = _ask(work).of(segment)
    if work.event is not None:
        done = gathered(method, segment, work.event)
        segment, problem = done.of(segment), done.problem
    if not work.close:
        return WorkDone(segment=segment, problem=problem)
    try:
        return WorkDone(segment=_closed(method, segment), problem=problem)
    except FAULTS as error:
        if not segment.state.gathered:
            raise
        return WorkDone(segment=_closed(method, _without_rows(method, segment)), problem=sentence(error))


def gathered(method: AdaptiveMethod, segment: Segment, event: TellEvent) -> WorkDone:
    """Return a segment with rows in its open period, which was sized."""
    try:
        state = method.gather(segment.state, event)
    except FAULTS as error:
        return WorkDone(segment=segment, problem=sentence(error))
    late = None if segment.late is None else segment.late.with_rows(event)
    return WorkDone(segment=replace(segment, state=state, late=late))


def _closed(method: AdaptiveMethod, segment: Segment) -> Segment:
    """Return a segment after its open period; only the last report keeps its checks, so that memory stays small."""
    before = segment.state
    with np.errstate(over="ignore", invalid="ignore"):
        state, report = method.close(before)
    state = replace(state, look=None)
    late = None if segment.late is None else segment.late.after_close(before, state)
    earlier = segment.reports
    if earlier and earlier[-1].assumptions:
        earlier = (*earlier[:-1], replace(earlier[-1], assumptions=()))
    return replace(segment, state=state, late=late, reports=(*earlier, report))


def _without_rows(method: AdaptiveMethod, segment: Segment) -> Segment:
    late = None if segment.late is None else segment.late.forgotten()
    return replace(segment, state=method.forget(segment.state), late=late)


def _tell_late(work: SegmentWork) -> WorkDone:
    """Add rows to a closed period; it and those since are absorbed again."""
    segment, event, period = work.segment, work.event, work.period
    assert event is not None
    assert period is not None
    assert segment.late is not None
    try:
        late, state, reports = segment.late.tell_late(work.method, segment.state, period, event)
    except FAULTS as error:
        return WorkDone(segment=segment, problem=sentence(error))
    last = len(reports) - 1
    again = tuple(report if place == last else replace(report, assumptions=()) for place, report in enumerate(reports))
    kept = (*segment.reports[: period - 1], *again)
    return WorkDone(segment=replace(segment, state=replace(state, look=None), late=late, reports=kept))


def sentence(error: Any) -> str:
    """Return an error as one sentence about the rows of a segment."""
    if not isinstance(error, DriftpaceError):
        return f"the rows cannot be fitted: {error}."
    if error.name in ("X", "y"):
        return f"{'the target' if error.name == 'y' else 'its rows'} {error.problem}"
    return error.problem
