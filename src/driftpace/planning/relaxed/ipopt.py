"""The relaxation as a nonlinear programme for IPOPT, formulated with CasADi."""

import itertools
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.interpolate import RectBivariateSpline

from driftpace.errors import MissingExtraError
from driftpace.planning.relaxed.programme import Aim, RealPrice, RelaxedProgramme
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
