"""The paper's planner: the relaxation solved by IPOPT (through CasADi) from several starts, rounded, and evaluated exactly."""

import itertools
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.interpolate import RectBivariateSpline

from driftpace import validation
from driftpace.errors import MissingExtraError
from driftpace.planning.gaps import LargestGap, LargestRun
from driftpace.planning.problem import Problem, evaluate_plan, risk_gaps, risk_trajectory
from driftpace.planning.relaxed.programme import Aim, RealPrice, Recursion, RelaxedProgramme, Rows
from driftpace.planning.relaxed.rounding import round_samples
from driftpace.records import Plan
from driftpace.typing import FloatArray

_SOFT = 0.05
"""The smoothing width, in units of epsilon, of the surrogate for runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class IpoptSolver:
    """A compiled programme, to be solved from many starts."""

    programme: RelaxedProgramme
    aim: Aim
    function: Any
    lowest: FloatArray

    @classmethod
    def of(cls, programme: RelaxedProgramme, aim: Aim, max_iterations: int) -> "IpoptSolver":
        """Return the solver of a programme.

        Its variables are x = log d, u = log(1 + K) and xi/epsilon of every period; in log(1 + K) rather than K, because bounds
        decay like a power of K, so that the solver's quadratic models are valid further. Besides the rows of the programme,

        * ``"mean"``: sum of shares_n xi_n, xi_n >= b_n - epsilon, xi_n >= 0 (phi_1);
        * ``"largest"``: t_T, with t_n >= shares_n xi_n and t_n >= t_(n-1), the same xi (phi_2; a running maximum, because one t
          for all periods would fill a column of the Jacobian);
        * ``"runs"``: t_T, with t_n >= s_n and t_n >= t_(n-1), s_n >= shares_n xi_n + q_n s_(n-1). Here xi_n is (b_n - epsilon)_+
          smoothed, not a slack, because a larger gap may break a run, and q_n is a logistic function of
          xi_n - xi_(n-1): 0.95 if the gap is constant, near 1 if it grows, and below one half if it decreases by more than
          0.15 epsilon. This is a smooth surrogate for phi_3, whose runs either continue or end; it favours runs that continue.
        """
        ca = require_casadi()
        horizon = len(programme.shares)
        x, u, xi, s, t = (ca.MX.sym(name, horizon) for name in ("x", "u", "xi", "s", "t"))
        places = ca.horzcat(x, u).T
        excess = ca.exp(_spline(ca, programme.surrogate.risk).map(horizon)(places).T) / programme.epsilon - 1.0
        onward = _spline(ca, programme.surrogate.step).map(horizon)(places).T
        K, shares = ca.exp(u) - 1.0, ca.DM(programme.shares)
        equal = [x[1:] - onward[:-1]]
        spent = ca.sum1(_price(ca, programme.price, K)) / programme.budget
        below = [spent - 1.0, ca.mtimes(ca.DM(programme.neighbours), K)]
        if aim == "mean":
            below.append(excess - xi)
            variables, value = ca.vertcat(x, u, xi), ca.dot(shares, xi)
        elif aim == "largest":
            below += [excess - xi, shares * xi - t, t[:-1] - t[1:]]
            variables, value = ca.vertcat(x, u, xi, t), t[-1]
        else:
            equal.append(xi - 0.5 * (excess + ca.sqrt(excess**2 + _SOFT**2)))
            rise = (xi[1:] - xi[:-1]) / _SOFT
            on = 0.5 + 0.5 * ca.tanh(
                0.5 * (3.0 + rise)
            )  # the logistic function of 3 + rise, in a form that cannot overflow
            below += [shares[0] * xi[0] - s[0], shares[1:] * xi[1:] + on * s[:-1] - s[1:], s - t, t[:-1] - t[1:]]
            variables, value = ca.vertcat(x, u, xi, s, t), t[-1]
        equal, below = (
            [row for row in rows if row.numel()] for rows in (equal, below)
        )  # a single period has fewer rows
        g = ca.vertcat(*equal, *below)
        function = ca.nlpsol("relaxed", "ipopt", {"x": variables, "f": value, "g": g}, _options(max_iterations))
        exact = sum(int(row.shape[0]) for row in equal)
        lowest = np.concatenate((np.zeros(exact), np.full(int(g.shape[0]) - exact, -np.inf)))
        return cls(programme=programme, aim=aim, function=function, lowest=lowest)

    def __call__(self, samples: FloatArray) -> tuple[FloatArray, str]:
        """Return real numbers of samples, and IPOPT's status, from the start ``samples``."""
        tables, shares, horizon = self.programme.surrogate, self.programme.shares, len(samples)
        x, risks = tables.trajectory(samples)
        xi = np.maximum(risks / self.programme.epsilon - 1.0, 0.0) + 0.01
        runs = list(itertools.accumulate(shares * xi, lambda run, gap: 0.5 * run + gap))
        far = list(itertools.accumulate(runs if self.aim == "runs" else shares * xi, max))
        rest = {"mean": [], "largest": far, "runs": [*runs, *far]}[self.aim]
        start = np.concatenate((x, np.log1p(samples), xi, rest))
        free = len(start) - 2 * horizon
        low = np.concatenate((np.full(horizon, tables.low), np.zeros(horizon + free)))
        high = np.concatenate((np.full(horizon, tables.high), np.full(horizon, tables.top), np.full(free, np.inf)))
        low[0] = high[0] = tables.first
        answer = self.function(x0=start, lbx=low, ubx=high, lbg=self.lowest, ubg=0.0)
        solution = np.asarray(answer["x"], dtype=np.float64).ravel()[horizon : 2 * horizon]
        real = np.expm1(np.clip(np.nan_to_num(solution), 0.0, tables.top))
        return real, str(self.function.stats()["return_status"])


