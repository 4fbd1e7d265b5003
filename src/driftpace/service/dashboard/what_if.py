"""The what-if form: its fields, and the plan for other values beside the current plan."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any

from driftpace.campaign import Campaign
from driftpace.campaign.definition import Definition, make_cost
from driftpace.campaign.records import Order
from driftpace.errors import DriftpaceError, ParameterError, TooEarlyError
from driftpace.records import Plan
from driftpace.service.dashboard.charts import PageFigure
from driftpace.service.dashboard.figures import plan_figure
from driftpace.service.limits import plan_within
from driftpace.service.templating import cents, money, number, numeral, plural, tier_text

DEFAULT_HORIZON = 12
"""Periods to plan where neither a horizon nor a budget is given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FormField:
    """A number of the form; ``slider`` is its scale: "times" (a fifth to five times the default), "even", or none."""

    name: str
    label: str
    hint: str
    unit: str = ""
    least: str = "0"
    most: str = ""
    step: str = "any"
    slider: str = ""


def fields(definition: Definition, *, max_horizon: int) -> tuple[FormField, ...]:
    """Return the fields for a campaign.

    >>> [field.unit for field in fields(Definition.of({"name": "a", "target": "y", "epsilon": 0.1}), max_horizon=520)]
    ['', '', '', '', 'periods']
    """
    currency = str((definition.budget or {}).get("currency", ""))
    tiers = (definition.budget or {}).get("tiers")
    return (
        FormField(
            name="epsilon",
            label="Target",
            hint="accepted excess loss over the best model",
            slider="times",
        ),
        FormField(
            name="budget",
            label="Budget",
            hint="from this period on; empty: unlimited",
            unit=currency,
            slider="times",
        ),
        FormField(name="fixed", label="Price per order", hint="for each period with an order", unit=currency),
        FormField(
            name="per_sample",
            label="Price per row",
            hint=f"empty: {tier_text(tiers)}" if tiers else "for each label",
            unit=currency,
        ),
        FormField(
            name="horizon",
            label="Horizon",
            hint=f"periods to plan; empty: until the budget is spent, or {DEFAULT_HORIZON} without a budget",
            unit="periods",
            least="1",
            most=str(max_horizon),
            step="1",
            slider="even",
        ),
    )


def verdict_text(plan: Plan) -> str:
    """Return whether a plan meets the target within its budget.

    >>> import driftpace
    >>> from driftpace.planning import LinearCost
    >>> cost = LinearCost(fixed=50, per_sample=2, currency="EUR")
    >>> verdict_text(driftpace.plan(noise=1.0, features=5, rho=0.1, cost=cost, epsilon=0.1, budget=1000, horizon=12))
    'A budget of 1,000 EUR meets the target 0.1 in each of 12 periods, with 296 EUR to spare.'
    >>> verdict_text(driftpace.plan(noise=1.0, features=5, rho=0.1, cost=cost, epsilon=0.1, budget=400, horizon=12))
    'A budget of 400 EUR does not meet the target 0.1: the expected excess loss is above it in 6 of 12 periods, by up to 0.109.'
    """
    target, periods = number(plan.epsilon), plural(plan.horizon, "period")
    if plan.holds:
        every = "in this period" if plan.horizon == 1 else f"in each of {periods}"
        spare = "with nothing to spare" if plan.left.amount == 0 else f"with {money(plan.left)} to spare"
        return f"A budget of {money(plan.budget)} meets the target {target} {every}, {spare}."
    over = [gap for gap in plan.gaps if gap > 0.0]
    return (
        f"A budget of {money(plan.budget)} does not meet the target {target}: "
        f"the expected excess loss is above it in {len(over)} of {periods}, "
        f"by up to {number(max(over))}."
    )


