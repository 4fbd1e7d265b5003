"""A budget that buys in batches: where they cost nothing more, about as few rows as without one, and never over the money."""

import math
from typing import Any

import numpy as np
import pytest

from driftpace import Budget, LinearCost, SquaredLoss, TieredCost, Tracker
from driftpace.errors import ParameterError
from driftpace.planning import CustomCost
from driftpace.records import Money, Outcome
from driftpace.synthetic.shaped_regression import ShapedRegression
from driftpace.typing import FloatArray
from tests.reference.budgeted import draws

EACH = LinearCost(per_sample="0.5", currency="EUR")
EPSILON = 0.1


def tracker_of(total: object = 300, horizon: int = 5, *, epsilon: float = EPSILON, **budget: Any) -> Tracker:
    limit = Budget(**{"total": total, "horizon": horizon, "cost": EACH, **budget})
    return Tracker(SquaredLoss(), epsilon=epsilon, budget=limit, rng=0)


def euros(amount: object) -> Money:
    return Money.of(amount, "EUR")


# ---- when


@pytest.mark.parametrize(
    ("cost", "batches", "expected"),
    [
        (LinearCost(per_sample=2), None, True),
        (LinearCost(per_sample=2, minimum=1), None, True),
        (LinearCost(fixed=5), None, False),
        (LinearCost(minimum=25), None, False),
        (TieredCost(tiers=((1, 2), (101, 1))), None, False),
        (CustomCost(lambda count: 2 * count), None, False),  # nobody can know that of a function
        (LinearCost(fixed=5), True, True),
        (LinearCost(per_sample=2), False, False),
    ],
)
def test_batches_where_they_cost_nothing_more_or_as_configured(cost: Any, batches: bool | None, expected: bool) -> None:
    assert Budget(total=1000, horizon=3, cost=cost, batches=batches).in_batches is expected


def test_an_invalid_switch_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"Budget\(batches=\.\.\.\) must be True or False; got 'no'"):
        Budget(total=10, horizon=2, batches="no")  # type: ignore[arg-type]


def test_an_order_with_a_fixed_price_is_requested_at_once() -> None:
    tracker, draw = tracker_of(cost=LinearCost(fixed=20, currency="EUR")), draws(3, noise=1.0)
    tracker.step(draw(1))
    request = tracker.ask()
    assert request.plan is not None
    assert request.samples == request.plan.samples[0] > 0
    tracker.tell(*draw(2)(request.samples), final=False)
    assert tracker.ask().samples == 0
    assert tracker.ask().plan == request.plan


# ---- what


def test_the_first_batch_is_a_part_of_the_plan_and_says_so() -> None:
    tracker, draw = tracker_of(2000, 6), draws(3, noise=1.0)
    tracker.step(draw(1))
    request = tracker.ask()
    assert request.plan is not None
    planned = request.plan.samples[0]
    assert 0 < request.samples < planned
    assert request.cost == euros(request.samples) - euros(request.samples / 2)
    assert f"{planned} rows in this period for {euros(planned / 2)}, {request.samples} of them first" in request.reason
    assert request.interval[0] <= request.samples < planned <= request.interval[1]
    tracker.tell(*draw(2)(request.samples), final=False)
    second = tracker.ask()
    assert second.plan is not None
    assert second.plan != request.plan
    assert second.plan.samples[0] >= request.samples  # of the whole period, those that came included
    assert second.plan.budget == request.money_left
    assert request.money_left is not None
    assert second.money_left == request.money_left - request.cost


def test_reason_and_verdict_speak_of_the_same_money() -> None:
    """Also in a first period, whose plan has its pilot still to pay: what is left is what the rows that came leave."""
    tracker, draw = tracker_of(40, 6, epsilon=0.01), draws(4, noise=1.0)
    tracker.tell(*draw(1)(tracker.ask().samples), final=False)
    for period in (1, 2):
        request = tracker.ask()
        (check,) = [assumption for assumption in request.assumptions if assumption.name == "budget"]
        assert f"and {request.money_left} remain: " in request.reason
        assert check.sentence.startswith(f"The remaining budget, {request.money_left}, does not meet the target")
        tracker.tell(*draw(period)(3), final=False)
        assert tracker.ask().money_left != request.money_left
        tracker.tell()


def test_a_requested_batch_stays_until_rows_arrive() -> None:
    tracker, draw = tracker_of(2000, 6), draws(5, noise=1.0)
    tracker.step(draw(1))
    first = tracker.ask()
    assert tracker.ask() == first
    tracker.tell(*draw(2)(3), final=False)
    tracker.ask()
    tracker.forget()
    assert tracker.ask().samples == first.samples
    assert tracker.ask().plan == first.plan


