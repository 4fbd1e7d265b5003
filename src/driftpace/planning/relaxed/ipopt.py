"""The relaxation as IPOPT sees it, through CasADi: the only file that knows of either."""

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
"""How far, in units of epsilon, edges are rounded in the stand-in for runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class IpoptSolver:
    """A programme made ready, to be solved from many starts."""

    programme: RelaxedProgramme
    aim: Aim
    function: Any
    lowest: FloatArray

    @classmethod
    def of(cls, programme: RelaxedProgramme, aim: Aim, max_iterations: int) -> "IpoptSolver":
        """Return the solver of a programme.

        Its variables are x = log d, u = log(1 + K) and xi/epsilon of every period; in log(1 + K) rather than K, because bounds
        fall with a power of K and the solver's quadratic models then hold further. Besides the rows of the programme,

        * ``"mean"``: sum of shares_n xi_n, xi_n >= b_n - epsilon, xi_n >= 0 (phi_1);
        * ``"largest"``: t_T, with t_n >= shares_n xi_n and t_n >= t_(n-1), the same xi (phi_2; a largest gap so far, because one t
          for all periods would fill a column of the Jacobian);
        * ``"runs"``: t_T, with t_n >= s_n and t_n >= t_(n-1), s_n >= shares_n xi_n + q_n s_(n-1). Here xi_n is (b_n - epsilon)_+
          with its edge rounded, not a slack, because a larger gap may break a run, and q_n is a logistic function of
          xi_n - xi_(n-1): 0.95 where the gap stays, near 1 where it rises, and below a half where it falls by more than
          0.15 epsilon. That is a smooth stand-in for phi_3, whose runs either go on or end; it leans to runs that go on.
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
        equal, below = ([row for row in rows if row.numel()] for rows in (equal, below))  # a single period has few
        g = ca.vertcat(*equal, *below)
        function = ca.nlpsol("relaxed", "ipopt", {"x": variables, "f": value, "g": g}, _options(max_iterations))
        exact = sum(int(row.shape[0]) for row in equal)
        lowest = np.concatenate((np.zeros(exact), np.full(int(g.shape[0]) - exact, -np.inf)))
        return cls(programme=programme, aim=aim, function=function, lowest=lowest)

    def __call__(self, samples: FloatArray) -> tuple[FloatArray, str]:
        """Return real numbers of samples, and IPOPT's status, from the start ``samples``."""
        tables, shares, horizon = self.programme.surrogate, self.programme.shares, len(samples)
        x, risks = tables.course(samples)
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
        found = np.asarray(answer["x"], dtype=np.float64).ravel()[horizon : 2 * horizon]
        real = np.expm1(np.clip(np.nan_to_num(found), 0.0, tables.top))
        return real, str(self.function.stats()["return_status"])


def _spline(ca: Any, spline: RectBivariateSpline) -> Any:
    """Return SciPy's spline as a function of CasADi's, with the same numbers."""
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
            "bound_relax_factor": 0.0,  # splines are not to be asked beyond their ends
        },
    }


def require_casadi() -> Any:
    """Return CasADi, or say how to get it."""
    try:
        import casadi
    except ModuleNotFoundError as error:
        raise MissingExtraError(f'plan_relaxed() needs {error.name}: pip install "driftpace[ipopt]".') from error
    return casadi


STATUSES = MappingProxyType(
    {
        "Solve_Succeeded": "IPOPT found a point where no small change helps",
        "Solved_To_Acceptable_Level": "IPOPT stopped near a point where no small change helps, short of its full accuracy",
        "Feasible_Point_Found": "IPOPT found a point that keeps all rows, and no more was asked",
        "Infeasible_Problem_Detected": "IPOPT found no point that keeps all rows, though one exists",
        "Search_Direction_Becomes_Too_Small": "IPOPT got stuck: its steps became too small to change anything",
        "Diverging_Iterates": "IPOPT diverged: its numbers grew without end",
        "User_Requested_Stop": "IPOPT was stopped from outside",
        "Maximum_Iterations_Exceeded": "IPOPT was stopped at the largest number of iterations; raise max_iterations",
        "Maximum_CpuTime_Exceeded": "IPOPT was stopped at its limit of processor time",
        "Maximum_WallTime_Exceeded": "IPOPT was stopped at its limit of time",
        "Restoration_Failed": "IPOPT got stuck outside the rows and found no way back to them",
        "Error_In_Step_Computation": "IPOPT could not compute a step",
        "Not_Enough_Degrees_Of_Freedom": "IPOPT was given more equations than unknowns",
        "Invalid_Problem_Definition": "IPOPT refused the problem as badly defined",
        "Invalid_Option": "IPOPT refused one of its options; it may be too old",
        "Invalid_Number_Detected": "IPOPT met an infinite or undefined number",
        "Unrecoverable_Exception": "IPOPT failed inside and could not recover",
        "NonIpopt_Exception_Thrown": "IPOPT was interrupted by an error outside it",
        "Insufficient_Memory": "IPOPT ran out of memory",
        "Internal_Error": "IPOPT failed inside",
    }
)
"""Every name that IPOPT's return codes have, and what it means for a plan."""

CONVERGED = frozenset({"Solve_Succeeded", "Solved_To_Acceptable_Level"})
"""The names that say a local optimum was reached; what any other leaves behind is rounded all the same."""


def describe_status(status: str) -> str:
    """Return what a status means.

    >>> describe_status("Invalid_Number_Detected"), describe_status("Brand_New_Code")
    ('IPOPT met an infinite or undefined number', "IPOPT answered 'Brand_New_Code', which is not known here")
    """
    return STATUSES.get(status, f"IPOPT answered {status!r}, which is not known here")
