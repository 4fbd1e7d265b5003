"""Plans as plain values for JSON: everything in them, in a fixed order, with null for what is not a finite number.

Amounts of money are texts of exact decimals, since the numbers of JSON are floats to most readers.
"""

import math
from typing import Any

from driftpace.planning.tradeoffs import TradeOff
from driftpace.records import Money, Plan

SCHEMA = 1


def plan_to_dict(plan: Plan) -> dict[str, Any]:
    """Return the plan; ``periods`` has one entry for each period, with the money ``left`` of the budget after it.

    >>> plan = Plan(
    ...     first_period=7, samples=(10, 0), costs=(Money.of("15.50", "EUR"), Money.of(0, "EUR")), risks=(0.1, math.inf),
    ...     gaps=(0.0, 0.1), epsilon=0.1, budget=Money.of(20, "EUR"), goal="mean gap", value=0.05, lower=0.05,
    ...     method="exact", reason="an example",
    ... )
    >>> body = plan_to_dict(plan)
    >>> body["spent"], body["periods"][1]
    ('15.5', {'period': 8, 'samples': 0, 'cost': '0', 'left': '4.5', 'risk_bound': None, 'gap': 0.1})
    """
    return {
        "schema": SCHEMA,
        "kind": "driftpace.plan",
        "method": plan.method,
        "reason": plan.reason,
        "currency": plan.budget.currency,
        "epsilon": _number(plan.epsilon),
        "budget": _amount(plan.budget),
        "horizon": plan.horizon,
        "first_period": plan.first_period,
        "spent": _amount(plan.spent),
        "left": _amount(plan.left),
        "samples": sum(plan.samples),
        "holds": plan.holds,
        "largest_risk": _number(plan.largest_risk),
        "goal": plan.goal,
        "value": _number(plan.value),
        "lower": _number(plan.lower),
        "proven_gap": _number(plan.proven_gap),
        "price": None if plan.price is None else _number(plan.price),
        "periods": _periods(plan),
    }


def trade_off_to_dict(point: TradeOff) -> dict[str, Any]:
    """Return one point of the curve.

    >>> trade_off_to_dict(TradeOff(budget=Money.of(500, "EUR"), epsilon=0.15, lower=0.14))
    {'budget': '500', 'epsilon': 0.15, 'lower': 0.14}
    """
    return {"budget": _amount(point.budget), "epsilon": _number(point.epsilon), "lower": _number(point.lower)}


def _periods(plan: Plan) -> list[dict[str, Any]]:
    entries = []
    left = plan.budget
    for index, (samples, cost) in enumerate(zip(plan.samples, plan.costs, strict=True)):
        left -= cost
        entries.append(
            {
                "period": plan.first_period + index,
                "samples": samples,
                "cost": _amount(cost),
                "left": _amount(left),
                "risk_bound": _number(plan.risks[index]),
                "gap": _number(plan.gaps[index]),
            }
        )
    return entries


def _amount(money: Money) -> str:
    shown = f"{money.amount:f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
