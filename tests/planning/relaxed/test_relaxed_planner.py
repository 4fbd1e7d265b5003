"""The relaxed planner: solver, surrogate, prices, adjacency rows and rounding."""

import math
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.planning_peers import plan_by_slsqp
from driftpace.bounds import Anchored, Factors, FormulaBound, Nature
from driftpace.errors import MissingExtraError, ParameterError
from driftpace.planning.costs import Cost, CustomCost, LinearCost, TieredCost, budget_units
from driftpace.planning.gaps import CustomGap, Gap, LargestGap, LargestRun, MeanGap
from driftpace.planning.problem import Outlook, Problem, evaluate_plan, risk_gaps, risk_trajectory
from driftpace.planning.relaxed import STATUSES, plan_relaxed, relaxed_runs, round_samples
from driftpace.planning.relaxed.planner import CONVERGED, describe_status
from driftpace.planning.relaxed.programme import RelaxedProgramme, build_surrogate, neighbour_rows, real_price
from driftpace.records import Money
from tests.reference.brute_force_plans import best_of_all, has_neighbours, has_the_rows_on_values
from tests.reference.planning_problems import random_problem


@dataclass(frozen=True, kw_only=True, slots=True)
class Descent(FormulaBound):
    """b = (kappa^2 d^2 + A K)/(2 (K + kappa)^2): the form of SGD bounds, smooth down to K = 0."""

    kappa: float = 4.0
    A: float = 20.0

    name: ClassVar[str] = "the form of SGD bounds"
    nature: ClassVar[Nature] = Nature.UPPER
    rate: ClassVar[float] = -1.0
    conditions: ClassVar[tuple[str, ...]] = ("an example",)

    def start(self, distance: float) -> float:
        return 0.5 * distance * distance

    def raw(self, distance: float, samples: int) -> float:
        factors = self.factors(samples)
        return factors.alpha * distance * distance + factors.beta

    def factors(self, samples: int) -> Factors:
        below = 2.0 * (samples + self.kappa) ** 2
        return Factors(alpha=self.kappa**2 / below, beta=self.A * samples / below)

    def reach(self, risk: float) -> float:
        return math.sqrt(2.0 * risk)


BOUND = Anchored(noise=1.0, features=3)
COSTS: dict[str, Cost] = {
    "linear": LinearCost(fixed=20),
    "minimum order": LinearCost(fixed="0.50", per_sample="0.25", minimum=15),
    "tiers": TieredCost(tiers=((1, "2.00"), (21, "1.50"), (51, "0.10")), fixed=1),
    "own": CustomCost(lambda samples: 4.0 * samples**0.5),
}
GAPS: dict[str, Gap] = {"mean": MeanGap(), "largest": LargestGap(), "run": LargestRun()}


def problem_of(**changed: Any) -> Problem:
    parts: dict[str, Any] = {
        "outlook": Outlook(bound=BOUND, rho=0.3, start=3.0),
        "epsilon": 0.05,
        "budget": Money.of(150),
        "horizon": 5,
        "cost": LinearCost(fixed=10),
        "gap": MeanGap(),
    }
    return Problem(**(parts | changed))


def fast(horizon: int, gap: Gap | None = None) -> Problem:
    """A world that moves so fast that skipping never pays: K* = 94, half of the money that K* in every period costs."""
    outlook = Outlook(bound=Descent(), rho=1.0, start=10.0, m=1.0, steps="printed")
    budget = Money.of(57 * horizon)
    return problem_of(
        outlook=outlook,
        epsilon=0.1,
        budget=budget,
        horizon=horizon,
        cost=LinearCost(fixed=20),
        gap=gap or MeanGap(),
    )


