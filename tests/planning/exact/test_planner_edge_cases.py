"""Edge cases of the exact planner, in which plausible shortcuts are wrong."""

from dataclasses import replace

import pytest

from driftpace.bounds import Anchored, ConstantStep, NoiseModel, OrdinaryLeastSquares, RiskBound
from driftpace.errors import ParameterError
from driftpace.planning.costs import LinearCost
from driftpace.planning.gaps import CustomGap, Gap, LargestGap, LargestRun, MeanGap
from driftpace.planning.problem import Outlook, Problem, Steps, evaluate_plan, risk_gaps
from driftpace.records import Money
from driftpace.typing import FloatArray
from tests.reference.brute_force_plans import FALL, best_of_all, complaints, every_plan, prices_up_to, unsound, untrue
from tests.reference.planning_problems import Powers


def problem(
    bound: RiskBound,
    gap: Gap,
    *,
    rho: float,
    start: float,
    epsilon: float,
    horizon: int,
    budget: object,
    fixed: int = 0,
    per_sample: str = "1",
    steps: Steps = "worst",
    m: float | None = None,
) -> Problem:
    return Problem(
        outlook=Outlook(bound=bound, rho=rho, start=start, m=m, steps=steps),
        epsilon=epsilon,
        budget=Money.of(budget),
        horizon=horizon,
        cost=LinearCost(fixed=fixed, per_sample=per_sample),
        gap=gap,
    )


def by_steps(step: float, *, A: float, M: float = 1.0) -> ConstantStep:
    return ConstantStep(m=1.0, M=M, noise=NoiseModel(A=A, B=4.0), step=step)


# A larger gap may break a run: partial plans that are nearer, cheaper and no worse so far may still be the wrong ones.
BETTER_BROKEN = (
    problem(
        Anchored(noise=0.27, features=3), LargestRun((1.0, 0.5, 1.0)),
        rho=1.1, start=1.4, epsilon=0.11, horizon=3, budget=18,
    ),
    problem(
        Powers(c1=1.3, c2=0.11), LargestRun((1.0, 0.5, 1.0, 2.0, 2.0)),
        rho=0.84, start=0.88, epsilon=0.013, horizon=5, budget=10,
    ),
    problem(
        Anchored(noise=1.7, features=2), LargestRun((0.5, 2.0, 1.0, 2.0, 2.0)),
        rho=0.59, start=2.0, epsilon=0.043, horizon=5, budget=8, steps="walk",
    ),
    problem(
        OrdinaryLeastSquares(noise=0.5, features=1), LargestRun((1.0, 1.0, 2.0)),
        rho=0.49, start=3.2, epsilon=0.21, horizon=3, budget=12, fixed=1,
    ),
    problem(Powers(c1=0.13, c2=0.17), LargestRun(), rho=1.3, start=1.1, epsilon=0.02, horizon=5, budget=5),
    problem(
        Anchored(noise=0.11, features=2), LargestRun(),
        rho=0.4, start=1.1, epsilon=0.011, horizon=4, budget=6, steps="walk",
    ),
    problem(
        Powers(c1=0.35, c2=0.28), LargestRun((0.5, 2.0, 0.5, 0.5)),
        rho=0.47, start=3.5, epsilon=0.016, horizon=4, budget=7,
    ),
)  # fmt: skip

# The printed form makes every distance larger, and yet the largest run of its best plan is smaller than that of the corrected form.
BETTER_PRINTED = (
    problem(
        by_steps(0.27, A=0.65), LargestRun(),
        rho=0.055, start=0.31, epsilon=0.021, horizon=4, budget=10, fixed=1, steps="printed",
    ),
    problem(by_steps(0.32, A=0.51), LargestRun(), rho=1.4, start=1.2, epsilon=0.16, horizon=3, budget=13, steps="printed"),
    problem(by_steps(0.24, A=0.36), LargestRun(), rho=1.3, start=1.2, epsilon=0.05, horizon=3, budget=11, steps="printed"),
)  # fmt: skip


def the_last(gaps: FloatArray) -> float:
    return float(gaps[-1])


# A fit that gains little leaves the model further away, as far as is known, than none: all samples everywhere are no best case.
WORSE_WITH_ALL = (
    problem(
        by_steps(0.064, A=0.21, M=2.0), CustomGap(the_last, "the last gap"),
        rho=0.094, start=2.0, epsilon=0.023, horizon=4, budget=5, steps="printed",
    ),
    problem(
        Powers(c1=0.29, c2=0.14, M=4.0), CustomGap(the_last, "the last gap"),
        rho=0.77, start=0.34, epsilon=0.017, horizon=2, budget=8, fixed=1, steps="printed",
    ),
    problem(
        Powers(c1=0.2, c2=1.5, M=4.0), CustomGap(the_last, "the last gap"),
        rho=0.39, start=0.49, epsilon=0.11, horizon=2, budget=11,
    ),
)  # fmt: skip


