"""A tracker with a budget: never over the money, one order a period, the plan ahead, and an early word when it falls short."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from driftpace import Ball, Budget, Constants, LinearCost, SquaredLoss, TieredCost, Tracker
from driftpace.bounds import OrdinaryLeastSquares
from driftpace.drift import DirectHeldOut, Drift
from driftpace.errors import DataError, ParameterError, ProtocolError
from driftpace.planning import LargestGap, MeanGap, Problem, plan_exact, risk_trajectory, tightest_plan
from driftpace.records import Assumption, Money, Outcome, Request, Verdict
from driftpace.rules import DoNotUpdate
from driftpace.testing import check_bound
from driftpace.tracker.composed_context import HeldOutBound
from driftpace.tracker.spending import ACCURACY, NEGLIGIBLE, TIGHTEST_ACCURACY
from tests.reference.budgeted import COST, draws, in_paper, learning, practical

MAKERS: dict[str, Callable[..., Tracker]] = {"practical": practical, "known": in_paper, "learning": learning}
every_kind = pytest.mark.parametrize("make", list(MAKERS.values()), ids=list(MAKERS))


def euros(amount: object) -> Money:
    return Money.of(amount, "EUR")


def of_budget(request: Request) -> Assumption:
    (check,) = [assumption for assumption in request.assumptions if assumption.name == "budget"]
    return check


# ---- the money


@every_kind
@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (3, 4, 5))])
def test_never_over_the_money(make: Callable[..., Tracker], seed: int) -> None:
    """Whatever comes of what is asked, in however many parts: no request is beyond the money, and true prices add up."""
    rng = np.random.default_rng((seed, 7))
    total = int(rng.integers(30, 400))
    cost = LinearCost(fixed=int(rng.integers(0, 30)), per_sample="0.5", currency="EUR")
    tracker, draw = make(total, 5, cost=cost), draws(seed)
    for period in range(1, 6):
        for _ in range(int(rng.integers(1, 4))):
            request = tracker.ask()
            assert request.cost is not None
            assert request.money_left is not None
            assert request.cost <= request.money_left
            if request.samples == 0:
                break
            received = int(rng.integers(0, request.samples + 1))
            tracker.tell(*draw(period)(received), final=False)
        tracker.tell()
        spent = euros(sum(report.cost.amount for report in tracker.history if report.cost is not None))
        assert spent <= euros(total)
        assert tracker.money_left == euros(total) - spent
    for report in tracker.history:
        assert report.cost == tracker.budget.price(report.samples)  # type: ignore[union-attr]


@every_kind
def test_more_rows_than_asked_are_paid_at_their_true_price(make: Callable[..., Tracker]) -> None:
    tracker, draw = make(150, 4), draws(1)
    tracker.ask()
    report = tracker.tell(*draw(1)(100))
    assert report is not None
    assert report.cost == euros(120)
    request = tracker.ask()
    assert request.money_left == euros(30)
    assert request.samples <= 10
    tracker.tell(*draw(2)(100), final=False)
    asked = tracker.ask()
    assert (asked.samples, asked.cost, asked.money_left) == (0, euros(0), euros(0))
    assert asked.reason.endswith("the rows delivered exceed the budget by 90 EUR")
    tracker.tell()
    after = tracker.ask()
    assert (after.samples, after.money_left) == (0, euros(0))
    if after.plan is not None:
        assert after.reason.endswith("the budget is overspent by 90 EUR")
        assert after.plan.samples == (0, 0)


@pytest.mark.parametrize("make", [practical, in_paper], ids=["practical", "known"])
def test_the_plan_ahead_is_what_is_asked(make: Callable[..., Tracker]) -> None:
    tracker, draw = make(260, 5), draws(2)
    for period in range(1, 6):
        request = tracker.ask()
        if request.plan is not None:
            plan = request.plan
            assert (plan.first_period, plan.horizon) == (period, 6 - period)
            assert (plan.samples[0], plan.costs[0]) == (request.samples, request.cost)
            assert plan.budget == request.money_left
            assert plan.spent <= plan.budget
            assert plan.risks == risk_trajectory(tracker.outlook(), plan.samples)
            assert (request.risk_bound, request.interval) == (plan.risks[0], (request.samples,) * 2)
            assert request.reason.startswith(f"{6 - period} period")
        tracker.step(draw(period))
    assert all(report.asked == report.samples for report in tracker.history)


@pytest.mark.parametrize("make", [practical, in_paper], ids=["practical", "known"])
def test_large_fixed_costs_leave_periods_without_samples(make: Callable[..., Tracker]) -> None:
    tracker, draw = make(240, 6, cost=LinearCost(fixed=60, currency="EUR")), draws(3, rho=0.05)
    for period in range(1, 7):
        tracker.step(draw(period))
    samples = [report.samples for report in tracker.history]
    assert samples[0] > 0
    assert samples.count(0) >= 3  # four orders would leave nothing for rows
    assert tracker.money_left is not None
    assert tracker.money_left.amount >= 0


def test_a_period_is_one_order() -> None:
    """Parts of a delivery are not orders of their own: what is still to come costs what it adds to the price of the period."""
    cost = TieredCost(tiers=((1, 2), (6, 1)), fixed=10, currency="EUR")
    tracker, draw = in_paper(300, 4, cost=cost), draws(4)
    first = tracker.ask()
    tracker.tell(*draw(1)(7), final=False)
    rest = tracker.ask()
    assert rest.samples == first.samples - 7
    assert rest.cost == first.cost - euros(10 + 5 * 2 + 2 * 1)  # type: ignore[operator]
    assert rest.money_left == euros(300 - 22)
    assert rest.plan == first.plan


# ---- replanning


@pytest.mark.parametrize("total", [120, 180])
@pytest.mark.parametrize("gap", [MeanGap(), LargestGap()], ids=["mean", "largest"])
def test_with_a_known_drift_planning_again_reproduces_the_first_value(gap: MeanGap | LargestGap, total: int) -> None:
    """What is left of a plan can still be bought, so each plan is as good; and no run falls under what the first one proved."""
    tracker, draw = in_paper(total, 8, gap=gap), draws(5)
    first = before = tracker.ask().plan
    assert first is not None
    assert first.value > 0.0
    for period in range(1, 9):
        plan = tracker.ask().plan
        assert plan is not None
        if period > 1:
            assert before is not None
            tail = gap(np.array(before.gaps[1:]))
            assert plan.lower <= tail * (1.0 + 1e-9)
            assert plan.value <= tail / (1.0 - ACCURACY) + 1e-12
        before = plan
        tracker.step(draw(period))
    reached = gap(np.array([max(report.risk_bound - 0.1, 0.0) for report in tracker.history]))
    assert first.lower * (1.0 - 1e-9) <= reached <= first.value / (1.0 - ACCURACY) ** 8


def test_idle_periods_lose_nothing_where_the_risk_is_steeper_than_it_is_convex() -> None:
    """M = 4 m: the rule alone would take sqrt(M/m) more distance for each period without rows (theory S1)."""
    constants = Constants.given(m=0.5, M=2.0, A=0.16, B=8.0)
    tracker = in_paper(200, 6, cost=LinearCost(fixed=60, currency="EUR"), made={"constants": constants})
    draw, foreseen = draws(6), None
    for period in range(1, 7):
        plan = tracker.ask().plan
        assert plan is not None
        if foreseen is not None and tracker.history[-1].samples == 0:
            assert plan.risks[0] <= foreseen * (1.0 + 1e-9) or plan.samples[0] == 0
        foreseen = plan.risks[1] if plan.horizon > 1 else None
        report = tracker.step(draw(period))
        assert report.risk_bound == pytest.approx(plan.risks[0])
    assert 0 in [report.samples for report in tracker.history]


# ---- said early


@pytest.mark.parametrize("make", [practical, in_paper], ids=["practical", "known"])
def test_an_insufficient_budget_is_reported_with_the_target_it_can_meet(make: Callable[..., Tracker]) -> None:
    tracker, draw = make(200, 6, cost=LinearCost(fixed=30, currency="EUR")), draws(7, noise=0.3)
    if make is practical:
        tracker.step(draw(1))
    request = tracker.ask()
    assert request.plan is not None
    assert not request.plan.holds
    check = of_budget(request)
    problem = Problem(
        outlook=tracker.outlook(),
        epsilon=0.1,
        budget=request.money_left,  # type: ignore[arg-type]
        horizon=request.plan.horizon,
        cost=tracker.budget.cost,  # type: ignore[union-attr]
        gap=MeanGap(),
        first_period=request.period,
        bought_before=request.period > 1,
    )
    best = tightest_plan(problem, accuracy=ACCURACY)
    period = request.period + next(at for at, gap in enumerate(request.plan.gaps) if gap > 0.0)
    assert check.verdict is Verdict.WARN
    assert f"in period {period};" in check.sentence
    reached = float(check.sentence.split("it can meet ")[1].rstrip("."))
    assert (
        best.epsilon * (1.0 - ACCURACY)
        <= reached * (1.0 + 1e-3)
        <= best.epsilon / (1.0 - TIGHTEST_ACCURACY) * (1.0 + 2e-3)
    )
    exact = plan_exact(problem, accuracy=0)
    assert exact.lower * (1.0 - 1e-9) <= request.plan.value
    assert request.plan.value <= max(exact.value / (1.0 - ACCURACY), exact.value + NEGLIGIBLE * 0.1)


def test_a_budget_that_lasts_passes() -> None:
    tracker = in_paper(2000, 6)
    request = tracker.ask()
    assert request.outcome is Outcome.MET
    check = of_budget(request)
    assert check.verdict is Verdict.PASS
    assert check.sentence == (
        f"The remaining budget meets the target of 0.1 over 6 periods, with {request.plan.left} to spare."  # type: ignore[union-attr]
    )


def test_when_nothing_can_be_bought_any_more_it_fails() -> None:
    tracker, draw = in_paper(60, 4), draws(8)
    tracker.ask()
    report = tracker.tell(*draw(1)(40))
    assert report is not None
    assert report.outcome is Outcome.BUDGET  # the money did not reach for more, and the bound is above the target
    request = tracker.ask()
    assert (request.samples, request.outcome) == (0, Outcome.BUDGET)
    check = of_budget(request)
    assert check.verdict is Verdict.FAIL
    assert check.sentence.startswith("The remaining budget, 0 EUR, buys no more rows, and the target of 0.1 is missed")
    closed = tracker.tell()
    assert closed is not None
    assert (closed.outcome, closed.cost) == (Outcome.BUDGET, euros(0))


def test_a_target_that_is_met_needs_no_samples() -> None:
    tracker = in_paper(100, 3, made={"rho": 0.0, "epsilon": 10.0, "start": (0.0, 0.0), "domain": Ball(radius=1.0)})
    request = tracker.ask()
    assert (request.samples, request.outcome, request.cost) == (0, Outcome.ENOUGH, euros(0))
    assert request.plan is not None
    assert request.plan.samples == (0, 0, 0)
    assert request.reason.startswith("3 periods and 100 EUR remain: none in this period, and none after it")
    report = tracker.tell()
    assert report is not None
    assert report.outcome is Outcome.ENOUGH


@every_kind
def test_when_the_horizon_is_over_nothing_is_asked(make: Callable[..., Tracker]) -> None:
    tracker, draw = make(300, 2), draws(9)
    for period in (1, 2):
        tracker.step(draw(period))
    request = tracker.ask()
    assert (request.samples, request.plan, request.cost) == (0, None, euros(0))
    assert request.reason.startswith("the horizon of the budget, 2 periods, has passed, and ")
    assert request.outcome in (Outcome.BUDGET, Outcome.ENOUGH)
    assert of_budget(request).verdict is (Verdict.FAIL if request.outcome is Outcome.BUDGET else Verdict.PASS)
    tracker.tell(*draw(3)(5), final=False)  # rows that come all the same are fitted and paid
    assert tracker.ask().samples == 0
    report = tracker.tell()
    assert report is not None
    assert (report.samples, report.cost) == (5, euros(25))
    with pytest.raises(ProtocolError, match=r"plan\(\) was called after the 2 periods of the budget; give horizon=."):
        tracker.plan()


# ---- the pilot


def test_the_pilot_is_part_of_the_first_period() -> None:
    tracker, draw = practical(300, 4), draws(10, noise=1.0)
    first = tracker.ask()
    assert (first.samples, first.plan, first.outcome) == (10, None, Outcome.PILOT)
    assert first.cost == euros(30)
    assert of_budget(first).verdict is Verdict.WARN
    tracker.tell(*draw(1)(10), final=False)
    planned = tracker.ask()
    assert planned.plan is not None
    assert planned.plan.samples[0] == 10 + planned.samples
    assert planned.cost == euros(planned.samples)  # the fixed price is paid already
    report = tracker.step(draw(1))
    assert report.samples == planned.plan.samples[0]
    assert report.cost == planned.plan.costs[0]


def test_a_pilot_that_the_money_cannot_pay_in_full() -> None:
    tracker, draw = practical(26, 3), draws(11)
    request = tracker.ask()
    assert (request.samples, request.outcome, request.cost) == (6, Outcome.BUDGET, euros(26))
    assert request.reason.endswith("the budget pays for 6 in all")
    report = tracker.step(draw(1))
    assert (report.samples, report.outcome, report.risk_bound) == (6, Outcome.BUDGET, math.inf)
    assert tracker.ask().samples == 0


def test_a_larger_pilot_than_planned_is_accepted() -> None:
    """Five hundred rows came where a few were asked: the plan of the period is all of them, and goes on with the rest."""
    tracker, draw = practical(600, 4), draws(12)
    tracker.ask()
    tracker.tell(*draw(1)(500), final=False)
    request = tracker.ask()
    assert request.plan is not None
    assert (request.samples, request.plan.samples[0]) == (0, 500)
    assert request.plan.spent <= euros(600)
    assert request.plan.lower <= request.plan.value
    assert request.plan.reason.startswith("the rows of this period are given, and from then on ")


def test_first_samples_are_bought_as_far_as_the_money_goes() -> None:
    tracker, draw = learning(60, 4), draws(13)
    first = tracker.ask()
    assert (first.samples, first.plan) == (30, None)
    assert "the size of the first periods is fixed" in of_budget(first).sentence
    tracker.step(draw(1))
    second = tracker.ask()
    assert (second.samples, second.cost, second.money_left, second.outcome) == (0, euros(0), euros(10), Outcome.BUDGET)
    assert second.reason.startswith(
        "30 rows needed (the size of the first periods is fixed), but the budget pays for 0"
    )


def test_before_drift_is_observed_an_order_has_an_even_share_of_the_money() -> None:
    tracker, draw = learning(400, 8), draws(14)
    tracker = in_paper(400, 8, made={"rho": None})
    for period in (1, 2):
        request = tracker.ask()
        assert request.plan is None
        assert request.outcome is Outcome.BUDGET
        assert request.cost == euros(50)
        tracker.step(draw(period))
    assert tracker.ask().plan is not None


def test_constants_that_are_to_be_estimated_first() -> None:
    made = {"constants": None, "rho": None, "first_samples": (30, 30), "features": None}
    tracker, draw = in_paper(600, 5, made=made), draws(15)
    for period in range(1, 6):
        request = tracker.ask()
        assert request.cost <= request.money_left  # type: ignore[operator]
        tracker.step(draw(period))
    assert tracker.money_left.amount >= 0  # type: ignore[union-attr]


def test_samples_have_neighbours_where_the_drift_is_learnt_from_neighbours() -> None:
    """By default: yes where neighbouring periods are compared, no where the drift is known or followed by other means."""
    cost = LinearCost(fixed=40, currency="EUR")

    def lonely(tracker: Tracker) -> int:
        """Return how many periods of the plan have samples and no neighbour that has."""
        plan = tracker.ask().plan
        assert plan is not None
        bought = np.array([tracker._state.bought, *(count > 0 for count in plan.samples), False])
        return int((bought[1:-1] & ~bought[:-2] & ~bought[2:]).sum())

    for adjacent in (None, True, False):
        tracker, draw = learning(330, 10, cost=cost, adjacent=adjacent), draws(16, rho=0.02)
        for period in (1, 2):
            tracker.step(draw(period))
        assert (lonely(tracker) == 0) == (adjacent is not False)
    assert lonely(in_paper(330, 10, cost=cost)) > 0
    assert lonely(in_paper(330, 10, cost=cost, adjacent=True)) == 0


def test_a_pool_smaller_than_the_plan() -> None:
    tracker, draw = in_paper(400, 4), draws(17)
    request = tracker.ask(pool=15)
    assert (request.samples, request.outcome) == (15, Outcome.POOL)
    assert request.plan is not None
    assert request.plan.samples[0] == 15
    assert request.plan.spent <= euros(400)
    with pytest.raises(ProtocolError, match=r"must be the same as when period 1 was sized"):
        tracker.ask(pool=3)
    assert tracker.step(draw(1)).outcome is Outcome.POOL


@pytest.mark.parametrize(
    "made",
    [
        {"rule": "update-past"},
        {"rule": DoNotUpdate(track="distance")},
        {"rho": None, "first_samples": (30, 30), "drift": Drift(one_step=DirectHeldOut())},
    ],
    ids=["update-past", "distance", "held-out"],
)
def test_what_the_plan_promises_is_what_is_proven_when_its_rows_come(made: dict[str, Any]) -> None:
    """The outlook and the rule speak of the same bound: rows that are held out are paid, and are not trained on."""
    tracker, draw = in_paper(330, 6, made=made), draws(20)
    planned = 0
    for period in range(1, 7):
        request = tracker.ask()
        report = tracker.step(draw(period))
        if request.plan is not None:
            planned += 1
            assert report.risk_bound == pytest.approx(request.plan.risks[0])
            assert report.cost == request.plan.costs[0]
    assert planned >= 3
    assert tracker.money_left.amount >= 0  # type: ignore[union-attr]


# ---- looking ahead without buying


def test_looking_ahead_before_the_pilot_is_too_early() -> None:
    for tracker in (practical(), learning()):
        for look in (tracker.outlook, tracker.plan):
            with pytest.raises(ProtocolError, match=r"it is too early to plan ahead: .*; ask and"):
                look()


def test_a_tracker_without_a_budget_plans_too() -> None:
    tracker, draw = Tracker(SquaredLoss(), tolerance=0.1, rng=0), draws(18, noise=0.5)
    for period in (1, 2):
        tracker.step(draw(period))
    before = tracker.ask()
    cheapest = tracker.plan(horizon=4, cost=COST)
    assert cheapest.holds
    assert (cheapest.first_period, cheapest.epsilon) == (3, before.epsilon)
    assert tracker.plan(horizon=4, cost=COST, budget=cheapest.spent).value == 0.0
    assert tracker.plan(budget=cheapest.spent, cost=COST).horizon >= 4
    assert tracker.plan(horizon=2, epsilon=10.0).samples == (0, 0)
    assert tracker.ask() == before
    with pytest.raises(ParameterError, match=r"must include at least two of the three; got neither budget nor horizon"):
        tracker.plan()
    assert (tracker.budget, tracker.money_left, before.cost, before.plan) == (None, None, None, None)


def test_the_plan_of_a_tracker_with_a_budget_is_the_one_it_follows() -> None:
    tracker = in_paper(260, 6, weights=(1, 1, 1, 1, 1, 4))
    request = tracker.ask()
    assert request.plan is not None
    exact = tracker.plan(accuracy=ACCURACY)
    assert request.plan.budget == exact.budget
    assert request.plan.value <= max(exact.value / (1.0 - ACCURACY), exact.value + NEGLIGIBLE * exact.epsilon)
    assert tracker.plan(horizon=2).horizon == 2


def test_a_bound_in_terms_of_all_rows_where_some_are_held_out() -> None:
    bound = HeldOutBound(bound=OrdinaryLeastSquares(noise=0.5, features=2), share=0.3)
    check_bound(bound)
    distances, samples = np.array([0.5, 2.0]), np.array([1, 7, 40])
    expected = [[bound(d, int(count)) for count in samples] for d in distances]
    np.testing.assert_allclose(bound.table(distances, samples), expected)


# ---- refusals


@every_kind
def test_a_refused_call_changes_nothing(make: Callable[..., Tracker]) -> None:
    tracker, draw = make(300, 4), draws(19)
    tracker.step(draw(1))
    request, left = tracker.ask(), tracker.money_left
    with pytest.raises(DataError):
        tracker.tell([[math.inf, 1.0]], [1.0])
    assert tracker.ask() == request
    assert tracker.money_left == left


@pytest.mark.parametrize("budget", [500, {"total": 3}, Budget], ids=["number", "dict", "class"])
def test_invalid_budgets_are_refused(budget: Any) -> None:
    with pytest.raises(ParameterError, match=r"Tracker\(budget=...\) must be a Budget; got "):
        Tracker(SquaredLoss(), epsilon=0.1, budget=budget)
