"""What many runs did."""

import math
from dataclasses import dataclass

from driftpace.typing import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Courses:
    """What each run did in each period: ``risk``, ``samples``, ``rho`` are (runs, periods), ``coef``, ``truth`` have features too.

    ``risk`` is the true excess risk of the period's model, ``rho`` the drift as estimated after the period (NaN before the first
    estimate, the told one where it is told), ``truth`` the best coefficients.
    """

    risk: FloatArray
    samples: IntArray
    rho: FloatArray
    coef: FloatArray
    truth: FloatArray

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return len(self.risk)

    @property
    def mean_risk(self) -> float:
        """The mean excess risk over all runs and periods."""
        return float(self.risk.mean())

    @property
    def mean_risk_error(self) -> float:
        """The standard error of :attr:`mean_risk` over runs, each averaged over its periods; NaN for one run."""
        if self.runs == 1:
            return math.nan
        return float(self.risk.mean(axis=1).std(ddof=1)) / math.sqrt(self.runs)

    @property
    def spread_over_periods(self) -> float:
        """The standard deviation over n of the excess risk averaged over runs: what the paper's "+-" may be (theory 6.1)."""
        return float(self.risk.mean(axis=0).std(ddof=1)) if self.risk.shape[1] > 1 else math.nan