def check(problem: Problem) -> None:
    from driftpace.planning.exact.planner import plan_exact

    best = best_of_all(problem)
    assert not complaints(problem, plan_exact(problem, accuracy=0.0), best)
    for accuracy in (0.01, 0.05):
        plan = plan_exact(problem, accuracy=accuracy)
        assert not unsound(problem, plan) + untrue(plan, best)


def value_by_order(problem: Problem) -> float:
    """The best value of plans every partial plan of which is unbeaten: none is nearer, cheaper, and no worse in value and run."""
    outlook, weights = problem.outlook, problem.gap.shares(problem.horizon)  # type: ignore[attr-defined]
    prices = prices_up_to(problem, money := int(problem.budget.amount // problem.cost.unit))
    kept = [(outlook.first_distance(0), 0, 0.0, 0.0, 0.0)]  # distance, money, value, run, last gap
    for weight in weights:
        grown = []
        for distance, spent, value, run, last in kept:
            for count, price in enumerate(prices):
                if spent + price > money:
                    break
                gap = float(risk_gaps([risk := outlook.bound(distance, count)], problem.epsilon)[0])
                onward = weight * gap + (0.0 if gap < last * (1.0 - FALL) else run)
                away = outlook.idle_distance(outlook.reach(risk) if count else distance, 1)
                grown.append((away, spent + price, max(value, onward), onward, gap))
        kept = []
        for label in sorted(grown):
            if not any(all(x <= y for x, y in zip(other[:4], label[:4], strict=True)) for other in kept):
                kept.append(label)
    return min(label[2] for label in kept)


@pytest.mark.parametrize("at", range(len(BETTER_BROKEN)))
def test_a_larger_gap_that_breaks_a_run(at: int) -> None:
    assert value_by_order(BETTER_BROKEN[at]) > 1.02 * best_of_all(BETTER_BROKEN[at]).value
    check(BETTER_BROKEN[at])


@pytest.mark.parametrize("at", range(len(BETTER_PRINTED)))
def test_larger_distances_and_a_smaller_run(at: int) -> None:
    printed = BETTER_PRINTED[at]
    corrected = replace(printed, outlook=replace(printed.outlook, steps="worst"))
    assert best_of_all(printed).value < 0.99 * best_of_all(corrected).value
    check(printed)


@pytest.mark.parametrize("at", range(len(WORSE_WITH_ALL)))
def test_the_most_samples_everywhere_are_no_best_case(at: int) -> None:
    from driftpace.planning.exact.planner import plan_exact

    problem, best = WORSE_WITH_ALL[at], best_of_all(WORSE_WITH_ALL[at])
    most = int(every_plan(problem)[0].max())
    everything = evaluate_plan(problem, [most] * problem.horizon, method="", reason="", within_budget=False)
    assert everything.value > 1.003 * best.value
    for accuracy in (0.0, 0.01, 0.05):
        plan = plan_exact(problem, accuracy=accuracy)
        assert not unsound(problem, plan) + untrue(plan, best)


def test_an_m_above_the_smoothness_is_rejected() -> None:
    """A model that is left alone would get better: gaps would fall without a purchase."""
    with pytest.raises(
        ParameterError, match=r"Outlook\(m=\.\.\.\) must be at most M = 1, the smoothness of the bound; got 2\.0"
    ):
        Outlook(bound=Powers(c1=1.0, c2=0.6), rho=0.2, start=1.5, m=2.0)


def test_money_beyond_what_a_float_holds_is_rejected() -> None:
    """Two orders and a budget of one unit less would be the same float."""
    with pytest.raises(ParameterError, match=r"must be"):
        problem(
            Powers(c1=0.1, c2=0.05), MeanGap(),
            rho=0.8, start=3.0, epsilon=0.01, horizon=2, budget="9007199.254740995", per_sample="4503599.627370498",
        )  # fmt: skip


def test_a_chain_of_ties_leads_no_further_than_two_of_them() -> None:
    """Near its floor each number of samples is nearly as good as the next; a plan within 1e-12 of the best known counts
    as equal to it.
    """
    from driftpace.planning.exact.planner import plan_exact

    near = problem(by_steps(0.05, A=0.16), LargestGap(), rho=0.3, start=2.0, epsilon=0.001, horizon=1, budget=400)
    best = best_of_all(near)
    assert plan_exact(near, accuracy=0.0).value <= best.value * (1.0 + 2e-12)
