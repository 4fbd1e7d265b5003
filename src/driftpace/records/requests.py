"""What ``ask`` returns: how many samples to label, why, and the plan and the assumptions behind the number."""

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

from driftpace.records.delay import DelayPrice
from driftpace.records.money import Money


class Outcome(Enum):
    """How sizing, fitting or a period ended; the value is a stable identifier.

    Examples
    --------
    >>> Outcome.MET.value, Outcome.MET.sentence, Outcome.MET.promised
    ('met', 'the target is met', True)
    >>> Outcome("pilot") is Outcome.PILOT
    True
    """

    MET = "met"
    ENOUGH = "enough"
    CAPPED = "capped"
    INFEASIBLE = "infeasible"
    POOL = "pool"
    BUDGET = "budget"
    SHORT = "short"
    PILOT = "pilot"
    SETTLING = "settling"
    UNSUPPORTED = "unsupported"
    LATE = "late"
    UNREACHABLE = "unreachable"
    UNDECIDED = "undecided"
    NONFINITE = "nonfinite"
    STALLED = "stalled"

    @property
    def sentence(self) -> str:
        """The outcome in words, without a full stop."""
        return _SENTENCES[self]

    @property
    def promised(self) -> bool:
        """Whether the model is predicted to be within the target."""
        return self in (Outcome.MET, Outcome.ENOUGH)


_SENTENCES = {
    Outcome.MET: "the target is met",
    Outcome.ENOUGH: "no new samples are needed: the current model still meets the target",
    Outcome.CAPPED: "the target needs more samples than the cap allows; raise the cap or epsilon",
    Outcome.INFEASIBLE: "no sample size meets the target under this bound; raise epsilon or change the learner",
    Outcome.POOL: "the pool of this period is too small for the target",
    Outcome.BUDGET: "the remaining budget does not cover the target",
    Outcome.SHORT: "fewer samples were delivered than the target needs",
    Outcome.PILOT: "not enough data yet to predict the excess loss",
    Outcome.SETTLING: "still warming up, or the drift is larger than assumed: the bound is above the target",
    Outcome.UNSUPPORTED: "the rows delivered show a larger excess loss than the order was sized for",
    Outcome.LATE: "labels arrive too late for the target: the drift until then costs more than the target allows",
    Outcome.UNREACHABLE: "the target is out of reach: even the best model of this kind misses it",
    Outcome.UNDECIDED: "the labels so far do not show whether the best model of this kind reaches the target",
    Outcome.NONFINITE: "numerical overflow; rescale the columns",
    Outcome.STALLED: "the solver stopped before reaching its tolerance",
}


class Verdict(Enum):
    """Whether the data are consistent with an assumption."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"


MEASURED_RISK = "measured risk"
"""The name of the check that compares the excess risk measured from labels with the target."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Assumption:
    """An assumption behind a prediction, and whether the data are consistent with it.

    Parameters
    ----------
    name : str
        A short name, such as "tails".
    verdict : Verdict
        The result of the check.
    sentence : str
        The result in words.
    judged : bool, default True
        False where there were too few rows for a check; the verdict is then PASS.
    """

    name: str
    verdict: Verdict
    sentence: str
    judged: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizing:
    """The smallest sample size that meets a target under a bound.

    Parameters
    ----------
    samples : int
        The sample size; the cap where the target cannot be met.
    risk, risk_one_fewer : float
        The bound at ``samples`` and at one sample fewer (infinite at zero samples), which shows that the size is minimal.
    outcome : Outcome
        Whether the target is met.
    reason : str
        The outcome in words, with its numbers.
    decided_by : str
        The name of the bound.
    """

    samples: int
    risk: float
    risk_one_fewer: float
    outcome: Outcome
    reason: str
    decided_by: str


