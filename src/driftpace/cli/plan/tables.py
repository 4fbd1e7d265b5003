"""The tables of a plan, as rows of words: its periods, other plans for the money, the curve."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from driftpace.cli.output import plural
from driftpace.cli.plan.answer import Answer
from driftpace.cli.plan.words import NAMES, number
from driftpace.planning import LargestRun, MeanGap
from driftpace.records import Plan

MOST_ROWS = 60
NONE = "-"


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """A table: ``missed`` are the rows where the target is missed, ``judged`` whether the last column says that."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    note: str = ""
    missed: frozenset[int] = frozenset()
    judged: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Stretch:
    """A period that buys, or all periods on end that do not: the money left after them, the highest risk and gap among them."""

    first: int
    last: int
    samples: int
    cost: Decimal
    left: Decimal
    risk: float
    gap: float

    @property
    def name(self) -> str:
        """Which periods these are."""
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


def stretches(plan: Plan) -> list[Stretch]:
    """Return the plan with what is skipped on end folded into one."""
    found: list[Stretch] = []
    left = plan.budget.amount
    for index, (samples, cost) in enumerate(zip(plan.samples, plan.costs, strict=True)):
        left -= cost.amount
        period, risk, gap = plan.first_period + index, plan.risks[index], plan.gaps[index]
        first = period
        if samples == 0 and found and found[-1].samples == 0:
            before = found.pop()
            first, risk, gap = before.first, max(before.risk, risk), max(before.gap, gap)
        found.append(
            Stretch(first=first, last=period, samples=samples, cost=cost.amount, left=left, risk=risk, gap=gap)
        )
    return found


def periods(plan: Plan) -> Grid:
    """Return a row for each period that buys, and one for those between."""
    found = stretches(plan)
    shown = found if len(found) <= MOST_ROWS else found[: MOST_ROWS - 10]
    money = _Writer([amount for each in found for amount in (each.cost, each.left)])
    rows = tuple(
        (
            each.name,
            f"{each.samples:,}" if each.samples else "nothing",
            money(each.cost) if each.samples else NONE,
            money(each.left),
            number(each.risk),
            number(each.gap) if each.gap > 0.0 else NONE,
        )
        for each in shown
    )
    rest = len(found) - len(shown)
    return Grid(
        heads=("period", "samples", _in("cost", plan), _in("left", plan), "risk at most", "above target by"),
        rows=rows,
        note=f"... and {plural(rest, 'row')} more, to period {found[-1].last}; --format csv prints every period."
        if rest
        else "",
        missed=frozenset(index for index, each in enumerate(shown) if each.gap > 0.0),
        judged=True,
    )


def compared(answer: Answer) -> Grid | None:
    """Return the plan beside those that anyone would try first; None where they were not asked for."""
    if not answer.baselines:
        return None
    plans = (answer.plan, *answer.baselines)
    money = _Writer([plan.spent.amount for plan in plans])
    run = isinstance(answer.problem.gap, LargestRun)
    over = [plan for plan in answer.baselines if plan.budget < plan.spent]
    alone = [
        plan for plan in answer.baselines if answer.problem.adjacent and _alone(plan, answer.problem.bought_before)
    ]
    return Grid(
        title="Other plans",
        heads=(
            "",
            "samples",
            _in("cost", answer.plan),
            "mean gap",
            *(["largest run"] if run else []),
            "largest risk",
            "periods missed",
        ),
        rows=tuple(
            (
                NAMES.get(plan.method, plan.method),
                f"{sum(plan.samples):,}",
                money(plan.spent.amount),
                number(MeanGap()(np.array(plan.gaps))),
                *([number(LargestRun()(np.array(plan.gaps)))] if run else []),
                number(plan.largest_risk),
                f"{sum(gap > 0.0 for gap in plan.gaps):,}" if not plan.holds else NONE,
            )
            for plan in plans
        ),
        note=" ".join(
            f"{what}: {', '.join(NAMES.get(plan.method, plan.method) for plan in plans)}."
            for what, plans in ((f"Above the budget of {answer.plan.budget}", over), ("Against --adjacent", alone))
            if plans
        ),
        missed=frozenset(index for index, plan in enumerate(plans) if not plan.holds),
        judged=True,
    )


def traded(answer: Answer) -> Grid | None:
    """Return which target each of several budgets holds; None where that was not asked for."""
    if not answer.curve:
        return None
    money = _Writer([point.budget.amount for point in answer.curve])
    return Grid(
        title="What other budgets hold in every period",
        heads=(_in("money", answer.plan), "a risk of", "no plan holds less than"),
        rows=tuple((money(point.budget.amount), number(point.epsilon), number(point.lower)) for point in answer.curve),
    )


def _alone(plan: Plan, bought_before: bool) -> bool:
    """Tell whether a period buys with none before or after it that does."""
    bought = [bought_before, *(samples > 0 for samples in plan.samples), False]
    return any(
        now and not (before or after) for before, now, after in zip(bought, bought[1:], bought[2:], strict=False)
    )


class _Writer:
    """Writes amounts with as many decimals as the finest of them has, at least two where it has any."""

    def __init__(self, amounts: Iterable[Decimal]) -> None:
        finest = max((-int(amount.normalize().as_tuple().exponent) for amount in amounts), default=0)
        self._decimals = max(finest, 2) if finest > 0 else 0

    def __call__(self, amount: Decimal) -> str:
        return f"{amount:,.{self._decimals}f}"


def _in(what: str, plan: Plan) -> str:
    return f"{what} ({plan.budget.currency})" if plan.budget.currency else what
