"""Local search by exchanges: more or fewer samples in a period, none, or the purchase of a neighbouring period.

Every single change is evaluated. A change that costs money is paid for by the rest of the budget or by a change that frees money.
"""

import numpy as np

from driftpace.compiled import compiled
from driftpace.planning.kernels.plans import (
    LARGEST,
    MEAN,
    TIE,
    gap_at,
    objective_value,
    satisfies_adjacency,
    step,
    total_cost,
    trace,
)
from driftpace.planning.kernels.tables import PlanTables
from driftpace.typing import BoolArray, FloatArray, IntArray

OPTIONS = 18
"""The changes of one period: twelve steps up and down, two more if empty, none, either neighbour's order, one period later."""

SHIFT = OPTIONS - 1


@compiled()
def changed_value(
    tables: PlanTables, plan: IntArray, first: int, last: int, squares: FloatArray, gaps: FloatArray, value: float
) -> float:
    """Return the value of a plan that differs from the traced one only from ``first`` to ``last``.

    For the mean only the periods that differ are evaluated.
    """
    z = squares[first]
    if tables.goal == MEAN:
        for n in range(first, len(plan)):
            risk, z = step(tables, z, plan[n])
            value += tables.weights[n] * (gap_at(tables, risk) - gaps[n])
            if n >= last and abs(z - squares[n + 1]) <= 1e-13 * z:
                break
        return value
    total, run, before = 0.0, 0.0, 0.0
    for n in range(len(plan)):
        gap = gaps[n]
        if n >= first:
            risk, z = step(tables, z, plan[n])
            gap = gap_at(tables, risk)
        each = tables.weights[n] * gap
        run = each if tables.goal == LARGEST or gap < before * (1.0 - TIE) else run + each
        before = gap
        total = max(total, run)
    return total


@compiled()
def proposal(plan: IntArray, n: int, option: int, counts: int) -> int:
    """Return the order size that an option assigns to period n; the current one if the option does not apply."""
    old = plan[n]
    if option == 14:
        return -1
    if option == 15:
        return plan[n - 1] if n > 0 else old
    if option == 16:
        return plan[n + 1] if n + 1 < len(plan) else old
    if old < 0:
        return option * (counts - 1) // 40
    step = option // 2 + 1 if option < 6 else 1 + old // (60 >> ((option - 6) // 2))
    new = old + step if option % 2 == 0 else old - step
    return new if 0 <= new < counts else old


@compiled()
def apply_change(plan: IntArray, n: int, new: int, shift: bool) -> None:
    """Apply one change to a plan: a new order size, or its purchase moved one period later."""
    if shift:
        plan[n + 1] = plan[n]
        plan[n] = -1
    else:
        plan[n] = new


@compiled()
def measure_changes(
    tables: PlanTables,
    plan: IntArray,
    squares: FloatArray,
    gaps: FloatArray,
    value: float,
    where: IntArray,
    what: IntArray,
    shift: BoolArray,
    rise: FloatArray,
    bill: FloatArray,
) -> int:
    """List all single changes with the change of value and of cost; return their number."""
    horizon, counts = len(plan), len(tables.prices)
    size = 0
    for n in range(horizon):
        old = plan[n]
        for option in range(OPTIONS):
            shifts = option == SHIFT
            if shifts and (old < 0 or n + 1 >= horizon or plan[n + 1] >= 0):
                continue
            new = old if shifts else proposal(plan, n, option, counts)
            if new == old and not shifts:
                continue
            apply_change(plan, n, new, shifts)
            if satisfies_adjacency(tables, plan):
                last = n + 1 if shifts else n
                where[size], what[size], shift[size] = n, new, shifts
                rise[size] = changed_value(tables, plan, n, last, squares, gaps, value) - value
                bill[size] = 0.0
                if not shifts:
                    bill[size] = (tables.prices[new] if new >= 0 else 0.0) - (tables.prices[old] if old >= 0 else 0.0)
                size += 1
            plan[n] = old
            if shifts:
                plan[n + 1] = -1
    return size


@compiled()
def pair_changes(
    where: IntArray, rise: FloatArray, bill: FloatArray, spare: float, gains: FloatArray, partner: IntArray
) -> None:
    """Find how each improving change is paid for: by spare money, or by the least harmful change that frees enough."""
    size = len(rise)
    order = np.argsort(bill)
    freed = bill[order]
    seller = np.empty(size, np.int64)  # the least harmful of the changes that free at least so much
    keep = -1
    for at in range(size):
        if keep < 0 or rise[order[at]] < rise[keep]:
            keep = order[at]
        seller[at] = keep
    for b in range(size):
        gains[b] = np.inf
        partner[b] = -1
        if rise[b] >= 0.0:
            continue
        if bill[b] <= spare:
            gains[b] = rise[b]
        at = np.searchsorted(freed, spare - bill[b], side="right") - 1
        if at >= 0:
            s = seller[at]
            if abs(where[s] - where[b]) > 1 and rise[s] + rise[b] < gains[b]:
                gains[b] = rise[s] + rise[b]
                partner[b] = s


@compiled()
def improve(tables: PlanTables, plan: IntArray, rounds: int, enough: float, tries: int) -> float:
    """Improve a plan in place, for at most ``rounds`` rounds over all periods, and return its value.

    In a round the ``tries`` most promising changes are applied, each kept if it helps. It stops at a value of at most ``enough``.
    """
    horizon = len(plan)
    squares, gaps = np.empty(horizon + 1), np.empty(horizon)
    most = horizon * OPTIONS
    where, what, shift = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.bool_)
    rise, bill = np.empty(most), np.empty(most)
    gains, partner = np.empty(most), np.empty(most, np.int64)
    trace(tables, plan, squares, gaps)
    value = objective_value(tables, gaps)
    for _ in range(rounds):
        if value <= enough:
            break
        size = measure_changes(tables, plan, squares, gaps, value, where, what, shift, rise, bill)
        pair_changes(where[:size], rise[:size], bill[:size], tables.budget - total_cost(tables, plan), gains, partner)
        before = value
        ranking = np.argsort(gains[:size])
        for r in range(min(size, tries)):
            b = ranking[r]
            if not gains[b] < 0.0:
                break
            saved = plan.copy()
            fits = not shift[b] or (plan[where[b]] >= 0 and plan[where[b] + 1] < 0)
            if fits:
                apply_change(plan, where[b], what[b], shift[b])
            s = partner[b]
            if fits and s >= 0:
                fits = not shift[s] or (plan[where[s]] >= 0 and plan[where[s] + 1] < 0)
                if fits:
                    apply_change(plan, where[s], what[s], shift[s])
            if fits and total_cost(tables, plan) <= tables.budget and satisfies_adjacency(tables, plan):
                trace(tables, plan, squares, gaps)
                now = objective_value(tables, gaps)
                if now < value * (1.0 - 1e-12):
                    value = now
                    continue
            plan[:] = saved
        trace(tables, plan, squares, gaps)
        if not value < before:
            break
    return value
