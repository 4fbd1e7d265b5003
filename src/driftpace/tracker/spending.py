"""The money of a tracker: what is left, the plan for it, and whether it is enough for the target.

Cost-to-go (section IV-A, corrected as theory I13, I14): in every period the remaining money is planned again over the remaining
periods, with what is known by then. What was spent is the true price of the rows delivered, and only future gaps are minimised.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from driftpace.planning import (
    Budget,
    LargestGap,
    LinearCost,
    MeanGap,
    Outlook,
    Problem,
    evaluate_plan,
)
from driftpace.planning.costs import affordable_units, budget_units
from driftpace.records import Assumption, Money, Outcome, Plan, Verdict

ACCURACY = 0.02
"""How far the value of a plan may lie above the best one, as a share: the next period plans again, and knows more."""

NEGLIGIBLE = 1e-3
"""The same as a share of the target: of a plan that nearly meets the target, the rest of the gap need not be proven least."""

TIGHTEST_ACCURACY = 0.05
"""How far the target that money can meet, which a sentence names, may lie above the tightest one; a plan meets it."""

UNLIMITED = 10**9
"""More rows than any period has: what is missing is computed as it is, and the cap or the pool is reported apart from it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Spending:
    """A budget in a period: ``spent`` is the cost of the closed periods, ``bought`` says whether the last of them had rows.

    ``adjacent`` says whether rows are bought in neighbouring periods only, which the drift estimate then compares.
    """

    budget: Budget
    period: int
    spent: Decimal
    bought: bool
    adjacent: bool

    @property
    def left(self) -> Money:
        """What is left of the budget when the period begins; nothing where more was spent than there was."""
        return self.left_after(0)

    @property
    def periods(self) -> int:
        """The periods that are left, this one included; 0 when the horizon is over."""
        return max(self.budget.horizon - self.period + 1, 0)

    def left_after(self, rows: int) -> Money:
        """Return what is left when ``rows`` of this period are paid."""
        left = self.budget.money - self.spent_after(rows)
        return left if left.amount > 0 else Money(Decimal(0), left.currency)

    def beyond_after(self, rows: int) -> Money | None:
        """Return what was spent beyond the budget when ``rows`` of this period are paid; None if nothing was."""
        beyond = self.spent_after(rows) - self.budget.money
        return beyond if beyond.amount > 0 else None

    def spent_after(self, rows: int) -> Money:
        """Return what was spent when ``rows`` of this period are paid."""
        return Money(self.spent, self.budget.money.currency) + self.budget.price(rows)

    def most(self, cap: int) -> int:
        """Return the most rows, up to ``cap``, that the money left pays for in one order."""
        return affordable_units(self.budget.cost, budget_units(self.budget.cost, self.left), cap)

    def share(self, cap: int) -> int:
        """Return the same for an even share of the money, which an order may have while nothing can be planned."""
        units = budget_units(self.budget.cost, self.left) // max(self.periods, 1)
        return affordable_units(self.budget.cost, units, cap)

    def problem(self, outlook: Outlook, epsilon: float, gathered: int = 0) -> Problem:
        """Return what is to be planned in this period when ``gathered`` rows of it are there: those after them, and what is left.

        Further rows are no order of their own. What the planner will take them to cost beyond what they do, a fixed price that
        is paid already, is money that it has more.
        """
        price = self.budget.price
        money = self.left_after(gathered) + (price(gathered) + price(1) - price(gathered + 1))
        return Problem(
            outlook=outlook,
            epsilon=epsilon,
            budget=money if money.amount > 0 else self.left_after(gathered),
            horizon=self.periods,
            cost=self.budget.cost,
            gap=self.budget.goal.later(self.period - 1),
            adjacent=self.adjacent,
            bought_before=self.bought,
            first_period=self.period,
        )

    def with_rows(self, plan: Plan, gathered: int) -> Plan:
        """Return the plan of :meth:`problem` as one of the whole period, the rows delivered included."""
        rows = gathered + plan.samples[0]
        return replace(
            plan,
            samples=(rows, *plan.samples[1:]),
            costs=(self.budget.price(rows), *plan.costs[1:]),
            budget=self.left,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class PeriodSupply:
    """What a period can have: at most ``limit`` rows, the outcome ``beyond`` it, and the ``least`` rows that are of use, if any.

    Of the ``gathered`` rows the outlook has ``seen`` none or all. At least ``needed`` rows are bought where money allows it.
    """

    limit: int
    beyond: Outcome
    gathered: int = 0
    seen: int = 0
    least: int = 0
    needed: int = 0


def plan_period(
    spending: Spending, outlook: Outlook, epsilon: float, supply: PeriodSupply, last: Plan | None = None
) -> tuple[Plan, Outcome, Assumption]:
    """Return the plan as the period can follow it, its outcome, and the verdict on the money.

    The search starts from the ``last`` plan of the same period, if any.
    """
    seen = supply.seen
    problem = spending.problem(outlook, epsilon, seen)
    start = None
    if last is not None and last.horizon == problem.horizon:
        start = (max(last.samples[0] - seen, 0), *last.samples[1:]), last.price
    plan = spending.with_rows(plan_ahead(problem, start), seen)
    most = spending.most(supply.limit)
    rows = max(plan.samples[0], min(supply.needed, most))
    if rows > 0:
        rows = max(min(rows, supply.limit), min(supply.least, most))
    rows = max(rows, supply.gathered)
    unsure = seen > 0 and not isinstance(
        problem.cost, LinearCost
    )  # then the price of further rows is approximate: no proof
    if rows != plan.samples[0] or not plan.spent <= plan.budget or unsure:
        plan = spending.with_rows(plan_around(problem, rows - seen, spending.left_after(rows)), seen)
    if plan.gaps[0] == 0.0:
        outcome = Outcome.MET if rows else Outcome.ENOUGH
    elif rows >= supply.limit:
        outcome = supply.beyond
    elif outlook.bound.smallest(outlook.first_distance(0), epsilon, UNLIMITED) is None:
        outcome = Outcome.INFEASIBLE
    else:
        outcome = Outcome.BUDGET
    return plan, outcome, verdict(spending, problem, plan, gathered=supply.gathered, seen=seen)


def plan_ahead(problem: Problem, start: tuple[Sequence[int], float | None] | None = None) -> Plan:
    """Return the plan of a period and those after it; the search starts from the samples and the price of an earlier one."""
    from driftpace.planning import plan_exact  # slow to import, and not always needed

    return plan_exact(problem, accuracy=ACCURACY, quick=True, negligible=NEGLIGIBLE * problem.epsilon, start=start)


def plan_around(problem: Problem, rows: int, money: Money) -> Plan:
    """Return the plan in which the first period has ``rows``, come what may, and ``money`` is left for those after it."""
    outlook = problem.outlook
    samples: tuple[int, ...] = (rows,)
    proof, floor = "", 0.0
    if problem.horizon > 1:
        risk = outlook.bound(outlook.first_distance(0), rows)
        start = outlook.idle_distance(outlook.reach(risk), 1) if rows else outlook.first_distance(1)
        later = plan_ahead(
            replace(
                problem,
                outlook=replace(outlook, start=start),
                budget=money,
                horizon=problem.horizon - 1,
                gap=problem.gap.later(1),
                bought_before=rows > 0,
                first_period=problem.first_period + 1,
            )
        )
        samples, proof, floor = (rows, *later.samples), f", and from then on {later.reason}", later.lower
    plan = evaluate_plan(
        problem,
        samples,
        method="exact",
        reason=f"the rows of this period are given{proof}",
        within_budget=False,  # more may have come than there was money for
    )
    return replace(plan, lower=min(plan.value, _floor(problem, plan.gaps[0], floor)))


def _floor(problem: Problem, first: float, later: float) -> float:
    """Return what no plan falls under whose first gap is ``first`` and whose later ones amount to ``later`` at least."""
    goal = problem.gap
    if isinstance(goal, MeanGap):
        share = float(goal.shares(problem.horizon)[0])
        return share * first + (1.0 - share) * later
    return max(float(goal.shares(problem.horizon)[0]) * first, later) if isinstance(goal, LargestGap) else 0.0


def missed_period(problem: Problem, plan: Plan) -> int | None:
    """Return the index of the first period that counts and whose risk is above the target; None if the plan holds it."""
    shares = getattr(problem.gap, "shares", None)
    counts = [True] * plan.horizon if shares is None else (shares(plan.horizon) > 0.0).tolist()
    return next((index for index, gap in enumerate(plan.gaps) if gap > 0.0 and counts[index]), None)


def verdict(spending: Spending, problem: Problem, plan: Plan, *, gathered: int, seen: int) -> Assumption:
    """Return whether the money holds the target in the periods left, and where it does not, the target that it can hold.

    Of the ``gathered`` rows of this period the problem has ``seen`` none or all.
    """
    from driftpace.planning import tightest_plan  # slow to import, and not always needed

    left = spending.left_after(gathered)
    index, over = missed_period(problem, plan), in_words(plan.horizon, "period")
    if index is None:
        spare = str(plan.left) if plan.left.amount > 0 else "nothing"
        return budget_check(
            Verdict.PASS,
            f"The remaining budget meets the target of {plan.epsilon:.3g} over {over}, with {spare} to spare.",
        )
    where = f"the expected excess loss is {plan.risks[index]:.4g} in period {plan.first_period + index}"
    known = replace(plan, samples=(max(plan.samples[0] - seen, 0), *plan.samples[1:]))
    best = tightest_plan(
        replace(problem, budget=spending.left_after(seen)), accuracy=TIGHTEST_ACCURACY, start=known
    ).epsilon
    if spending.most(gathered + 1) <= gathered:
        return budget_check(
            Verdict.FAIL,
            f"The remaining budget, {left}, buys no more rows, and the target of {plan.epsilon:.3g} is missed: {where}, "
            f"and at most {best:.4g} over {over}.",
        )
    beside = ", in neighbouring periods only," if problem.adjacent else ""
    return budget_check(
        Verdict.WARN,
        f"The remaining budget, {left},{beside} does not meet the target of {plan.epsilon:.3g} over {over}: {where}; "
        f"it can meet {best:.4g}.",
    )


def budget_check(verdict: Verdict, sentence: str) -> Assumption:
    """Return the verdict on the money as a check."""
    return Assumption(name="budget", verdict=verdict, sentence=sentence)


def not_known_yet(why: str) -> Assumption:
    """Return the check of a budget that cannot be planned yet."""
    return budget_check(Verdict.WARN, f"Whether the budget is enough for the target is not known yet, because {why}.")


def reason(spending: Spending, plan: Plan, gathered: int, now: int) -> str:
    """Return in words why this number: what is left, what is bought in this period, and when rows are bought next.

    Of what is bought in this period, ``gathered`` rows are there, and ``now`` further ones are asked for.
    """
    rows, later = plan.samples[0], plan.samples[1:]
    wait = next((index for index, count in enumerate(later) if count), None)
    this = _in_this_period(spending, rows, gathered, now)
    if wait is None:
        then = ", and none after it" if later else ""
    elif wait == 0:
        then = f", {later[0]} in the next one"
    elif rows:
        then = f", none in the next {in_words(wait, 'period')}" if wait > 1 else ", none in the next one"
    else:
        then = f", {later[wait]} in period {plan.first_period + 1 + wait}"
    beyond = spending.beyond_after(0)
    spent = f"; the budget is overspent by {in_full(beyond)}" if beyond is not None else ""
    return (
        f"{in_words(plan.horizon, 'period')} and {in_full(spending.left_after(gathered))} remain: {this}{then}; "
        f"expected excess loss {plan.risks[0]:.3g} (target {plan.epsilon:.3g}){spent}"
    )


def _in_this_period(spending: Spending, rows: int, gathered: int, now: int) -> str:
    price = spending.budget.price
    left = rows - gathered
    if left == 0:
        delivered = f"no more than the {in_words(gathered, 'row')} delivered in this period"
        return delivered if gathered else "none in this period"
    more = " more" if gathered else ""
    sentence = f"{left}{more} {'row' if left == 1 else 'rows'} in this period for {price(rows) - price(gathered)}"
    return sentence if now >= left else f"{sentence}, {now} of them first, since fewer may turn out to be enough"


def in_words(count: int, thing: str) -> str:
    """Return so many things.

    >>> in_words(1, "row"), in_words(12, "period")
    ('1 row', '12 periods')
    """
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def in_full(money: Money) -> str:
    """Return money as a sentence has it.

    >>> in_full(Money.of(1240, "EUR")), in_full(Money.of(5))
    ('1,240 EUR', '5 of money')
    """
    return str(money) if money.currency else f"{money} of money"
