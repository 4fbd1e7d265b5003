"""Plans one by one: what a plan promises, what a field makes of its true distances, and what a small change of it does.

A plan is an entry of the menu for each period, -1 for none. Risks are read off a table over rungs of squared distances, along
straight lines, which is exact for risks that are affine in the squared distance.
"""

import math

import numpy as np

from driftpace.compiled import compiled
from driftpace.planning.kernels.priced import between

MEAN, LARGEST, RUN = 0, 1, 2
TIE = 1e-9


@compiled()
def rung_below(rungs, z):  # type: ignore[no-untyped-def]
    """Return the last rung at or below z."""
    low, high = 0, len(rungs) - 1
    if z >= rungs[high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if rungs[middle] <= z:
            low = middle
        else:
            high = middle
    return low


@compiled()
def share(rungs, z, i):  # type: ignore[no-untyped-def]
    """Return how far z lies from rung i to the next."""
    if i + 1 >= len(rungs):
        return 0.0
    return (z - rungs[i]) / (rungs[i + 1] - rungs[i])


@compiled()
def moved(z, rho, walk, widest):  # type: ignore[no-untyped-def]
    """Return the squared distance one period later."""
    if walk:
        return min(z + rho * rho, widest)
    root = math.sqrt(z) + rho
    return min(root * root, widest)


@compiled()
def after(world, rungs, risk, ahead, z, a):  # type: ignore[no-untyped-def]
    """Return the risk, and the squared distance of the next period, when entry ``a`` (-1: none) is bought at z.

    ``world`` is rho, whether steps walk, the widest squared distance, and root of reach = root sqrt(risk) (nan where it is not so).
    The last column of ``risk`` is that of buying none.
    """
    i = rung_below(rungs, z)
    t = share(rungs, z, i)
    up = min(i + 1, len(rungs) - 1)
    value = risk[i, a] + t * (risk[up, a] - risk[i, a])
    if a < 0:
        return value, moved(z, world[0], world[1] > 0.0, world[2])
    if math.isnan(world[3]):
        return value, ahead[i, a] + t * (ahead[up, a] - ahead[i, a])
    return value, moved(world[3] * world[3] * value, world[0], world[1] > 0.0, world[2])


@compiled()
def gap_of(value, epsilon):  # type: ignore[no-untyped-def]
    """Return the gap of a risk; one that is rounding only is none."""
    return value - epsilon if value - epsilon > 1e-12 * epsilon else 0.0


@compiled()
def trace(world, rungs, risk, ahead, start, epsilon, plan, squares, gaps):  # type: ignore[no-untyped-def]
    """Fill the squared distances and the gaps of a plan."""
    z = start
    for n in range(len(plan)):
        squares[n] = z
        value, z = after(world, rungs, risk, ahead, z, plan[n])
        gaps[n] = gap_of(value, epsilon)
    squares[len(plan)] = z


@compiled()
def amount(goal, weights, gaps):  # type: ignore[no-untyped-def]
    """Return the goal's value of gaps: their weighted sum, the largest, or the largest sum of a run that never falls."""
    total = 0.0
    if goal == MEAN:
        for n in range(len(gaps)):
            total += weights[n] * gaps[n]
        return total
    run = 0.0
    last = 0.0
    for n in range(len(gaps)):
        each = weights[n] * gaps[n]
        run = each if goal == LARGEST or gaps[n] < last * (1.0 - TIE) else run + each
        last = gaps[n]
        total = max(total, run)
    return total


@compiled()
def changed(world, rungs, risk, ahead, epsilon, goal, weights, plan, first, squares, gaps, value, last_changed):  # type: ignore[no-untyped-def]
    """Return the value of a plan that differs from the one traced from ``first`` to ``last_changed`` only.

    For the mean only what differs is walked through.
    """
    horizon = len(plan)
    z = squares[first]
    if goal == MEAN:
        total = value
        n = first
        while n < horizon:
            risk_now, z = after(world, rungs, risk, ahead, z, plan[n])
            total += weights[n] * (gap_of(risk_now, epsilon) - gaps[n])
            n += 1
            if n > last_changed and abs(z - squares[n]) <= 1e-13 * z:
                break
        return total
    total, run, last = 0.0, 0.0, 0.0
    for n in range(horizon):
        if n < first:
            gap = gaps[n]
        else:
            risk_now, z = after(world, rungs, risk, ahead, z, plan[n])
            gap = gap_of(risk_now, epsilon)
        each = weights[n] * gap
        run = each if goal == LARGEST or gap < last * (1.0 - TIE) else run + each
        last = gap
        total = max(total, run)
    return total


@compiled()
def lawful(plan, adjacent, bought_before):  # type: ignore[no-untyped-def]
    """Whether every purchase has a neighbour, where that is asked for."""
    if not adjacent:
        return True
    horizon = len(plan)
    for n in range(horizon):
        if plan[n] >= 0:
            left = plan[n - 1] >= 0 if n > 0 else bought_before
            right = n + 1 < horizon and plan[n + 1] >= 0
            if not (left or right):
                return False
    return True


@compiled()
def rollout(  # type: ignore[no-untyped-def]
    world,
    rungs,
    risk,
    ahead,
    start,
    epsilon,
    weights,
    price,
    prices,
    adjacent,
    duty,
    sample,
    pending,
    free,
    smooth,
    plan,
):
    """Follow a priced field along true distances: at each period the action with the least gap + priced money + value after it."""
    horizon = len(weights)
    counts = len(prices)
    z = start
    state = 0 if (adjacent and duty) else 2
    for n in range(horizon):
        best = np.inf
        pick = -1
        if state != 1:
            value, y = after(world, rungs, risk, ahead, z, -1)
            best = weights[n] * gap_of(value, epsilon) + idle_value(
                world, rungs, risk, epsilon, weights, smooth, pending if adjacent else sample, n + 1, y
            )
        then = sample if (adjacent and state == 0) else free
        i = rung_below(rungs, z)
        t = share(rungs, z, i)
        up = min(i + 1, len(rungs) - 1)
        for a in range(counts):
            money = price * prices[a]
            if money >= best:
                break
            value = risk[i, a] + t * (risk[up, a] - risk[i, a])
            if math.isnan(world[3]):
                y = ahead[i, a] + t * (ahead[up, a] - ahead[i, a])
            else:
                y = moved(world[3] * world[3] * value, world[0], world[1] > 0.0, world[2])
            total = money + weights[n] * gap_of(value, epsilon)
            if total >= best:
                continue
            j = rung_below(rungs, y)
            total += between(then[n + 1], rungs, smooth, y, j)
            if total < best:
                best = total
                pick = a
        plan[n] = pick
        _, z = after(world, rungs, risk, ahead, z, pick)
        if pick >= 0:
            state = 1 if (adjacent and state == 0) else 2
        else:
            state = 0 if adjacent else 2


@compiled()
def rollout_counted(  # type: ignore[no-untyped-def]
    world, rungs, risk, ahead, start, epsilon, weights, price, above, orders, buy, free, smooth, plan
):
    """Follow fields with 0, 1, ... ``orders`` purchases to come along true distances (without the duty of a neighbour)."""
    horizon, counts = len(weights), len(above)
    z = start
    for n in range(horizon):
        value, y = after(world, rungs, risk, ahead, z, -1)
        best = weights[n] * gap_of(value, epsilon)
        if n + 1 < horizon:
            best += (
                idle_value(world, rungs, risk, epsilon, weights, smooth, buy[orders], n + 1, y)
                if orders > 0
                else between(free[0, n + 1], rungs, smooth, y, rung_below(rungs, y))
            )
        pick = -1
        if orders > 0:
            i = rung_below(rungs, z)
            t = share(rungs, z, i)
            up = min(i + 1, len(rungs) - 1)
            for a in range(counts):
                money = price * above[a]
                if money >= best:
                    break
                value = risk[i, a] + t * (risk[up, a] - risk[i, a])
                total = money + weights[n] * gap_of(value, epsilon)
                if total >= best:
                    continue
                _, y = after(world, rungs, risk, ahead, z, a)
                total += between(free[orders - 1, n + 1], rungs, smooth, y, rung_below(rungs, y))
                if total < best:
                    best = total
                    pick = a
        plan[n] = pick
        _, z = after(world, rungs, risk, ahead, z, pick)
        if pick >= 0:
            orders -= 1


@compiled()
def idle_value(world, rungs, risk, epsilon, weights, smooth, buy, n, z):  # type: ignore[no-untyped-def]
    """Return the least value from period n at squared distance z when the period before was waited through."""
    horizon = len(weights)
    if n == horizon:
        return 0.0
    best = np.inf
    total = 0.0
    while True:
        i = rung_below(rungs, z)
        best = min(best, total + between(buy[n], rungs, smooth, z, i))
        up = min(i + 1, len(rungs) - 1)
        total += weights[n] * gap_of(risk[i, -1] + share(rungs, z, i) * (risk[up, -1] - risk[i, -1]), epsilon)
        n += 1
        if n == horizon:
            return min(best, total)
        if total >= best:
            return best
        z = moved(z, world[0], world[1] > 0.0, world[2])


@compiled()
def spliced(world, rungs, risk, ahead, start, epsilon, goal, weights, prices, budget, left, right, adjacent, before):  # type: ignore[no-untyped-def]
    """Return the best plan within the budget that follows ``left`` up to some period and ``right`` from there on."""
    horizon = len(left)
    plan = right.copy()
    best = np.inf
    at = -1
    squares, gaps = np.empty(horizon + 1), np.empty(horizon)
    total = 0.0
    for n in range(horizon):
        total += prices[right[n]] if right[n] >= 0 else 0.0
    for cut in range(horizon + 1):
        if cut > 0:
            plan[cut - 1] = left[cut - 1]
            total += prices[left[cut - 1]] if left[cut - 1] >= 0 else 0.0
            total -= prices[right[cut - 1]] if right[cut - 1] >= 0 else 0.0
        if total > budget or not lawful(plan, adjacent, before):
            continue
        trace(world, rungs, risk, ahead, start, epsilon, plan, squares, gaps)
        value = amount(goal, weights, gaps)
        if value < best:
            best = value
            at = cut
    plan[:] = right
    if at > 0:
        plan[:at] = left[:at]
    return best, plan


@compiled()
def falling(world, rungs, risk, ahead, start, epsilon, prices, level, length, plan):  # type: ignore[no-untyped-def]
    """Buy in every period as little as makes the gap fall, and every ``length`` periods as little as holds the level; return the cost."""
    counts = len(prices)
    z = start
    last = level
    cost = 0.0
    for n in range(len(plan)):
        limit = level if n % length == 0 else last * (1.0 - 4.0 * TIE)
        low, high = -1, counts - 1
        while high - low > 1:
            middle = (low + high) // 2
            value, _ = after(world, rungs, risk, ahead, z, middle)
            if gap_of(value, epsilon) <= limit:
                high = middle
            else:
                low = middle
        plan[n] = high
        cost += prices[high]
        value, z = after(world, rungs, risk, ahead, z, high)
        last = gap_of(value, epsilon)
    return cost


@compiled()
def improved(  # type: ignore[no-untyped-def]
    world,
    rungs,
    risk,
    ahead,
    start,
    epsilon,
    goal,
    weights,
    prices,
    budget,
    adjacent,
    before,
    plan,
    rounds,
    enough,
    reach,
):
    """Change a plan within the budget, one or two periods at a time, while that helps; return its value.

    Every single change is measured: more or fewer samples, none, the neighbour's place. Changes that cost are paid by what is left,
    or by changes that free money. ``plan`` is changed in place; it stops when its value is at most ``enough``.
    """
    horizon, counts = len(plan), len(prices)
    squares, gaps = np.empty(horizon + 1), np.empty(horizon)
    most = horizon * 20
    where, what, kind = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    rise, bill = np.empty(most), np.empty(most)
    value = np.inf
    for _ in range(rounds):
        trace(world, rungs, risk, ahead, start, epsilon, plan, squares, gaps)
        value = amount(goal, weights, gaps)
        if value <= enough:
            break
        spent = 0.0
        for n in range(horizon):
            if plan[n] >= 0:
                spent += prices[plan[n]]
        spare = budget - spent
        size = 0
        for n in range(horizon):
            old = plan[n]
            for option in range(18):
                new = old
                if option < 14:
                    step = (option // 2 + 1) if option < 6 else (1 + old // (60 >> ((option - 6) // 2)))
                    new = old + step if option % 2 == 0 else old - step
                    if old < 0:
                        new = option * (counts - 1) // 40 if option > 0 else 0
                elif option == 14:
                    new = -1
                elif option == 15:
                    new = plan[n - 1] if n > 0 else old
                elif option == 16:
                    new = plan[n + 1] if n + 1 < horizon else old
                if new == old or new >= counts or new < -1:
                    if option != 17:
                        continue
                if option == 17:  # the purchase moves to the next period, or to the one before where that is free
                    if old < 0 or n + 1 >= horizon or plan[n + 1] >= 0:
                        continue
                    plan[n] = -1
                    plan[n + 1] = old
                    money = 0.0
                    last = n + 1
                else:
                    plan[n] = new
                    money = (prices[new] if new >= 0 else 0.0) - (prices[old] if old >= 0 else 0.0)
                    last = n
                if lawful(plan, adjacent, before):
                    worth = changed(
                        world, rungs, risk, ahead, epsilon, goal, weights, plan, n, squares, gaps, value, last
                    )
                    where[size], what[size], kind[size] = n, new, 1 if option == 17 else 0
                    rise[size], bill[size] = worth - value, money
                    size += 1
                plan[n] = old
                if option == 17:
                    plan[n + 1] = -1
        order = np.argsort(bill[:size])
        least = np.inf
        pair_first, pair_second = -1, -1
        # a seller frees -bill, a buyer needs bill - spare: for each buyer the cheapest seller (least rise) that frees enough
        best_seller = np.empty(size, np.int64)
        keep = -1
        for at in range(size):
            s = order[at]
            if keep < 0 or rise[s] < rise[keep]:
                keep = s
            best_seller[at] = keep
        freed = bill[order]
        tries = 0
        gains = np.full(size, np.inf)
        partner = np.full(size, -1)
        for b in range(size):
            if rise[b] >= 0.0:
                continue
            if bill[b] <= spare:
                gains[b] = rise[b]
            limit = spare - bill[b]
            at = np.searchsorted(freed, limit, side="right") - 1
            if at >= 0:
                s = best_seller[at]
                if where[s] != where[b] and rise[s] + rise[b] < gains[b]:
                    gains[b] = rise[s] + rise[b]
                    partner[b] = s
        ranking = np.argsort(gains)
        done = False
        for r in range(min(size, reach)):
            b = ranking[r]
            if not gains[b] < 0.0:
                break
            saved = plan.copy()
            apply(plan, where[b], what[b], kind[b])
            if partner[b] >= 0:
                s = partner[b]
                if abs(where[s] - where[b]) < 2 and (kind[s] or kind[b]):
                    plan[:] = saved
                    continue
                apply(plan, where[s], what[s], kind[s])
            cost = 0.0
            for n in range(horizon):
                if plan[n] >= 0:
                    cost += prices[plan[n]]
            if cost <= budget and lawful(plan, adjacent, before):
                trace(world, rungs, risk, ahead, start, epsilon, plan, squares, gaps)
                now = amount(goal, weights, gaps)
                if now < value * (1.0 - 1e-12):
                    value = now
                    done = True
                    if r > 8:
                        break
                    continue
            plan[:] = saved
        if not done:
            break
    return value


@compiled()
def apply(plan, n, new, kind):  # type: ignore[no-untyped-def]
    """Make one change of a plan."""
    if kind:
        plan[n + 1] = plan[n]
        plan[n] = -1
    else:
        plan[n] = new