@pytest.mark.parametrize("adjacent", [False, True], ids=["free", "adjacent"])
@pytest.mark.parametrize("gap", ["mean", "largest", "run"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_a_plan_is_never_better_than_the_best_of_all(seed: int, gap: str, adjacent: bool) -> None:
    rng = np.random.default_rng([seed, len(gap), adjacent])
    for bound in ("powers", "anchored", "last iterate"):
        problem = random_problem(rng, bound=bound, gap=gap, adjacent=adjacent, plans=5_000)
        plan = plan_relaxed(problem, starts=2, rows="corrected")
        best = best_of_all(problem)
        assert plan.value >= best.value - 1e-9 * (best.value + problem.epsilon)
        assert plan.lower == 0.0
        assert plan.spent <= problem.budget
        assert plan.value == problem.gap(risk_gaps(risk_trajectory(problem.outlook, plan.samples), problem.epsilon))
        assert not adjacent or has_neighbours(plan.samples, bought_before=problem.bought_before)


@pytest.mark.parametrize(
    ("horizon", "gap", "value"),
    [(10, MeanGap(), 0.16492), (25, MeanGap(), 0.14575), (25, LargestGap(), 0.15338)],
    ids=["mean of 10", "mean of 25", "largest of 25"],
)
def test_where_there_is_one_optimum_every_start_finds_it(horizon: int, gap: Gap, value: float) -> None:
    runs = relaxed_runs(fast(horizon, gap), starts=3)
    assert [run.status for run in runs] == ["Solve_Succeeded"] * 3
    assert [run.relaxed for run in runs] == pytest.approx([value] * 3, abs=1e-5)


def test_the_printed_rows_cut_off_good_whole_plans() -> None:
    problem = fast(25)
    printed, free = relaxed_runs(problem)[0], plan_relaxed(problem, rows="none")
    assert free.value == pytest.approx(0.14334, abs=1e-5)  # the optimum among whole plans
    assert printed.relaxed > 1.01 * free.value
    assert not has_the_rows_on_values(free.samples)
    assert free.samples[0] > free.samples[1]


def test_with_fixed_costs_that_matter_skipping_is_missed_unless_it_is_modelled() -> None:
    outlook = Outlook(bound=Descent(), rho=0.1, start=10.0, m=1.0, steps="printed")
    problem = problem_of(
        outlook=outlook, epsilon=0.1, budget=Money.of(1430), horizon=25, cost=LinearCost(fixed=50), gap=MeanGap()
    )
    paper = plan_relaxed(problem)
    modelled = plan_relaxed(problem, recursion="distance", rows="none")
    every_five = evaluate_plan(problem, [236 if n % 5 == 0 else 0 for n in range(25)], method="", reason="")
    assert paper.value > 5.0 * every_five.value
    assert modelled.value < 0.5 * paper.value


@pytest.mark.parametrize("rows", ["paper", "corrected", "none"])
@pytest.mark.parametrize("recursion", ["paper", "distance"])
@pytest.mark.parametrize("gap", GAPS)
def test_a_converged_run_keeps_the_rows(gap: str, recursion: Any, rows: Any) -> None:
    problem = problem_of(gap=GAPS[gap], horizon=6)
    programme = RelaxedProgramme.of(problem, K0=0.5, rows=rows, recursion=recursion)
    assert programme is not None
    runs = relaxed_runs(problem, starts=2, rows=rows, recursion=recursion)
    assert any(run.converged for run in runs)
    for run in runs:
        if run.converged:
            real = np.array(run.real)
            assert real.min() >= 0.0
            assert programme.price(real).sum() <= programme.budget * (1.0 + 1e-6)
            assert (programme.neighbours @ real).max(initial=0.0) <= 1e-6


def test_one_run_for_each_start_and_aim() -> None:
    runs = relaxed_runs(problem_of(gap=LargestRun()), starts=2)
    assert [(run.aim, run.start) for run in runs] == [(a, n) for a in ("runs", "mean", "largest") for n in (0, 1)]
    assert plan_relaxed(problem_of(gap=LargestRun()), starts=2).value == min(run.rounded for run in runs)


def test_the_same_seed_gives_the_same_runs_and_another_one_other_starts() -> None:
    problem = problem_of(horizon=8, cost=LinearCost(fixed=20), budget=Money.of(250))
    assert relaxed_runs(problem, starts=3, seed=5) == relaxed_runs(problem, starts=3, seed=5)
    programme = RelaxedProgramme.of(problem, K0=0.5, rows="paper", recursion="paper")
    assert programme is not None
    (first, one), (again, other) = programme.starts(2, 5), programme.starts(2, 6)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(one, other)
    for start in (first, one, other):
        assert programme.price(start).sum() == pytest.approx(programme.budget)


def test_the_reason_states_the_result_and_what_rounding_did() -> None:
    plan = plan_relaxed(fast(10))
    assert plan.method == "relaxed (IPOPT)"
    assert re.fullmatch(
        r"minimising the mean gap, IPOPT converged to a local optimum; 1 of 1 runs converged to a local optimum; "
        r"rounding to integers lowered the value by 1\.\d%, from 0\.16492 to 0\.16\d+; "
        r"interpolation error of the bound at most \d\.\d%; no lower bound is proven",
        plan.reason,
    )


def test_a_run_that_is_stopped_is_rounded_all_the_same_and_reports_it() -> None:
    (run,) = relaxed_runs(fast(10), max_iterations=1)
    assert run.status == "Maximum_Iterations_Exceeded"
    assert not run.converged
    plan = plan_relaxed(fast(10), max_iterations=1)
    assert "reached the maximum number of iterations; increase max_iterations" in plan.reason
    assert "0 of 1 runs" in plan.reason
    assert plan.spent <= plan.budget


def test_a_second_solver_finds_the_same_optimum() -> None:
    assert plan_by_slsqp(fast(10)).value == pytest.approx(plan_relaxed(fast(10)).value, rel=1e-6)


def test_every_return_code_of_ipopt_has_a_sentence() -> None:
    casadi = pytest.importorskip("casadi")
    header = Path(casadi.__file__).parent / "include" / "coin-or" / "IpReturnCodes_inc.h"
    listed = re.search(r"enum ApplicationReturnStatus\s*{(.*?)}", header.read_text(), re.DOTALL)
    assert listed is not None
    names = set(re.findall(r"(\w+)\s*=\s*-?\d+", listed.group(1)))
    assert names == set(STATUSES)
    assert names > CONVERGED
    assert len(set(STATUSES.values())) == len(names)
    assert "unknown code" in describe_status("Unknown")


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    plan_relaxed(problem_of(gap=LargestRun()), starts=2, max_iterations=5)
    assert capfd.readouterr() == ("", "")


def test_without_casadi_the_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "casadi", None)
    with pytest.raises(MissingExtraError, match=r'^plan_relaxed\(\) needs casadi: pip install "driftpace\[ipopt\]"\.$'):
        plan_relaxed(problem_of())


def test_a_custom_goal_is_rejected() -> None:
    with pytest.raises(ParameterError, match=r"^plan_relaxed\(gap=\.\.\.\) must be MeanGap, LargestGap or LargestRun"):
        plan_relaxed(problem_of(gap=CustomGap(lambda gaps: float(gaps.sum()), "the sum")))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("starts", 0),
        ("seed", -1),
        ("K0", 0.0),
        ("K0", 1.0),
        ("rows", "some"),
        ("recursion", "my"),
        ("max_iterations", 0),
    ],
)
def test_bad_settings_are_rejected(name: str, value: object) -> None:
    settings: dict[str, Any] = {name: value}
    with pytest.raises(ParameterError, match=rf"^plan_relaxed\({name}=\.\.\.\) must be "):
        plan_relaxed(problem_of(), **settings)


