"""The paper's planner: the relaxation solved by IPOPT from several starts, rounded, and evaluated exactly."""

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
    "runs": "a smooth surrogate for the largest run",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class RelaxedRun:
    """The result of one start: real-valued samples and their value, and the same after rounding.

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
        """The meaning of the return code."""
        return describe_status(self.status)

    @property
    def converged(self) -> bool:
        """Whether the solver converged to a local optimum of the relaxation."""
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
    """Solve and round the relaxation from every start; see :func:`plan_relaxed` for the parameters.

    Returns
    -------
    tuple of RelaxedRun
        One run per start and objective; empty if the budget does not pay for a single sample.
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
    """Return the best rounded plan of the paper's relaxation (section IV-A, rhoKnownRelaxation).

    Minimise phi(xi) over real K_n >= 0 subject to sum p-hat(K_n) <= P and the ``rows``, where p-hat(K) = p(K0) K/K0 up to ``K0``
    and p(K) beyond. Prices of real K are interpolated linearly between integers.

    Parameters
    ----------
    problem : Problem
        The problem; its objective is MeanGap, LargestGap or LargestRun.
    starts : int, default 1
        The number of starting points.
    seed : int, default 0
        The seed of the random starting points.
    K0 : float, default 0.5
        Where the smoothed price meets the true one.
    rows : {"paper", "corrected", "none"}, default "paper"
        The adjacency constraints, see the notes.
    recursion : {"paper", "distance"}, default "paper"
        The distance recursion, see the notes.
    max_iterations : int, default 300
        IPOPT's iteration limit.

    Returns
    -------
    Plan
        The best plan over all starts. Its ``lower`` is 0: nothing is proven.

    Raises
    ------
    MissingExtraError
        If CasADi is not installed.

    Notes
    -----
    ``rows``: ``"paper"`` is K_1 <= K_2, K_n <= K_(n-1) + K_(n+1), K_(T-1) <= K_T, as printed; ``"corrected"`` ends with K_T <=
    K_(T-1) (theory I12), and begins without its first row where samples were bought before (I13); ``"none"`` has none.
    ``recursion``: ``"paper"`` treats every period as a fit, because an interior-point solver has only positive K; ``"distance"``
    lets the distance grow by rho where nothing is bought, and so models skipping.

    It is not a relaxation in the sense of a lower bound: the rows on the values of K exclude good integer plans, a fit in every
    period differs from idling, p-hat is not convex, so that every start may converge to another point (theory I25), and the bound
    is interpolated. The value is that of the rounded plan with the true bound and the true prices.

    phi_1 is linear and phi_2 an epigraph in slacks xi_n >= b~_n - epsilon. The runs of phi_3 are combinatorial: from every start
    phi_1, phi_2 and a smooth surrogate (see :class:`~driftpace.planning.relaxed.ipopt.IpoptSolver`) are minimised, and the result
    with the least phi_3 is kept.

    Examples
    --------
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
    return evaluate_plan(problem, best.samples, method=METHOD, reason=_describe(best, runs))


def _run(problem: Problem, solver: IpoptSolver, start: int, point: FloatArray) -> RelaxedRun:
    real, status = solver(point)
    tables = solver.programme.surrogate
    samples = round_samples(problem, real, most=solver.programme.most)
    return RelaxedRun(
        start=start,
        aim=solver.aim,
        real=tuple(real.tolist()),
        samples=samples,
        relaxed=problem.gap(risk_gaps(tables.trajectory(real)[1].tolist(), problem.epsilon)),
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


def _describe(best: RelaxedRun, runs: tuple[RelaxedRun, ...]) -> str:
    change = best.rounded - best.relaxed
    share = f" by {abs(change) / best.relaxed:.1%}" if best.relaxed > 0.0 else ""
    return (
        f"minimising {_AIMS[best.aim]}, {best.sentence}; "
        f"{sum(run.converged for run in runs)} of {len(runs)} runs converged to a local optimum; "
        f"rounding to integers {'raised' if change >= 0.0 else 'lowered'} the value{share}, "
        f"from {best.relaxed:.5g} to {best.rounded:.5g}; "
        f"interpolation error of the bound at most {best.interpolation_error:.1%}; "
        "no lower bound is proven"
    )
