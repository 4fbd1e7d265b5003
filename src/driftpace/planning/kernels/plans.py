"""Operations on single plans (evaluation, roll-out of policies, splicing, sawtooth plans), and dominance among partial plans.

A plan is an index of the order sizes for each period, -1 for none. Risks are interpolated linearly from a table over squared
distances, which is exact for risks that are affine in the squared distance.
"""

import math

import numpy as np

from driftpace.compiled import compiled
from driftpace.planning.kernels.dual import interpolate
from driftpace.planning.kernels.tables import PlanTables, Values
from driftpace.typing import BoolArray, FloatArray, IntArray

MEAN, LARGEST, RUN = 0, 1, 2
TIE = 1e-9


@compiled()
def point_below(points: FloatArray, z: float) -> int:
    """Return the last grid point at or below z."""
    low, high = 0, len(points) - 1
    if z >= points[high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if points[middle] <= z:
            low = middle
        else:
            high = middle
    return low


@compiled()
def drift(tables: PlanTables, z: float) -> float:
    """Return the squared distance one period later."""
    if tables.walk:
        return min(z + tables.rho * tables.rho, tables.widest)
    root = math.sqrt(z) + tables.rho
    return min(root * root, tables.widest)


@compiled()
def step(tables: PlanTables, z: float, entry: int) -> tuple[float, float]:
    """Return the risk, and the squared distance of the next period, after buying an order size at z."""
    i = point_below(tables.points, z)
    up = min(i + 1, len(tables.points) - 1)
    t = (z - tables.points[i]) / (tables.points[up] - tables.points[i]) if up > i else 0.0
    risk = tables.risk[i, entry] + t * (tables.risk[up, entry] - tables.risk[i, entry])
    if entry < 0:
        return risk, drift(tables, z)
    if math.isnan(tables.root):
        return risk, tables.ahead[i, entry] + t * (tables.ahead[up, entry] - tables.ahead[i, entry])
    return risk, drift(tables, tables.root * tables.root * risk)


@compiled()
def gap_at(tables: PlanTables, risk: float) -> float:
    """Return the gap of a risk; rounding errors count as 0."""
    over = risk - tables.epsilon
    return over if over > 1e-12 * tables.epsilon else 0.0


@compiled()
def trace(tables: PlanTables, plan: IntArray, squares: FloatArray, gaps: FloatArray) -> None:
    """Fill the squared distances and the gaps of a plan."""
    z = tables.start
    for n in range(len(plan)):
        squares[n] = z
        risk, z = step(tables, z, plan[n])
        gaps[n] = gap_at(tables, risk)
    squares[len(plan)] = z


@compiled()
def objective_value(tables: PlanTables, gaps: FloatArray) -> float:
    """Return the objective: the weighted sum of the gaps, the largest, or the largest sum of a non-decreasing run."""
    total, run, last = 0.0, 0.0, 0.0
    for n in range(len(gaps)):
        each = tables.weights[n] * gaps[n]
        if tables.goal == MEAN:
            total += each
            continue
        run = each if tables.goal == LARGEST or gaps[n] < last * (1.0 - TIE) else run + each
        last = gaps[n]
        total = max(total, run)
    return total


@compiled()
def total_cost(tables: PlanTables, plan: IntArray) -> float:
    """Return the cost of a plan."""
    total = 0.0
    for n in range(len(plan)):
        if plan[n] >= 0:
            total += tables.prices[plan[n]]
    return total


@compiled()
def satisfies_adjacency(tables: PlanTables, plan: IntArray) -> bool:
    """Whether every purchase has a neighbouring purchase, if required."""
    if not tables.adjacent:
        return True
    horizon = len(plan)
    for n in range(horizon):
        if plan[n] >= 0:
            left = plan[n - 1] >= 0 if n > 0 else tables.bought_before
            right = n + 1 < horizon and plan[n + 1] >= 0
            if not (left or right):
                return False
    return True


@compiled()
def value_of_waiting(tables: PlanTables, smooth: bool, buy: FloatArray, n: int, z: float) -> float:
    """Return the minimal value from period n at squared distance z if nothing was bought in the period before."""
    horizon = len(tables.weights)
    best = np.inf
    total = 0.0
    while n < horizon:
        best = min(best, total + interpolate(buy[n], tables.points, smooth, z, point_below(tables.points, z)))
        risk, z = step(tables, z, -1)
        total += tables.weights[n] * gap_at(tables, risk)
        n += 1
        if total >= best:
            return best
    return min(best, total)


@compiled()
def best_entry(
    tables: PlanTables, smooth: bool, n: int, z: float, price: float, prices: FloatArray, idle: float, ahead: FloatArray
) -> int:
    """Return the order size with the least sum of gap, priced money and value ahead; -1 if waiting (``idle``) is better."""
    best = idle
    pick = -1
    for a in range(len(prices)):
        money = price * prices[a]
        if money >= best:
            break
        risk, y = step(tables, z, a)
        total = money + tables.weights[n] * gap_at(tables, risk)
        if total < best:
            total += interpolate(ahead, tables.points, smooth, y, point_below(tables.points, y))
            if total < best:
                best = total
                pick = a
    return pick


@compiled()
def roll_out(tables: PlanTables, price: float, smooth: bool, values: Values, plan: IntArray) -> None:
    """Follow a priced policy along true distances."""
    z = tables.start
    state = 0 if tables.adjacent and not tables.bought_before else 2
    for n in range(len(plan)):
        idle = np.inf
        if state != 1:
            risk, y = step(tables, z, -1)
            idle = tables.weights[n] * gap_at(tables, risk) + value_of_waiting(tables, smooth, values.pending, n + 1, y)
        ahead = values.sample if state == 0 else values.free
        plan[n] = best_entry(tables, smooth, n, z, price, tables.prices, idle, ahead[n + 1])
        _, z = step(tables, z, plan[n])
        if plan[n] >= 0:
            state = 1 if state == 0 else 2
        else:
            state = 0 if tables.adjacent else 2


@compiled()
def roll_out_limited(
    tables: PlanTables, price: float, smooth: bool, orders: int, buy: FloatArray, free: FloatArray, plan: IntArray
) -> None:
    """Follow priced policies with 0, 1, ..., ``orders`` purchases to come along true distances, ignoring adjacency."""
    above = tables.prices - tables.prices[0]
    none = above[:0]
    z = tables.start
    for n in range(len(plan)):
        risk, y = step(tables, z, -1)
        idle = tables.weights[n] * gap_at(tables, risk)
        if orders > 0:
            idle += value_of_waiting(tables, smooth, buy[orders], n + 1, y)
        ahead = free[max(orders - 1, 0), n + 1]
        plan[n] = best_entry(tables, smooth, n, z, price, above if orders > 0 else none, idle, ahead)
        _, z = step(tables, z, plan[n])
        if plan[n] >= 0:
            orders -= 1


@compiled()
def splice(tables: PlanTables, left: IntArray, right: IntArray) -> tuple[float, IntArray]:
    """Return the best plan within the budget that follows ``left`` up to some period and ``right`` from there on."""
    horizon = len(left)
    plan = right.copy()
    best = np.inf
    at = 0
    squares, gaps = np.empty(horizon + 1), np.empty(horizon)
    for cut in range(horizon + 1):
        if cut > 0:
            plan[cut - 1] = left[cut - 1]
        if total_cost(tables, plan) > tables.budget or not satisfies_adjacency(tables, plan):
            continue
        trace(tables, plan, squares, gaps)
        value = objective_value(tables, gaps)
        if value < best:
            best = value
            at = cut
    plan[:] = right
    plan[:at] = left[:at]
    return best, plan


@compiled()
def sawtooth(tables: PlanTables, level: float, length: int, close: bool, plan: IntArray) -> float:
    """Buy the least that lowers the gap, and every ``length`` periods the least that meets the level; return the cost.

    With ``close`` the last purchase of a tooth brings the gap to 0, so that the jump back to the level starts a new run.
    """
    z = tables.start
    last = level
    cost = 0.0
    for n in range(len(plan)):
        limit = level if n % length == 0 else last * (1.0 - 4.0 * TIE)
        if close and n % length == length - 1:
            limit = 0.0
        low, high = -1, len(tables.prices) - 1
        while high - low > 1:
            middle = (low + high) // 2
            risk, _ = step(tables, z, middle)
            if gap_at(tables, risk) <= limit:
                high = middle
            else:
                low = middle
        plan[n] = high
        cost += tables.prices[high]
        risk, z = step(tables, z, high)
        last = gap_at(tables, risk)
    return cost


@compiled()
def undominated(order: IntArray, ranks: IntArray, values: FloatArray, states: IntArray, keep: BoolArray) -> None:
    """Mark the undominated labels: ``order`` sorts by distance, then cost, then value; ``ranks`` are the ranks of the costs.

    A label is dominated if an earlier one has at most its cost and at most its value, in the same state or in the unconstrained
    state 2. Minimal values over ranks are kept in a binary indexed tree for each state.
    """
    size = len(order)
    trees = np.full((3, size + 1), np.inf)
    for at in range(size):
        label = order[at]
        state = states[label]
        least = np.inf
        node = ranks[label] + 1
        while node > 0:
            least = min(least, min(trees[state, node], trees[2, node]))
            node -= node & -node
        keep[label] = values[label] < least
        if keep[label]:
            node = ranks[label] + 1
            while node <= size:
                trees[state, node] = min(trees[state, node], values[label])
                node += node & -node