PLAN_SCHEMA = 1
"""The version of :meth:`Plan.to_dict`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """How many samples to buy in each period of a horizon, the cost, and the risk bounds that follow.

    Parameters
    ----------
    first_period : int
        The period of the first entry below.
    samples : tuple of int
        The samples to buy, one entry a period.
    costs : tuple of Money
        Their cost.
    risks : tuple of float
        The risk bound after each period.
    gaps : tuple of float
        How far each risk bound exceeds ``epsilon``; 0 where it does not.
    epsilon : float
        The target.
    budget : Money
        The money available.
    goal : str
        The objective that was minimised: the mean gap, the largest gap, or the largest run of gaps.
    value, lower : float
        The objective of this plan, and a lower bound of the best possible one.
    method : str
        The name of the planner.
    reason : str
        How the planner ended, in words.
    price : float, optional
        How much the objective falls for one more unit of money, where the planner knows it.
    delay_price : DelayPrice, optional
        How many times as many labels a delay takes; the plan is for labels in time. None without a delay.

    Examples
    --------
    >>> from driftpace.records import Money
    >>> plan = Plan(
    ...     first_period=1, samples=(10, 0), costs=(Money.of(15), Money.of(0)), risks=(0.1, 0.2), gaps=(0.0, 0.1),
    ...     epsilon=0.1, budget=Money.of(20), goal="mean gap", value=0.05, lower=0.05, method="exact", reason="an example",
    ... )
    >>> plan.horizon, str(plan.spent), str(plan.left), plan.proven_gap
    (2, '15', '5', 0.0)
    """

    first_period: int
    samples: tuple[int, ...]
    costs: tuple[Money, ...]
    risks: tuple[float, ...]
    gaps: tuple[float, ...]
    epsilon: float
    budget: Money
    goal: str
    value: float
    lower: float
    method: str
    reason: str
    price: float | None = None
    delay_price: DelayPrice | None = None

    @property
    def horizon(self) -> int:
        """The number of periods."""
        return len(self.samples)

    @property
    def spent(self) -> Money:
        """The cost of the whole plan."""
        total = Money(self.budget.amount * 0, self.budget.currency)
        for cost in self.costs:
            total += cost
        return total

    @property
    def left(self) -> Money:
        """The budget less the cost of the plan."""
        return self.budget - self.spent

    @property
    def proven_gap(self) -> float:
        """The relative optimality gap (value - lower)/value; 0 where the value is 0."""
        return 0.0 if self.value <= self.lower else (self.value - self.lower) / self.value

    @property
    def holds(self) -> bool:
        """Whether the risk bound is within the target in every period."""
        return all(gap == 0.0 for gap in self.gaps)

    @property
    def largest_risk(self) -> float:
        """The largest risk bound: the smallest epsilon that this plan meets in every period."""
        return max(self.risks)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values for JSON, in a fixed order.

        Amounts of money are strings of exact decimals, since most readers of JSON parse numbers as floats; non-finite numbers are
        None. ``periods`` has one entry per period, with the money ``left`` of the budget after it.

        Examples
        --------
        >>> plan = Plan(
        ...     first_period=7, samples=(10, 0), costs=(Money.of("15.50", "EUR"), Money.of(0, "EUR")), risks=(0.1, math.inf),
        ...     gaps=(0.0, 0.1), epsilon=0.1, budget=Money.of(20, "EUR"), goal="mean gap", value=0.05, lower=0.05,
        ...     method="exact", reason="an example",
        ... )
        >>> body = plan.to_dict()
        >>> body["spent"], body["periods"][1]
        ('15.5', {'period': 8, 'samples': 0, 'cost': '0', 'left': '4.5', 'risk_bound': None, 'gap': 0.1})
        """
        return {
            "schema": PLAN_SCHEMA,
            "kind": "driftpace.plan",
            "method": self.method,
            "reason": self.reason,
            "currency": self.budget.currency,
            "epsilon": finite_or_none(self.epsilon),
            "budget": amount_text(self.budget),
            "horizon": self.horizon,
            "first_period": self.first_period,
            "spent": amount_text(self.spent),
            "left": amount_text(self.left),
            "samples": sum(self.samples),
            "holds": self.holds,
            "largest_risk": finite_or_none(self.largest_risk),
            "goal": self.goal,
            "value": finite_or_none(self.value),
            "lower": finite_or_none(self.lower),
            "proven_gap": finite_or_none(self.proven_gap),
            "price": None if self.price is None else finite_or_none(self.price),
            "delay_price": None if self.delay_price is None else self.delay_price.to_dict(),
            "periods": self._periods(),
        }

    def _periods(self) -> list[dict[str, Any]]:
        entries = []
        left = self.budget
        for index, (samples, cost) in enumerate(zip(self.samples, self.costs, strict=True)):
            left -= cost
            entries.append(
                {
                    "period": self.first_period + index,
                    "samples": samples,
                    "cost": amount_text(cost),
                    "left": amount_text(left),
                    "risk_bound": finite_or_none(self.risks[index]),
                    "gap": finite_or_none(self.gaps[index]),
                }
            )
        return entries


def amount_text(money: Money) -> str:
    """Return the amount as the shortest exact decimal."""
    text = f"{money.amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def finite_or_none(value: float) -> float | None:
    """Return a finite number as a float, and None for any other."""
    return float(value) if math.isfinite(value) else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """How many new samples to label in this period, and why.

    Parameters
    ----------
    period : int
        The period, from 1.
    samples : int
        The samples still missing; it falls as parts of the period are delivered, and 0 means that no more are needed.
    samples_theory : int
        The sample size of the whole period by the proven bound.
    interval : tuple of int
        The sample sizes of the whole period at the estimated drift and at its upper confidence limit. With a budget both
        are that of the plan.
    epsilon : float
        The target of the period.
    risk_bound : float
        The excess risk predicted after ``samples``.
    outcome : Outcome
        Whether that is within the target, and if not, why.
    reason : str
        The outcome in words, with its numbers.
    assumptions : tuple of Assumption
        What the prediction relies on.
    status : str, optional
        Whether the rows delivered so far agree with the prediction: "stable", "warning" or "drift"; None without a check.
    cost : Money, optional
        With a budget, what ``samples`` add to the cost of the period.
    money_left : Money, optional
        With a budget, what is left of it before they are paid.
    plan : Plan, optional
        With a budget, the plan from this period on; its first entry is the whole period. None while there is not enough
        data to plan.
    """

    period: int
    samples: int
    samples_theory: int
    interval: tuple[int, int]
    epsilon: float
    risk_bound: float
    outcome: Outcome
    reason: str
    assumptions: tuple[Assumption, ...]
    status: str | None = None
    cost: Money | None = None
    money_left: Money | None = None
    plan: Plan | None = None
