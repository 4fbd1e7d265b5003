"""The least and the greatest curvature of the risk, m and M, from the pooled Hessian.

The least eigenvalue of a sampled Hessian is below the truth on average, badly so for few rows, and never to be trusted as it
is: everything scales like 1/m^2. Two ways to an interval:

``"gaussian"``  With v the direction of least curvature, the least eigenvalue of the sampled Hessian is at most
    1/(v'Hhat^-1 v), which for Gaussian rows is m chi^2_{N-d+1} / N exactly: dividing the sampled value by that quantile gives
    a lower end that covers at every N and d, and is close to m once N is many times d. In the same way the greatest
    eigenvalue is at least u'Hhat u, M chi^2_N / N. Heavier tails reduce the effective number of rows by the factor that
    their fourth moments require. The far ends are from the edges (1 -+ sqrt(d/N))^2 of the spectrum of Gaussian rows.

``"bernstein"``  Matrix Bernstein (theory 2): needs only rows of bounded size, and is much wider.

A penalty is added to the curvature of the data: without unpenalised coefficients m is never below l2.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftpace.constants.concentration import chi_squared_quantile, matrix_bernstein_radius
from driftpace.constants.moments import RowSummary
from driftpace.records import Estimate
from driftpace.typing import FloatArray, IntArray

_ROUNDING = 1e-13  # an eigenvalue below this share of the largest is zero, for each feature


@dataclass(frozen=True, kw_only=True, slots=True)
class Curvatures:
    """m and M with their intervals."""

    m: Estimate
    M: Estimate

    def widest(self, other: "Curvatures") -> "Curvatures":
        """Return the smaller m and the larger M of the two, judged by their safe ends."""
        return Curvatures(
            m=min(self.m, other.m, key=lambda estimate: estimate.lower),
            M=max(self.M, other.M, key=lambda estimate: estimate.upper),
        )

    def smooth_everywhere(self, limit: float) -> "Curvatures":
        """Return the same with an upper end of M that holds for any coefficients, not only near those seen."""
        return Curvatures(m=self.m, M=replace(self.M, upper=max(self.M.upper, limit)))


def curvatures(rows: RowSummary, weights: FloatArray, *, confidence: float, method: str) -> Curvatures:
    """Return m and M of the risk whose data part is in ``rows`` and whose penalty has the diagonal ``weights``.

    Examples
    --------
    >>> from driftpace.constants.moments import RowMoments
    >>> rows = RowMoments.none(2).add(np.random.default_rng(0).standard_normal((2000, 2)))
    >>> estimates = curvatures(rows.summary(), np.zeros(2), confidence=0.95, method="gaussian")
    >>> estimates.m.lower <= 1.0 <= estimates.M.upper
    True
    """
    eigenvalues = _Eigenvalues(rows=rows, weights=weights)
    return (_bernstein if method == "bernstein" else _gaussian)(rows, eigenvalues, confidence)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Eigenvalues:
    """The extreme eigenvalues of scale * H + penalty, in true units."""

    rows: RowSummary
    weights: FloatArray

    @property
    def mixed(self) -> bool:
        """Whether the penalty touches some coefficients only, so that it cannot be added to an eigenvalue."""
        return bool(self.weights.min() != self.weights.max())

    def least(self, scale: float) -> float:
        return self._extreme(scale, 0)

    def greatest(self, scale: float) -> float:
        return self._extreme(scale, -1)

    def _extreme(self, scale: float, which: int) -> float:
        if not math.isfinite(scale):
            return math.inf
        unit = self.rows.unit
        if not self.mixed:
            data = _at_least_rounding(self.rows.eigenvalues)
            return unit * (unit * scale * float(data[which])) + float(self.weights[0])
        unit = unit if unit > 0.0 else 1.0
        whole = np.linalg.eigvalsh(scale * self.rows.second + np.diag(self.weights / unit / unit))
        return unit * (unit * float(_at_least_rounding(whole)[which]))


def _at_least_rounding(eigenvalues: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    return np.where(eigenvalues > _ROUNDING * eigenvalues.size * abs(eigenvalues[-1]), eigenvalues, 0.0)


def _gaussian(rows: RowSummary, eigenvalues: _Eigenvalues, confidence: float) -> Curvatures:
    count, features = rows.count, rows.features
    counting = max(
        1.0, count / (1.0 + 1.5 * rows.excess_kurtosis)
    )  # var (z'v)^2 is 2 + 3 kurtosis times its mean squared
    known = 0 if eigenvalues.mixed or counting < 2.0 * features else features - 1  # directions fitted away
    swing = chi_squared_quantile(confidence, counting - known) / (counting - known)
    edge = math.sqrt(features / counting)
    reach = math.sqrt(2.0 * math.log(1.0 / (1.0 - confidence)) / counting)
    account = f"eigenvalue of the Hessian pooled over {count} rows, interval for rows with roughly Gaussian tails"
    m = _ordered(
        eigenvalues.least(count / (count - known)),
        eigenvalues.least(count / (count - known) / swing),
        eigenvalues.least((1.0 - edge - reach) ** -2.0 if edge + reach < 1.0 else math.inf),
        count,
        account,
    )
    M = _ordered(
        eigenvalues.greatest(1.0),
        eigenvalues.greatest((1.0 + edge + reach) ** -2.0),
        eigenvalues.greatest(counting / chi_squared_quantile(1.0 - confidence, counting)),
        count,
        account,
    )
    return Curvatures(m=m, M=M)


def _bernstein(rows: RowSummary, eigenvalues: _Eigenvalues, confidence: float) -> Curvatures:
    count, features = rows.count, rows.features
    variance = max(0.0, float(np.linalg.eigvalsh(rows.fourth - rows.second @ rows.second)[-1]))
    radius = matrix_bernstein_radius(
        variance=variance, limit=rows.peak, count=count, features=features, delta=1.0 - confidence
    )
    wide = rows.unit * (rows.unit * radius)
    account = f"eigenvalue of the Hessian pooled over {count} rows, matrix Bernstein interval for rows of bounded size"
    least, greatest = eigenvalues.least(1.0), eigenvalues.greatest(1.0)
    low, high = max(float(eigenvalues.weights.min()), least - wide), greatest + wide
    return Curvatures(
        m=_ordered(least, low, least + wide, count, account),
        M=_ordered(greatest, max(0.0, greatest - wide), high, count, account),
    )


def _ordered(value: float, lower: float, upper: float, rows: int, account: str) -> Estimate:
    """Return the estimate; rounding may have put ends that agree on the wrong sides."""
    return Estimate(value=value, lower=min(lower, value), upper=max(upper, value), rows=rows, account=account)


_BINS_PER_OCTAVE = 4
_BINS = 128


@dataclass(frozen=True, kw_only=True, slots=True)
class Smoothness:
    """The largest smoothness of a row, and a histogram on a logarithmic scale: ``_BINS_PER_OCTAVE`` bins for each factor of 2.

    Bin j counts sizes up to 2^((top - j)/4); what is smaller than all bins is counted in the last.
    """

    rows: int = 0
    largest: float = 0.0
    top: int = 0
    bins: IntArray = field(default_factory=lambda: np.zeros(_BINS, dtype=np.int64))

    def add(self, sizes: FloatArray) -> "Smoothness":
        """Return the summary with more rows."""
        if len(sizes) == 0:
            return self
        largest = max(self.largest, float(sizes.max()))
        if not (0.0 < largest < math.inf):
            return Smoothness(rows=self.rows + len(sizes), largest=largest, top=self.top, bins=self.bins)
        top = math.ceil(_BINS_PER_OCTAVE * math.log2(largest))
        shift = min(top - self.top, _BINS - 1) if self.largest > 0.0 else 0
        bins = np.zeros(_BINS, dtype=np.int64)
        bins[shift:] = self.bins[: _BINS - shift]
        bins[-1] += self.bins[_BINS - shift :].sum()
        positive = np.where(sizes > 0.0, sizes, largest * 2.0 ** (-_BINS))
        places = np.clip(top - np.ceil(_BINS_PER_OCTAVE * np.log2(positive)), 0, _BINS - 1).astype(np.int64)
        return Smoothness(
            rows=self.rows + len(sizes), largest=largest, top=top, bins=bins + np.bincount(places, minlength=_BINS)
        )

    def estimate(self, quantile: float | None) -> Estimate | None:
        """Return the largest seen, times (N+1)/N at its upper end, or a quantile rounded up to its bin (theory 2, row L).

        Examples
        --------
        >>> Smoothness().add(np.array([1.0, 2.0, 4.0])).estimate(None).upper
        5.333333
        """
        if self.rows == 0:
            return None
        upper = self.largest * (self.rows + 1) / self.rows
        if quantile is None:
            return Estimate(
                value=self.largest,
                lower=self.largest,
                upper=upper,
                rows=self.rows,
                account="largest smoothness of a row seen; for rows without a limit on their size L does not exist",
            )
        above = np.cumsum(self.bins)  # rows in this bin or a higher one
        place = int(np.searchsorted(above, (1.0 - quantile) * self.rows, side="right"))
        value = min(self.largest, 2.0 ** ((self.top - min(place, _BINS - 1)) / _BINS_PER_OCTAVE))
        return Estimate(
            value=value,
            lower=value,
            upper=value,
            rows=self.rows,
            account=f"{quantile:g}-quantile of the smoothness of rows, rounded up; rows above it are not covered",
        )
