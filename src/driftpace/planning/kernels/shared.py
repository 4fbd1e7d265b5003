"""Compiled loops over segments that share a budget: the rows that a target or a price of money leads to.

Before any row, component i of the uncertainty of a segment has the mean square a_i in all and the variance t_i in a coordinate.
Rows leave x = h(u) = sum_i a_i / (1 + u t_i) of it for u = K/(n + c x), with the noise n of a row and c = 1 + 1/d: the harmonic
rule, averaged over components. Both x and K = u (n + c h(u)) are known where u is, so no fixed point is searched for: 1/h is
concave in u, and Newton's method reaches it from below.

The risk x/2 is convex in K: with b_i = a_i/(1 + u t_i)^2, -dx/dK = (sum b_i t_i)/(n + c sum b_i), and it falls as u grows, since
(sum b_i)(sum b_i t_i^2/(1 + u t_i)) >= (sum b_i t_i)(sum b_i t_i/(1 + u t_i)) by Chebyshev's sum inequality.
"""

import math
from typing import NamedTuple

from driftpace.compiled import compiled
from driftpace.typing import FloatArray, IntArray

_NEWTON = 100
_CLOSE = 1e-13
_GAPS = 12
"""The most periods from one order to the next that are considered."""


class Stack(NamedTuple):
    """Segments in arrays: what is known of each of them, what it needs, and what its rows cost.

    ``squares`` are a_i and ``variances`` t_i, (segments, components); ``blocks`` and ``steps`` the coordinates of each block and
    the variance that a period adds to each of them. A segment has ``gathered`` rows in the period and needs at least ``least``
    more, and at ``most`` so many; the first ``kept`` of more rows are there already, though not in its variances. It is bought to
    the risk ``goal`` at most; a level is relative to ``epsilon``. Prices are in units of money.
    """

    squares: FloatArray
    variances: FloatArray
    blocks: FloatArray
    steps: FloatArray
    noise: FloatArray
    size: FloatArray
    epsilon: FloatArray
    goal: FloatArray
    gathered: IntArray
    kept: IntArray
    least: IntArray
    most: IntArray
    fixed: FloatArray
    each: FloatArray
    minimum: IntArray


@compiled()
def price_of(stack: Stack, segment: int, rows: int) -> float:
    """Return the price of an order."""
    if rows <= 0:
        return 0.0
    return stack.fixed[segment] + stack.each[segment] * max(rows, stack.minimum[segment])


@compiled()
def more_costs(stack: Stack, segment: int, rows: int) -> float:
    """Return what more rows in the period add to the price of those that it has."""
    gathered = stack.gathered[segment]
    return price_of(stack, segment, gathered + rows) - price_of(stack, segment, gathered)


@compiled()
def place_of(squares: FloatArray, variances: FloatArray, left: float) -> float:
    """Return u with h(u) = ``left``, from below; 0 where less is left before any row."""
    u = 0.0
    for _ in range(_NEWTON):
        total, slope = 0.0, 0.0
        for i in range(len(squares)):
            share = 1.0 / (1.0 + u * variances[i])
            total += squares[i] * share
            slope += squares[i] * variances[i] * share * share
        if total <= left * (1.0 + _CLOSE) or slope <= 0.0:
            return u
        step = total * (total / left - 1.0) / slope
        u += step
        if step <= 1e-15 * u:
            return u
    return u


@compiled()
def rows_to_leave(squares: FloatArray, variances: FloatArray, noise: float, size: float, left: float) -> float:
    """Return how many rows, not rounded, leave so much of the mean square of the error."""
    return place_of(squares, variances, left) * (noise + (1.0 + 1.0 / size) * left)


@compiled()
def left_after(squares: FloatArray, variances: FloatArray, noise: float, size: float, rows: float) -> float:
    """Return what is left of the mean square of the error after so many rows: K(u) is concave, so Newton's method reaches it."""
    u, more = 0.0, 1.0 + 1.0 / size
    total = 0.0
    for _ in range(_NEWTON):
        total, slope = 0.0, 0.0
        for i in range(len(squares)):
            share = 1.0 / (1.0 + u * variances[i])
            total += squares[i] * share
            slope += squares[i] * share * share
        step = (rows - u * (noise + more * total)) / (noise + more * slope)
        if step <= 1e-14 * u or rows <= 0.0:
            return total
        u += step
    return total


@compiled()
def rows_at_level(stack: Stack, segment: int, level: float) -> int:
    """Return how many more rows bring a segment to ``level`` times its target, or to what it is bought to where that is more."""
    least = stack.least[segment]
    left = 2.0 * max(level * stack.epsilon[segment], stack.goal[segment])
    if not left < math.inf:
        return least
    rows = rows_to_leave(
        stack.squares[segment], stack.variances[segment], stack.noise[segment], stack.size[segment], left
    )
    return max(min(math.ceil(rows * (1.0 - 1e-12)) - stack.kept[segment], stack.most[segment]), least)


@compiled()
def later_costs(stack: Stack, segment: int, level: float, each: FloatArray, scratch: FloatArray) -> float:
    """Return the mean price of a later period in which the level is kept: an order every g periods, with the best g.

    An order is given when the mean square of the error, spread evenly over coordinates, has reached what the level allows; ``each``
    and ``scratch`` have a place for every block.
    """
    left = 2.0 * max(level * stack.epsilon[segment], stack.goal[segment])
    if not left < math.inf:
        return 0.0
    size, grown = stack.size[segment], 0.0
    for block in range(len(each)):
        each[block] = left / size + stack.steps[segment, block]
        scratch[block] = stack.blocks[segment, block] * each[block]
        grown += stack.blocks[segment, block] * stack.steps[segment, block]
    best, most = math.inf, _GAPS if stack.fixed[segment] > 0.0 or stack.minimum[segment] > 0 else 1
    for gap in range(1, most + 1):
        after = left - (gap - 1) * grown
        if after <= 0.0:
            break
        rows = rows_to_leave(scratch, each, stack.noise[segment], size, after)
        if rows <= 0.0:
            return 0.0
        billed = max(rows, float(stack.minimum[segment]))
        best = min(best, (stack.fixed[segment] + stack.each[segment] * billed) / gap)
    return best


