"""How far the last model may be from this period's minimiser."""

import math
from typing import Literal

from driftpace.bounds import RiskBound
from driftpace.errors import ParameterError
from driftpace.records import DriftEstimate

Track = Literal["risk", "distance"]


def reach(bound: RiskBound, m: float, risk: float, track: Track) -> float:
    """Return how far from its minimiser a model may be whose excess risk is at most ``risk``.

    ``"risk"`` is the paper's route by strong convexity, sqrt(2 risk / m). ``"distance"`` asks the bound, which for bounds on
    the distance gives sqrt(2 risk / M): the paper's route loses a factor M/m in d0^2 at every step (theory S1).
    """
    if not math.isfinite(risk):
        return math.inf
    if track == "distance":
        return bound.reach(risk)
    return math.sqrt(2.0 * risk / m)


def start_distance(
    bound: RiskBound, m: float, risk: float, drift: DriftEstimate, *, rho: float, diameter: float, track: Track
) -> float:
    """Return d0 = reach(risk) + rho, at most the diameter (theory I1: b takes a distance, not its square).

    ``rho`` is the drift to assume, the estimate's value or its upper end. A drift that measures the distance itself is
    taken as it is (theory 3.3 P) unless periods passed since it was measured: each of them may have added one more step,
    and a step is at most that distance plus the reach of the model it was measured from.
    """
    if drift.measures == "rho":
        return min(reach(bound, m, risk, track) + rho, diameter)
    if drift.measures == "distance":
        grown = drift.age * (rho + reach(bound, m, risk, track)) if drift.age else 0.0
        return min(rho + grown, diameter)
    raise ParameterError(f"a rule's drift must measure 'rho' or 'distance'; got {drift.measures!r}.")