def test_a_period_closed_before_its_rows_arrive_is_short() -> None:
    tracker, draw = tracker_of(2000, 6, epsilon=0.02), draws(6, noise=1.0)
    tracker.step(draw(1))
    request = tracker.ask()
    assert request.plan is not None
    report = tracker.tell(*draw(2)(4))
    assert report is not None
    assert report.samples == 4 < request.plan.samples[0]
    assert (report.outcome, report.cost) == (Outcome.SHORT, euros(2))


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (3, 4, 5))])
@pytest.mark.parametrize(
    "cost",
    [EACH, LinearCost(fixed=9, per_sample="0.5", currency="EUR"), TieredCost(tiers=((1, 2), (6, 1)), currency="EUR")],
    ids=["each", "fixed", "tiers"],
)
def test_never_over_the_money(cost: Any, seed: int) -> None:
    """Whatever comes of what is asked: no batch is beyond the money, prices add up, and plans are of the whole period."""
    rng = np.random.default_rng((seed, 8))
    total = int(rng.integers(20, 150))
    tracker, draw = tracker_of(total, 5, cost=cost, batches=True), draws(seed, noise=0.5)
    for period in range(1, 6):
        while True:
            request, received = tracker.ask(), tracker._state.gathered
            assert request.cost is not None
            assert request.money_left is not None
            assert request.cost <= request.money_left
            if request.plan is not None:
                plan = request.plan
                assert plan.samples[0] >= received + min(request.samples, 1)
                assert plan.spent <= plan.budget
                assert plan.lower <= plan.value
                assert plan.budget - tracker.budget.price(received) == request.money_left  # type: ignore[union-attr]
            if request.samples == 0 or rng.random() < 0.1:
                break
            tracker.tell(*draw(period)(int(rng.integers(1, request.samples + 1))), final=False)
        tracker.tell()
    spent = sum(report.cost.amount for report in tracker.history if report.cost is not None)
    assert spent <= total


def test_a_fixed_price_that_is_paid_is_not_planned_for_again() -> None:
    """The plan after the first batch may spend to the last unit: further rows cost a unit each, and no order."""
    cost = LinearCost(fixed=40, currency="EUR")
    tracker, draw = tracker_of(160, 2, cost=cost, batches=True, epsilon=0.01), draws(9, rho=0.01, noise=1.0)
    tracker.step(lambda count: draw(1)(min(count, 20)))
    request = tracker.ask()
    assert request.plan is not None
    tracker.tell(*draw(2)(5), final=False)
    rest = tracker.ask()
    assert rest.plan is not None
    assert rest.cost == euros(rest.samples)
    assert rest.money_left == request.money_left - euros(45)  # type: ignore[operator]
    assert rest.plan.spent == rest.plan.budget  # the target is out of reach, and the period the last


# ---- is it worth it, and is the promise kept


def followed(cost: float, epsilon: float, seed: int, budget: Budget | None, *, periods: int) -> tuple[int, FloatArray]:
    """Return the rows that were bought in all, and the true excess risk of each period."""
    world = ShapedRegression(features=4, cost=cost, shape="walk" if cost else "still", rng=seed, noise=1.0)
    rng = np.random.default_rng((seed, 9))
    tracker = Tracker(SquaredLoss(), epsilon=epsilon, budget=budget, rng=0)
    risks = []
    for number in range(1, periods + 1):
        period = world.period(number)
        tracker.step(lambda count, period=period: period.draw(count, rng=rng))  # type: ignore[misc]
        assert tracker.coef is not None
        risks.append(period.excess_risk(SquaredLoss(), tracker.coef))
    return sum(report.samples for report in tracker.history), np.array(risks)


@pytest.mark.statistical
def test_batches_buy_less_than_one_order_a_period(seed: int) -> None:
    """In a stationary world with money to spare, and the target is met; the slow test below compares with no budget.

    Error budget: the paired difference is about 50 rows with a deviation of 30, four standard errors of six runs, 0.005
    (Student t); the risk is about half the target.
    """
    periods, runs = 5, 6
    budgets = [Budget(total=100_000, horizon=periods, cost=LinearCost(), batches=batches) for batches in (True, False)]
    (batched, risks), (ordered, _) = (
        zip(*(followed(0.0, EPSILON, 100 * seed + run, budget, periods=periods) for run in range(runs)), strict=True)
        for budget in budgets
    )
    assert sum(batched) < sum(ordered)
    assert np.mean(risks) <= EPSILON


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("cost", [0.0, 0.05], ids=["still", "walk"])
def test_with_money_to_spare_no_more_is_bought_than_without_a_budget(cost: float, seed: int) -> None:
    """And the promise is kept. Control: in a world that stands still, one order a period buys far more.

    Error budget: the mean risk may be four standard errors of twelve runs above the target, 0.001 (Student t) if it were at
    the target. The counts of rows are of the same worlds. By resampling 40 worlds that stand still, the control fails with a
    chance of 0.04; the ratio to no budget, 1.0 with a standard error of 0.08, is above 1.2 with a chance of 0.01.
    """
    periods, runs, epsilon = 5, 12, 0.1
    money = Budget(total=100_000, horizon=periods, cost=LinearCost())
    free = [followed(cost, epsilon, 100 * seed + run, None, periods=periods) for run in range(runs)]
    kept = [followed(cost, epsilon, 100 * seed + run, money, periods=periods) for run in range(runs)]
    labels, within = (np.mean([rows for rows, _ in study]) for study in (free, kept))
    assert within <= 1.2 * labels
    risks = np.array([risk for _, risk in kept])
    error = risks.mean(axis=1).std(ddof=1) / math.sqrt(runs)
    assert risks.mean() <= epsilon + 4.0 * error
    if cost == 0.0:
        once = Budget(total=100_000, horizon=periods, cost=LinearCost(), batches=False)
        ordered = [followed(cost, epsilon, 100 * seed + run, once, periods=periods)[0] for run in range(runs)]
        assert np.mean(ordered) > 1.4 * labels
