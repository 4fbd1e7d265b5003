"""A segment of a fleet, and the work that is done on segments one by one: module-level functions that any engine can map."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from driftpace.adaptive import aim_of, counted, first_bank, step_costs
from driftpace.errors import DriftpaceError, ProtocolError
from driftpace.fleet.lent import NOTHING, Lent, with_lent
from driftpace.fleet.looks import MOST_COLUMNS, with_closing, with_decision
from driftpace.fleet.magnitudes import Magnitudes
from driftpace.losses import SquaredLoss
from driftpace.planning import Demand
from driftpace.records import Money, StepReport
from driftpace.tracker.adaptive_method import AdaptiveMethod, AdaptiveMethodState
from driftpace.tracker.adaptive_order import PeriodLook, finite, in_pilot
from driftpace.tracker.late import LateWindow
from driftpace.tracker.method import TellEvent, check_pool
from driftpace.tracker.state import PeriodOrder

FAULTS = (DriftpaceError, ArithmeticError, ValueError)
"""What rows that cannot be used run into; a segment is then set aside, and the others go on."""

CHUNK = 64
"""Segments that are sent to a worker together."""

GROWTH = 10
"""A batch has at most so many times the rows before it, or two initial samples: after a surprise a few rows show what it was."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Segment:
    """A segment: the state of its method, its reports, and its last periods where labels may be late.

    ``first`` is the period of the fleet in which it began. ``problems`` says why its rows were set aside, by the period of the
    fleet. ``lent`` is what the other segments say of it in the open period; ``odds`` are the log odds that its level moves with
    theirs, and ``freed`` the periods in which it was odd, so that it was not told how they drift. ``seen`` is how large its numbers
    were.
    """

    first: int
    state: AdaptiveMethodState
    reports: tuple[StepReport, ...] = ()
    late: LateWindow | None = None
    problems: Mapping[int, str] = field(default_factory=dict)
    lent: Lent = NOTHING
    odds: float = 0.0
    freed: tuple[int, ...] = ()
    seen: Magnitudes | None = None

    @property
    def has_past(self) -> bool:
        """Whether a period with rows was closed."""
        adaptive = self.state.adaptive
        return adaptive is not None and bool(adaptive.banks)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SegmentWork:
    """What is to be done with a segment: rows to add, of an earlier ``period`` or the open one, and whether to close it.

    Without ``event`` and ``close`` it is only asked for its order, and with ``demand`` for what rows do for it too. ``pool`` is the
    most rows that the period can have.
    """

    method: AdaptiveMethod
    segment: Segment
    event: TellEvent | None = None
    period: int | None = None
    close: bool = False
    pool: int | None = None
    demand: bool = False

    @property
    def asks(self) -> bool:
        """Whether the open period is sized: where that is all, or it was not sized before."""
        return self.period is None and (self.segment.state.order is None or (self.event is None and not self.close))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WorkDone:
    """The segment afterwards, or only its ``order`` where nothing else changed, and why rows were set aside, if they were."""

    segment: Segment | None = None
    order: PeriodOrder | None = None
    problem: str | None = None
    demand: Demand | None = None

    def of(self, before: Segment) -> Segment:
        """Return the segment afterwards, which was sent as it was ``before``."""
        if self.segment is not None:
            return self.segment
        return replace(before, state=replace(before.state, order=self.order))


def with_order(segment: Segment, order: PeriodOrder) -> Segment:
    """Return a segment with another order in its open period."""
    return replace(segment, state=replace(segment.state, order=order))


def with_cost(segment: Segment, cost: Money) -> Segment:
    """Return a segment with the cost of its last period in the report."""
    return replace(segment, reports=(*segment.reports[:-1], replace(segment.reports[-1], cost=cost)))


def with_seen(segment: Segment, seen: Magnitudes | None) -> Segment:
    """Return a segment that remembers how large the numbers of its last rows were."""
    if seen is None:
        return segment
    return replace(segment, seen=seen if segment.seen is None else segment.seen.with_more(seen))


def most_next(method: AdaptiveMethod, state: AdaptiveMethodState) -> int | None:
    """Return the most rows of the next batch; None for the first one, and where a period has a number of orders."""
    config, adaptive = method.config, state.adaptive
    one_by_one = config.orders is None and config.delay is None
    if not one_by_one or adaptive is None or not adaptive.banks or not state.gathered:
        return None
    return max(2 * adaptive.pilot, GROWTH * state.gathered)


