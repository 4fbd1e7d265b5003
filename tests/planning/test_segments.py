"""One budget over many segments: held against every division of the money on small problems, and against an even split."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from driftpace.bounds import Anchored
from driftpace.errors import ParameterError
from driftpace.planning import (
    LinearCost,
    MeanGap,
    Outlook,
    Segment,
    SegmentPlans,
    TieredCost,
    course,
    even_split,
    gaps_over,
    plan_exactly,
    plan_segments,
)
from driftpace.records import Money


def a_segment(rng: np.random.Generator, *, horizon: int, cost: LinearCost | TieredCost | None = None) -> Segment:
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
                value = MeanGap()(gaps_over(course(segment.outlook, samples), segment.epsilon))
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


@pytest.mark.parametrize("case", range(6))
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


def test_one_segment_is_planned_as_if_alone() -> None:
    segment = a_segment(np.random.default_rng(3), horizon=12)
    alone = plan_exactly(segment.problem(Money.of(150)))
    found = plan_segments({"only": segment}, budget=150)
    assert found.value == pytest.approx(alone.value, rel=0.02)
    assert found.lower <= alone.value


def test_units_of_money_may_differ() -> None:
    rng = np.random.default_rng(5)
    segments = {
        "whole": a_segment(rng, horizon=6, cost=LinearCost(fixed=2, per_sample=1, currency="EUR")),
        "cents": a_segment(rng, horizon=6, cost=LinearCost(fixed="1.25", per_sample="0.35", currency="EUR")),
    }
    found = plan_segments(segments, budget="60.10")
    assert found.spent <= Money.of("60.10", "EUR")
    assert found.plans["cents"].spent.currency == "EUR"


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


def test_what_is_refused() -> None:
    euros = a_segment(np.random.default_rng(0), horizon=3, cost=LinearCost(currency="EUR"))
    dollars = replace(euros, cost=LinearCost(currency="USD"))
    with pytest.raises(ParameterError, match=r"plan_segments\(segments=\.\.\.\) must be one or more segments by name"):
        plan_segments({}, budget=10)
    with pytest.raises(ParameterError, match="must all have prices in one currency; got EUR, USD"):
        plan_segments({"a": euros, "b": dollars}, budget=10)
    with pytest.raises(ParameterError, match=r"must hold segments; got 3 for 'a'"):
        plan_segments({"a": 3}, budget=10)  # type: ignore[dict-item]
    with pytest.raises(ParameterError, match=r"plan_segments\(budget=\.\.\.\) must be in EUR"):
        plan_segments({"a": euros}, budget=Money.of(10, "USD"))
    with pytest.raises(ParameterError, match=r"Segment\(weight=\.\.\.\) must be positive"):
        replace(euros, weight=0.0)
