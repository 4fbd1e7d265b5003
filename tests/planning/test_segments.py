"""One budget over many segments, against every division of the money on small problems and an even split."""

import itertools
from dataclasses import replace
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pytest

from driftpace.bounds import Anchored
from driftpace.errors import ParameterError
from driftpace.planning import (
    Cost,
    CustomCost,
    LinearCost,
    MeanGap,
    Outlook,
    Segment,
    SegmentPlans,
    TieredCost,
    even_split,
    plan_exact,
    plan_segments,
    risk_gaps,
    risk_trajectory,
)
from driftpace.records import Money
from driftpace.typing import IntArray
from tests.reference.brute_force_plans import every_plan, has_neighbours, values_of


def a_segment(rng: np.random.Generator, *, horizon: int, cost: Cost | None = None) -> Segment:
    outlook = Outlook(
        bound=Anchored(noise=float(rng.uniform(0.2, 2.0)), features=int(rng.integers(1, 4))),
        rho=float(rng.uniform(0.0, 0.5)),
        start=float(rng.uniform(0.5, 3.0)),
    )
    return Segment(
        outlook=outlook,
        epsilon=float(rng.uniform(0.02, 0.3)),
        horizon=horizon,
        cost=cost or LinearCost(fixed=int(rng.integers(0, 4)), per_sample=1),
        weight=float(rng.uniform(0.5, 3.0)),
    )


def best_division(segments: dict[str, Segment], budget: int) -> float:
    """Return the least weighted mean over every combination of plans: no bound, no order, no price."""
    total = sum(segment.weight for segment in segments.values())
    least = {0: 0.0}  # money spent -> least value so far
    for segment in segments.values():
        options: dict[int, float] = {}
        for samples in itertools.product(range(budget + 1), repeat=segment.horizon):
            money = int(segment.cost.units(samples).sum())
            if money <= budget:
                value = MeanGap()(risk_gaps(risk_trajectory(segment.outlook, samples), segment.epsilon))
                options[money] = min(options.get(money, np.inf), segment.weight / total * value)
        following: dict[int, float] = {}
        for (spent, value), (money, more) in itertools.product(least.items(), options.items()):
            if spent + money <= budget:
                following[spent + money] = min(following.get(spent + money, np.inf), value + more)
        least = following
    return min(least.values())


def value_of_split(segments: dict[str, Segment], budget: int) -> float:
    total = sum(segment.weight for segment in segments.values())
    plans = even_split(segments, budget=budget)
    return sum(segment.weight / total * plans[name].value for name, segment in segments.items())


@pytest.mark.parametrize("case", range(30))
def test_the_best_division_lies_in_the_proven_interval(case: int, seed: int) -> None:
    rng = np.random.default_rng([seed, case])
    segments = {str(index): a_segment(rng, horizon=int(rng.integers(1, 4))) for index in range(int(rng.integers(2, 4)))}
    budget = int(rng.integers(3, 13))
    best = best_division(segments, budget)
    found = plan_segments(segments, budget=budget)
    assert found.lower <= best * (1 + 1e-9)
    assert found.value >= best * (1 - 1e-9)
    assert found.spent <= found.budget


def test_on_most_small_problems_the_best_division_is_found(seed: int) -> None:
    rng = np.random.default_rng([seed, 99])
    hits = 0
    for _ in range(20):
        segments = {str(index): a_segment(rng, horizon=2) for index in range(2)}
        budget = int(rng.integers(6, 13))
        best = best_division(segments, budget)
        hits += plan_segments(segments, budget=budget).value <= best * 1.02 + 1e-12
    assert hits >= 14