def is_sized(state: AdaptiveMethodState, pool: int | None) -> bool:
    """Whether the open period was sized with the rows that it has, so that asking changes nothing.

    Raises ProtocolError where it was sized for another pool.
    """
    check_pool(state, pool)
    return state.order is not None and state.order.after == state.gathered


def is_light(work: SegmentWork) -> bool:
    """Whether compiled loops do most of the work, so that it takes less time than to send the segment."""
    config, adaptive = work.method.config, work.segment.state.adaptive
    if adaptive is None:  # without rows there is nothing to look at
        return work.event is None
    return (
        work.period is None
        and type(work.method.spec.loss) is SquaredLoss
        and adaptive.columns <= MOST_COLUMNS
        and config.tolerance is None
        and config.season is None
        and config.metric is None
    )


def work_on(chunk: tuple[SegmentWork, ...]) -> tuple[WorkDone, ...]:
    """Return what became of each segment of a chunk: periods are looked at together when they are sized, and when closed."""
    asking = [work for work in chunk if work.asks]
    asked = {id(work): done for work, done in zip(asking, _asked(asking), strict=True)}
    done = [_begun(work, asked.get(id(work))) for work in chunk]
    closing = [place for place, work in enumerate(chunk) if work.close]
    closed = _closed([(chunk[place].method, done[place].of(chunk[place].segment)) for place in closing])
    for place, after in zip(closing, closed, strict=True):
        done[place] = replace(after, problem=done[place].problem or after.problem)
    return tuple(done)


def _begun(work: SegmentWork, asked: WorkDone | None) -> WorkDone:
    """Return a segment before its period is closed: with its order, late rows, or rows of the open period."""
    if work.period is not None:
        return _tell_late(work)
    if work.event is None:
        return WorkDone(segment=work.segment) if asked is None else asked
    return gathered(work.method, work.segment if asked is None else asked.of(work.segment), work.event)


def _asked(work: Sequence[SegmentWork]) -> list[WorkDone]:
    """Size open periods."""
    lent = [with_lent(one.segment.state, one.segment.lent) for one in work]
    states = with_decision([one.method for one in work], lent)
    return [_ask(one, state) for one, state in zip(work, states, strict=True)]


def _ask(work: SegmentWork, state: AdaptiveMethodState) -> WorkDone:
    """Size the open period from its state with what is lent; rows on which that fails are withdrawn."""
    segment, problem = work.segment, None
    try:
        state, _ = work.method.ask(state, work.pool)
    except ProtocolError:  # a pool of another size is the mistake of the caller
        raise
    except FAULTS as error:
        if not segment.state.gathered:
            raise
        problem = sentence(error)
        segment = _without_rows(work.method, segment)
        state, _ = work.method.ask(with_lent(segment.state, segment.lent), work.pool)
    state = _in_steps(work.method, state)
    demand = _demand(work.method, state) if work.demand else None
    if problem is None:
        return WorkDone(order=state.order, demand=demand)
    asked = replace(segment, state=replace(segment.state, order=state.order, looks=()))
    return WorkDone(segment=asked, problem=problem, demand=demand)


def _in_steps(method: AdaptiveMethod, state: AdaptiveMethodState) -> AdaptiveMethodState:
    """Return a state whose order is no larger than a surprise allows."""
    order, most = state.order, most_next(method, state)
    assert order is not None
    now = order.total - order.after
    if most is None or now <= most or order.after != state.gathered:
        return state
    rows = f"{counted(state.gathered)} so far {'is' if state.gathered == 1 else 'are'} a surprise"
    reason = f"{rows}, after which {now:,} more or so seem to be missing: {most:,} first, since they may show that far fewer are"
    order = replace(order, total=order.after + most, more=True, reason=f"{reason} enough")
    return replace(state, order=order)


def _demand(method: AdaptiveMethod, state: AdaptiveMethodState) -> Demand:
    """Return what rows do for a segment that was sized; the look is taken again where it was sized before."""
    order, adaptive = state.order, state.adaptive
    look = state.looks[-1] if state.looks else None
    assert order is not None
    if look is None and adaptive is not None and (state.gathered or adaptive.banks):
        look = method.look(state) if order.whole else method.look(state, decided=state.gathered)
    return _demand_of(method, state, look)