@pytest.mark.parametrize("budget", [0, 10, "10.99"])
def test_a_budget_below_one_order_buys_nothing(budget: object) -> None:
    plan = plan_relaxed(problem_of(budget=Money.of(budget)))
    assert plan.samples == (0, 0, 0, 0, 0)
    assert plan.reason == f"nothing is bought: {Money.of(budget)} does not pay for one sample"
    assert relaxed_runs(problem_of(budget=Money.of(budget))) == ()


@pytest.mark.parametrize("horizon", [1, 2])
@pytest.mark.parametrize("gap", GAPS)
def test_short_horizons(gap: str, horizon: int) -> None:
    plan = plan_relaxed(problem_of(horizon=horizon, gap=GAPS[gap], budget=Money.of(40)))
    assert plan.horizon == horizon
    assert sum(plan.samples) > 0


@pytest.mark.parametrize(
    "outlook",
    [
        Outlook(bound=BOUND, rho=0.0, start=3.0),
        Outlook(bound=BOUND, rho=0.0, start=0.0),
        Outlook(bound=BOUND, rho=2.0, start=0.0, diameter=5.0),
        Outlook(bound=Anchored(noise=0.0, features=2), rho=0.3, start=3.0),
        Outlook(bound=BOUND, rho=0.3, start=3.0, m=0.2, steps="printed"),
        Outlook(bound=BOUND, rho=0.3, start=3.0, steps="walk"),
    ],
    ids=["still", "perfect", "bounded", "without noise", "flat", "walk"],
)
@pytest.mark.parametrize("recursion", ["paper", "distance"])
def test_extreme_worlds(outlook: Outlook, recursion: Any) -> None:
    plan = plan_relaxed(problem_of(outlook=outlook), recursion=recursion, starts=2)
    assert plan.spent <= plan.budget
    idle = evaluate_plan(problem_of(outlook=outlook), [0] * 5, method="", reason="")
    assert plan.value <= idle.value


