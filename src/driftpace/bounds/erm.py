"""Least squares from the fresh rows alone (theory 1.5a)."""

import math
from dataclasses import dataclass
from typing import ClassVar

from driftpace import validation
from driftpace.bounds.base import FormulaBound
from driftpace.bounds.protocol import Factors, Nature
from driftpace.errors import ParameterError


@dataclass(frozen=True, kw_only=True, slots=True)
class OrdinaryLeastSquares(FormulaBound):
    """b = noise d / (2(K - d - 1)) for K >= d + 2: what least squares on K Gaussian rows costs, exactly (theory 1.5a).

    The mean excess risk is (noise/2K) E tr(H S^-1), S the Hessian of the rows, and K S is Wishart: E S^-1 = K/(K-d-1) H^-1.
    The covariance of the features does not matter, nor does the start. With fewer than d + 2 rows the mean is infinite,
    nothing is promised, and the model stays at the start: (M/2) d0^2. Distances in the norm of the Hessian have m = M = 1.

    >>> bound = OrdinaryLeastSquares(noise=0.5, features=2)
    >>> bound(1.4, 3), bound(1.4, 8), bound.smallest(1.4, 0.1, cap=100)
    (0.98, 0.1, 8)
    """

    noise: float
    features: int
    m: float = 1.0
    M: float = 1.0

    name: ClassVar[str] = "least squares on the fresh rows"
    nature: ClassVar[Nature] = Nature.EXACT
    rate: ClassVar[float] = -1.0

    def __post_init__(self) -> None:
        validation.nonnegative("OrdinaryLeastSquares", noise=self.noise)
        validation.count("OrdinaryLeastSquares", least=1, features=self.features)
        validation.positive("OrdinaryLeastSquares", m=self.m, M=self.M)
        if self.m > self.M:
            raise ParameterError(
                f"must be at most M={self.M!r}; got {self.m!r}.",
                owner="OrdinaryLeastSquares",
                name="m",
            )

    @property
    def conditions(self) -> tuple[str, ...]:
        """Gaussian features, independent noise, no penalty and no constraint."""
        return (
            "rows are independent draws of the period's distribution",
            f"the {self.features} features are jointly Gaussian with mean zero (any covariance that can be inverted)",
            f"the residual y - x'w* has mean zero and variance {self.noise:.4g} whatever x is",
            "squared loss without penalty, minimised exactly and without constraint",
            f"at the start the risk is at most {self.M:.4g}/2 times the squared distance",
        )

    def start(self, distance: float) -> float:
        """Return (M/2) d0^2."""
        return 0.5 * self.M * distance * distance

    def raw(self, distance: float, samples: int) -> float:
        """Return noise d / (2(K - d - 1)), infinite below d + 2 rows."""
        del distance
        spare = samples - self.features - 1
        return self.noise * self.features / (2.0 * spare) if spare >= 1 else math.inf

    def factors(self, samples: int) -> Factors | None:
        """Return alpha = 0 and beta, from d + 2 rows on."""
        if samples == 0:
            return Factors(alpha=self.start(1.0), beta=0.0)
        beta = self.raw(0.0, samples)
        return Factors(alpha=0.0, beta=beta) if math.isfinite(beta) else None

    def reach(self, risk: float) -> float:
        """Return sqrt(2 risk/m), by strong convexity."""
        validation.nonnegative("OrdinaryLeastSquares.reach", risk=risk)
        return math.sqrt(2.0 * risk / self.m)

    def guess(self, distance: float, epsilon: float) -> float:
        """Return d + 1 + noise d / (2 epsilon)."""
        del distance
        return self.features + 1 + max(1.0, self.noise * self.features / (2.0 * epsilon))