def _spline(ca: Any, spline: RectBivariateSpline) -> Any:
    """Return a SciPy spline as a CasADi function with the same values."""
    tx, tu, coefficients = spline.tck
    kx, ku = spline.degrees
    table = np.reshape(coefficients, (len(tx) - kx - 1, len(tu) - ku - 1))
    place = ca.MX.sym("place", 2)
    values = ca.bspline(place, ca.DM(table.T.ravel()), [tx.tolist(), tu.tolist()], [kx, ku], 1, {})
    return ca.Function("spline", [place], [values])


def _price(ca: Any, price: RealPrice, K: Any) -> Any:
    value = price.base + price.slope * K
    for knot, bend in zip(price.knots, price.bends, strict=True):
        value += bend * ca.fmax(K - knot, 0.0)
    return ca.if_else(price.K0 >= K, price.ramp * K, value)


def _options(max_iterations: int) -> dict[str, object]:
    return {
        "print_time": False,
        "show_eval_warnings": False,
        "ipopt": {
            "print_level": 0,
            "sb": "yes",
            "max_iter": max_iterations,
            "bound_relax_factor": 0.0,  # splines must not be evaluated beyond their ends
        },
    }


def require_casadi() -> Any:
    """Return CasADi; raise MissingExtraError with instructions if it is not installed."""
    try:
        import casadi
    except ModuleNotFoundError as error:
        raise MissingExtraError(f'plan_relaxed() needs {error.name}: pip install "driftpace[ipopt]".') from error
    return casadi


STATUSES = MappingProxyType(
    {
        "Solve_Succeeded": "IPOPT converged to a local optimum",
        "Solved_To_Acceptable_Level": "IPOPT converged to a local optimum at reduced accuracy",
        "Feasible_Point_Found": "IPOPT found a feasible point",
        "Infeasible_Problem_Detected": "IPOPT found no feasible point, although one exists",
        "Search_Direction_Becomes_Too_Small": "IPOPT stalled: its steps became too small",
        "Diverging_Iterates": "IPOPT diverged",
        "User_Requested_Stop": "IPOPT was stopped by the user",
        "Maximum_Iterations_Exceeded": "IPOPT reached the maximum number of iterations; increase max_iterations",
        "Maximum_CpuTime_Exceeded": "IPOPT reached its CPU time limit",
        "Maximum_WallTime_Exceeded": "IPOPT reached its wall time limit",
        "Restoration_Failed": "IPOPT failed to restore feasibility",
        "Error_In_Step_Computation": "IPOPT could not compute a search direction",
        "Not_Enough_Degrees_Of_Freedom": "IPOPT was given more equality constraints than variables",
        "Invalid_Problem_Definition": "IPOPT rejected the problem as ill-defined",
        "Invalid_Option": "IPOPT rejected an option; its version may be too old",
        "Invalid_Number_Detected": "IPOPT encountered an infinite or undefined number",
        "Unrecoverable_Exception": "IPOPT failed with an unrecoverable exception",
        "NonIpopt_Exception_Thrown": "IPOPT was interrupted by an exception in the calling code",
        "Insufficient_Memory": "IPOPT ran out of memory",
        "Internal_Error": "IPOPT failed with an internal error",
    }
)
"""The names of IPOPT's return codes with their meanings."""

CONVERGED = frozenset({"Solve_Succeeded", "Solved_To_Acceptable_Level"})
"""The return codes of a local optimum; points with other codes are rounded too."""


def describe_status(status: str) -> str:
    """Return the meaning of a return code.

    >>> describe_status("Invalid_Number_Detected"), describe_status("Brand_New_Code")
    ('IPOPT encountered an infinite or undefined number', "IPOPT returned the unknown code 'Brand_New_Code'")
    """
    return STATUSES.get(status, f"IPOPT returned the unknown code {status!r}")


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
    phi_1, phi_2 and a smooth surrogate (see :class:`~driftpace.planning.relaxed.planner.IpoptSolver`) are minimised, and the result
    with the least phi_3 is kept.

    Examples
    --------
    >>> from driftpace.bounds import Anchored
    >>> from driftpace.planning.costs import LinearCost
    >>> from driftpace.planning.gaps import MeanGap
    >>> from driftpace.planning.problem import Outlook
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
