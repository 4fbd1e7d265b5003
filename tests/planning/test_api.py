"""The function plan: every combination of arguments, and an answer or an error for unusual ones."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import driftpace
from driftpace.bounds import Anchored
from driftpace.errors import ParameterError
from driftpace.planning import (
    CustomCost,
    CustomGap,
    LargestGap,
    LargestRun,
    LinearCost,
    MeanGap,
    Outlook,
    Problem,
    TieredCost,
    cheapest_plan,
    longest_plan,
    plan_exact,
    tightest_plan,
)
from driftpace.planning.problem import risk_gaps, risk_trajectory
from driftpace.records import Money, Plan

PLAIN: dict[str, Any] = {"noise": 1.0, "features": 5, "rho": 0.1}
ASKED: dict[str, Any] = {"epsilon": 0.1, "budget": 500, "horizon": 6}
COST = LinearCost(fixed=20, currency="EUR")
BOUND = Anchored(noise=1.0, features=5)
OUTLOOK = Outlook(bound=BOUND, rho=0.1, start=3.0)


def plan(**given: Any) -> Plan:
    return driftpace.plan(**given)


def sound(found: Plan, outlook: Outlook) -> None:
    """What every answer must be: finite, within the budget, and with the risks of its own samples."""
    risks = risk_trajectory(outlook, found.samples)
    assert found.risks == risks
    assert all(math.isfinite(risk) for risk in risks)
    assert found.gaps == tuple(risk_gaps(risks, found.epsilon))
    assert 0.0 <= found.lower <= found.value < math.inf
    assert found.spent.amount <= found.budget.amount
    assert found.reason


# What is given, and what is solved for.


def test_all_three_given_is_the_exact_plan() -> None:
    given = ASKED | {"budget": 100}
    problem = Problem(outlook=OUTLOOK, epsilon=0.1, budget=Money.of(100, "EUR"), horizon=6, cost=COST, gap=MeanGap())
    assert plan(**PLAIN, **given, cost=COST) == plan_exact(problem)
    assert plan(outlook=OUTLOOK, **given, cost=COST) == plan_exact(problem)
    assert plan(bound=BOUND, rho=0.1, start=3.0, **given, cost=COST) == plan_exact(problem)


def test_the_one_left_out_is_solved_for() -> None:
    problem = Problem(outlook=OUTLOOK, epsilon=0.1, budget=Money.of(200, "EUR"), horizon=6, cost=COST, gap=LargestGap())
    assert plan(**PLAIN, cost=COST, epsilon=0.1, horizon=6) == cheapest_plan(problem)
    assert plan(**PLAIN, cost=COST, budget=200, horizon=6) == tightest_plan(problem)
    assert plan(**PLAIN, cost=COST, epsilon=0.1, budget=200) == longest_plan(problem)


@pytest.mark.parametrize(
    "left_out",
    [names for size in (2, 3) for names in itertools.combinations(ASKED, size)],
    ids=["-".join(names) for size in (2, 3) for names in itertools.combinations(ASKED, size)],
)
def test_two_of_the_three_must_be_given(left_out: tuple[str, ...]) -> None:
    given = {name: value for name, value in ASKED.items() if name not in left_out}
    with pytest.raises(
        ParameterError, match=f"must include at least two of the three; got neither {' nor '.join(left_out)}"
    ):
        plan(**PLAIN, **given)


@pytest.mark.parametrize("gap", ["mean", "largest", "run"])
def test_goals_have_names(gap: str) -> None:
    goals: dict[str, Any] = {"mean": MeanGap, "largest": LargestGap, "run": LargestRun}
    weights = (1, 1, 2, 2, 3, 3)
    given = PLAIN | ASKED | {"budget": 60, "accuracy": 0.1}
    assert plan(**given, gap=gap) == plan(**given, gap=goals[gap]())
    weighted = plan(**given, gap=gap, weights=weights)
    assert weighted == plan(**given, gap=goals[gap](weights))
    assert weighted.goal == goals[gap].name
    assert plan(**given, gap=gap, weights=np.array(weights)) == weighted
    assert plan(**given, gap=gap, weights=list(weights)) == weighted


def test_a_custom_goal_is_taken() -> None:
    squares = CustomGap(lambda gaps: float(gaps @ gaps), "squared gaps")
    found = plan(**PLAIN, **(ASKED | {"budget": 60}), gap=squares)
    assert found.goal == "squared gaps"
    sound(found, OUTLOOK)


@pytest.mark.parametrize("missing", ASKED)
@pytest.mark.parametrize(
    "goal",
    [
        {"weights": (1,) * 6},
        {"gap": "largest"},
        {"gap": "run"},
        {"gap": MeanGap()},
        {"gap": "run", "weights": (1,) * 6},
    ],
    ids=["weights", "largest", "run", "own-mean", "weighted-run"],
)
def test_goals_have_no_place_where_one_is_left_out(missing: str, goal: dict[str, Any]) -> None:
    given = {name: value for name, value in ASKED.items() if name != missing}
    with pytest.raises(ParameterError, match=f"must be omitted when solving for {missing}"):
        plan(**PLAIN, **given, **goal)


def test_periods_and_neighbours_are_passed_on() -> None:
    found = plan(**PLAIN, **(ASKED | {"budget": 60}), adjacent=True, bought_before=True, first_period=7)
    assert found.first_period == 7
    bought = [True, *(samples > 0 for samples in found.samples), False]
    assert all(not bought[n] or bought[n - 1] or bought[n + 1] for n in range(1, 7))


def test_money_takes_the_currency_of_the_prices() -> None:
    assert str(plan(**PLAIN, **ASKED, cost=COST).budget) == "500 EUR"
    assert plan(**PLAIN, **ASKED, cost=COST) == plan(**PLAIN, **(ASKED | {"budget": Money.of(500, "EUR")}), cost=COST)
    assert plan(**PLAIN, **(ASKED | {"budget": "500.00"}), cost=COST).spent == plan(**PLAIN, **ASKED, cost=COST).spent


def test_the_start_is_three_standard_deviations_of_the_noise_by_default() -> None:
    given = {"noise": 4.0, "features": 5, "rho": 0.1}
    assert plan(**given, **ASKED) == plan(**given, **ASKED, start=6.0)


# What is refused, each with its sentence.

NAN = float("nan")
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "outlook beside rho": (
        {"outlook": OUTLOOK, "rho": 0.1},
        r"plan\(rho=\.\.\.\) must be omitted beside an outlook; got 0\.1",
    ),
    "outlook beside start": (
        {"outlook": OUTLOOK, "start": 0.0},
        r"plan\(start=\.\.\.\) must be omitted beside an outlook",
    ),
    "outlook beside a bound": (
        {"outlook": OUTLOOK, "bound": BOUND},
        r"plan\(bound=\.\.\.\) must be omitted beside an outlook",
    ),
    "no outlook": ({"outlook": 3}, r"plan\(outlook=\.\.\.\) must be an Outlook; got 3"),
    "no rho": ({"noise": 1.0, "features": 5}, r"plan\(rho=\.\.\.\) must be given without an outlook"),
    "no noise": (
        {"features": 5, "rho": 0.1},
        r"plan\(noise=\.\.\.\) must be given without an outlook or a bound",
    ),
    "no features": (
        {"noise": 1.0, "rho": 0.1},
        r"plan\(features=\.\.\.\) must be given without an outlook or a bound",
    ),
    "nothing": ({}, r"plan\(rho=\.\.\.\) must be given"),
    "bound without start": ({"bound": BOUND, "rho": 0.1}, r"plan\(start=\.\.\.\) must be given beside a bound"),
    "bound beside noise": (
        {"bound": BOUND, "rho": 0.1, "start": 1.0, "noise": 2.0},
        r"plan\(noise=\.\.\.\) must be omitted beside a bound; got 2\.0",
    ),
    "bound beside features": (
        {"bound": BOUND, "rho": 0.1, "start": 1.0, "features": 2},
        r"plan\(features=\.\.\.\) must be omitted beside a bound; got 2",
    ),
    "no bound": ({"bound": 3, "rho": 0.1, "start": 1.0}, r"Outlook\(bound=\.\.\.\) must be a risk bound; got 3"),
    "noise of zero": (PLAIN | {"noise": 0.0}, r"plan\(noise=\.\.\.\) must be positive and finite; got 0\.0"),
    "noise that is a word": (
        PLAIN | {"noise": "loud"},
        r"plan\(noise=\.\.\.\) must be positive and finite; got 'loud'",
    ),
    "half a feature": (PLAIN | {"features": 1.5}, r"features=\.\.\.\) must be a whole number of at least 1; got 1\.5"),
    "negative rho": (PLAIN | {"rho": -0.1}, r"rho=\.\.\.\) must be between 0 and 1e150"),
    "rho not a number": (PLAIN | {"rho": NAN}, r"rho=\.\.\.\) must be between 0 and 1e150"),
    "start beyond squares": (PLAIN | {"start": 1e155}, r"start=\.\.\.\) must be between 0 and 1e150"),
    "epsilon of zero": (PLAIN | {"epsilon": 0.0}, r"plan\(epsilon=\.\.\.\) must be positive and finite; got 0\.0"),
    "epsilon not a number": (PLAIN | {"epsilon": NAN}, r"plan\(epsilon=\.\.\.\) must be positive and finite; got nan"),
    "negative budget": (
        PLAIN | {"budget": -1},
        r"plan\(budget=\.\.\.\) must be an amount of money from 0 to 1e\+15; got -1",
    ),
    "budget not a number": (PLAIN | {"budget": NAN}, r"plan\(budget=\.\.\.\) must be an amount of money"),
    "budget without end": (PLAIN | {"budget": math.inf}, r"plan\(budget=\.\.\.\) must be an amount of money"),
    "budget of words": (PLAIN | {"budget": "lots"}, r"plan\(budget=\.\.\.\) must be an amount of money .* got 'lots'"),
    "budget beyond counting": (PLAIN | {"budget": 1e16}, r"plan\(budget=\.\.\.\) must be an amount of money"),
    "budget that is true": (PLAIN | {"budget": True}, r"plan\(budget=\.\.\.\) must be an amount of money"),
    "other currency": (
        PLAIN | {"budget": Money.of(5, "USD"), "cost": COST},
        r"plan\(budget=\.\.\.\) must be in EUR; got 5 USD",
    ),
    "more coins than can be counted": (
        PLAIN | {"budget": 10**15, "cost": LinearCost(per_sample="0.000000001")},
        r"plan\(budget=\.\.\.\) must be at most \d+ times the unit of the prices",
    ),
    "no horizon": (PLAIN | {"horizon": 0}, r"plan\(horizon=\.\.\.\) must be a whole number of at least 1; got 0"),
    "half a period": (
        PLAIN | {"horizon": 1.5},
        r"plan\(horizon=\.\.\.\) must be a whole number of at least 1; got 1\.5",
    ),
    "horizon in words": (
        PLAIN | {"horizon": "6"},
        r"plan\(horizon=\.\.\.\) must be a whole number of at least 1; got '6'",
    ),
    "horizon that is true": (PLAIN | {"horizon": True}, r"plan\(horizon=\.\.\.\) must be a whole number"),
    "horizon without end": (
        PLAIN | {"horizon": 10**9},
        r"plan\(horizon=\.\.\.\) must be at most 10,000 periods; got 1000000000",
    ),
    "unknown goal": (PLAIN | {"gap": "max"}, r"plan\(gap=\.\.\.\) must be one of 'mean', 'largest', 'run'; got 'max'"),
    "goal not made": (PLAIN | {"gap": MeanGap}, r"plan\(gap=\.\.\.\) must be an objective such as MeanGap\(\)"),
    "no goal": (PLAIN | {"gap": None}, r"plan\(gap=\.\.\.\) must be an objective such as MeanGap\(\); got None"),
    "too few weights": (PLAIN | {"weights": (1, 2)}, r"weights=\.\.\.\) must be one per period, 6; got 2"),
    "negative weight": (PLAIN | {"weights": (1, 1, 1, 1, 1, -1)}, r"weights=\.\.\.\) must be numbers from 0"),
    "weights of zero": (PLAIN | {"weights": (0,) * 6}, r"weights=\.\.\.\) must be numbers from 0"),
    "weight not a number": (
        PLAIN | {"weights": (1, 1, 1, 1, 1, NAN)},
        r"plan\(weights=\.\.\.\) must be a finite vector",
    ),
    "weights in words": (
        PLAIN | {"weights": "abcdef"},
        r"plan\(weights=\.\.\.\) must be a finite vector; got 'abcdef'",
    ),
    "one weight": (PLAIN | {"weights": 3}, r"plan\(weights=\.\.\.\) must be a finite vector"),
    "weights beside a goal": (
        PLAIN | {"weights": (1,) * 6, "gap": LargestGap()},
        r"plan\(weights=\.\.\.\) must be set on the objective when gap is an object",
    ),
    "cost that is a number": (
        PLAIN | {"cost": 5},
        r"plan\(cost=\.\.\.\) must be a cost, with currency, unit and units; got 5",
    ),
    "cost not made": (PLAIN | {"cost": LinearCost}, r"plan\(cost=\.\.\.\) must be a cost"),
    "falling cost": (
        PLAIN | {"cost": CustomCost(lambda samples: 10.0 / samples if samples else 0.0)},
        r"CustomCost\(function=\.\.\.\) must not decrease with the number of samples; got 10 for 1 samples and 5 for 2",
    ),
    "negative cost": (
        PLAIN | {"cost": CustomCost(lambda samples: -samples)},
        r"CustomCost\(function=\.\.\.\) must return a finite amount",
    ),
    "cost not a number": (
        PLAIN | {"cost": CustomCost(lambda samples: NAN if samples else 0.0)},
        r"CustomCost\(function=\.\.\.\) must return a finite amount of money of at least 0; got nan for 1 samples",
    ),
    "negative accuracy": (
        PLAIN | {"accuracy": -1.0},
        r"plan\(accuracy=\.\.\.\) must be zero or more, and finite; got -1\.0",
    ),
    "accuracy not a number": (PLAIN | {"accuracy": NAN}, r"plan\(accuracy=\.\.\.\) must be zero or more"),
    "neighbours half asked for": (PLAIN | {"adjacent": 1}, r"plan\(adjacent=\.\.\.\) must be True or False; got 1"),
    "periods from minus one": (PLAIN | {"first_period": -1}, r"plan\(first_period=\.\.\.\) must be a whole number"),
}


@pytest.mark.parametrize("odd", REFUSED, ids=[name.replace(" ", "-") for name in REFUSED])
def test_what_is_refused_has_one_sentence(odd: str) -> None:
    given, sentence = REFUSED[odd]
    with pytest.raises(ParameterError, match=sentence) as refusal:
        plan(**(ASKED | given))
    assert str(refusal.value).endswith(".")
    assert "\n" not in str(refusal.value)


def test_a_refusal_changes_nothing() -> None:
    """A price list is asked again after it was refused, and answers as it would have."""
    cost = CustomCost(lambda samples: 0.5 * samples, currency="EUR")
    with pytest.raises(ParameterError):
        plan(**PLAIN, **(ASKED | {"horizon": 0}), cost=cost)
    assert (
        plan(**PLAIN, **ASKED, cost=cost).spent
        == plan(**PLAIN, **ASKED, cost=LinearCost(per_sample="0.5", currency="EUR")).spent
    )


def test_a_target_out_of_reach_is_refused_when_money_is_asked_for() -> None:
    with pytest.raises(
        ParameterError, match=r"plan\(epsilon=\.\.\.\) must be attainable with orders of at most 10,000,000 samples"
    ):
        plan(**PLAIN, epsilon=1e-12, horizon=6)
    with pytest.raises(
        ParameterError, match=r"plan\(budget=\.\.\.\) must meet the target of 0\.1 for at least one period; got 3"
    ):
        plan(**PLAIN, epsilon=0.1, budget=3)


# What is odd and has an answer.


def test_a_budget_below_one_order_buys_nothing_and_reports_it() -> None:
    found = plan(**PLAIN, **(ASKED | {"budget": 50}), cost=LinearCost(fixed=50))
    assert found.samples == (0,) * 6
    assert found.lower == found.value > 0.0
    assert "below the price of one order" in found.reason
    assert plan(**PLAIN, **(ASKED | {"budget": 0})).samples == (0,) * 6
    nothing = plan(**PLAIN, budget=0, horizon=6)
    assert nothing.epsilon == OUTLOOK.bound(OUTLOOK.first_distance(5), 0)


@pytest.mark.parametrize("budget", [0, 500, None], ids=["no-money", "money", "any-money"])
def test_a_target_that_is_met_without_samples_costs_nothing(budget: int | None) -> None:
    found = plan(**PLAIN, epsilon=100.0, budget=budget, horizon=6)
    assert found.samples == (0,) * 6
    assert found.spent == Money.of(0)
    assert found.holds
    assert "without samples" in found.reason


ODD: dict[str, dict[str, Any]] = {
    "start of zero": {"start": 0.0},
    "start of zero, missed": {"start": 0, "epsilon": 0.001, "budget": 50},
    "start of zero, largest": {"start": 0, "epsilon": 0.001, "budget": 50, "gap": "largest"},
    "start of zero, run": {"start": 0, "epsilon": 0.001, "budget": 50, "gap": "run"},
    "next to no start": {"start": 1e-12, "epsilon": 0.01},
    "far away": {"start": 1e12},
    "no drift": {"rho": 0.0, "epsilon": 0.003},
    "no drift, whole number": {"rho": 0, "epsilon": 1, "start": 3},
    "no drift and no distance": {"rho": 0.0, "start": 0.0},
    "next to no drift": {"rho": 1e-12},
    "much drift": {"rho": 1e9},
    "little noise": {"noise": 1e-12, "epsilon": 1e-3},
    "hardly any noise": {"noise": 1e-290, "epsilon": 1e-3},
    "a million features": {"features": 10**6, "budget": 10**6},
    "more features than samples": {"features": 10**18, "budget": 10**9},
    "smallest target": {"epsilon": 5e-324},
    "largest target": {"epsilon": 1e300},
    "largest budget": {"budget": 1e15},
    "largest budget, small target": {"budget": 1e15, "epsilon": 1e-9},
    "a thousand million samples": {"cost": LinearCost(per_sample="0.000000001"), "budget": 1, "epsilon": 1e-6},
    "huge prices": {"cost": LinearCost(fixed=10**14, per_sample=10**12), "budget": 10**15},
    "prices that add up beyond 64 bits": {
        "cost": LinearCost(fixed="900000000000000.1"),
        "budget": "900000000000900.7",
        "epsilon": 0.5,
        "horizon": 11,
        "gap": "largest",
    },
    "orders for nothing": {"cost": LinearCost(per_sample=0)},
    "an order at one price": {"cost": LinearCost(fixed=100, per_sample=0), "budget": 450},
    "own price of nothing": {"cost": CustomCost(lambda _: 0)},
    "tiers of nothing": {"cost": TieredCost(tiers=((1, 0), (10, 1))), "budget": 60},
    "one period": {"horizon": 1, "budget": 20},
    "one period with a neighbour": {"horizon": 1, "budget": 20, "adjacent": True},
    "counted by numpy": {"horizon": np.int64(6), "budget": np.int64(60), "epsilon": np.float64(0.1)},
    "no accuracy": {"budget": 30, "accuracy": 0},
    "any accuracy": {"budget": 30, "accuracy": 2.0},
}


@pytest.mark.parametrize("odd", ODD, ids=[name.replace(",", "").replace(" ", "-") for name in ODD])
def test_unusual_input_has_an_answer(odd: str) -> None:
    given = PLAIN | ASKED | ODD[odd]
    start = given.get("start", 3.0 * math.sqrt(given["noise"]))
    bound = Anchored(noise=given["noise"], features=given["features"])
    sound(plan(**given), Outlook(bound=bound, rho=given["rho"], start=start))


SOLVED_FOR: dict[str, dict[str, Any]] = {
    "start of zero": {"start": 0, "epsilon": 0.01, "budget": 300},
    "no drift": {"rho": 0},
    "huge prices": {"cost": LinearCost(fixed=10**14, per_sample=10**12), "budget": 10**15},
    "tiny prices": {"cost": LinearCost(per_sample="0.000000001"), "budget": 1, "epsilon": 1e-4},
    "a million features": {"features": 10**6, "budget": 10**7},
    "neighbours": {"adjacent": True, "budget": 100, "cost": LinearCost(fixed=5)},
    "far away": {"start": 1e12},
}


LONG_SEARCH = {("tiny prices", "epsilon"), ("tiny prices", "horizon"), ("a million features", "epsilon")}


@pytest.mark.parametrize(
    ("odd", "missing"),
    [
        pytest.param(
            odd,
            missing,
            id=f"{odd}-{missing}".replace(" ", "-"),
            marks=[pytest.mark.slow] if (odd, missing) in LONG_SEARCH else [],
        )
        for odd in SOLVED_FOR
        for missing in ASKED
    ],
)
def test_unusual_input_can_be_solved_for(odd: str, missing: str) -> None:
    given = PLAIN | ASKED | SOLVED_FOR[odd]
    del given[missing]
    found = plan(**given)
    outlook = Outlook(
        bound=Anchored(noise=given["noise"], features=given["features"]),
        rho=given["rho"],
        start=given.get("start", 3.0),
    )
    sound(found, outlook)
    assert found.holds
    assert missing == "epsilon" or max(found.risks) <= given["epsilon"] * (1.0 + 1e-9)


def test_the_least_start_is_the_limit_of_small_ones() -> None:
    given = PLAIN | {"epsilon": 0.001, "budget": 50, "horizon": 6}
    for gap in ("mean", "largest"):
        none, small = plan(**given, start=0.0, gap=gap), plan(**given, start=1e-6, gap=gap)
        assert none.lower <= small.value
        assert small.lower <= none.value * (1.0 + 1e-3)


def test_more_than_was_planned_for_is_bounded_not_ignored() -> None:
    """Where larger orders could be paid than are considered, what is proven allows for them."""
    given = PLAIN | {"epsilon": 1e-9, "horizon": 3}
    found = plan(**given, budget=1e12)
    dear = risk_trajectory(OUTLOOK, [10**9] * 3)
    assert found.lower <= float(np.maximum(np.array(dear) - 1e-9, 0.0).mean())


def test_whole_numbers_do_not_have_the_loops_compiled_anew() -> None:
    from driftpace.planning.kernels import dual, levels, local_search, plans

    kernels: list[Any] = [local_search.improve, levels.backward, plans.roll_out, dual.backward]
    plan(noise=1.0, features=5, rho=1.0, start=3.0, epsilon=1.0, budget=30, horizon=6)
    before = [len(kernel.signatures) for kernel in kernels]
    plan(noise=1, features=5, rho=1, start=3, epsilon=1, budget=30, horizon=6)
    assert [len(kernel.signatures) for kernel in kernels] == before


def test_a_plan_of_another_problem_is_detected() -> None:
    """The control: what :func:`sound` asks for is not true of any plan."""
    found = plan(**PLAIN, **(ASKED | {"budget": 60}))
    sound(found, OUTLOOK)
    with pytest.raises(AssertionError):
        sound(found, replace(OUTLOOK, rho=0.11))
    with pytest.raises(AssertionError):
        sound(replace(found, lower=2.0 * found.value), OUTLOOK)