@pytest.mark.parametrize("case", [0, 1, *(pytest.param(case, marks=pytest.mark.slow) for case in (2, 3, 4, 5))])
def test_a_shared_price_is_not_worse_than_an_even_split(case: int, seed: int) -> None:
    rng = np.random.default_rng([seed, 7, case])
    segments = {str(index): a_segment(rng, horizon=12) for index in range(5)}
    budget = int(rng.integers(100, 600))
    found = plan_segments(segments, budget=budget)
    assert found.value <= value_of_split(segments, budget) * (1 + found.proven_gap + 1e-9)
    assert found.proven_gap <= 0.05


def test_an_even_split_can_be_far_from_the_best() -> None:
    """The control: dividing evenly where one segment stands still wastes money."""
    moving = Segment(
        outlook=Outlook(bound=Anchored(noise=1.0, features=5), rho=0.3, start=3.0),
        epsilon=0.1,
        horizon=12,
        cost=LinearCost(fixed=20),
    )
    segments = {"moving": moving, "still": replace(moving, outlook=replace(moving.outlook, rho=0.0))}
    found = plan_segments(segments, budget=600)
    assert found.value < 0.8 * value_of_split(segments, 600)


@pytest.mark.parametrize("budget", [0, 3, 60, 150, 5_000])
def test_one_segment_is_planned_as_if_alone(budget: int) -> None:
    segment = a_segment(np.random.default_rng(3), horizon=12)
    alone = plan_exact(segment.problem(Money.of(budget)))
    found = plan_segments({"only": segment}, budget=budget)
    assert found.plans == {"only": alone}
    assert (found.value, found.lower, found.spent) == (alone.value, alone.lower, alone.spent)


def test_units_of_money_may_differ() -> None:
    rng = np.random.default_rng(5)
    segments = {
        "whole": a_segment(rng, horizon=6, cost=LinearCost(fixed=2, per_sample=1, currency="EUR")),
        "cents": a_segment(rng, horizon=6, cost=LinearCost(fixed="1.25", per_sample="0.35", currency="EUR")),
    }
    found = plan_segments(segments, budget="60.10")
    assert found.spent <= Money.of("60.10", "EUR")
    assert found.plans["cents"].spent.currency == "EUR"