@pytest.mark.parametrize("cost", COSTS)
def test_every_cost_can_be_planned_with(cost: str) -> None:
    plan = plan_relaxed(problem_of(cost=COSTS[cost]), starts=2)
    assert plan.spent <= plan.budget
    assert sum(plan.samples) > 0


def test_weights_move_the_samples() -> None:
    late = plan_relaxed(problem_of(gap=MeanGap((0.0, 0.0, 0.0, 0.0, 1.0)), budget=Money.of(60)), rows="none")
    early = plan_relaxed(problem_of(gap=MeanGap((1.0, 0.0, 0.0, 0.0, 0.0)), budget=Money.of(60)), rows="none")
    assert late.samples[-1] > early.samples[-1]
    assert early.samples[0] > late.samples[0]


# Prices


@pytest.mark.parametrize("cost", ["linear", "minimum order", "tiers"])
def test_prices_of_whole_numbers_are_the_true_ones(cost: str) -> None:
    counts = np.arange(1, 3_001)
    price = real_price(COSTS[cost], 3_000, 0.5)
    np.testing.assert_allclose(price(counts.astype(float)), COSTS[cost].units(counts), rtol=1e-12)


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("K0", [0.01, 0.5, 0.99])
def test_p_hat_starts_at_nothing_and_never_falls(cost: str, K0: float) -> None:
    price = real_price(COSTS[cost], 2_000, K0)
    prices = price(np.concatenate((np.linspace(0.0, 3.0, 301), np.linspace(3.0, 2_000.0, 2_000))))
    assert prices[0] == 0.0
    assert np.diff(prices).min() >= -1e-9 * prices[-1]
    below, beyond = price(np.array([K0, K0 * (1.0 + 1e-9)]))
    assert below == pytest.approx(beyond, rel=1e-6)


def test_a_price_list_with_many_bends_is_joined_by_lines() -> None:
    price = real_price(COSTS["own"], 2_000, 0.5)
    counts = np.arange(1, 2_001)
    assert len(price.knots) <= 40
    np.testing.assert_allclose(price(counts.astype(float)), COSTS["own"].units(counts), rtol=0.03)


# Rows


def test_the_rows_are_the_printed_ones_and_the_corrected_ones() -> None:
    plan = np.array([3.0, 1.0, 2.0, 4.0])
    np.testing.assert_array_equal(neighbour_rows(4, "paper") @ plan, [2.0, -4.0, -3.0, -2.0])
    np.testing.assert_array_equal(neighbour_rows(4, "corrected") @ plan, [2.0, -4.0, -3.0, 2.0])
    np.testing.assert_array_equal(neighbour_rows(4, "corrected", bought_before=True) @ plan, [-4.0, -3.0, 2.0])
    assert neighbour_rows(4, "none").shape == (0, 4)
    assert neighbour_rows(1, "paper").shape == (0, 1)


# The bound between whole numbers


