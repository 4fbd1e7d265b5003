"""What-if: another target, budget, price or horizon, planned at once and put beside the plan that stands."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any

from driftpace.campaign import Campaign
from driftpace.campaign.definition import make_cost
from driftpace.campaign.records import Order
from driftpace.errors import DriftpaceError, ParameterError, TooEarlyError
from driftpace.records import Plan
from driftpace.service.dashboard import planwords
from driftpace.service.dashboard.bought import compared
from driftpace.service.dashboard.fields import USUAL_HORIZON
from driftpace.service.dashboard.figures import Figure
from driftpace.service.dashboard.formats import cents, numeral, plural
from driftpace.service.planning import plan_within

FIELDS = ("epsilon", "budget", "fixed", "per_sample", "horizon")
LONGEST = 40
"""Characters of a number; and no number is further than so many powers of ten from 1, for it would take for ever to write out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What came of it, in words first: a headline, more sentences, and the figure where there is a plan.

    ``tone`` is "good" where the target is held, "warn" where it is not, "wait" where it is too early to plan, "bad" where the
    values cannot be planned with.
    """

    tone: str
    headline: str
    more: tuple[str, ...] = ()
    figure: Figure | None = None


def defaults(campaign: Campaign) -> dict[str, str]:
    """Return what the form starts from: the campaign's own target, the money and the periods that are left, its prices.

    Where a row costs what its tier says, there is no one price of a row, and its field starts empty.
    """
    status, budget = campaign.status(), campaign.definition.budget
    epsilon = status.order.request.epsilon if status.order else status.last.epsilon if status.last else None
    if epsilon is None or epsilon != epsilon:
        epsilon = campaign.definition.epsilon
    found = {
        "epsilon": "" if epsilon is None else f"{epsilon:.6g}",
        "budget": "",
        "fixed": "0",
        "per_sample": "1",
        "horizon": str(USUAL_HORIZON),
    }
    if budget is not None:
        left = status.to_plan
        found |= {
            "budget": "" if left is None else numeral(left.amount),
            "fixed": numeral(budget.get("fixed", 0)),
            "per_sample": "" if "tiers" in budget else numeral(budget.get("per_sample", 1)),
            "horizon": str(max(1, int(budget["horizon"]) - status.period + 1)),
        }
    return found


def outcome(campaign: Campaign, given: Mapping[str, str], *, longest: int) -> Outcome:
    """Return what another plan would be; whatever was given, the answer is a sentence."""
    try:
        wanted = _wanted(campaign, given, longest=longest)
        new = plan_within(campaign, longest, **wanted)
    except TooEarlyError as error:
        return Outcome(tone="wait", headline=f"It is too early to plan: {error.why}.")
    except DriftpaceError as error:
        return Outcome(tone="bad", headline=plainly(str(error)))
    order = campaign.status().order
    current = standing(campaign, order)
    more = [planwords.purchases(new)]
    said = None if current is None else planwords.difference(new, current)
    more += [said] if said else []
    more += [] if order is None else beside(order, new)
    reason = cents(new.reason, new.budget.currency)
    more.append(f"{reason[0].upper()}{reason[1:].rstrip('.')}.")
    return Outcome(
        tone="good" if new.holds else "warn",
        headline=planwords.verdict(new),
        more=tuple(more),
        figure=compared(new, current),
    )


def standing(campaign: Campaign, order: Order | None) -> Plan | None:
    """Return the plan that the open order goes by; where a person decided otherwise, it begins with their number."""
    plan = None if order is None else order.request.plan
    budget = campaign.definition.make_budget()
    if order is None or plan is None or budget is None or order.overridden is None:
        return plan
    return replace(
        plan,
        samples=(order.samples, *plan.samples[1:]),
        costs=(budget.price(order.samples), *plan.costs[1:]),
    )


def beside(order: Order, new: Plan) -> list[str]:
    """Return what the open order and a plan have to do with each other, where their first numbers differ."""
    rows = plural(order.samples, "row")
    if order.overridden is not None:
        return [f"The order of this period is overridden: {rows}."]
    plan = order.request.plan
    if plan is not None and order.samples < plan.samples[0]:
        period = f"of {plural(plan.samples[0], 'row')} that its plan has for this period"
        return [f"The order is {rows} so far, {period}: they may show that fewer are enough."]
    if plan is None and order.samples != new.samples[0]:
        alone = "it looks at this period alone, and may ask for more when they have come"
        return [
            f"The order is {rows}: {alone}; the plan looks at {plural(new.horizon, 'period')} and waits for nothing."
        ]
    return []


def plainly(sentence: str) -> str:
    """Return a refusal without the name of the function that made it.

    >>> plainly("plan(epsilon=...) must be a target that samples can reach; got 0.0001.")
    'The target must be a target that samples can reach; got 0.0001.'
    """
    names = {
        "plan(epsilon=...)": "The target",
        "plan(budget=...)": "The budget",
        "plan(horizon=...)": "The number of periods",
        "LinearCost(fixed=...)": "The price of an order",
        "LinearCost(per_sample=...)": "The price of a row",
    }
    for name, words in names.items():
        if sentence.startswith(name):
            return words + sentence[len(name) :]
    return sentence[:1].upper() + sentence[1:]


def _wanted(campaign: Campaign, given: Mapping[str, str], *, longest: int) -> dict[str, Any]:
    values = {name: given.get(name, "").strip() for name in FIELDS}
    wanted: dict[str, Any] = {}
    if values["epsilon"]:
        wanted["epsilon"] = float(_number("epsilon", values["epsilon"]))
    if values["horizon"]:
        horizon = _number("horizon", values["horizon"])
        if not 1 <= horizon <= longest or horizon != int(horizon):
            raise ParameterError(
                f"must be a whole number from 1 to {longest}; got {values['horizon']}.",
                owner="plan",
                name="horizon",
            )
        wanted["horizon"] = int(horizon)
    if values["budget"]:
        wanted["budget"] = str(_number("budget", values["budget"]))
    if not wanted.get("horizon") and not wanted.get("budget"):
        wanted["horizon"] = USUAL_HORIZON
    prices = dict(campaign.definition.budget or {})
    usual = defaults(campaign)
    changed = {
        name: str(_number(name, values[name]))
        for name in ("fixed", "per_sample")
        if values[name] and (not usual[name] or _number(name, values[name]) != Decimal(usual[name]))
    }
    if changed.get("per_sample") is not None:
        prices.pop("tiers", None)
    wanted["cost"] = make_cost(prices | changed)
    return wanted


def _number(name: str, text: str) -> Decimal:
    """Return a number that somebody typed, or refuse it; whatever was typed, that takes no time worth mentioning."""
    try:
        value = Decimal(text.replace(" ", "")) if len(text) <= LONGEST else Decimal("NaN")
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or abs(value.adjusted()) > LONGEST:
        owner = "LinearCost" if name in ("fixed", "per_sample") else "plan"
        raise ParameterError(f"must be a number; got {text[:LONGEST]!r}.", owner=owner, name=name)
    return value
