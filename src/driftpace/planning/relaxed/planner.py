"""The paper's planner: the relaxation solved by IPOPT from several starts, rounded, and evaluated as it truly is."""

from dataclasses import dataclass

from driftpace import validation
from driftpace.planning.gaps import LargestGap, LargestRun
from driftpace.planning.outlook import risk_gaps, risk_trajectory
from driftpace.planning.problem import Problem, evaluate_plan
from driftpace.planning.relaxed.ipopt import CONVERGED, IpoptSolver, describe_status, require_casadi
from driftpace.planning.relaxed.programme import Aim, RelaxedProgramme, Rows
from driftpace.planning.relaxed.rounding import round_samples
from driftpace.planning.relaxed.surrogate import Recursion
from driftpace.records import Plan
from driftpace.typing import FloatArray

METHOD = "relaxed (IPOPT)"

_AIMS: dict[Aim, str] = {
    "mean": "the mean gap",
    "largest": "the largest gap",
    "runs": "a smooth stand-in for the largest run",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class RelaxedRun:
    """What came of one start: the real numbers of samples, what they were worth, and the same after rounding.

    ``relaxed`` is the value of ``real`` under the relaxation, ``rounded`` the true value of ``samples``. ``aim`` is the objective
    minimised, ``status`` IPOPT's return code and ``sentence`` its meaning.
    """

    start: int
    aim: Aim
    real: tuple[float, ...]
    samples: tuple[int, ...]
    relaxed: float
    rounded: float
    status: str
    interpolation_error: float

    @property
    def sentence(self) -> str:
        """What the status means."""
        return describe_status(self.status)

    @property
    def converged(self) -> bool:
        """Whether a local optimum of the relaxation was reached."""
        return self.status in CONVERGED


def relaxed_runs(
    problem: Problem,
    *,
    starts: int = 1,
    seed: int = 0,
    K0: float = 0.5,
    rows: Rows = "paper",
    recursion: Recursion = "paper",
    max_iterations: int = 300,
) -> tuple[RelaxedRun, ...]:
    """Return what IPOPT and rounding make of the relaxation from every start; see :func:`plan_relaxed`.

    Empty where the budget does not pay for a single sample.
    """
    validation.count("plan_relaxed", least=1, starts=starts, max_iterations=max_iterations)
    validation.count("plan_relaxed", seed=seed)
    validation.fraction("plan_relaxed", K0=K0)
    validation.choice("plan_relaxed", ("paper", "corrected", "none"), rows=rows)
    validation.choice("plan_relaxed", ("paper", "distance"), recursion=recursion)
    require_casadi()
    programme = RelaxedProgramme.of(problem, K0=K0, rows=rows, recursion=recursion)
    if programme is None:
        return ()
    points = programme.starts(starts, seed)
    return tuple(
        _run(problem, solver, start, point)
        for solver in (IpoptSolver.of(programme, aim, max_iterations) for aim in _aims(problem))
        for start, point in enumerate(points)
    )


def plan_relaxed(
    problem: Problem,
    *,
    starts: int = 1,
    seed: int = 0,
    K0: float = 0.5,
    rows: Rows = "paper",
    recursion: Recursion = "paper",
    max_iterations: int = 300,
) -> Plan:
    """Return the plan of the paper's relaxation (section IV-A, rhoKnownRelaxation), rounded; the best of ``starts`` wins.

    minimise phi(xi) over real K_n >= 0 such that sum p-hat(K_n) <= P and the ``rows`` hold, where p-hat(K) = p(K0) K/K0 up to
    ``K0`` and p(K) beyond. Prices of real K are straight lines between those of whole numbers.

    ``rows``: ``"paper"`` is K_1 <= K_2, K_n <= K_(n-1) + K_(n+1), K_(T-1) <= K_T, as printed; ``"corrected"`` ends with
    K_T <= K_(T-1) (theory I12), and begins without its first row where samples were bought before (I13); ``"none"`` has none.
    ``recursion``: ``"paper"`` counts every period as a fit, because a solver sees only positive K; ``"distance"`` lets the distance
    grow by rho where nothing is bought, and so models skipping.

    It is not a relaxation in the sense that its optimum would bound the best plan from below: the rows on the values of K forbid
    good whole plans, a fit in every period is not what idling is, p-hat is not convex, so that every start may end elsewhere
    (theory I25), and the bound is interpolated. So ``lower`` is 0: nothing is proven. The value is that of the rounded plan as it
    truly is, with the true bound and the true prices.

    phi_1 is linear and phi_2 an epigraph in slacks xi_n >= b~_n - epsilon. The runs of phi_3 are combinatorial: from every start
    phi_1, phi_2 and a smooth stand-in (see :class:`~driftpace.planning.relaxed.ipopt.IpoptSolver`) are minimised, and phi_3 judges
    what comes of them. Any other goal is refused.

    >>> from driftpace.bounds import Anchored
    >>> from driftpace.planning.costs import LinearCost
    >>> from driftpace.planning.gaps import MeanGap
    >>> from driftpace.planning.outlook import Outlook
    >>> from driftpace.records import Money
    >>> problem = Problem(
    ...     outlook=Outlook(bound=Anchored(noise=1.0, features=3), rho=0.3, start=3.0), epsilon=0.05,
    ...     budget=Money.of(120), horizon=4, cost=LinearCost(fixed=10), gap=MeanGap(),
    ... )
    >>> plan = plan_relaxed(problem)
    >>> plan.samples, plan.value, plan.lower
    ((24, 22, 17, 17), 0.0218, 0.0)
    """
    runs = relaxed_runs(
        problem, starts=starts, seed=seed, K0=K0, rows=rows, recursion=recursion, max_iterations=max_iterations
    )
    if not runs:
        reason = f"nothing is bought: {problem.budget} does not pay for one sample"
        return evaluate_plan(problem, [0] * problem.horizon, method=METHOD, reason=reason)
    best = min(runs, key=lambda run: run.rounded)
    return evaluate_plan(problem, best.samples, method=METHOD, reason=_in_words(best, runs))


def _run(problem: Problem, solver: IpoptSolver, start: int, point: FloatArray) -> RelaxedRun:
    real, status = solver(point)
    tables = solver.programme.surrogate
    samples = round_samples(problem, real, most=solver.programme.most)
    return RelaxedRun(
        start=start,
        aim=solver.aim,
        real=tuple(real.tolist()),
        samples=samples,
        relaxed=problem.gap(risk_gaps(tables.course(real)[1].tolist(), problem.epsilon)),
        rounded=problem.gap(risk_gaps(risk_trajectory(problem.outlook, samples), problem.epsilon)),
        status=status,
        interpolation_error=tables.error,
    )


def _aims(problem: Problem) -> tuple[Aim, ...]:
    match problem.gap:
        case LargestGap():
            return ("largest",)
        case LargestRun():
            return ("runs", "mean", "largest")
        case _:
            return ("mean",)


def _in_words(best: RelaxedRun, runs: tuple[RelaxedRun, ...]) -> str:
    change = best.rounded - best.relaxed
    share = f" {abs(change) / best.relaxed:.1%}" if best.relaxed > 0.0 else ""
    return (
        f"minimising {_AIMS[best.aim]}, {best.sentence}; "
        f"{sum(run.converged for run in runs)} of {len(runs)} solves ended at a local optimum; "
        f"rounding {'cost' if change >= 0.0 else 'gained'}{share}, from {best.relaxed:.5g} to {best.rounded:.5g} in whole samples; "
        f"the bound was interpolated within {best.interpolation_error:.1%}; "
        "nothing is proven: how much better another plan can be is not known"
    )
