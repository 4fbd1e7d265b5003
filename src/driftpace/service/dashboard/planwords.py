"""A plan in words first: whether it holds, what it costs, what to buy now and then."""

from driftpace.records import Plan
from driftpace.service.dashboard.formats import money, number, plural


def verdict(plan: Plan) -> str:
    """Return whether the money holds the target.

    >>> import driftpace
    >>> from driftpace.planning import LinearCost
    >>> cost = LinearCost(fixed=50, per_sample=2, currency="EUR")
    >>> verdict(driftpace.plan(noise=1.0, features=5, rho=0.1, cost=cost, epsilon=0.1, budget=1000, horizon=12))
    '1,000 EUR hold 0.1 in each of 12 periods, with 296 EUR to spare.'
    >>> verdict(driftpace.plan(noise=1.0, features=5, rho=0.1, cost=cost, epsilon=0.1, budget=400, horizon=12))
    '400 EUR do not hold 0.1: the risk is above it in 6 of 12 periods, by up to 0.109.'
    """
    target, periods = number(plan.epsilon), plural(plan.horizon, "period")
    if plan.holds:
        every = "in this period" if plan.horizon == 1 else f"in each of {periods}"
        spare = "to the last unit" if plan.left.amount == 0 else f"with {money(plan.left)} to spare"
        return f"{money(plan.budget)} hold {target} {every}, {spare}."
    over = [gap for gap in plan.gaps if gap > 0.0]
    return (
        f"{money(plan.budget)} do not hold {target}: the risk is above it in {len(over)} of {periods}, "
        f"by up to {number(max(over))}."
    )


def purchases(plan: Plan) -> str:
    """Return what to buy now and then.

    >>> import driftpace
    >>> purchases(driftpace.plan(noise=1.0, features=5, rho=0.0, epsilon=0.1, horizon=12))
    '31 rows now, then nothing.'
    """
    now, later = plan.samples[0], plan.samples[1:]
    first = f"{plural(now, 'row')} now" if now else "Nothing now"
    if not later:
        return f"{first}."
    if not any(later):
        return f"{first}, then nothing." if now else "Nothing in any period."
    place = next(place for place, samples in enumerate(later) if samples)
    if place > 0:
        period = plan.first_period + 1 + place
        rest = later[place:]
        tail = f", then {_range(rest)}" if sum(1 for one in rest if one) > 1 else f", {plural(rest[0], 'row')} then"
        return f"{first}, then nothing until period {period}{tail}."
    return f"{first}, then {_range(later)}."


def difference(plan: Plan, current: Plan) -> str | None:
    """Return how much more or less a plan spends than the one that stands; None where they cannot be compared."""
    if plan.budget.currency != current.budget.currency:
        return None
    a, b = plan.spent, current.spent
    over = "" if plan.horizon == current.horizon else f" (over {plan.horizon} periods instead of {current.horizon})"
    if a == b:
        return f"It spends {money(a)}, as the current plan does{over}."
    if a < b:
        return f"It spends {money(a)}, which is {money(b - a)} less than the current plan{over}."
    return f"It spends {money(a)}, which is {money(a - b)} more than the current plan{over}."


def _range(samples: tuple[int, ...]) -> str:
    bought = [one for one in samples if one]
    rows = f"{min(bought):,}" if min(bought) == max(bought) else f"{min(bought):,} to {max(bought):,}"
    if len(bought) == len(samples):
        return f"{rows} in each period" if len(samples) > 1 else f"{rows} in the next"
    return f"{rows} in {len(bought)} of {len(samples)} periods"