@compiled()
def at_level(stack: Stack, level: float, rows: IntArray, work: FloatArray, later: bool) -> tuple[float, float]:
    """Fill in the rows of all segments at a level, and return their price and that of a later period."""
    now, after = 0.0, 0.0
    for segment in range(len(rows)):
        rows[segment] = rows_at_level(stack, segment, level)
        now += more_costs(stack, segment, rows[segment])
        if later:
            after += later_costs(stack, segment, level, work[0], work[1])
    return now, after


@compiled()
def gap_after(stack: Stack, segment: int, rows: int) -> float:
    """Return the gap that more rows leave: the risk beyond what the segment is bought to."""
    if math.isinf(stack.goal[segment]):
        return 0.0
    left = left_after(
        stack.squares[segment],
        stack.variances[segment],
        stack.noise[segment],
        stack.size[segment],
        float(stack.kept[segment] + rows),
    )
    return max(0.5 * left - stack.goal[segment], 0.0)


@compiled()
def place_of_slope(squares: FloatArray, variances: FloatArray, noise: float, size: float, slope: float) -> float:
    """Return u where another row takes ``slope`` of the risk, by Newton's method in log u kept in a bracket; 0 where none does."""
    more, low, high = 1.0 + 1.0 / size, 0.0, math.inf
    first, second, mean = 0.0, 0.0, 0.0
    for i in range(len(squares)):
        first += squares[i] * variances[i]
        second += squares[i]
    if first <= 2.0 * slope * (noise + more * second):
        return 0.0
    mean = first / second
    u = 1.0 / mean
    for _ in range(_NEWTON):
        first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
        for i in range(len(squares)):
            share = 1.0 / (1.0 + u * variances[i])
            each = squares[i] * share * share
            first += each * variances[i]
            second += each
            third += each * variances[i] * variances[i] * share
            fourth += each * variances[i] * share
        whole = noise + more * second
        above = math.log(first / (2.0 * slope * whole))
        if above > 0.0:
            low = u
        else:
            high = u
        fall = 2.0 * u * (third / first - more * fourth / whole)
        step = math.inf
        if fall > 0.0:
            step = min(max(above / fall, -20.0), 20.0)
            if abs(step) <= 1e-12:
                return u
        after = u * math.exp(step)
        if not low < after < high:
            after = 4.0 * low if math.isinf(high) else (0.25 * high if low == 0.0 else low**0.5 * high**0.5)
        if abs(after - u) <= 1e-13 * u:
            return u
        u = after
    return u


@compiled()
def at_price(stack: Stack, weights: FloatArray, price: float, rows: IntArray, gaps: FloatArray) -> tuple[float, float]:
    """Fill in the rows that cost least at a price of money, gaps times weights included; return that least sum, and their price.

    Among the orders of a segment the cost is convex, so the best of them is where a row is worth its price, or the least one, the
    largest one, or that before it, since the last row may be worth less; no order is the other choice.
    """
    value, money = 0.0, 0.0
    for segment in range(len(rows)):
        weight, least = weights[segment], stack.least[segment]
        full = rows_at_level(stack, segment, 0.0)
        chosen, gap = least, gap_after(stack, segment, least)
        best = weight * gap + price * more_costs(stack, segment, least)
        if full > least:
            squares, variances = stack.squares[segment], stack.variances[segment]
            noise, size, kept = stack.noise[segment], stack.size[segment], stack.kept[segment]
            slope = price * stack.each[segment] / max(weight, 1e-300)
            u = place_of_slope(squares, variances, noise, size, slope)
            left = 0.0
            for i in range(len(squares)):
                left += squares[i] / (1.0 + u * variances[i])
            near = int(u * (noise + (1.0 + 1.0 / size) * left)) - kept
            billed = stack.minimum[segment] - stack.gathered[segment]
            for other in (near, near + 1, billed, full - 1, full, least + 1):
                tried = min(max(other, least + 1), full)
                gap_there = gap_after(stack, segment, tried)
                there = weight * gap_there + price * more_costs(stack, segment, tried)
                if there < best:
                    best, chosen, gap = there, tried, gap_there
        rows[segment], gaps[segment] = chosen, gap
        value += best
        money += more_costs(stack, segment, chosen)
    return value, money


@compiled()
def best_rows(stack: Stack, weights: FloatArray, limit: int, values: FloatArray, choices: IntArray) -> None:
    """Fill in the least weighted gap for every amount of money up to the limit, and the rows of each segment that give it.

    Dynamic programming, segment by segment: ``values`` is (2, limit + 1), ``choices`` (segments, limit + 1).
    """
    for segment in range(len(weights)):
        before, after = values[(segment + 1) % 2], values[segment % 2]
        least, full = stack.least[segment], rows_at_level(stack, segment, 0.0)
        for money in range(limit + 1):
            after[money] = math.inf
        for rows in range(least, max(full, least) + 1):
            price = round(more_costs(stack, segment, rows))
            if price > limit:
                break
            gap = weights[segment] * gap_after(stack, segment, rows)
            for money in range(price, limit + 1):
                value = gap + (before[money - price] if segment else 0.0)
                if value < after[money]:
                    after[money] = value
                    choices[segment, money] = rows
