"""Sentences and tables of a plan, and its report page."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from driftpace.formatting import plural
from driftpace.planning import LargestRun, MeanGap, PlanAnalysis, price
from driftpace.records import Plan

if TYPE_CHECKING:
    from driftpace.report.plan import TextTable


NAMES = {
    "exact": "this plan",
    "up front": "all up front",
    "every 2 periods": "every second period",
    "every 5 periods": "every five periods",
    "every period": "the same every period",
    "the risk rule": "the risk rule, without a budget",
}


BUY, SKIP, EXHAUSTED = 0, 10, 20


def exit_code(analysis: PlanAnalysis) -> int:
    """Return how the command ends: 0 buy, 10 nothing to buy in the first period, 20 no money for what is needed."""
    if analysis.plan.samples[0] > 0:
        return BUY
    return SKIP if analysis.plan.holds or analysis.affords_sample else EXHAUSTED


def summary_lines(analysis: PlanAnalysis, source: str) -> list[tuple[str, str]]:
    """Return the answer in a few labelled lines."""
    lines = [
        ("Task", task_text(analysis)),
        ("Drift", drift_text(analysis, source)),
        ("Next", next_text(analysis)),
        ("Cost", cost_text(analysis.plan)),
        ("Target", target_text(analysis.plan)),
        ("Optimality", proof_text(analysis)),
        ("Budget", budget_text(analysis)),
        ("Delay", delay_text(analysis.plan)),
    ]
    return [(label, text) for label, text in lines if text]


def delay_text(plan: Plan) -> str:
    """Return what late labels cost beyond the plan; "" where labels are in time."""
    return "" if plan.delay_price is None else f"the plan is for labels in time; {plan.delay_price.sentence}"


def task_text(analysis: PlanAnalysis) -> str:
    """Return the task."""
    plan = analysis.plan
    horizon = plural(plan.horizon, "period")
    goal = f"a risk of at most {number(plan.epsilon)}"
    since = f", from period {plan.first_period} on" if plan.first_period != 1 else ""
    return {
        None: f"{goal} over {horizon}{since}, for {plan.budget}",
        "budget": f"the smallest budget for {goal} over {horizon}{since}",
        "epsilon": f"the lowest target that {plan.budget} can meet over {horizon}{since}",
        "horizon": f"how long {plan.budget} can meet a target of {number(plan.epsilon)}{since}",
    }[analysis.solved_for]


def drift_text(analysis: PlanAnalysis, source: str) -> str:
    """Return the assumptions about the drift."""
    outlook = analysis.problem.outlook
    estimated = f"as estimated by {source}: " if source else ""
    direction = {
        "worst": "in the worst case directly away from the model",
        "walk": "in any direction",
        "printed": "added up as in the paper",
    }
    return (
        f"{estimated}the best model moves by {number(outlook.rho)} per period, {direction[outlook.steps]}; "
        f"the current model is {number(outlook.start)} away from it"
    )


def next_text(analysis: PlanAnalysis) -> str:
    """Return what to do in the first period, in line with the exit code."""
    plan = analysis.plan
    first = plan.first_period
    if exit_code(analysis) == EXHAUSTED:
        return f"nothing can be bought: one sample costs {price(analysis.problem.cost, 1)}, and the budget is {plan.budget}"
    if exit_code(analysis) == SKIP:
        later = next((first + index for index, samples in enumerate(plan.samples) if samples), None)
        return f"buy nothing in period {first}" + (f"; the first order is in period {later}" if later else "")
    return f"buy {plural(plan.samples[0], 'sample')} in period {first}, for {plan.costs[0]}"


def cost_text(plan: Plan) -> str:
    """Return what is spent and what is left."""
    orders = sum(samples > 0 for samples in plan.samples)
    if not orders:
        return f"nothing is spent of {plan.budget}"
    left = f"; {plan.left} of {plan.budget} left" if plan.left.amount > 0 else ""
    return f"{plan.spent} for {plural(sum(plan.samples), 'sample')} in {plural(orders, 'order')}{left}"


def target_text(plan: Plan) -> str:
    """Return whether the target is met, and if not, where and by how much it is missed."""
    if plan.holds:
        where = f"each of {plural(plan.horizon, 'period')}" if plan.horizon > 1 else "the only period"
        return f"met in {where}: the risk is at most {number(plan.largest_risk)}"
    missed = sum(gap > 0.0 for gap in plan.gaps)
    where = f"in {missed} of {plural(plan.horizon, 'period')}" if plan.horizon > 1 else "in the only period"
    mean = math.fsum(plan.gaps) / plan.horizon
    return f"missed {where}, by {number(max(plan.gaps))} at most and {number(mean)} on average over all periods"


def proof_text(analysis: PlanAnalysis) -> str:
    """Return how close the plan is to the optimum."""
    plan = analysis.plan
    if plan.holds and not any(plan.samples):
        return "the target is met in every period without any samples"
    if plan.value <= 0.0 or not analysis.affords_sample:
        return plan.reason
    if plan.proven_gap <= 1e-9:
        return f"no plan for {plan.budget} has a smaller {plan.goal} than this one, {number(plan.value)}"
    return (
        f"no plan for {plan.budget} can have a {plan.goal} below {number(plan.lower)}; "
        f"this one has {number(plan.value)}, within {100.0 * plan.proven_gap:.2g} % of the best"
    )


def budget_text(analysis: PlanAnalysis) -> str:
    """Return the lowest target that the budget meets, and the budget that meets the target."""
    plan = analysis.plan
    sentences = []
    if analysis.tightest is not None:
        even = "even " if plan.holds else ""
        sentences.append(f"{plan.budget} can {even}meet {number(analysis.tightest.epsilon)} in every period")
    if analysis.cheapest is not None:
        sentences.append(f"meeting {number(plan.epsilon)} in every period takes {analysis.cheapest.spent}")
    if analysis.unattainable:
        sentences.append(f"no budget was found that meets {number(plan.epsilon)} in every period")
    return "; ".join(sentences)


def number(value: float) -> str:
    """Write a risk with the four digits that matter.

    >>> number(0.0178309), number(0.1), number(51234.5), number(math.inf)
    ('0.01783', '0.1', '51,234', 'infinite')
    """
    if not math.isfinite(value):
        return "infinite"
    return f"{value:,.0f}" if 1000.0 <= abs(value) < 1e7 else f"{value:.4g}"


MOST_ROWS = 60
NONE = "-"


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """A table: ``missed`` are the rows where the target is missed, ``judged`` whether the last column shows it."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    note: str = ""
    missed: frozenset[int] = frozenset()
    judged: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Stretch:
    """A period that buys, or consecutive ones that do not: the money left after them, their highest risk and gap."""

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
    """Return the periods of a plan, consecutive ones without a purchase as one."""
    folded: list[Stretch] = []
    left = plan.budget.amount
    for index, (samples, cost) in enumerate(zip(plan.samples, plan.costs, strict=True)):
        left -= cost.amount
        period, risk, gap = plan.first_period + index, plan.risks[index], plan.gaps[index]
        first = period
        if samples == 0 and folded and folded[-1].samples == 0:
            before = folded.pop()
            first, risk, gap = before.first, max(before.risk, risk), max(before.gap, gap)
        folded.append(
            Stretch(first=first, last=period, samples=samples, cost=cost.amount, left=left, risk=risk, gap=gap)
        )
    return folded


