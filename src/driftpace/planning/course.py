"""The risks that a plan promises, period by period: the bound b~ of section IV-A, in full."""

from collections.abc import Sequence

import numpy as np

from driftpace.planning.outlook import Outlook
from driftpace.typing import FloatArray


def course(outlook: Outlook, samples: Sequence[int]) -> tuple[float, ...]:
    """Return the risk bound of every period when ``samples`` are bought.

    >>> from driftpace.bounds import Anchored
    >>> outlook = Outlook(bound=Anchored(noise=1.0, features=3), rho=0.3, start=3.0)
    >>> [round(risk, 3) for risk in course(outlook, [0, 40, 0, 0, 40])]
    [4.5, 0.041, 0.173, 0.394, 0.039]
    """
    risks: list[float] = []
    reach, fitted = None, 0
    for index, count in enumerate(samples):
        if count == 0:
            distance = outlook.first_distance(index) if reach is None else outlook.idle_distance(reach, index - fitted)
            risks.append(outlook.bound(distance, 0))
            continue
        distance = outlook.first_distance(index) if reach is None else outlook.fit_distance(reach, index - fitted)
        risks.append(outlook.bound(distance, count))
        reach, fitted = outlook.reach(risks[-1]), index
    return tuple(risks)


def gaps_over(risks: Sequence[float], epsilon: float) -> FloatArray:
    """Return xi_n = max(b~_n - epsilon, 0), the excess risk gaps; one that is rounding only is none.

    >>> gaps_over([0.05, 0.3], 0.1)
    array([0. , 0.2])
    """
    excess = np.asarray(risks, dtype=np.float64) - epsilon
    return np.where(excess > 1e-12 * epsilon, excess, 0.0)
