"""The correction D_n for gradients on the rows that trained the model (theory 3.1, I3)."""

import math
from dataclasses import dataclass

from driftpace.drift.one_step.reading import strong_convexity
from driftpace.records import Seen


@dataclass(frozen=True, kw_only=True, slots=True)
class CorrectionState:
    """The last period's C and K^-1/2, and the sum of the terms of D_n over ``count`` one-step estimates."""

    scatter: float = math.inf
    root: float = math.inf
    total: float = 0.0
    count: int = 0

    def add(self, seen: Seen, *, counted: bool) -> "CorrectionState":
        """Return the state after one more period with rows; ``counted`` when it gave a one-step estimate.

        The term is (1 + M/m)(C_i + C_{i-1}) + (sigma/m)(K_i^-1/2 + K_{i-1}^-1/2). The printed sqrt(sigma/K) has the wrong units.

        >>> CorrectionState().mean
        0.0
        """
        scatter, root = seen.scatter, 1.0 / math.sqrt(len(seen.y))
        if not counted:
            return CorrectionState(scatter=scatter, root=root, total=self.total, count=self.count)
        m = strong_convexity("Drift(correction=True)", seen.constants)
        M, sigma = seen.constants.safe("M"), seen.constants.safe("sigma")
        term = (1.0 + M / m) * (scatter + self.scatter) + (sigma / m) * (root + self.root)
        return CorrectionState(scatter=scatter, root=root, total=self.total + term, count=self.count + 1)

    @property
    def mean(self) -> float:
        """D_n; zero before the first term."""
        return self.total / self.count if self.count else 0.0
