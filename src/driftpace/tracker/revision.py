"""Change the past of a tracker: its orders and its money, whatever its method is made of.

A period that is absorbed again has other rows but the orders that were placed, which are facts. They are taken from one state and
put into another here, one order for each candidate.
"""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from driftpace.tracker.budget_method import BudgetState
from driftpace.tracker.candidates_method import CandidatesState
from driftpace.tracker.head_state import HeadState
from driftpace.tracker.state import PeriodOrder

Orders = tuple[PeriodOrder | None, ...]


def orders_of(state: Any) -> Orders:
    """Return the orders of the open period: one, or one for each candidate."""
    if isinstance(state, CandidatesState):
        return tuple(order for one in state.states for order in orders_of(one))
    return (state.order,)


def with_orders(state: Any, orders: Orders) -> Any:
    """Return the state with these orders of the open period."""
    if isinstance(state, CandidatesState):
        pairs = zip(state.states, orders, strict=True)
        return replace(state, states=tuple(with_orders(one, (order,)) for one, order in pairs))
    if isinstance(state, BudgetState | HeadState):
        return replace(state, inner=with_orders(state.inner, orders))
    (order,) = orders
    return replace(state, order=order)


def to_decide_again(orders: Orders) -> Orders:
    """Return orders whose missing rows are computed again at the next ask, as the same batch."""
    return tuple(
        order if order is None or order.after == -1 else replace(order, after=-1, batch=order.batch - 1)
        for order in orders
    )


def charged(state: Any, amount: Decimal) -> Any:
    """Return the state after ``amount`` was spent besides the rows; without a budget, the state itself."""
    if isinstance(state, CandidatesState):
        return replace(state, states=tuple(charged(one, amount) for one in state.states))
    if isinstance(state, HeadState):
        return replace(state, inner=charged(state.inner, amount))
    return replace(state, spent=state.spent + amount) if isinstance(state, BudgetState) else state
