"""The last periods of a tracker, kept so that rows can be added to them after they were closed.

For each of the last ``delay`` periods the state at its start, its orders and its rows are kept, and the rows of the open period: as
much memory as so many states and their rows take. Late rows are added to their period, and the periods since are absorbed again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from driftpace.adaptive import delay_price
from driftpace.errors import ProtocolError, StateFileError
from driftpace.records import DelayPrice, StepReport
from driftpace.storage.codec import decode, encode
from driftpace.tracker.adaptive_method import AdaptiveMethod
from driftpace.tracker.budget_method import BudgetState
from driftpace.tracker.builder import model_method
from driftpace.tracker.candidates_method import CandidatesMethod
from driftpace.tracker.codec import decode_state, encode_state
from driftpace.tracker.method import Method, TellEvent
from driftpace.tracker.revision import Orders, orders_of, to_decide_again, with_orders


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class KeptPeriod:
    """A period: the state at its start, the orders when it was closed, none while it is open, and its rows.

    ``lent`` is what others said of the period when it was closed, where there are others.
    """

    start: Any
    orders: Orders = ()
    events: tuple[TellEvent, ...] = ()
    lent: Any = None

    def gathered(self, method: Method) -> Any:
        """Return the state before the period is closed."""
        state = with_orders(self.start, self.orders)
        for event in self.events:
            state = method.gather(state, event)
        return state


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LateWindow:
    """The last ``delay`` closed periods, oldest first, and the open one."""

    delay: int
    opened: KeptPeriod
    closed: tuple[KeptPeriod, ...] = ()

    def with_rows(self, event: TellEvent) -> Self:
        """Return the window after rows were added to the open period."""
        kept = replace(event, X=np.array(event.X), y=np.array(event.y))
        return replace(self, opened=replace(self.opened, events=(*self.opened.events, kept)))

    def forgotten(self) -> Self:
        """Return the window after the rows of the open period were withdrawn."""
        return replace(self, opened=replace(self.opened, events=()))

    def after_close(self, before: Any, after: Any, lent: Any = None) -> Self:
        """Return the window after the open period was closed, from one state to the next."""
        closed = (*self.closed, replace(self.opened, orders=orders_of(before), lent=lent))
        return replace(self, closed=closed[-self.delay :], opened=KeptPeriod(start=after))

    def tell_late(
        self,
        method: Method,
        state: Any,
        period: int,
        event: TellEvent,
        lend: Callable[[Any, Any], Any] = lambda state, _: state,
    ) -> tuple[Self, Any, tuple[StepReport, ...]]:
        """Add rows to a closed period; return the window, the state, and the reports of the periods absorbed again.

        ``lend`` gives the state of a period with what was lent.
        """
        place = next((place for place, kept in enumerate(self.closed) if kept.start.period == period), None)
        if place is None:
            periods = [kept.start.period for kept in self.closed]
            which = "none is kept yet" if not periods else f"kept are periods {periods[0]} to {periods[-1]}"
            raise ProtocolError(
                f"tell_late() needs one of the last {self.delay} closed periods; got {period}, {which}."
            )
        event = replace(event, late=state.period - period)
        late = replace(self.closed[place], events=(*self.closed[place].events, event))
        closed, reports = list(self.closed[:place]), []
        start = late.start
        for kept in (late, *self.closed[place + 1 :]):
            again = replace(kept, start=start)
            with np.errstate(over="ignore", invalid="ignore"):
                start, report = method.close(lend(again.gathered(method), again.lent))
            closed.append(again)
            reports.append(report)
        opened = replace(self.opened, start=start)
        asked = replace(opened, orders=to_decide_again(orders_of(state)))
        after = start if state.order is None else asked.gathered(method)
        return replace(self, opened=opened, closed=tuple(closed)), after, tuple(reports)

    def to_body(self) -> dict[str, Any]:
        """Encode the window as JSON values."""
        return {
            "delay": self.delay,
            "opened": _period_to_body(self.opened),
            "closed": [_period_to_body(kept) for kept in self.closed],
        }

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> Self:
        """Decode a window."""
        try:
            return cls(
                delay=int(body["delay"]),
                opened=_period_from_body(body["opened"]),
                closed=tuple(_period_from_body(kept) for kept in body["closed"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise StateFileError(f"the state does not have the shape this version reads: {error}") from error


def delay_of(method: Method) -> int | None:
    """Return how many periods late the labels of a method may be; None where they are in time."""
    first = method.methods[0] if isinstance(method, CandidatesMethod) else method
    inner = model_method(first)
    return inner.config.delay if isinstance(inner, AdaptiveMethod) else None


def find_delay_price(method: Method, state: Any, periods: int) -> DelayPrice:
    """Return what labels so many periods late cost; unknown for methods that are made of parts."""
    method, state = method.current(state)
    inner = model_method(method)
    state = state.inner if isinstance(state, BudgetState) else state
    if not isinstance(inner, AdaptiveMethod) or state.adaptive is None or not state.adaptive.banks:
        return DelayPrice(periods=periods)
    return delay_price(state.adaptive.banks, inner.target(state), periods, state.adaptive.closed, inner.config.delay)


_FIELDS = ("X", "y", "columns", "groups", "weights", "earlier_weights", "ids", "annotators", "late")


def _period_to_body(kept: KeptPeriod) -> dict[str, Any]:
    return {
        "start": encode_state(kept.start),
        "orders": [encode(order) for order in kept.orders],
        "events": [{name: encode(getattr(event, name)) for name in _FIELDS} for event in kept.events],
        **({} if kept.lent is None else {"lent": encode(kept.lent)}),
    }


def _period_from_body(body: Mapping[str, Any]) -> KeptPeriod:
    return KeptPeriod(
        start=decode_state(body["start"]),
        orders=tuple(decode(order) for order in body["orders"]),
        events=tuple(TellEvent(**{name: decode(event[name]) for name in _FIELDS}) for event in body["events"]),
        lent=decode(body.get("lent")),
    )
