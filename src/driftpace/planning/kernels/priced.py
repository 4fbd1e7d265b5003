"""The dynamic programme over the distance where money has a price: gaps and priced money are added up.

Nodes are a period n and a rung i of a ladder of squared distances z. The values on the rungs, joined by straight lines, stay below
the true value at every distance in between, because of three facts about one move as a function of z on one step of the ladder:

* the risk after a purchase, and the squared distance one or more periods later, are concave in z: they lie above their chords;
* a gap max(risk - epsilon, 0) with its corner inside the step has been lowered at both ends (``gap`` and ``idle`` are given so);
* the value of the next period is made of straight lines that may bend upwards at rungs. Where a move crosses rungs, the flattest line
  from the lower end counts: :func:`onward`.

The least over moves of functions that lie above lines lies above the lines through the least ends. With ``smooth`` False a ladder's
step has the value of its lower end: that needs nothing but monotony.
"""

import numpy as np

from driftpace.compiled import compiled

CHUNK = 32


@compiled()
def between(values, rungs, smooth, y, at):  # type: ignore[no-untyped-def]
    """Return the value at ``y`` on or above rung ``at``: on the line to the next rung, or that of the rung itself."""
    if not smooth or at == len(rungs) - 1:
        return values[at]
    return values[at] + (values[at + 1] - values[at]) * (y - rungs[at]) / (rungs[at + 1] - rungs[at])


@compiled()
def onward(values, rungs, smooth, y, at, below, at_below):  # type: ignore[no-untyped-def]
    """Return a value at ``y`` on rung ``at`` so that the line from the value at ``below`` to it stays under the curve."""
    value = between(values, rungs, smooth, y, at)
    if smooth and at_below < at:
        low = between(values, rungs, smooth, below, at_below)
        for j in range(at_below + 1, at + 1):
            run = rungs[j] - below
            if run > 0.0:
                value = min(value, low + (values[j] - low) * (y - below) / run)
    return value


@compiled()
def buying(values, rungs, smooth, i, price, weight, cheapest, gap, least_gap, ahead, ahead_rung, hint):  # type: ignore[no-untyped-def]
    """Return the least value of buying on rung ``i`` and the action that has it; whole chunks that cannot be better are skipped."""
    counts = len(cheapest)
    chunks = (counts + CHUNK - 1) // CHUNK
    below = max(i - 1, 0)
    best = np.inf
    pick = -1
    for step in range(chunks):  # the hint first, so that most others can be skipped
        c = hint if step == 0 else (step - 1 if step <= hint else step)
        first, last = c * CHUNK, min((c + 1) * CHUNK, counts) - 1
        floor = between(values, rungs, smooth, ahead[below, last], ahead_rung[below, last])
        if price * cheapest[first] + weight * least_gap[i, c] + floor >= best:
            continue
        for a in range(first, last + 1):
            now = price * cheapest[a] + weight * gap[i, a]
            if now + floor >= best:
                continue
            value = now + onward(
                values, rungs, smooth, ahead[i, a], ahead_rung[i, a], ahead[below, a], ahead_rung[below, a]
            )
            if value < best:
                best = value
                pick = a
    return best, pick


@compiled()
def waiting(n, i, now, weights, rungs, smooth, idle, later, later_rung, buy):  # type: ignore[no-untyped-def]
    """Return the least value from a node where one may wait, and how long to wait; ``now`` is that of buying at once."""
    horizon = len(weights)
    below = max(i - 1, 0)
    best = now
    wait = 0
    total = 0.0
    for k in range(1, horizon - n + 1):
        total += weights[n + k - 1] * idle[i, k - 1]
        if total >= best and total > 0.0:
            break
        if n + k == horizon:
            if total < best:
                best = total
                wait = k
            break
        value = total + onward(
            buy[n + k], rungs, smooth, later[i, k], later_rung[i, k], later[below, k], later_rung[below, k]
        )
        if value < best:
            best = value
            wait = k
    return best, wait


@compiled()
def backward(  # type: ignore[no-untyped-def]
    price,
    weights,
    rungs,
    smooth,
    cheapest,
    gap,
    least_gap,
    ahead,
    ahead_rung,
    idle,
    later,
    later_rung,
    adjacent,
    sample,
    pending,
    free,
    then_sample,
    then_free,
    hints,
):
    """Fill the least value from every node on: of buying now, of buying now with a duty to buy again, of being free to wait.

    ``then_sample`` and ``then_free`` are the values after a purchase: the same arrays, or those with one order fewer to come.
    """
    horizon, size = len(weights), len(rungs)
    free[horizon, :] = 0.0
    sample[horizon, :] = np.inf
    for n in range(horizon - 1, -1, -1):
        for i in range(size):
            best, pick = buying(
                then_free[n + 1],
                rungs,
                smooth,
                i,
                price,
                weights[n],
                cheapest,
                gap,
                least_gap,
                ahead,
                ahead_rung,
                hints[i],
            )
            sample[n, i] = best
            if pick >= 0:
                hints[i] = pick // CHUNK
            if adjacent:
                if n + 1 < horizon:
                    pending[n, i], _ = buying(
                        then_sample[n + 1],
                        rungs,
                        smooth,
                        i,
                        price,
                        weights[n],
                        cheapest,
                        gap,
                        least_gap,
                        ahead,
                        ahead_rung,
                        hints[i],
                    )
                else:
                    pending[n, i] = np.inf
        buy = pending if adjacent else sample
        for i in range(size):
            free[n, i], _ = waiting(n, i, sample[n, i], weights, rungs, smooth, idle, later, later_rung, buy)


@compiled()
def follow(  # type: ignore[no-untyped-def]
    first,
    price,
    weights,
    rungs,
    smooth,
    cheapest,
    gap,
    least_gap,
    ahead,
    ahead_rung,
    idle,
    later,
    later_rung,
    adjacent,
    duty,
    sample,
    pending,
    free,
    chosen,
):
    """Follow the least values from the first period, on the rungs below; ``chosen`` gets the action of each period, -1 for none."""
    horizon = len(weights)
    n, i = 0, first
    chosen[:] = -1
    state = 0 if duty else 2  # 0: what is bought now needs a neighbour; 1: one must buy now; 2: one may do anything
    buy = pending if adjacent else sample
    while n < horizon:
        if state != 1:
            now = pending[n, i] if (adjacent and state == 0) else sample[n, i]
            _, wait = waiting(n, i, now, weights, rungs, smooth, idle, later, later_rung, buy)
            if wait > 0:
                n += wait
                if n >= horizon:
                    break
                i = nearest(rungs, later[i, wait], later_rung[i, wait])
                state = 0
        then = sample if (adjacent and state == 0) else free
        _, pick = buying(
            then[n + 1], rungs, smooth, i, price, weights[n], cheapest, gap, least_gap, ahead, ahead_rung, 0
        )
        if pick < 0:
            return False
        chosen[n] = pick
        state = 1 if (adjacent and state == 0) else 2
        i = nearest(rungs, ahead[i, pick], ahead_rung[i, pick])
        n += 1
    return True


@compiled()
def nearest(rungs, y, at):  # type: ignore[no-untyped-def]
    """Return the rung nearest to ``y``, which lies on rung ``at`` or between it and the next."""
    if at + 1 < len(rungs) and rungs[at + 1] - y < y - rungs[at]:
        return at + 1
    return at
