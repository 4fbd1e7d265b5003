"""Where the solver starts from: the uniform plan, then random ones that cost the whole budget."""

import numpy as np

from driftpace.planning.relaxed.prices import RealPrice
from driftpace.typing import FloatArray


def starting_samples(
    price: RealPrice, *, budget: float, horizon: int, most: int, starts: int, seed: int
) -> list[FloatArray]:
    """Return real numbers of samples for each start.

    The first start has the same number in every period. In the others each number is drawn log-uniformly, from a half of K0
    (next to nothing) to four times the uniform number, and all are scaled by one factor to cost the budget.

    >>> starting_samples(RealPrice(K0=0.5, base=20.0, slope=1.0), budget=90.0, horizon=3, most=70, starts=2, seed=0)
    [array([10., 10., 10.]), array([24.967,  3.838,  1.195])]
    """
    rng = np.random.default_rng(seed)
    uniform = price.scaled(np.ones(horizon), budget, most)
    few, many = np.log(0.5 * price.K0), np.log(4.0 * float(uniform[0]) + 1.0)
    drawn = (np.exp(rng.uniform(few, many, horizon)) for _ in range(starts - 1))
    return [uniform, *(price.scaled(samples, budget, most) for samples in drawn)]
