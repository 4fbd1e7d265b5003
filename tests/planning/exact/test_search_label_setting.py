"""Label setting drops only dominated labels and ends with the optimal plan."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.planning.costs import affordable
from driftpace.planning.exact.grid import OutlookArrays, order_sizes
from driftpace.planning.exact.search import best_plan
from driftpace.planning.problem import Problem, risk_gaps, risk_trajectory
from driftpace.typing import BoolArray, FloatArray, IntArray
from tests.reference.brute_force_plans import TIE, BruteForceOptimum, best_of_all
from tests.reference.planning_problems import BOUNDS, GAPS, random_problem

LABEL = st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4), st.integers(0, 2))


def marked(distance: FloatArray, money: FloatArray, value: FloatArray, state: IntArray) -> BoolArray:
    from driftpace.planning.kernels.plans import undominated

    order = np.lexsort((value, money, distance))
    _, ranks = np.unique(money, return_inverse=True)
    keep = np.empty(len(order), np.bool_)
    undominated(order, ranks.astype(np.int64), value, state, keep)
    return keep


@given(labels=st.lists(LABEL, min_size=1, max_size=40))
def test_kept_labels_are_those_that_no_other_beats(labels: list[tuple[int, int, int, int]]) -> None:
    distance, money, value, state = (np.array(column, dtype=float) for column in zip(*labels, strict=True))
    state = state.astype(np.int64)
    keep = marked(distance, money, value, state)

    def beats(j: int, i: int) -> bool:
        """At least as good in every respect, from a state in which as much can be done."""
        as_good = distance[j] <= distance[i] and money[j] <= money[i] and value[j] <= value[i]
        return bool(as_good and (state[j] == state[i] or state[j] == 2))

    kept = np.flatnonzero(keep).tolist()
    for i in range(len(labels)):
        if keep[i]:
            beaten_by = [j for j in kept if j != i and beats(j, i)]
            assert all(labels[j] == labels[i] or (labels[j][:3] == labels[i][:3]) for j in beaten_by)
        else:
            assert any(beats(j, i) for j in kept)


def test_a_label_that_must_buy_does_not_beat_one_that_is_free() -> None:
    """The control: without states the second label would be dropped."""
    same = np.zeros(2)
    cheaper = np.array([0.0, 1.0])
    assert marked(same, cheaper, same, np.array([1, 2])).tolist() == [True, True]
    assert marked(same, cheaper, same, np.array([2, 1])).tolist() == [True, False]
    assert marked(same, cheaper, same, np.array([2, 2])).tolist() == [True, False]


KINDS = [(bound, gap, adjacent) for bound in BOUNDS for gap in GAPS for adjacent in (False, True)]
every_kind = pytest.mark.parametrize(
    ("bound", "gap", "adjacent"),
    KINDS,
    ids=[f"{b}-{g}-{'neighbours' if a else 'free'}".replace(" ", "-") for b, g, a in KINDS],
)


@cache
def drawn(seed: int, bound: str, gap: str, adjacent: bool) -> list[tuple[Problem, BruteForceOptimum]]:
    rng = np.random.default_rng([seed, KINDS.index((bound, gap, adjacent))])
    problems = [random_problem(rng, bound=bound, gap=gap, adjacent=adjacent, plans=400) for _ in range(5)]
    return [(problem, best_of_all(problem)) for problem in problems if affordable(problem.cost, problem.budget) > 0]


def keep_all(n: int, distances: FloatArray, money: FloatArray, values: FloatArray) -> BoolArray:
    del n, money, values
    return np.zeros(len(distances), np.bool_)


def search(problem: Problem, known: tuple[float, float], most: int = 10**6) -> tuple[bool, IntArray | None]:
    risks = OutlookArrays.of(problem.outlook, problem.horizon)
    served = order_sizes(problem, risks, each=2_000, ratio=1.01)
    assert served.complete
    return best_plan(problem, risks, served, most=most, prune=keep_all, incumbent=known)


def value_of(problem: Problem, samples: IntArray) -> float:
    return problem.gap(risk_gaps(risk_trajectory(problem.outlook, samples.tolist()), problem.epsilon))


@every_kind
def test_the_best_of_all_plans_is_found(seed: int, bound: str, gap: str, adjacent: bool) -> None:
    for problem, best in drawn(seed, bound, gap, adjacent):
        complete, samples = search(problem, (np.inf, np.inf))
        assert complete
        assert samples is not None
        assert value_of(problem, samples) == pytest.approx(best.value, rel=TIE, abs=0.0)
        assert int(problem.cost.units(samples).sum()) == best.units


@every_kind
def test_nothing_better_than_the_best_is_found(seed: int, bound: str, gap: str, adjacent: bool) -> None:
    for problem, best in drawn(seed, bound, gap, adjacent):
        complete, samples = search(problem, (best.value, float(best.units)))
        assert complete
        assert samples is None


def test_too_many_labels_are_no_proof(seed: int) -> None:
    stopped = 0
    for problem, best in drawn(seed, "powers", "run", False):
        complete, samples = search(problem, (np.inf, np.inf), most=3)
        stopped += not complete
        assert complete or samples is None
        assert not complete or (samples is not None and value_of(problem, samples) <= best.value * (1.0 + TIE))
    assert stopped > 0


def test_a_rule_that_drops_too_much_loses_the_best_plan(seed: int) -> None:
    """The control: what is called hopeless is believed, so a false bound costs the best plan."""
    lost = 0
    for problem, best in drawn(seed, "anchored", "mean", False):
        risks = OutlookArrays.of(problem.outlook, problem.horizon)
        served = order_sizes(problem, risks, each=2_000, ratio=1.01)

        def bought_something(n: int, d: FloatArray, money: FloatArray, values: FloatArray) -> BoolArray:
            return money > 0.0

        _, samples = best_plan(problem, risks, served, most=10**6, prune=bought_something, incumbent=(np.inf, np.inf))
        lost += samples is None or value_of(problem, samples) > best.value * (1.0 + TIE)
    assert lost > 0
