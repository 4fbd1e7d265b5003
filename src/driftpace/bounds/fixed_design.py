"""Least squares anchored at the last model, when the rows of X are given and only y is random (theory 1.5c)."""

import math
from dataclasses import dataclass
from typing import ClassVar

from driftpace import validation
from driftpace.bounds.base import FormulaBound
from driftpace.bounds.protocol import Factors, Nature


@dataclass(frozen=True, kw_only=True, slots=True)
class AnchoredFixedDesign(FormulaBound):
    """b = (lam/8) d0^2 + (noise/2K) sum h_i^2/(h_i+lam)^2 for a given strength lam of the anchor (theory 1.5c).

    ``eigenvalues`` are those h_i of the Hessian H = X'X/K of the rows at hand, and the risk is the mean over those same rows:
    (1/2)(w-w*)'H(w-w*). The bias is (1/2) max lam^2 h_i/(h_i+lam)^2 d0^2, which is at most (lam/8) d0^2 and is used as it is.
    For fresh rows from a Gaussian, which cost more, see :class:`~driftpace.bounds.Anchored`.
    It levels off: an anchor of constant strength keeps its bias.

    >>> bound = AnchoredFixedDesign(noise=0.5, strength=0.05, eigenvalues=(1.0, 1.0))
    >>> bound(1.0, 20), bound.smallest(1.0, 0.1, cap=100)
    (0.0238095, 5)
    """

    noise: float
    strength: float
    eigenvalues: tuple[float, ...]

    nature: ClassVar[Nature] = Nature.THESE_ROWS

    def __post_init__(self) -> None:
        validation.nonnegative("AnchoredFixedDesign", noise=self.noise, strength=self.strength)
        validation.vector("AnchoredFixedDesign", eigenvalues=self.eigenvalues)
        validation.nonnegative("AnchoredFixedDesign", eigenvalues=min(self.eigenvalues))
        validation.positive("AnchoredFixedDesign", eigenvalues=max(self.eigenvalues))

    @property
    def name(self) -> str:
        """A few words for people."""
        return f"least squares anchored with strength {self.strength:.4g}, on given rows"

    @property
    def rate(self) -> float:
        """0: the bias of the anchor stays (-1 without an anchor)."""
        return 0.0 if self.strength > 0.0 else -1.0

    @property
    def conditions(self) -> tuple[str, ...]:
        """Given rows and independent noise."""
        return (
            "the features of the K rows are given, their Hessian X'X/K has these eigenvalues, and the risk is over these rows",
            f"the residuals y - x'w* are uncorrelated with mean zero and a variance of at most {self.noise:.4g}",
            f"squared loss, minimised exactly and without constraint, anchored with strength {self.strength:.4g}",
        )

    def start(self, distance: float) -> float:
        """Return (M/2) d0^2, M the largest eigenvalue."""
        return 0.5 * max(self.eigenvalues) * distance * distance

    def raw(self, distance: float, samples: int) -> float:
        """Return alpha d0^2 + beta."""
        factors = self.factors(samples)
        return factors.alpha * distance * distance + factors.beta

    def factors(self, samples: int) -> Factors:
        """Return the bias of the anchor and the variance of K rows."""
        if samples == 0:
            return Factors(alpha=self.start(1.0), beta=0.0)
        lam = self.strength
        bias = max(lam * lam * h / (h + lam) ** 2 for h in self.eigenvalues if h > 0.0)
        kept = math.fsum((h / (h + lam)) ** 2 for h in self.eigenvalues if h > 0.0)
        return Factors(alpha=0.5 * bias, beta=0.5 * self.noise * kept / samples)

    def floor(self, distance: float) -> float:
        """Return the bias, which more rows do not lessen."""
        return self.factors(1).alpha * distance * distance

    def reach(self, risk: float) -> float:
        """Return sqrt(2 risk/m), m the smallest eigenvalue; infinity when it is zero."""
        validation.nonnegative("AnchoredFixedDesign.reach", risk=risk)
        least = min(self.eigenvalues)
        return math.sqrt(2.0 * risk / least) if least > 0.0 else math.inf
