"""A second solver for the paper's relaxation: SciPy's SLSQP, with the same tables, prices, rows, starts and rounding as IPOPT.

Distances are eliminated (single shooting): the variables are u = log(1 + K) and the slacks xi/epsilon, so that all matrices are
dense, with about 2T rows and columns. This works up to about T = 100; T = 250 takes seconds to minutes, T = 1000 is infeasible.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from driftpace.planning.gaps import LargestGap, LargestRun
from driftpace.planning.problem import Problem, evaluate_plan, risk_gaps, risk_trajectory
from driftpace.planning.relaxed import round_samples
from driftpace.planning.relaxed.programme import Recursion, RelaxedProgramme, Rows
from driftpace.records import Plan
from driftpace.typing import FloatArray

METHOD = "relaxed (SLSQP)"


def plan_by_slsqp(
    problem: Problem,
    *,
    starts: int = 1,
    seed: int = 0,
    K0: float = 0.5,
    rows: Rows = "paper",
    recursion: Recursion = "paper",
    max_iterations: int = 200,
) -> Plan:
    """Return the best rounded plan of all starts; for the largest run, phi_1 and phi_2 are minimised and the least phi_3 is kept.

    >>> from driftpace.bounds import Anchored
    >>> from driftpace.planning.costs import LinearCost
    >>> from driftpace.planning.gaps import MeanGap
    >>> from driftpace.planning.problem import Outlook
    >>> from driftpace.records import Money
    >>> problem = Problem(
    ...     outlook=Outlook(bound=Anchored(noise=1.0, features=3), rho=0.3, start=3.0), epsilon=0.05,
    ...     budget=Money.of(120), horizon=4, cost=LinearCost(fixed=10), gap=MeanGap(),
    ... )
    >>> plan_by_slsqp(problem).samples
    (24, 22, 17, 17)
    """
    programme = RelaxedProgramme.of(problem, K0=K0, rows=rows, recursion=recursion)
    if programme is None:
        return evaluate_plan(problem, [0] * problem.horizon, method=METHOD, reason="nothing can be bought")
    runs, largest = isinstance(problem.gap, LargestRun), isinstance(problem.gap, LargestGap)
    results: list[tuple[float, tuple[int, ...], str]] = []
    for aim in (False, True) if runs else (largest,):
        shooting = _Shooting(programme, largest=aim)
        for point in programme.starts(starts, seed):
            real, message = shooting.solve(point, max_iterations)
            samples = round_samples(problem, real, most=programme.most)
            value = problem.gap(risk_gaps(risk_trajectory(problem.outlook, samples), problem.epsilon))
            results.append((value, samples, message))
    _, samples, message = min(results)
    return evaluate_plan(
        problem, samples, method=METHOD, reason=f"SLSQP from {len(results)} starts; message of the best: {message}"
    )


@dataclass(slots=True)
class _Shooting:
    """Minimise the value over z = (u, xi, t); every function of z comes with its derivatives."""

    programme: RelaxedProgramme
    largest: bool

    def solve(self, samples: FloatArray, max_iterations: int) -> tuple[FloatArray, str]:
        horizon, tables = len(samples), self.programme.surrogate
        xi = np.maximum(tables.trajectory(samples)[1] / self.programme.epsilon - 1.0, 0.0)
        z = np.concatenate((np.log1p(samples), xi, [float((self.programme.shares * xi).max())]))
        slope = np.zeros(len(z))
        slope[horizon:-1], slope[-1] = (0.0, 1.0) if self.largest else (self.programme.shares, 1e-6)
        solver: Any = minimize  # its stubs reject untyped functions
        answer = solver(
            lambda z: float(slope @ z),
            z,
            jac=lambda _: slope,
            method="SLSQP",
            bounds=[(0.0, tables.top)] * horizon + [(0.0, None)] * (horizon + 1),
            constraints=[{"type": "ineq", "fun": lambda z: -self._rows(z)[0], "jac": lambda z: -self._rows(z)[1]}],
            options={"maxiter": max_iterations, "ftol": 1e-9},
        )
        solution = np.clip(np.nan_to_num(answer.x[:horizon]), 0.0, tables.top)
        return np.expm1(solution), str(answer.message).rstrip(".")

    def _rows(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return all rows, each to be at most 0, and their Jacobian."""
        programme, horizon = self.programme, (len(z) - 1) // 2
        u, xi, t = z[:horizon], z[horizon:-1], z[-1]
        K = np.expm1(u)
        excess, by_u = self._excess(u)
        spent = programme.price(K).sum() / programme.budget - 1.0
        near = programme.neighbours.toarray()
        values = np.concatenate(([spent], near @ K, excess - xi, programme.shares * xi - t))
        jacobian = np.zeros((len(values), len(z)))
        jacobian[0, :horizon] = _price_slope(programme, K) * (1.0 + K) / programme.budget
        after = 1 + len(near)
        jacobian[1:after, :horizon] = near * (1.0 + K)
        jacobian[after : after + horizon, :horizon] = by_u
        jacobian[after : after + horizon, horizon:-1] = -np.eye(horizon)
        jacobian[after + horizon :, horizon:-1] = np.diag(programme.shares)
        jacobian[after + horizon :, -1] = -1.0
        return values, jacobian

    def _excess(self, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return b/epsilon - 1 of every period and its derivatives by every u: a chain from period to period."""
        tables, horizon = self.programme.surrogate, len(u)
        x, risks = tables.trajectory(np.expm1(u))
        scaled = risks / self.programme.epsilon
        b_x, b_u = (tables.risk.ev(x, u, dx=1), tables.risk.ev(x, u, dy=1))
        s_x, s_u = (tables.step.ev(x, u, dx=1), tables.step.ev(x, u, dy=1))
        by_u, x_by_u = np.zeros((horizon, horizon)), np.zeros(horizon)
        for n in range(horizon):
            by_u[n] = scaled[n] * b_x[n] * x_by_u
            by_u[n, n] += scaled[n] * b_u[n]
            x_by_u = s_x[n] * x_by_u
            x_by_u[n] += s_u[n]
        return scaled - 1.0, by_u


def _price_slope(programme: RelaxedProgramme, K: FloatArray) -> FloatArray:
    price = programme.price
    slope = np.full(len(K), price.slope)
    for knot, bend in zip(price.knots, price.bends, strict=True):
        slope = slope + bend * (knot < K)
    return np.where(price.K0 >= K, price.ramp, slope)