@pytest.mark.parametrize("bound", [BOUND, Descent()], ids=["anchored", "descent"])
def test_the_tables_are_the_bound_within_the_error_they_state(bound: FormulaBound) -> None:
    outlook = Outlook(bound=bound, rho=0.3, start=3.0)
    tables = build_surrogate(outlook, 10, 500, "paper")
    assert tables.error < 0.05
    rng = np.random.default_rng(0)
    x, counts = rng.uniform(tables.low, tables.high, 500), rng.integers(0, 501, 500)
    truth = np.array([bound(math.exp(place), int(count)) for place, count in zip(x, counts, strict=True)])
    off = np.exp(tables.risk.ev(x, np.log1p(counts))) / truth - 1.0
    assert np.abs(off).max() <= 2.0 * tables.error
    assert np.median(np.abs(off)) < 1e-4


def test_between_whole_numbers_risks_fall() -> None:
    tables = build_surrogate(Outlook(bound=Descent(), rho=0.3, start=3.0), 10, 500, "paper")
    risks = tables.risk(np.log([0.5, 2.0, 8.0]), np.linspace(0.0, tables.top, 500))
    assert np.diff(risks, axis=1).max() < 0.01


@pytest.mark.parametrize("steps", ["worst", "printed"])
def test_only_the_recursion_of_distances_knows_of_skipping(steps: Any) -> None:
    outlook = Outlook(bound=Descent(), rho=0.3, start=3.0, m=0.5, steps=steps)
    samples = [60, 0, 0, 0]
    truth = np.array(risk_trajectory(outlook, samples))
    modelled = build_surrogate(outlook, 4, 100, "distance").trajectory(np.array(samples, dtype=float))[1]
    paper = build_surrogate(outlook, 4, 100, "paper").trajectory(np.array(samples, dtype=float))[1]
    np.testing.assert_allclose(modelled, truth, rtol=1e-3)
    assert paper[-1] > 1.5 * truth[-1]


# Rounding


@settings(max_examples=60, deadline=None)
@given(
    real=st.lists(st.floats(0.0, 90.0) | st.floats(0.0, 1.0), min_size=5, max_size=5),
    cost=st.sampled_from(sorted(COSTS)),
    gap=st.sampled_from(sorted(GAPS)),
    adjacent=st.booleans(),
    bought_before=st.booleans(),
)
def test_rounding_keeps_the_budget_and_the_neighbours(
    real: list[float], cost: str, gap: str, adjacent: bool, bought_before: bool
) -> None:
    problem = problem_of(cost=COSTS[cost], gap=GAPS[gap], adjacent=adjacent, bought_before=bought_before)
    samples = round_samples(problem, np.array(real), most=200)
    prices = problem.cost.units(np.array(samples))
    assert prices.sum() <= budget_units(problem.cost, problem.budget)
    assert not adjacent or has_neighbours(samples, bought_before=bought_before)


@settings(max_examples=40, deadline=None)
@given(real=st.lists(st.floats(0.0, 25.0), min_size=5, max_size=5), gap=st.sampled_from(sorted(GAPS)))
def test_no_sample_that_can_still_be_paid_would_help(real: list[float], gap: str) -> None:
    problem = problem_of(gap=GAPS[gap], cost=LinearCost(fixed=7), budget=Money.of(100))
    samples = list(round_samples(problem, np.array(real), most=93))
    value = evaluate_plan(problem, samples, method="", reason="").value
    for index in range(5):
        more = samples.copy()
        more[index] += 1
        if problem.cost.units(np.array(more)).sum() <= 100:
            assert evaluate_plan(problem, more, method="", reason="").value >= value * (1.0 - 1e-9)


def test_rounding_down_comes_first_and_whole_numbers_stay() -> None:
    problem = problem_of(cost=LinearCost(fixed=10), budget=Money.of(92), horizon=4)
    assert round_samples(problem, np.array([17.0 - 1e-7, 0.4, 45.99, 0.99]), most=82) == (27, 0, 45, 0)
    assert round_samples(problem_of(budget=Money.of(62), horizon=3), np.array([20.0, 0.0, 22.0]), most=52) == (
        20,
        0,
        22,
    )
