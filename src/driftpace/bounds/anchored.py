"""Least squares anchored at the last model, that is ridge regression towards it, on random and on fixed rows (theory 1.5c).

w = argmin of the mean loss of the K rows + (lam/2)||w - w_last||^2. The penalty is relative to the MEAN loss.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace import validation
from driftpace.bounds.base import Factors, FormulaBound, Nature
from driftpace.typing import FloatArray, IntArray

_MODEL = (
    "rows are independent draws of the period's distribution",
    "squared loss, minimised exactly and without constraint, anchored at the last model",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Anchored(FormulaBound):
    """Bound on least squares anchored at the last model, with the anchor tuned to the distance (theory 1.5c).

    b = 1/(1/Bc + 1/V): the risk Bc = h d0^2/2 of the start and the risk V of the fresh rows, combined (theory 1.5c).

    V = noise d/(2(K-d-1)), as for least squares, or, where that is less or the rows are fewer than d + 2,
    V = (noise d + h(d+2) d0^2)/(2K). The learner anchors with :meth:`strength`, lam = noise d/(K d0^2).

    A theorem for Gaussian features x ~ N(0, h I) (others after whitening: then h = 1, and distances and the penalty are in
    the norm of the Hessian) and noise of any law whose mean 0 and variance ``noise`` do not depend on x.

    Proof. With S the Hessian of the rows and u = w_last - w*, the error is lam (S+lam)^-1 u plus (S+lam)^-1 X'xi/K, so the
    risk is (h/2) E[lam^2 u'(S+lam)^-2 u + (noise/K) tr S(S+lam)^-2]. The law of S is invariant under rotations, hence
    u may be replaced by a random vector with the same E||u||^2 and no preferred direction: u'(.)u by (d0^2/d) tr(.).
    For the lam above, lam d0^2/d = noise/K, and the two terms add up to (noise/K) tr (S+lam)^-1. As a function of 1/s,
    1/(s+lam) is concave: by Jensen's inequality, over the eigenvalues and over S, the risk is at most
    (h/2)(noise/K) d / (1/E[tr S^-1/d] + lam), and E tr S^-1/d = K/(h(K-d-1)) (Wishart). That is 1/(1/Bc + 1/V) with the
    first V. For the second: given X, anchored least squares with this lam has, under such a u, the least mean square
    error of all linear rules, SGD with the greedy steps of theory 1.1f among them, and that one has
    E||w - w*||^2 <= 1/(1/d0^2 + K h/(noise d + h(d+2) d0^2)). A start nearer than ``distance`` does better: the risk is
    non-decreasing in ||u||^2.

    Parameters
    ----------
    noise : float
        Variance of the residual y - x'w*.
    features : int
        Number of features d.
    h : float, default 1.0
        Curvature of the risk, the same in every direction (1 after whitening).

    Examples
    --------
    >>> bound = Anchored(noise=0.5, features=2)
    >>> bound(1.0, 0), bound(1.0, 20), bound.strength(1.0, 20)
    (0.5, 0.0277778, 0.05)
    >>> bound.smallest(1.0, 0.1, cap=100), bound.smallest(0.45, 0.1, cap=100)
    (7, 1)
    """

    noise: float
    features: int
    h: float = 1.0

    name: ClassVar[str] = "least squares anchored at the last model"
    nature: ClassVar[Nature] = Nature.UPPER
    rate: ClassVar[float] = -1.0

    def __post_init__(self) -> None:
        validation.nonnegative("Anchored", noise=self.noise)
        validation.count("Anchored", least=1, features=self.features)
        validation.positive("Anchored", h=self.h)

    @property
    def conditions(self) -> tuple[str, ...]:
        """Gaussian, whitened features, independent noise, and the strength of the anchor."""
        return (
            *_MODEL,
            f"the {self.features} features are Gaussian with mean zero and covariance {self.h:.4g} I (whitened)",
            f"the residual y - x'w* has mean zero and variance {self.noise:.4g} for every x",
            "the anchor has the strength noise d/(K d0^2) against the mean loss",
        )

    def strength(self, distance: float, samples: int) -> float:
        """Return lam = noise d/(K d0^2), for which the bound is true; infinity (stay) from a start that is right already."""
        return anchor_strength(self.noise * self.features, distance, samples)

    def start(self, distance: float) -> float:
        """Return Bc = h d0^2/2."""
        return 0.5 * self.h * distance * distance

    def raw(self, distance: float, samples: int) -> float:
        """Return the harmonic sum of Bc and V."""
        Bc, rows = self.start(distance), 0.5 * self.noise * self.features
        V = (rows + 0.5 * self.h * (self.features + 2.0) * distance * distance) / samples
        if samples >= self.features + 2:
            V = min(V, rows / (samples - self.features - 1.0))
        return harmonic(Bc, V)

    concave: ClassVar[bool] = True
    """In the squared distance: Bc is linear in it, V affine, and the harmonic sum of such two is concave and rises with both."""

    def table(self, distances: FloatArray, samples: IntArray) -> FloatArray:
        """Return the bound from each distance (a row) after each number of samples of at least 1 (a column), at once.

        Examples
        --------
        >>> Anchored(noise=0.5, features=2).table(np.array([1.0, 2.0]), np.array([1, 20]))
        array([[0.41666667, 0.02777778],
               [1.61904762, 0.02898551]])
        """
        Bc, rows = 0.5 * self.h * np.square(distances)[:, None], 0.5 * self.noise * self.features
        V = (rows + (self.features + 2.0) * Bc) / samples
        spare = samples - self.features - 1.0
        V = np.where(spare >= 1.0, np.minimum(V, rows / np.maximum(spare, 1.0)), V)
        total = Bc + V
        return Bc * np.divide(V, total, out=np.zeros_like(total), where=total > 0.0)

    def tuned_factors(self, tuned: float, samples: int) -> Factors:
        """Return alpha, beta of a start d away when the anchor is tuned to ``tuned``: risk <= alpha d^2 + beta, for any d.

        They are those of :class:`AnchoredTuned`; below d + 2 rows alpha = h/2 and beta = h tuned^2/8, because
        lam^2/(s+lam)^2 <= 1 and s/(s+lam)^2 <= 1/(4 lam) whatever s is.

        Examples
        --------
        >>> line = Anchored(noise=0.5, features=2).tuned_factors(1.0, 20)
        >>> line.alpha + line.beta
        0.0280616
        """
        if samples == 0 or tuned == 0.0 or self.noise == 0.0:
            return Factors(alpha=0.5 * self.h, beta=0.0)
        tuning = AnchoredTuned(noise=self.noise, features=self.features, tuned=tuned, h=self.h)
        return tuning.factors(samples) or Factors(alpha=0.5 * self.h, beta=0.125 * self.h * tuned * tuned)

    def reach(self, risk: float) -> float:
        """Return sqrt(2 risk/h), which is exact."""
        validation.nonnegative("Anchored.reach", risk=risk)
        return math.sqrt(2.0 * risk / self.h)

    def guess(self, distance: float, epsilon: float) -> float:
        """Return the K at which V = 1/(1/epsilon - 1/Bc), for whichever V needs fewer."""
        ratio = 1.0 / epsilon - 1.0 / self.start(distance)
        rows = 0.5 * self.noise * self.features
        any_number = (rows + 0.5 * self.h * (self.features + 2.0) * distance * distance) * ratio
        return min(any_number, self.features + 1 + max(1.0, rows * ratio))


@dataclass(frozen=True, kw_only=True, slots=True)
class AnchoredTuned(FormulaBound):
    """Bound on anchored least squares when the anchor is tuned to a distance that may be wrong (theory 1.5c).

    Affine in d0^2 (assumption C.2). lam = noise d/(K tuned^2), whatever d0 is. Under the conditions of :class:`Anchored`, with
    u1 = E tr S^-1/d = K/(h(K-d-1)) and u2 = E tr S^-2/d = K^2 (K-1)/(h^2 (K-d)(K-d-1)(K-d-3)):

    alpha = (h/2) (q/(1+q))^2, q = lam sqrt(u2) (K >= d + 4; before, and wherever it is less, (h/2) lam u1/(1 + lam u1)), and
    beta = (h/2)(noise d/K) u1/(1+lam u1)^2, with 1/(4 lam) in place of its last factor when lam u1 > 1.

    Proof. The risk is (h/2)[d0^2 E tr lam^2(S+lam)^-2/d + (noise/K) E tr S(S+lam)^-2]. As a function of v = 1/s^2,
    lam^2/(s+lam)^2 is concave (its slope is lam^2/(1+lam sqrt(v))^3), and it is at most lam/(s+lam), concave in 1/s.
    As a function of 1/s, s/(s+lam)^2 is at most the concave function that is equal to it up to its peak 1/(4 lam) and
    constant after. Jensen's inequality three times. Tuning to a wrong distance costs alpha (d0^2 - tuned^2).

    Parameters
    ----------
    noise : float
        Variance of the residual y - x'w*.
    features : int
        Number of features d.
    tuned : float
        Distance for which the anchor is tuned.
    h : float, default 1.0
        Curvature of the risk, the same in every direction (1 after whitening).

    Examples
    --------
    >>> bound = AnchoredTuned(noise=0.5, features=2, tuned=1.0)
    >>> bound(1.0, 20), bound(2.0, 20), bound(0.5, 20)
    (0.0280616, 0.0335428, 0.0266913)
    """

    noise: float
    features: int
    tuned: float
    h: float = 1.0

    nature: ClassVar[Nature] = Nature.UPPER
    rate: ClassVar[float] = -1.0

    def __post_init__(self) -> None:
        validation.count("AnchoredTuned", least=1, features=self.features)
        validation.positive("AnchoredTuned", noise=self.noise, tuned=self.tuned, h=self.h)

    @property
    def name(self) -> str:
        """Short description for reports."""
        return f"least squares anchored for a distance of {self.tuned:.4g}"

    @property
    def conditions(self) -> tuple[str, ...]:
        """Those of :class:`Anchored`, with another strength."""
        return (
            *Anchored(noise=self.noise, features=self.features, h=self.h).conditions[:-1],
            f"the anchor has the strength noise d/(K {self.tuned:.4g}^2) against the mean loss",
        )

    def strength(self, distance: float, samples: int) -> float:
        """Return lam = noise d/(K tuned^2); ``distance`` is not used."""
        del distance
        return anchor_strength(self.noise * self.features, self.tuned, samples)

    def start(self, distance: float) -> float:
        """Return h d0^2/2."""
        return 0.5 * self.h * distance * distance

    def raw(self, distance: float, samples: int) -> float:
        """Return alpha d0^2 + beta; infinity below d + 2 rows."""
        factors = self.factors(samples)
        return math.inf if factors is None else factors.alpha * distance * distance + factors.beta

    def factors(self, samples: int) -> Factors | None:
        """Return alpha, beta from d + 2 rows on."""
        if samples == 0:
            return Factors(alpha=self.start(1.0), beta=0.0)
        K, d, h = float(samples), self.features, self.h
        if samples < d + 2:
            return None
        lam = self.strength(self.tuned, samples)
        x = lam * K / (h * (K - d - 1.0))  # lam u1
        alpha = x / (1.0 + x)
        if samples >= d + 4:
            q = lam * K / h * math.sqrt((K - 1.0) / ((K - d) * (K - d - 1.0) * (K - d - 3.0)))
            alpha = min(alpha, (q / (1.0 + q)) ** 2)
        variance = x / (1.0 + x) ** 2 if x <= 1.0 else 0.25
        return Factors(alpha=0.5 * h * alpha, beta=0.5 * h * self.noise * d / K * variance / lam)

    def reach(self, risk: float) -> float:
        """Return sqrt(2 risk/h), which is exact."""
        validation.nonnegative("AnchoredTuned.reach", risk=risk)
        return math.sqrt(2.0 * risk / self.h)


def harmonic(first: float, second: float) -> float:
    """Return 1/(1/first + 1/second), which is zero when either is.

    Examples
    --------
    >>> harmonic(2.0, 2.0), harmonic(0.0, 1.0), harmonic(3.0, math.inf)
    (1.0, 0.0, 3.0)
    """
    if math.isinf(second):
        return first
    return first * (second / (first + second)) if first + second > 0.0 else 0.0


def anchor_strength(spread: float, distance: float, samples: int) -> float:
    """Return lam = spread/(K d0^2): the noise of K rows over what is known of the start (theory 1.5c).

    Examples
    --------
    >>> anchor_strength(1.0, 0.5, 10), anchor_strength(1.0, 0.0, 10)
    (0.4, inf)
    """
    validation.nonnegative("anchor_strength", spread=spread, distance=distance)
    validation.count("anchor_strength", least=1, samples=samples)
    below = samples * distance * distance
    return spread / below if below > 0.0 else math.inf


@dataclass(frozen=True, kw_only=True, slots=True)
class AnchoredFixedDesign(FormulaBound):
    """Bound on anchored least squares over fixed rows, where only y is random (theory 1.5c).

    b = (lam/8) d0^2 + (noise/2K) sum h_i^2/(h_i+lam)^2 for a given strength lam of the anchor. The risk is the mean over the same
    rows: (1/2)(w-w*)'H(w-w*), H = X'X/K. The bias is (1/2) max lam^2 h_i/(h_i+lam)^2 d0^2, which is at most (lam/8) d0^2 and is
    used as it is. For fresh Gaussian rows, which cost more, see :class:`~driftpace.bounds.Anchored`. It levels off: an anchor
    of constant strength keeps its bias.

    Parameters
    ----------
    noise : float
        Variance of the residual y - x'w*.
    strength : float
        Strength lam of the anchor, relative to the mean loss.
    eigenvalues : tuple[float, ...]
        Eigenvalues h_i of the Hessian of the rows.

    Examples
    --------
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
        """Short description for reports."""
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