def _demand_of(method: AdaptiveMethod, state: AdaptiveMethodState, look: PeriodLook | None) -> Demand:
    """Return what rows do for a segment that was sized with this look; without one, it needs its initial sample."""
    order, config = state.order, method.config
    assert order is not None
    if look is None or not finite(look.judged):
        return Demand(
            blocks=np.ones(1),
            shares=np.ones((1, 1)),
            variances=np.ones((1, 1)),
            noise=1.0,
            epsilon=1.0,
            goal=math.inf,
            least=order.total - order.after,
            most=order.total - order.after,
        )
    adaptive, judged = look.adaptive, look.judged
    fitted = 1.0 - (config.audit or 0.0)  # rows held out are bought too: each row is worth so much of one
    shares, variances = judged.components()
    if not adaptive.banks and not adaptive.bands:
        shares, variances = np.ones((len(judged.variances), 1)), judged.variances[:, None]
    banks = judged.banks or [
        first_bank(np.zeros(int(size)), 0.0, 2.0 * judged.epsilon / size) for size in adaptive.sizes
    ]
    costs = [step_costs(bank) for bank in banks]
    steps = np.array([float(chance @ each) for each, chance in costs]) / adaptive.sizes
    kept = look.fitted - len(look.rows)
    pilot = adaptive.pilot - adaptive.memory.rows - look.fitted + look.lost
    limit, _ = method.spec.limit(order.pool)
    demand = Demand(
        blocks=adaptive.output_sizes,
        shares=shares,
        variances=variances,
        noise=float(judged.noise_upper) / fitted,
        epsilon=judged.epsilon,
        goal=aim_of(config, adaptive, judged).epsilon,
        steps=steps,
        kept=kept,
        least=max(math.ceil(pilot / fitted), 0) if in_pilot(adaptive, look.fitted - look.lost) else 0,
        most=max(limit - state.gathered, 0),
    )
    most = most_next(method, state)
    if most is None or order.total - order.after < most or not order.more:
        return demand
    # what seems to be missing takes no money from the others, now or later, before more rows show it
    return replace(demand, most=min(most, limit - state.gathered), steps=None)


def gathered(method: AdaptiveMethod, segment: Segment, event: TellEvent) -> WorkDone:
    """Return a segment with rows in its open period, which was sized."""
    try:
        state = method.gather(segment.state, event)
    except FAULTS as error:
        return WorkDone(segment=segment, problem=sentence(error))
    late = None if segment.late is None else segment.late.with_rows(event)
    return WorkDone(segment=replace(segment, state=state, late=late))


def _closed(open_segments: Sequence[tuple[AdaptiveMethod, Segment]]) -> list[WorkDone]:
    """Close open periods; rows on which that fails are withdrawn."""
    methods = [method for method, _ in open_segments]
    lent = [with_lent(segment.state, segment.lent) for _, segment in open_segments]
    done = []
    for (method, segment), state in zip(open_segments, with_closing(methods, lent), strict=True):
        try:
            done.append(WorkDone(segment=_after(method, segment, state)))
        except FAULTS as error:
            if not segment.state.gathered:
                raise
            empty = _without_rows(method, segment)
            after = _after(method, empty, with_lent(empty.state, empty.lent))
            done.append(WorkDone(segment=after, problem=sentence(error)))
    return done


def _after(method: AdaptiveMethod, segment: Segment, ready: AdaptiveMethodState) -> Segment:
    """Return a segment after its open period, ``ready`` with what is lent; only the last report keeps its checks."""
    before = segment.state
    with np.errstate(over="ignore", invalid="ignore"):
        state, report = method.close(ready)
    late = None if segment.late is None else segment.late.after_close(before, state, segment.lent)
    earlier = segment.reports
    if earlier and earlier[-1].assumptions:
        earlier = (*earlier[:-1], replace(earlier[-1], assumptions=()))
    return replace(segment, state=replace(state, looks=()), late=late, reports=(*earlier, report))


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
        late, state, reports = segment.late.tell_late(work.method, segment.state, period, event, with_lent)
    except FAULTS as error:
        return WorkDone(segment=segment, problem=sentence(error))
    last = len(reports) - 1
    again = tuple(report if place == last else replace(report, assumptions=()) for place, report in enumerate(reports))
    kept = (*segment.reports[: period - 1], *again)
    return WorkDone(segment=replace(segment, state=replace(state, looks=()), late=late, reports=kept))


def sentence(error: Any) -> str:
    """Return an error as one sentence about the rows of a segment."""
    if not isinstance(error, DriftpaceError):
        return f"the rows cannot be fitted: {error}."
    if error.name in ("X", "y"):
        return f"{'the target' if error.name == 'y' else 'its rows'} {error.problem}"
    return error.problem