def period_table(plan: Plan) -> Grid:
    """Return a row for each period that buys, and one for those between."""
    folded = stretches(plan)
    visible = folded if len(folded) <= MOST_ROWS else folded[: MOST_ROWS - 10]
    money = _AmountFormat([amount for each in folded for amount in (each.cost, each.left)])
    rows = tuple(
        (
            each.name,
            f"{each.samples:,}" if each.samples else "nothing",
            money(each.cost) if each.samples else NONE,
            money(each.left),
            number(each.risk),
            number(each.gap) if each.gap > 0.0 else NONE,
        )
        for each in visible
    )
    rest = len(folded) - len(visible)
    return Grid(
        heads=("period", "samples", _in("cost", plan), _in("left", plan), "risk at most", "above target by"),
        rows=rows,
        note=f"... and {plural(rest, 'row')} more, to period {folded[-1].last}; --format csv prints every period."
        if rest
        else "",
        missed=frozenset(index for index, each in enumerate(visible) if each.gap > 0.0),
        judged=True,
    )


def comparison_table(analysis: PlanAnalysis) -> Grid | None:
    """Return the plan beside simple ones; None if they were not requested."""
    if not analysis.baselines:
        return None
    plans = (analysis.plan, *analysis.baselines)
    money = _AmountFormat([plan.spent.amount for plan in plans])
    run = isinstance(analysis.problem.gap, LargestRun)
    over = [plan for plan in analysis.baselines if plan.budget < plan.spent]
    alone = [
        plan
        for plan in analysis.baselines
        if analysis.problem.adjacent and _alone(plan, analysis.problem.bought_before)
    ]
    return Grid(
        title="Other plans",
        heads=(
            "",
            "samples",
            _in("cost", analysis.plan),
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
            for what, plans in ((f"Above the budget of {analysis.plan.budget}", over), ("Violating --adjacent", alone))
            if plans
        ),
        missed=frozenset(index for index, plan in enumerate(plans) if not plan.holds),
        judged=True,
    )


