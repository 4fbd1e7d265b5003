"""The menu: every number that can be paid is covered, at no more than its price and with no more than its risk."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.bounds import Anchored
from driftpace.planning.costs import Cost, CustomCost, LinearCost, TieredCost, affordable
from driftpace.planning.exact.grid import OrderSizes, build_grid, order_sizes
from driftpace.planning.exact.outlook_arrays import OutlookArrays
from driftpace.planning.gaps import MeanGap
from driftpace.planning.outlook import Outlook
from driftpace.planning.problem import Problem
from driftpace.records import Money

BOUND = Anchored(noise=1.0, features=3)
COSTS: list[Cost] = [
    LinearCost(fixed=20),
    LinearCost(per_sample="0.5", minimum=37),
    TieredCost(tiers=((1, "2.00"), (11, "0.10"), (300, "5")), fixed=1),
    CustomCost(lambda samples: 10.0 * -(-samples // 8)),
]
every_cost = pytest.mark.parametrize("cost", COSTS, ids=["linear", "minimum", "tiers", "boxes"])


def problem_of(**changed: Any) -> Problem:
    parts: dict[str, Any] = {
        "outlook": Outlook(bound=BOUND, rho=0.3, start=3.0),
        "epsilon": 0.05,
        "budget": Money.of(500),
        "horizon": 6,
        "cost": LinearCost(fixed=20),
        "gap": MeanGap(),
    }
    return Problem(**(parts | changed))


def served(problem: Problem, *, each: int = 2_000, ratio: float = 1.01) -> OrderSizes:
    return order_sizes(problem, OutlookArrays.of(problem.outlook, problem.horizon), each=each, ratio=ratio)


@given(
    cost=st.sampled_from(COSTS),
    budget=st.integers(0, 30_000),
    each=st.integers(1, 400),
    ratio=st.floats(1.01, 2.5),
    epsilon=st.floats(1e-4, 10.0),
)
def test_every_number_is_covered_at_no_more_than_its_price(
    cost: Cost, budget: int, each: int, ratio: float, epsilon: float
) -> None:
    problem = problem_of(cost=cost, budget=Money.of(budget), epsilon=epsilon)
    found = served(problem, each=each, ratio=ratio)
    most = affordable(cost, problem.budget)
    if most == 0:
        assert len(found.counts) == 0
        return
    numbers = np.unique(np.concatenate([np.arange(1, min(most, 5_000) + 1), [most]]))
    assert found.beyond or found.counts[-1] == most
    at = np.minimum(
        np.searchsorted(found.counts, numbers), len(found.counts) - 1
    )  # the entry that stands for each number
    stands_for_itself = found.counts[at] == numbers
    assert (found.cheapest[at] <= cost.units(numbers)).all()
    assert (found.price[at] == cost.units(found.counts[at])).all()
    larger = found.counts[at] >= numbers
    assert larger[:-1].all() or found.beyond
    assert stands_for_itself[numbers <= min(each, most)].all()
    assert (np.diff(found.counts) > 0).all()
    assert (np.diff(found.cheapest) >= 0.0).all()
    assert found.complete == (not found.beyond and len(found.counts) == most)


@every_cost
def test_every_number_has_at_least_the_risk_of_its_entry(cost: Cost) -> None:
    problem = problem_of(cost=cost, budget=Money.of(200_000), epsilon=2.0)
    risks = OutlookArrays.of(problem.outlook, problem.horizon)
    found = served(problem, each=10, ratio=1.3)
    assert found.beyond
    grid = build_grid(problem, risks, found, np.array([0.3, 1.0, 4.0]))
    most = affordable(cost, problem.budget)
    numbers = np.unique(np.rint(np.geomspace(1, most, 400)).astype(np.int64))
    at = np.minimum(np.searchsorted(found.counts, numbers), len(found.counts) - 1)
    true = risks.after(np.sqrt(grid.points), numbers)
    assert (grid.risk[:, at] <= true).all()


def test_without_an_entry_for_all_beyond_large_numbers_are_not_covered() -> None:
    """The control: the last entry's own risk is above that of larger numbers."""
    problem = problem_of(budget=Money.of(10**6), epsilon=2.0)
    risks = OutlookArrays.of(problem.outlook, problem.horizon)
    found = served(problem)
    assert found.beyond
    last = found.counts[-1:]
    assert (risks.after(np.array([3.0]), last) > risks.after(np.array([3.0]), 2 * last)).all()


def test_plain_entries_stand_for_themselves() -> None:
    found = served(problem_of(budget=Money.of(10**6), epsilon=2.0), each=10, ratio=1.5)
    plain = found.plain
    assert not plain.beyond
    assert (plain.counts == found.counts[:-1]).all()
    assert (plain.price == plain.cheapest).all()
    assert (plain.price == found.price[:-1]).all()


def test_samples_of_entries_and_entries_of_samples() -> None:
    found = OrderSizes.of(LinearCost(), np.array([1, 2, 4, 8]))
    assert found.samples(np.array([-1, 0, 3])).tolist() == [0, 1, 8]
    assert found.entries(np.array([0, 1, 3, 8, 100])).tolist() == [-1, 0, 1, 3, 3]
    assert found.cheapest.tolist() == [1.0, 2.0, 3.0, 5.0]
    assert not found.complete
    assert OrderSizes.of(LinearCost(), np.arange(1, 5)).complete


def test_a_budget_below_one_order_serves_nothing() -> None:
    assert len(served(problem_of(budget=Money.of(20))).counts) == 0


def test_numbers_above_ten_million_are_covered() -> None:
    outlook = Outlook(bound=replace(BOUND, noise=1e3), rho=0.3, start=1e3)
    problem = problem_of(outlook=outlook, budget=Money.of(10**12), horizon=2)
    found = served(problem)
    assert found.beyond or found.counts[-1] == affordable(problem.cost, problem.budget)