BOXES = CustomCost(lambda samples: 1.5 * -(-samples // 2), unit=Decimal("0.25"))
THIRDS = CustomCost(lambda samples: 0.9 * samples, unit=Decimal("0.3"))
MIXED: list[Cost] = [BOXES, THIRDS, LinearCost(fixed="0.1", per_sample="0.7"), TieredCost(tiers=((1, 2), (3, 1)))]


def best_of_mixed(segments: dict[str, Segment], budget: Decimal) -> float:
    """The same as :func:`best_division` with amounts of money as they are written, and all rules of a segment."""
    total = sum(segment.weight for segment in segments.values())
    least = {Decimal(0): 0.0}
    for segment in segments.values():
        plans, risks, units = every_plan(segment.problem(Money.of(budget)))
        may = [
            not segment.adjacent or has_neighbours(plan, bought_before=segment.bought_before) for plan in plans.tolist()
        ]
        gaps = risk_gaps(risks, segment.epsilon)  # type: ignore[arg-type]
        values = segment.weight / total * values_of(segment.problem(Money.of(budget)), gaps)
        options: dict[Decimal, float] = {}
        for money, value in zip(units[may].tolist(), values[may].tolist(), strict=True):
            amount = money * segment.cost.unit
            options[amount] = min(options.get(amount, np.inf), value)
        sums: dict[Decimal, float] = {}
        for (spent, so_far), (more, value) in itertools.product(least.items(), options.items()):
            if spent + more <= budget:
                sums[spent + more] = min(sums.get(spent + more, np.inf), so_far + value)
        least = sums
    return min(least.values())


@pytest.mark.parametrize("case", range(24))
def test_coins_of_any_sizes_are_brought_together(case: int, seed: int) -> None:
    """Prices in quarters, in thirds, in tenths: what is spent is within the budget to the last coin, and the interval is true."""
    rng = np.random.default_rng([seed, 11, case])
    chosen = rng.choice(4, size=int(rng.integers(2, 4)), replace=False)
    segments = {
        str(index): replace(
            a_segment(rng, horizon=int(rng.integers(1, 4))),
            cost=MIXED[cost],
            adjacent=bool(rng.random() < 0.3),
            bought_before=bool(rng.random() < 0.5),
        )
        for index, cost in enumerate(chosen)
    }
    budget = Decimal(int(rng.integers(30, 110))) / 10
    best = best_of_mixed(segments, budget)
    found = plan_segments(segments, budget=str(budget))
    assert found.lower <= best * (1.0 + 1e-9)
    assert found.value >= best * (1.0 - 1e-9)
    assert found.left.amount >= 0
    assert found.spent.amount == sum(plan.spent.amount for plan in found.plans.values())
    for name, plan in found.plans.items():
        assert plan.budget == plan.spent
        assert not segments[name].adjacent or has_neighbours(plan.samples, bought_before=segments[name].bought_before)


def test_coins_that_are_taken_for_the_smallest_unit_would_overspend() -> None:
    """The control: three tenths are no whole number of two tenths; counted as one of them, they would be too cheap."""
    segment = a_segment(np.random.default_rng(4), horizon=6)
    segments = {
        "threes": replace(segment, cost=CustomCost(lambda samples: 0.3 * samples, unit=Decimal("0.3"))),
        "twos": replace(segment, cost=CustomCost(lambda samples: 0.2 * samples, unit=Decimal("0.2"))),
    }
    found = plan_segments(segments, budget="5")
    assert found.spent <= found.budget
    coins = sum(2 * int(plan.spent.amount / segments[name].cost.unit) for name, plan in found.plans.items())
    assert Decimal(coins) / 10 < found.spent.amount


@pytest.mark.parametrize("case", range(12))
def test_few_segments_never_do_worse_than_with_even_shares(case: int, seed: int) -> None:
    rng = np.random.default_rng([seed, 13, case])
    segments = {str(index): a_segment(rng, horizon=int(rng.integers(2, 9))) for index in range(int(rng.integers(2, 5)))}
    budget = int(rng.integers(10, 120))
    found = plan_segments(segments, budget=budget, accuracy=0.01)
    even = value_of_split(segments, budget)
    assert found.value <= even / (1.0 - 0.01) * (1.0 + 1e-9)
    assert found.lower <= even * (1.0 + 1e-9)


@pytest.mark.parametrize(
    ("count", "horizon", "budget"), [(10, 4, 400), pytest.param(60, 12, 6_000, marks=pytest.mark.slow)]
)
def test_segments_of_all_sorts_meet_at_one_price(count: int, horizon: int, budget: int) -> None:
    rng = np.random.default_rng(21)
    segments = {
        f"segment {index}": replace(
            a_segment(rng, horizon=horizon, cost=LinearCost(fixed=int(rng.choice([0, 5, 20])))),
            adjacent=bool(index % 5 == 0),
            weights=tuple(rng.uniform(0.5, 2.0, horizon)) if index % 3 == 0 else None,
        )
        for index in range(count)
    }
    found = plan_segments(segments, budget=budget)
    assert list(found.plans) == list(segments)
    assert found.proven_gap <= 0.01
    assert found.left.amount >= 0
    total = sum(segment.weight for segment in segments.values())
    again = sum(segments[name].weight / total * plan.value for name, plan in found.plans.items())
    assert found.value == pytest.approx(again, rel=1e-12)
    richer = plan_segments(segments, budget=budget + count)
    assert richer.lower <= found.value
    assert found.lower - count * found.price <= richer.value * (1.0 + 1e-9)


def test_where_nothing_can_be_bought_that_is_the_best() -> None:
    cost = LinearCost(fixed=9)
    segments = {str(index): a_segment(np.random.default_rng(index), horizon=3, cost=cost) for index in range(3)}
    found = plan_segments(segments, budget=9)
    assert found.spent == Money.of(0)
    assert found.lower == found.value > 0.0


class Unhashable:
    """A price list custom that cannot be looked up."""

    currency = "EUR"
    unit = Decimal(1)
    __hash__ = None  # type: ignore[assignment]

    def units(self, samples: npt.ArrayLike) -> IntArray:
        return 2 * np.asarray(samples, dtype=np.int64)


def test_prices_without_a_currency_and_custom_prices() -> None:
    segment = a_segment(np.random.default_rng(2), horizon=4)
    found = plan_segments({"own": replace(segment, cost=Unhashable()), "plain": segment}, budget=40)
    assert found.budget == Money.of(40, "EUR")
    assert {plan.spent.currency for plan in found.plans.values()} == {"EUR"}
    assert found.spent <= found.budget


def test_equal_segments_share_one_programme_and_the_money() -> None:
    segment = a_segment(np.random.default_rng(8), horizon=12)
    found = plan_segments({str(index): replace(segment, weight=1.0) for index in range(40)}, budget=4_000)
    assert len(found.plans) == 40
    assert found.spent <= found.budget
    assert found.proven_gap <= 0.02


def test_without_money_nothing_is_bought() -> None:
    segments = {str(index): a_segment(np.random.default_rng(index), horizon=3) for index in range(2)}
    found = plan_segments(segments, budget=0)
    assert all(sum(plan.samples) == 0 for plan in found.plans.values())
    assert isinstance(found, SegmentPlans)


def test_what_is_rejected() -> None:
    euros = a_segment(np.random.default_rng(0), horizon=3, cost=LinearCost(currency="EUR"))
    dollars = replace(euros, cost=LinearCost(currency="USD"))
    with pytest.raises(
        ParameterError, match=r"plan_segments\(segments=\.\.\.\) must map names to one or more segments"
    ):
        plan_segments({}, budget=10)
    with pytest.raises(ParameterError, match="must all have prices in one currency; got EUR, USD"):
        plan_segments({"a": euros, "b": dollars}, budget=10)
    with pytest.raises(ParameterError, match=r"must contain segments; got 3 for 'a'"):
        plan_segments({"a": 3}, budget=10)  # type: ignore[dict-item]
    with pytest.raises(ParameterError, match=r"plan_segments\(budget=\.\.\.\) must be in EUR"):
        plan_segments({"a": euros}, budget=Money.of(10, "USD"))
    with pytest.raises(ParameterError, match=r"Segment\(weight=\.\.\.\) must be positive"):
        replace(euros, weight=0.0)
    with pytest.raises(ParameterError, match=r"Segment\(weight=\.\.\.\) must be at most 1e\+100"):
        replace(euros, weight=1e300)
    with pytest.raises(ParameterError, match=r"must be named by strings; got 1"):
        plan_segments({1: euros}, budget=10)  # type: ignore[dict-item]
    with pytest.raises(ParameterError, match=r"plan_segments\(accuracy=\.\.\.\) must be zero or more"):
        plan_segments({"a": euros}, budget=10, accuracy=-0.1)
    with pytest.raises(ParameterError, match=r"plan\(horizon=\.\.\.\) must be a whole number of at least 1; got 0"):
        plan_segments({"a": euros, "b": replace(euros, horizon=0)}, budget=10)
    with pytest.raises(ParameterError, match=r"weights=\.\.\.\) must be one per period, 3; got 2"):
        plan_segments({"a": euros, "b": replace(euros, weights=(1.0, 2.0))}, budget=10)
    tiny = replace(euros, cost=LinearCost(per_sample="0.000000001", currency="EUR"))
    with pytest.raises(
        ParameterError, match=r"plan_segments\(budget=\.\.\.\) must be at most \d+ times the largest unit"
    ):
        plan_segments({"a": euros, "b": tiny}, budget=10**9)
