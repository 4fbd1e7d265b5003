"""Bounds on exact minimisers of the fresh rows' loss: least squares, and any smooth loss to leading order (theory 1.5a, 1.6)."""

import math
from dataclasses import dataclass
from typing import ClassVar

from driftpace import validation
from driftpace.bounds.anchored import anchor_strength, harmonic
from driftpace.bounds.base import Factors, FormulaBound, Nature
from driftpace.errors import ParameterError


@dataclass(frozen=True, kw_only=True, slots=True)
class OrdinaryLeastSquares(FormulaBound):
    """Exact mean excess risk of least squares on K Gaussian rows (theory 1.5a).

    b = noise d / (2(K - d - 1)) for K >= d + 2. The mean excess risk is (noise/2K) E tr(H S^-1), S the Hessian of the rows, and
    K S is Wishart: E S^-1 = K/(K-d-1) H^-1. The covariance of the features does not matter, nor does the start. With fewer than
    d + 2 rows the mean is infinite and the model stays at the start: (M/2) d0^2. In the norm of the Hessian m = M = 1.

    Parameters
    ----------
    noise : float
        Variance of the residual y - x'w*.
    features : int
        Number of features d.
    m : float, default 1.0
        Strong convexity of the risk.
    M : float, default 1.0
        Smoothness of the risk.

    Examples
    --------
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
            f"the residual y - x'w* has mean zero and variance {self.noise:.4g} for every x",
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


_SMOOTH = (
    "rows are independent draws of the period's distribution",
    "the loss is convex, with a continuous Hessian that is bounded away from zero near the minimiser",
    "rows are many times the features: this is a leading term with a margin, not a theorem; verify on rows held out",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Minimiser(FormulaBound):
    """Leading term of the risk of the minimiser of the mean loss, with a margin (theory 1.6).

    b ~ spread/(2(K - margin d)), spread = tr(H^-1 Cov g(w*)). For a correct likelihood spread = d; for least squares, noise d.
    The margin stands for the unknown term in 1/K^2: 2 to 4 is customary, not a theorem. Below margin d rows the model
    stays at the start.

    Parameters
    ----------
    spread : float
        tr(H^-1 Cov g(w*)), the asymptotic variance.
    features : int
        Number of features d.
    m : float, default 1.0
        Strong convexity of the risk.
    M : float, default 1.0
        Smoothness of the risk.
    margin : float, default 3.0
        Rows per feature subtracted from K, for the unknown second-order term.

    Examples
    --------
    >>> bound = Minimiser(spread=2.0, features=2, m=0.1, M=1.0)
    >>> bound(3.0, 0), bound(3.0, 16), bound.smallest(3.0, 0.1, cap=100)
    (4.5, 0.1, 16)
    """

    spread: float
    features: int
    m: float = 1.0
    M: float = 1.0
    margin: float = 3.0

    name: ClassVar[str] = "minimiser of the fresh rows' loss, leading term"
    nature: ClassVar[Nature] = Nature.ASYMPTOTIC
    rate: ClassVar[float] = -1.0

    def __post_init__(self) -> None:
        validation.nonnegative("Minimiser", spread=self.spread, margin=self.margin)
        validation.count("Minimiser", least=1, features=self.features)
        validation.positive("Minimiser", m=self.m, M=self.M)
        if self.m > self.M:
            raise ParameterError(f"must be at most M={self.M!r}; got {self.m!r}.", owner="Minimiser", name="m")

    @property
    def conditions(self) -> tuple[str, ...]:
        """Smoothness and many rows."""
        return (*_SMOOTH, f"at the start the risk is at most {self.M:.4g}/2 times the squared distance")

    def start(self, distance: float) -> float:
        """Return (M/2) d0^2."""
        return 0.5 * self.M * distance * distance

    def raw(self, distance: float, samples: int) -> float:
        """Return spread/(2(K - margin d)), infinite up to margin d rows."""
        del distance
        return rows_risk(self.spread, self.features, self.margin, samples)

    def factors(self, samples: int) -> Factors | None:
        """Return alpha = 0 and beta, from margin d rows on."""
        if samples == 0:
            return Factors(alpha=self.start(1.0), beta=0.0)
        beta = self.raw(0.0, samples)
        return Factors(alpha=0.0, beta=beta) if math.isfinite(beta) else None

    def reach(self, risk: float) -> float:
        """Return sqrt(2 risk/m), by strong convexity."""
        validation.nonnegative("Minimiser.reach", risk=risk)
        return math.sqrt(2.0 * risk / self.m)

    def guess(self, distance: float, epsilon: float) -> float:
        """Return spread/(2 epsilon) + margin d."""
        del distance
        return self.margin * self.features + 0.5 * self.spread / epsilon


@dataclass(frozen=True, kw_only=True, slots=True)
class AnchoredMinimiser(FormulaBound):
    """Leading term of the risk of the minimiser anchored at the last model (theory 1.6).

    b ~ 1/(1/Bc + 1/V), Bc = h d0^2/2, V = spread/(2(K - margin d)): anchored at the last model (theory 1.6).

    In coordinates in which the Hessian at the minimiser is h I (whitened: h = 1). The learner minimises the mean loss plus
    (lam/2)||w - w_last||^2 with lam = spread/(K d0^2) (:meth:`strength`): the bias is Bc lam^2/(h+lam)^2, the variance
    V h^2/(h+lam)^2, and lam = h V/Bc is best. For least squares on Gaussian features it is a theorem:
    :class:`~driftpace.bounds.Anchored`.

    Parameters
    ----------
    spread : float
        tr(H^-1 Cov g(w*)), the asymptotic variance.
    features : int
        Number of features d.
    h : float, default 1.0
        Curvature of the risk, the same in every direction (1 after whitening).
    margin : float, default 3.0
        Rows per feature subtracted from K, for the unknown second-order term.

    Examples
    --------
    >>> bound = AnchoredMinimiser(spread=2.0, features=2)
    >>> bound(0.5, 16), bound.strength(0.5, 16), bound.smallest(0.5, 0.1, cap=100)
    (0.0555556, 0.5, 8)
    """

    spread: float
    features: int
    h: float = 1.0
    margin: float = 3.0

    name: ClassVar[str] = "minimiser anchored at the last model, leading term"
    nature: ClassVar[Nature] = Nature.ASYMPTOTIC
    rate: ClassVar[float] = -1.0

    def __post_init__(self) -> None:
        validation.nonnegative("AnchoredMinimiser", spread=self.spread, margin=self.margin)
        validation.count("AnchoredMinimiser", least=1, features=self.features)
        validation.positive("AnchoredMinimiser", h=self.h)

    @property
    def conditions(self) -> tuple[str, ...]:
        """Smoothness, many rows, and the strength of the anchor."""
        return (
            *_SMOOTH,
            f"the Hessian at the minimiser is {self.h:.4g} I (whitened), and hardly changes between it and the start",
            "the anchor has the strength spread/(K d0^2) against the mean loss",
        )

    def strength(self, distance: float, samples: int) -> float:
        """Return lam = spread/(K d0^2), for which the bound is meant; infinity (stay) from a start that is right already."""
        return anchor_strength(self.spread, distance, samples)

    def start(self, distance: float) -> float:
        """Return Bc = h d0^2/2."""
        return 0.5 * self.h * distance * distance

    def raw(self, distance: float, samples: int) -> float:
        """Return the harmonic sum of Bc and V; Bc up to margin d rows."""
        return harmonic(self.start(distance), rows_risk(self.spread, self.features, self.margin, samples))

    def tuned_factors(self, tuned: float, samples: int) -> Factors:
        """Return alpha, beta of a start d away when the anchor is tuned to ``tuned``: b = alpha d^2 + beta, for any d.

        Examples
        --------
        >>> line = AnchoredMinimiser(spread=2.0, features=2).tuned_factors(0.5, 16)
        >>> 0.25 * line.alpha + line.beta
        0.0583333
        """
        V = rows_risk(self.spread, self.features, self.margin, samples) if samples else math.inf
        lam = self.strength(tuned, samples) if samples else math.inf
        if not (math.isfinite(V) and math.isfinite(lam)):
            return Factors(alpha=0.5 * self.h, beta=0.0)
        kept = lam / (self.h + lam)
        return Factors(alpha=0.5 * self.h * kept**2, beta=V * (1.0 - kept) ** 2)

    def reach(self, risk: float) -> float:
        """Return sqrt(2 risk/h)."""
        validation.nonnegative("AnchoredMinimiser.reach", risk=risk)
        return math.sqrt(2.0 * risk / self.h)

    def guess(self, distance: float, epsilon: float) -> float:
        """Return margin d + (spread/2)(1/epsilon - 1/Bc)."""
        return self.margin * self.features + 0.5 * self.spread * (1.0 / epsilon - 1.0 / self.start(distance))


def rows_risk(spread: float, features: int, margin: float, samples: int) -> float:
    """Return spread/(2(K - margin d)), infinite when K is at most margin d.

    Examples
    --------
    >>> rows_risk(2.0, 2, 3.0, 16), rows_risk(2.0, 2, 3.0, 6)
    (0.1, inf)
    """
    spare = samples - margin * features
    return 0.5 * spread / spare if spare > 0.0 else math.inf
