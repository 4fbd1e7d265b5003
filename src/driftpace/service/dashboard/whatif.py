"""What-if: another target, budget, price or horizon, planned at once and put beside the plan that stands."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from driftpace.campaign import Campaign
from driftpace.campaign.definition import make_cost
from driftpace.errors import DriftpaceError, ParameterError, TooEarlyError
from driftpace.records import Plan
from driftpace.service.dashboard import planwords
from driftpace.service.dashboard.bought import compared
from driftpace.service.dashboard.figures import Figure
from driftpace.service.planning import plan_within

FIELDS = ("epsilon", "budget", "fixed", "per_sample", "horizon")
USUAL_HORIZON = 12


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
    """Return what the form starts from: the campaign's own target, the money and the periods that are left, its prices."""
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
            "budget": "" if left is None else format(left.amount, "f"),
            "fixed": str(budget.get("fixed", 0)),
            "per_sample": str(budget.get("per_sample", 1)),
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
    current = standing(campaign)
    more = [planwords.purchases(new)]
    said = None if current is None else planwords.difference(new, current)
    more += [said] if said else []
    more.append(f"{new.reason[0].upper()}{new.reason[1:].rstrip('.')}.")
    return Outcome(
        tone="good" if new.holds else "warn",
        headline=planwords.verdict(new),
        more=tuple(more),
        figure=compared(new, current),
    )


def standing(campaign: Campaign) -> Plan | None:
    """Return the plan that the open order goes by."""
    order = campaign.status().order
    return None if order is None else order.request.plan


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
        if horizon != int(horizon) or not 1 <= horizon <= longest:
            raise ParameterError(
                f"plan(horizon=...) must be a whole number from 1 to {longest}; got {values['horizon']}."
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
        if values[name] and values[name] != usual[name]
    }
    if changed.get("per_sample") is not None:
        prices.pop("tiers", None)
    wanted["cost"] = make_cost(prices | changed)
    return wanted


def _number(name: str, text: str) -> Decimal:
    try:
        value = Decimal(text.replace(" ", ""))
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or len(text) > 40:
        owner = "LinearCost" if name in ("fixed", "per_sample") else "plan"
        raise ParameterError(f"{owner}({name}=...) must be a number; got {text[:40]!r}.")
    return value