def purchases_text(plan: Plan) -> str:
    """Return the rows to buy now and later.

    >>> import driftpace
    >>> purchases_text(driftpace.plan(noise=1.0, features=5, rho=0.0, epsilon=0.1, horizon=12))
    '31 rows now, then nothing.'
    """
    now, later = plan.samples[0], plan.samples[1:]
    first = f"{plural(now, 'row')} now" if now else "Nothing now"
    if not later:
        return f"{first}."
    if not any(later):
        return f"{first}, then nothing." if now else "Nothing in any period."
    offset = next(place for place, samples in enumerate(later) if samples)
    if offset > 0:
        period = plan.first_period + 1 + offset
        rest = later[offset:]
        tail = (
            f", then {_range(rest)}"
            if sum(1 for samples in rest if samples) > 1
            else f", {plural(rest[0], 'row')} then"
        )
        return f"{first}, then nothing until period {period}{tail}."
    return f"{first}, then {_range(later)}."


def difference_text(plan: Plan, current: Plan) -> str | None:
    """Return how much more or less a plan spends than the current one; None if their currencies differ."""
    if plan.budget.currency != current.budget.currency:
        return None
    new, old = plan.spent, current.spent
    over = "" if plan.horizon == current.horizon else f" (over {plan.horizon} periods instead of {current.horizon})"
    if new == old:
        return f"It spends {money(new)}, as much as the current plan{over}."
    if new < old:
        return f"It spends {money(new)}, {money(old - new)} less than the current plan{over}."
    return f"It spends {money(new)}, {money(new - old)} more than the current plan{over}."


def _range(samples: tuple[int, ...]) -> str:
    bought = [count for count in samples if count]
    rows = f"{min(bought):,}" if min(bought) == max(bought) else f"{min(bought):,} to {max(bought):,}"
    if len(bought) == len(samples):
        return f"{rows} in each period" if len(samples) > 1 else f"{rows} in the next"
    return f"{rows} in {len(bought)} of {len(samples)} periods"


