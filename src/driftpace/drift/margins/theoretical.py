"""The margin that Theorems 1 and 2 of the paper need."""

import math
from dataclasses import dataclass
from typing import ClassVar

from driftpace import validation
from driftpace.constants.concentration import least_series_scale
from driftpace.drift.combine.protocol import Combined
from driftpace.errors import ParameterError


@dataclass(frozen=True, kw_only=True, slots=True)
class TheoreticalMargin:
    """t_n = c sqrt(log n / (n-1)), c = slack max(sqrt(18) diameter, sqrt(72) G/m) (theory 3.1, I5).

    Any ``slack`` above 1 makes the series of Theorem 1 finite, so that the estimate plus D_n plus t_n is almost surely at least
    rho from some period on. Windows multiply t_n by (n-1)/(n-W) sum_j b_j (Theorem 2). It is far too wide to be of use:
    below the diameter only from n = 80 on, below a tenth of it only from n = 17,597 on.

    >>> TheoreticalMargin(diameter=1.0, m=1.0, G=0.0).t(80)
    1.0092
    """

    diameter: float
    m: float
    G: float
    slack: float = 1.01

    account: ClassVar[str] = "margin of Theorem 1"

    def __post_init__(self) -> None:
        validation.positive("TheoreticalMargin", diameter=self.diameter, m=self.m, slack=self.slack)
        validation.nonnegative("TheoreticalMargin", G=self.G)
        if not self.slack > 1.0:
            raise ParameterError(f"must be above 1; got {self.slack!r}.", owner="TheoreticalMargin", name="slack")

    def t(self, n: int) -> float:
        """Return t_n for estimates combined by their mean."""
        scale = self.slack * least_series_scale(diameter=self.diameter, m=self.m, G=self.G)
        return scale * math.sqrt(math.log(n) / (n - 1))

    def upper(self, combined: Combined) -> float:
        """Return the value plus t_n."""
        return combined.value + combined.inflation * self.t(combined.steps + 1)
