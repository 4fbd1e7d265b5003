"""The dynamic programme over the distance where only money counts, as long as no gap, or no stretch of gaps, exceeds a level.

Nodes are a period n and a rung i of a ladder of distances, which are rounded down: every value is a lower bound on the money needed.
``runs`` False: no single gap may exceed the level. True: no stretch from one purchase to the next may have gaps that add up to more;
``before`` is then the least gap of a purchase that leads to a rung.
"""

import numpy as np

from driftpace.compiled import compiled


@compiled()
def offers(gap, ahead_rung, cheapest, weight, level, starts, rungs, values, actions):  # type: ignore[no-untyped-def]
    """List for each rung the purchases worth considering: a dearer one must lead to a lower rung. Returns how many in all."""
    size, counts = gap.shape
    at = 0
    for i in range(size):
        starts[i] = at
        last = -1
        for a in range(counts - 1, -1, -1):
            if weight * gap[i, a] > level:
                break  # fewer samples only make it larger
            if ahead_rung[i, a] != last:
                last = ahead_rung[i, a]
                at += 1
            rungs[at - 1] = last
            values[at - 1] = cheapest[a]
            actions[at - 1] = a
    starts[size] = at
    return at


@compiled()
def waiting(n, i, now, runs, level, weights, idle, later_rung, carried, buy):  # type: ignore[no-untyped-def]
    """Return the least money from a node where one may wait, and how long to wait; ``now`` is that of buying at once."""
    horizon = len(weights)
    best = now
    wait = 0
    total = carried
    for k in range(1, horizon - n + 1):
        each = weights[n + k - 1] * idle[i, k - 1]
        total += each
        if (total if runs else each) > level:
            break
        if n + k == horizon:
            return 0.0, k
        value = buy[n + k, later_rung[i, k]]
        if value < best:
            best = value
            wait = k
    return best, wait


@compiled()
def buying(i, starts, rungs, values, ahead):  # type: ignore[no-untyped-def]
    """Return the least money of buying on rung ``i`` and the offer that has it."""
    best = np.inf
    pick = -1
    least = ahead[0]
    for s in range(starts[i + 1] - 1, starts[i] - 1, -1):
        if values[s] + least >= best:
            break
        value = values[s] + ahead[rungs[s]]
        if value < best:
            best = value
            pick = s
    return best, pick


@compiled()
def backward(  # type: ignore[no-untyped-def]
    runs, level, classes, weights, starts, rungs, values, idle, later_rung, before, adjacent, sample, pending, free
):
    """Fill the least money from every node on: of buying now, of buying now with a duty to buy again, of being free to wait."""
    horizon, size = len(weights), idle.shape[0]
    free[horizon, :] = 0.0
    sample[horizon, :] = np.inf
    for n in range(horizon - 1, -1, -1):
        c = classes[n]
        for i in range(size):
            sample[n, i], _ = buying(i, starts[c], rungs, values, free[n + 1])
            if adjacent:
                pending[n, i], _ = buying(i, starts[c], rungs, values, sample[n + 1])
        buy = pending if adjacent else sample
        for i in range(size):
            carried = before[i] * weights[n - 1] if n > 0 else 0.0
            free[n, i], _ = waiting(n, i, sample[n, i], runs, level, weights, idle, later_rung, carried, buy)


@compiled()
def follow(  # type: ignore[no-untyped-def]
    first,
    runs,
    level,
    classes,
    weights,
    starts,
    rungs,
    values,
    actions,
    idle,
    later_rung,
    before,
    adjacent,
    duty,
    sample,
    pending,
    free,
    chosen,
):
    """Follow the least money from the first period; ``chosen`` gets the action of each period, -1 for none."""
    horizon = len(weights)
    n, i = 0, first
    chosen[:] = -1
    state = 0 if duty else 2  # 0: what is bought now needs a neighbour; 1: one must buy now; 2: one may do anything
    buy = pending if adjacent else sample
    while n < horizon:
        if state != 1:
            now = pending[n, i] if (adjacent and state == 0) else sample[n, i]
            carried = before[i] * weights[n - 1] if n > 0 else 0.0
            _, wait = waiting(n, i, now, runs, level, weights, idle, later_rung, carried, buy)
            if wait > 0:
                n += wait
                if n >= horizon:
                    break
                i = later_rung[i, wait]
                state = 0
        then = sample if (adjacent and state == 0) else free
        _, pick = buying(i, starts[classes[n]], rungs, values, then[n + 1])
        if pick < 0:
            return False
        chosen[n] = actions[pick]
        state = 1 if (adjacent and state == 0) else 2
        i = rungs[pick]
        n += 1
    return True
