"""The margin of the paper's footnote."""

import math
from dataclasses import dataclass

from driftpace import validation
from driftpace.drift.combine.protocol import Combined


@dataclass(frozen=True, kw_only=True, slots=True)
class RootMargin:
    """t_n = scale / sqrt(n-1): the only numerical hint the paper gives, and what reproduces its figures (theory 3.1, 6.1).

    It does not satisfy the condition of Theorem 1: (n-1) t_n^2 stays at scale^2, so the series is infinite (theory I5). It is a
    length in the units of the coefficients, so ``scale`` should be of the size of the drift.

    >>> RootMargin(scale=2.0).account
    'margin 2/sqrt(periods), which no theorem covers'
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        validation.nonnegative("RootMargin", scale=self.scale)

    @property
    def account(self) -> str:
        """A few words for people."""
        return f"margin {self.scale:g}/sqrt(periods), which no theorem covers"

    def upper(self, combined: Combined) -> float:
        """Return the value plus t_n."""
        return combined.value + self.scale / math.sqrt(combined.steps)