def curve_table(analysis: PlanAnalysis) -> Grid | None:
    """Return the target that each of several budgets meets; None if it was not requested."""
    if not analysis.curve:
        return None
    money = _AmountFormat([point.budget.amount for point in analysis.curve])
    return Grid(
        title="Targets that other budgets meet in every period",
        heads=(_in("budget", analysis.plan), "target", "lower bound"),
        rows=tuple(
            (money(point.budget.amount), number(point.epsilon), number(point.lower)) for point in analysis.curve
        ),
    )


def _alone(plan: Plan, bought_before: bool) -> bool:
    """Whether a period buys although neither the one before nor the one after it does."""
    bought = [bought_before, *(samples > 0 for samples in plan.samples), False]
    return any(
        now and not (before or after) for before, now, after in zip(bought, bought[1:], bought[2:], strict=False)
    )


class _AmountFormat:
    """Format amounts with as many decimals as the finest of them has, at least two where it has any."""

    def __init__(self, amounts: Iterable[Decimal]) -> None:
        finest = max((-int(amount.normalize().as_tuple().exponent) for amount in amounts), default=0)
        self._decimals = max(finest, 2) if finest > 0 else 0

    def __call__(self, amount: Decimal) -> str:
        return f"{amount:,.{self._decimals}f}"


def _in(what: str, plan: Plan) -> str:
    return f"{what} ({plan.budget.currency})" if plan.budget.currency else what


def write_plan_page(analysis: PlanAnalysis, path: Path, *, source: str = "") -> Path:
    """Write the report of a plan and return its path."""
    from driftpace.report import write_page

    return write_page(plan_page(analysis, source=source), path)


def plan_page(analysis: PlanAnalysis, *, source: str = "") -> str:
    """Return the report of a plan as an HTML page."""
    from driftpace.report import PlanPage, plan_report

    task = task_text(analysis)
    return plan_report(
        PlanPage(
            plan=analysis.plan,
            task=task,
            now=next_text(analysis),
            cost=cost_text(analysis.plan),
            target=target_text(analysis.plan),
            money=budget_text(analysis),
            facts=(("Task", task), ("Drift", drift_text(analysis, source)), ("Optimality", proof_text(analysis))),
            baselines=[(NAMES.get(other.method, other.method), other) for other in analysis.baselines],
            comparison=_table(comparison_table(analysis)),
            curve=analysis.curve,
            curve_table=_table(curve_table(analysis)),
            target_given=analysis.solved_for != "epsilon",
            proven=analysis.affords_sample,
            tightest=analysis.tightest,
            cheapest=analysis.cheapest,
        )
    )


def _table(grid: Grid | None) -> "TextTable | None":
    from driftpace.report.plan import TextTable

    return None if grid is None else TextTable(heads=grid.heads, rows=grid.rows, note=grid.note)
