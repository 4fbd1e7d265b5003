"""Concentration radii, quantiles, standard errors and influence functions used by the estimators of constants and drift."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftpace import validation
from driftpace.typing import FloatArray


def empirical_bernstein_radius(*, variance: float, width: float, count: int, delta: float) -> float:
    """Return r such that a mean of ``count`` independent values errs by more than r with probability at most ``delta``.

    r = sqrt(2 V log(3/delta) / n) + 3 width log(3/delta) / n (theory 3.1), where V is the variance as measured (1/n) and
    the values lie in an interval of length ``width``. Nothing else is assumed, so the radius is wide for small counts.

    Examples
    --------
    >>> empirical_bernstein_radius(variance=0.04, width=1.0, count=1000, delta=0.05)
    0.0303
    """
    owner = "empirical_bernstein_radius"
    validation.nonnegative(owner, variance=variance, width=width)
    validation.count(owner, least=1, count=count)
    validation.fraction(owner, delta=delta)
    logarithm = math.log(3.0 / delta)
    return math.sqrt(2.0 * variance * logarithm / count) + 3.0 * width * logarithm / count


def matrix_bernstein_radius(*, variance: float, limit: float, count: int, features: int, delta: float) -> float:
    """Return r such that a mean of ``count`` random matrices errs by more than r in norm with probability at most delta.

    r = sqrt(2 v log(2d/delta) / n) + 2 L log(2d/delta) / (3n) (theory 2, row m): v is the norm of E(H_z - H)^2 and L a
    limit on the norm of H_z - H. Every eigenvalue of the mean is then within r of that of H.

    Examples
    --------
    >>> matrix_bernstein_radius(variance=4.0, limit=10.0, count=1000, features=2, delta=0.05)
    0.2164
    """
    owner = "matrix_bernstein_radius"
    validation.nonnegative(owner, variance=variance, limit=limit)
    validation.count(owner, least=1, count=count, features=features)
    validation.fraction(owner, delta=delta)
    logarithm = math.log(2.0 * features / delta)
    return math.sqrt(2.0 * variance * logarithm / count) + 2.0 * limit * logarithm / (3.0 * count)


def standard_error(autocovariances: Sequence[float], count: int) -> float:
    """Return the standard error of the mean of ``count`` values, allowing for dependence up to the lags given.

    sqrt((g_0 + 2 sum_{l=1}^{L} (1 - l/(L+1)) g_l) / (count - 1)), where g_l = (1/count) sum_i (x_i - mean)(x_{i+l} - mean).
    One-step estimates of drift that are neighbours share a period's samples, so L = 1 at least (theory 3.1). The weights
    are Bartlett's, with which the sum cannot be negative. Infinite for fewer than two values: nothing is known of spread.

    Examples
    --------
    >>> standard_error([4.0], 101)
    0.2
    >>> standard_error([4.0, 2.0], 101)
    0.2449
    >>> standard_error([0.0], 1)
    inf
    """
    if count < 2:
        return math.inf
    lags = len(autocovariances) - 1
    total = autocovariances[0] + 2.0 * sum(
        (1.0 - lag / (lags + 1)) * autocovariances[lag] for lag in range(1, lags + 1)
    )
    return math.sqrt(max(0.0, total) / (count - 1))


_SINGULAR = 1e-6  # a column whose part outside the others is below this share of its length is one of them


def scaled_inverse(hessian: FloatArray) -> FloatArray | None:
    """Return the inverse of a symmetric positive definite matrix, or None where it has none that can be trusted.

    Columns are brought to the same scale first, so that features in different units do not make it look singular.

    Examples
    --------
    >>> import numpy as np
    >>> scaled_inverse(np.array([[4e300, 0.0], [0.0, 1.0]]))
    array([[2.5e-301, 0.0e+000],
           [0.0e+000, 1.0e+000]])
    >>> scaled_inverse(np.array([[1.0, 1.0], [1.0, 1.0]])) is None
    True
    """
    diagonal = np.diag(hessian)
    if diagonal.size == 0 or not (np.isfinite(hessian).all() and (diagonal > 0.0).all()):
        return None
    scale = np.sqrt(diagonal)
    correlation = hessian / scale[:, None] / scale
    try:
        root = np.linalg.cholesky(correlation)
    except np.linalg.LinAlgError:
        return None
    if np.diag(root).min() < _SINGULAR:
        return None
    half = np.linalg.solve(root, np.diag(1.0 / scale))
    inverse: FloatArray = half.T @ half
    return inverse


def leverages(X: FloatArray, bends: FloatArray, inverse: FloatArray) -> FloatArray:
    """Return h_k = bend_k x_k' H^-1 x_k / K, the share of row k in its own fit; they sum to at most the features.

    Examples
    --------
    >>> import numpy as np
    >>> leverages(np.array([[1.0], [1.0]]), np.ones(2), np.array([[1.0]]))
    array([0.5, 0.5])
    """
    shares: FloatArray = bends * np.einsum("ki,ki->k", X @ inverse, X) / len(X)
    return np.clip(shares, 0.0, 1.0)


def influences(gradients: FloatArray, shares: FloatArray, *, power: float) -> FloatArray:
    """Return (g_k - mean g) / (1 - h_k)^power; a row that fits itself entirely is left as it is.

    Examples
    --------
    >>> import numpy as np
    >>> influences(np.array([[1.0], [-1.0]]), np.array([0.5, 0.5]), power=1.0)
    array([[ 2.],
           [-2.]])
    """
    left = np.where(shares < 1.0 - 1e-9, 1.0 - shares, 1.0)
    centred: FloatArray = gradients - gradients.mean(axis=0)
    return centred / (left**power)[:, None]


def length(vector: FloatArray) -> float:
    """Return ||vector||, without overflow on the way.

    Examples
    --------
    >>> import numpy as np
    >>> length(np.array([3e200, 4e200]))
    5e+200
    """
    return math.hypot(*vector.tolist())


def positive_ends(value: float, error: float, confidence: float) -> tuple[float, float]:
    """Return a lower and an upper end for a positive quantity, each with one-sided ``confidence``.

    Means of squares lean to the right, so value +- z error misses above too often. A chi-squared variable with the same mean and
    spread, nu = 2 (value/error)^2 degrees of freedom, is taken instead: value nu/chi^2. Exact for variances of Gaussian
    noise. An unknown error leaves both ends open.

    Examples
    --------
    >>> positive_ends(1.0, 0.2, 0.95)
    (0.7407, 1.4383)
    >>> positive_ends(1.0, 0.0, 0.95)
    (1.0, 1.0)
    """
    if not math.isfinite(error):
        return 0.0, math.inf
    if not (value > 0.0 and error > 0.0):
        return value, value
    ratio = value / error
    if ratio > 1e7:  # the two ends agree to all digits that matter
        return value, value
    freedom = max(2.0 * ratio * ratio, 0.5)
    lower = value * (freedom / chi_squared_quantile(confidence, freedom))
    return lower, value * (freedom / chi_squared_quantile(1.0 - confidence, freedom))


def normal_quantile(confidence: float) -> float:
    """Return z with P(N(0, 1) <= z) = confidence: a one-sided interval reaches z standard errors.

    Examples
    --------
    >>> normal_quantile(0.95)
    1.6448536
    """
    validation.fraction("normal_quantile", confidence=confidence)
    from scipy import special  # slow to import, and not always needed

    return float(special.ndtri(confidence))


def chi_squared_quantile(confidence: float, freedom: float) -> float:
    """Return q with P(chi^2 <= q) = confidence for a chi-squared variable with ``freedom`` degrees of freedom.

    Examples
    --------
    >>> chi_squared_quantile(0.95, 10.0)
    18.3070380
    """
    validation.fraction("chi_squared_quantile", confidence=confidence)
    validation.positive("chi_squared_quantile", freedom=freedom)
    from scipy import special

    return float(special.chdtri(freedom, 1.0 - confidence))


@dataclass(frozen=True, kw_only=True, slots=True)
class RunningMoments:
    """Running sums of x_1, x_2, ...: enough for the mean and for the autocovariances at lags 0 to ``lags``.

    The sums are of (x - x_1) / unit, where the unit is a power of two at least as large as any |x - x_1|: so they neither
    cancel when the values are close to each other nor overflow when they are huge. ``add`` returns a new object.

    Examples
    --------
    >>> sums = RunningMoments.of_lags(1)
    >>> for value in (1.0, 2.0, 4.0):
    ...     sums = sums.add(value)
    >>> sums.mean, sums.autocovariances()
    (2.3333333, (1.5555555, -0.0370370))
    """

    lags: int
    count: int = 0
    origin: float = 0.0
    unit: float = 0.0
    total: float = 0.0
    products: tuple[float, ...] = ()
    head: tuple[float, ...] = ()
    tail: tuple[float, ...] = ()

    @classmethod
    def of_lags(cls, lags: int) -> "RunningMoments":
        """Return the sums of an empty sequence."""
        validation.count("RunningMoments", lags=lags)
        return cls(lags=lags, products=(0.0,) * (lags + 1))

    def add(self, value: float) -> "RunningMoments":
        """Return the sums with one more value at the end."""
        origin = value if self.count == 0 else self.origin
        offset = value - origin
        unit = self.unit if abs(offset) <= self.unit else math.ldexp(1.0, math.frexp(offset)[1])
        shrink = self.unit / unit if unit > 0.0 else 1.0
        scaled = offset / unit if unit > 0.0 else 0.0
        tail = tuple(x * shrink for x in self.tail)
        head = tuple(x * shrink for x in self.head)
        recent = (scaled, *tail)  # the newest first
        products = tuple(
            p * shrink * shrink + (scaled * recent[lag] if lag < len(recent) else 0.0)
            for lag, p in enumerate(self.products)
        )
        return RunningMoments(
            lags=self.lags,
            count=self.count + 1,
            origin=origin,
            unit=unit,
            total=self.total * shrink + scaled,
            products=products,
            head=(*head, scaled) if len(head) < self.lags else head,
            tail=recent[: self.lags],
        )

    @property
    def mean(self) -> float:
        """The mean so far; zero of an empty sequence."""
        return self.origin + self.unit * (self.total / self.count) if self.count else 0.0

    def autocovariances(self) -> tuple[float, ...]:
        """Return g_l = (1/n) sum_i (x_i - mean)(x_{i+l} - mean) for l = 0 .. min(lags, n - 1); nothing of nothing."""
        mean = self.total / self.count if self.count else 0.0
        autocovariances = []
        for lag in range(min(self.lags, self.count - 1) + 1):
            without_last = self.total - sum(self.tail[:lag])
            without_first = self.total - sum(self.head[:lag])
            centred = self.products[lag] - mean * (without_last + without_first) + (self.count - lag) * mean * mean
            autocovariances.append(self.unit * (self.unit * (centred / self.count)))
        return tuple(autocovariances)


def least_series_scale(*, diameter: float, m: float, G: float) -> float:
    """Return c0 = max(sqrt(18) diameter, sqrt(72) G / m): margins must be c sqrt(log n / (n-1)) with c above it.

    Examples
    --------
    >>> least_series_scale(diameter=1.0, m=1.0, G=0.5)
    4.242640
    """
    validation.positive("least_series_scale", diameter=diameter, m=m)
    validation.nonnegative("least_series_scale", G=G)
    return max(math.sqrt(18.0) * diameter, math.sqrt(72.0) * G / m)


def series_converges(scale: float, *, diameter: float, m: float, G: float) -> bool:
    """Return whether sum_n exp(-(n-1) t_n^2/(18 diam^2)) + 2 exp(-m^2 (n-1) t_n^2/(72 G^2)) is finite.

    Here t_n = scale * sqrt(log n / (n-1)). The terms are powers of n, and the sum is finite exactly when both powers are
    below -1. The paper's footnote, t_n = 1/sqrt(n-1), keeps (n-1) t_n^2 at 1, so that the terms do not fall at all and the
    sum is infinite (theory I5).

    Examples
    --------
    >>> series_converges(4.3, diameter=1.0, m=1.0, G=0.5), series_converges(4.2, diameter=1.0, m=1.0, G=0.5)
    (True, False)
    """
    validation.nonnegative("series_converges", scale=scale)
    return scale > least_series_scale(diameter=diameter, m=m, G=G)