FIELDS = ("epsilon", "budget", "fixed", "per_sample", "horizon")
_LABELS: dict[tuple[str | None, str | None], str] = {
    ("plan", "epsilon"): "The target",
    ("plan", "budget"): "The budget",
    ("plan", "horizon"): "The horizon",
    ("LinearCost", "fixed"): "The price per order",
    ("LinearCost", "per_sample"): "The price per row",
}
MAX_DIGITS = 40
"""Characters of a number, and its largest power of ten: longer ones would take minutes to format."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WhatIfResult:
    """The result for other values: a headline, further sentences, and the figure of the plan.

    ``tone`` is "good" if the plan meets the target, "warn" if not, "wait" if it is too early to plan, "bad" for invalid values.
    """

    tone: str
    headline: str
    details: tuple[str, ...] = ()
    figure: PageFigure | None = None


def defaults(campaign: Campaign) -> dict[str, str]:
    """Return the initial values of the form: the campaign's target, remaining money and periods, and its prices.

    With tiered prices there is no single price per row, and its field starts empty.
    """
    status, budget = campaign.status(), campaign.definition.budget
    epsilon = status.order.request.epsilon if status.order else status.last.epsilon if status.last else None
    if epsilon is None or epsilon != epsilon:
        epsilon = campaign.definition.epsilon
    values = {
        "epsilon": "" if epsilon is None else f"{epsilon:.6g}",
        "budget": "",
        "fixed": "0",
        "per_sample": "1",
        "horizon": str(DEFAULT_HORIZON),
    }
    if budget is not None:
        left = status.to_plan
        values |= {
            "budget": "" if left is None else numeral(left.amount),
            "fixed": numeral(budget.get("fixed", 0)),
            "per_sample": "" if "tiers" in budget else numeral(budget.get("per_sample", 1)),
            "horizon": str(max(1, int(budget["horizon"]) - status.period + 1)),
        }
    return values


def evaluate(campaign: Campaign, given: Mapping[str, str], *, max_horizon: int) -> WhatIfResult:
    """Return the plan for other values; invalid values give a sentence, not an error."""
    try:
        parameters = _plan_parameters(campaign, given, max_horizon=max_horizon)
        new = plan_within(campaign, max_horizon, **parameters)
    except TooEarlyError as error:
        return WhatIfResult(tone="wait", headline=f"Too early to plan: {error.why}.")
    except DriftpaceError as error:
        return WhatIfResult(tone="bad", headline=_form_message(error))
    order = campaign.status().order
    current = current_plan(campaign, order)
    details = [purchases_text(new)]
    difference = None if current is None else difference_text(new, current)
    details += [difference] if difference else []
    details += [] if order is None else order_notes(order, new)
    reason = cents(new.reason, new.budget.currency)
    details.append(f"{reason[0].upper()}{reason[1:].rstrip('.')}.")
    return WhatIfResult(
        tone="good" if new.holds else "warn",
        headline=verdict_text(new),
        details=tuple(details),
        figure=plan_figure(new, current),
    )


def current_plan(campaign: Campaign, order: Order | None) -> Plan | None:
    """Return the plan behind the open order; an override replaces its first number."""
    plan = None if order is None else order.request.plan
    budget = campaign.definition.make_budget()
    if order is None or plan is None or budget is None or order.overridden is None:
        return plan
    return replace(
        plan,
        samples=(order.samples, *plan.samples[1:]),
        costs=(budget.price(order.samples), *plan.costs[1:]),
    )


def order_notes(order: Order, new: Plan) -> list[str]:
    """Return why the open order and a plan differ in their first number, if they do."""
    rows = plural(order.samples, "row")
    if order.overridden is not None:
        return [f"The order of this period is overridden: {rows}."]
    plan = order.request.plan
    if plan is not None and order.samples < plan.samples[0]:
        planned = plural(plan.samples[0], "row")
        return [f"The order is {rows} so far, of {planned} planned for this period: fewer may turn out to be enough."]
    if plan is None and order.samples != new.samples[0]:
        plan_text = f"the plan covers {plural(new.horizon, 'period')} in advance"
        return [f"The order is {rows}: it covers this period alone and may grow with the data; {plan_text}."]
    return []


def _form_message(error: DriftpaceError) -> str:
    """Return the message of an error with the labels of the form instead of parameter names.

    >>> _form_message(ParameterError("must be reachable; got 0.0001.", owner="plan", name="epsilon"))
    'The target must be reachable; got 0.0001.'
    """
    label = _LABELS.get((error.owner, error.name))
    message = str(error if label is None else error.renamed(subject=label))
    return message[:1].upper() + message[1:]


def _plan_parameters(campaign: Campaign, given: Mapping[str, str], *, max_horizon: int) -> dict[str, Any]:
    values = {name: given.get(name, "").strip() for name in FIELDS}
    parameters: dict[str, Any] = {}
    if values["epsilon"]:
        parameters["epsilon"] = float(_number("epsilon", values["epsilon"]))
    if values["horizon"]:
        horizon = _number("horizon", values["horizon"])
        if not 1 <= horizon <= max_horizon or horizon != int(horizon):
            raise ParameterError(
                f"must be an integer from 1 to {max_horizon}; got {values['horizon']}.",
                owner="plan",
                name="horizon",
            )
        parameters["horizon"] = int(horizon)
    if values["budget"]:
        parameters["budget"] = str(_number("budget", values["budget"]))
    if not parameters.get("horizon") and not parameters.get("budget"):
        parameters["horizon"] = DEFAULT_HORIZON
    prices = dict(campaign.definition.budget or {})
    initial = defaults(campaign)
    changed = {
        name: str(_number(name, values[name]))
        for name in ("fixed", "per_sample")
        if values[name] and (not initial[name] or _number(name, values[name]) != Decimal(initial[name]))
    }
    if changed.get("per_sample") is not None:
        prices.pop("tiers", None)
    parameters["cost"] = make_cost(prices | changed)
    return parameters


def _number(name: str, text: str) -> Decimal:
    """Parse a number of the form, in time that does not depend on its size."""
    try:
        value = Decimal(text.replace(" ", "")) if len(text) <= MAX_DIGITS else Decimal("NaN")
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or abs(value.adjusted()) > MAX_DIGITS:
        owner = "LinearCost" if name in ("fixed", "per_sample") else "plan"
        raise ParameterError(f"must be a number; got {text[:MAX_DIGITS]!r}.", owner=owner, name=name)
    return value
