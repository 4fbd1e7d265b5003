"""The relaxed programme of section IV-A in plain numbers and functions; a solver is given it from elsewhere."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import csc_matrix

from driftpace.errors import ParameterError
from driftpace.planning.costs import affordable_units, budget_units
from driftpace.planning.gaps import LargestGap, LargestRun, MeanGap
from driftpace.planning.problem import Problem
from driftpace.planning.relaxed.prices import RealPrice, real_price
from driftpace.planning.relaxed.surrogate import Recursion, Surrogate, surrogate
from driftpace.typing import FloatArray

Rows = Literal["paper", "corrected", "none"]
Aim = Literal["mean", "largest", "runs"]

MOST_IN_A_PERIOD = 10**6
"""The relaxation looks at no more samples than this in one period."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Programme:
    """minimise phi(xi) over real K_n in [0, ``most``].

    The rows are

    * x_1 = first, x_(n+1) = step(x_n, u_n), the course of the distances, x = log d and u = log(1 + K);
    * sum p-hat(K_n) <= ``budget``, in units of money;
    * ``neighbours`` K <= 0;
    * xi_n >= b(x_n, u_n) - ``epsilon``, xi_n >= 0; a gap of 1 in period n counts for ``shares[n]``.
    """

    surrogate: Surrogate
    price: RealPrice
    budget: float
    epsilon: float
    shares: FloatArray
    neighbours: csc_matrix
    most: int

    @classmethod
    def of(cls, problem: Problem, *, K0: float, rows: Rows, recursion: Recursion) -> "Programme | None":
        """Return the programme of a problem, or None where its budget does not pay for a single sample."""
        gap = problem.gap
        if not isinstance(gap, MeanGap | LargestGap | LargestRun):
            raise ParameterError(
                f"must be MeanGap, LargestGap or LargestRun, whose slopes a solver can use; got {gap!r}.",
                owner="plan_relaxed",
                name="gap",
            )
        budget = budget_units(problem.cost, problem.budget)
        most = affordable_units(problem.cost, budget, MOST_IN_A_PERIOD)
        if most == 0:
            return None
        return cls(
            surrogate=surrogate(problem.outlook, problem.horizon, most, recursion),
            price=real_price(problem.cost, most, K0),
            budget=float(max(budget, 1)),
            epsilon=problem.epsilon,
            shares=gap.shares(problem.horizon),
            neighbours=neighbour_rows(problem.horizon, rows, bought_before=problem.bought_before),
            most=most,
        )

    def starts(self, starts: int, seed: int) -> list[FloatArray]:
        """Return real numbers of samples to start from, all of which cost the budget.

        The first start has the same number in every period. In the others each number is drawn log-uniformly, from a half of
        K0 (next to nothing) to four times the uniform number, and all are scaled by one factor.
        """
        rng, horizon = np.random.default_rng(seed), len(self.shares)
        uniform = self.price.scaled(np.ones(horizon), self.budget, self.most)
        few, many = np.log(0.5 * self.price.K0), np.log(4.0 * float(uniform[0]) + 1.0)
        drawn = (np.exp(rng.uniform(few, many, horizon)) for _ in range(starts - 1))
        return [uniform, *(self.price.scaled(samples, self.budget, self.most) for samples in drawn)]


def neighbour_rows(horizon: int, rows: Rows, *, bought_before: bool = False) -> csc_matrix:
    """Return R of the rows R K <= 0 that are to keep samples together.

    As printed: K_1 <= K_2, K_n <= K_(n-1) + K_(n+1), K_(T-1) <= K_T. Corrected, the last is K_T <= K_(T-1) (theory I12), and
    there is no first one where the period before the first had samples (I13).

    >>> neighbour_rows(3, "paper").toarray()
    array([[ 1., -1.,  0.],
           [-1.,  1., -1.],
           [ 0.,  1., -1.]])
    >>> neighbour_rows(3, "corrected", bought_before=True).toarray()
    array([[-1.,  1., -1.],
           [ 0., -1.,  1.]])
    """
    if rows == "none" or horizon == 1:
        return csc_matrix((0, horizon))
    entries = [] if rows == "corrected" and bought_before else [{0: 1.0, 1: -1.0}]
    entries += [{n - 1: -1.0, n: 1.0, n + 1: -1.0} for n in range(1, horizon - 1)]
    sign = 1.0 if rows == "paper" else -1.0
    entries.append({horizon - 2: sign, horizon - 1: -sign})
    at = [(row, column, value) for row, entry in enumerate(entries) for column, value in entry.items()]
    row, column, value = zip(*at, strict=True)
    return csc_matrix((value, (row, column)), shape=(len(entries), horizon))
