"""The noise of rows and the best loss, remembered over periods in which they may change.

Where the target is a share of the best loss, how fast the noise changes is learned: sums over rows that forget at several rates
are kept side by side, weighted by how well each of them predicted the noise of later periods. Noise that halves from one period
to the next is then known from the rows of the last few. A target of its own needs less: the last few hundred rows.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from driftpace.typing import FloatArray

NOISE_RATES = (0.0, 0.01, 0.06, 0.3)
"""Variances of the change of the logarithm of the noise from one period to the next, one for each of the sums kept."""

FIXED_RATE = (0.0,)
"""The rate of noise that changes over hundreds of rows only."""

NOISE_ROWS = 400.0
"""Rows, or groups, that sums stand for at most: a relative error near 8 %."""

_PRIOR = (0.6, 0.2, 0.15, 0.05)
_RETURN = 0.005
_LEAST_SPREAD = 0.2


@dataclass(frozen=True, kw_only=True, slots=True)
class NoiseSums:
    """Rows, sum and sum of squares of the noise of rows, and the sum of their losses at the best model.

    Rows of a group act as one: their gradients are added before they are squared. ``together`` counts the rows beyond the first
    of each group, so that ``rows - together`` is the number of groups.
    """

    rows: float = 0.0
    total: float = 0.0
    squares: float = 0.0
    losses: float = 0.0
    together: float = 0.0

    @property
    def units(self) -> float:
        """The number of independent terms: groups, or rows where each is alone."""
        return self.rows - self.together

    @property
    def spread(self) -> float:
        """The squared coefficient of variation of the noise of a group."""
        return max(self.squares * self.units / max(self.total * self.total, 1e-300) - 1.0, 0.0)

    def values(self) -> FloatArray:
        """Return the fields in their order."""
        return np.array([self.rows, self.total, self.squares, self.losses, self.together])

    def __add__(self, other: "NoiseSums") -> "NoiseSums":
        return NoiseSums(
            rows=self.rows + other.rows,
            total=self.total + other.total,
            squares=self.squares + other.squares,
            losses=self.losses + other.losses,
            together=self.together + other.together,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class NoiseEstimate:
    """The noise of a row in a whitened coordinate and the loss of the best model, each with its standard error.

    ``rows`` and ``units`` are the numbers of rows and of groups that they are known from.
    """

    mean: float
    error: float
    best_loss: float
    best_loss_error: float
    rows: float
    units: float


_UNKNOWN = NoiseEstimate(mean=0.0, error=0.0, best_loss=0.0, best_loss_error=0.0, rows=0.0, units=0.0)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class NoiseMemory:
    """Sums that forget at ``rates``, and how probable each rate is.

    ``sums`` has a row for each rate and the fields of :class:`NoiseSums` as columns; ``shares`` are the probabilities.
    Sums stand for ``most`` rows, or groups, at most.

    >>> seen = NoiseMemory.of(NoiseSums(rows=40.0, total=80.0, squares=480.0, losses=40.0), NOISE_RATES)
    >>> round(seen.estimate().mean, 6), round(seen.estimate().best_loss, 6)
    (2.0, 1.0)
    """

    rates: tuple[float, ...]
    sums: FloatArray
    shares: FloatArray
    most: float = NOISE_ROWS

    @classmethod
    def of(cls, sums: NoiseSums, rates: tuple[float, ...] = FIXED_RATE) -> "NoiseMemory":
        """Return the memory of rows that all rates saw alike."""
        return cls(rates=rates, sums=np.tile(sums.values(), (len(rates), 1)), shares=_prior(rates))

    def _each(self) -> list[NoiseSums]:
        return [
            NoiseSums(rows=rows, total=total, squares=squares, losses=losses, together=together)
            for rows, total, squares, losses, together in self.sums.tolist()
        ]

    def with_rows(self, rows: NoiseSums) -> "NoiseMemory":
        """Return the memory with the rows of a period, and the rates as probable as these make them.

        Where the noises of rows are gamma variables with the squared coefficient of variation c, the mean of n rows relative to
        that of N earlier ones has an F distribution with 2n/c and 2N/c degrees of freedom; exact for Gaussian errors.
        """
        if rows.rows == 0.0:
            return self
        shares = self.shares
        if len(shares) > 1 and 0.0 < rows.total < math.inf:
            evidence = np.array([_log_density(old, rows) for old in self._each()])
            shares = shares * np.exp(evidence - evidence.max())
            shares = shares / shares.sum()
        return replace(self, sums=self.sums + rows.values(), shares=shares)

    def next_period(self) -> "NoiseMemory":
        """Return the memory a period later: sums stand for as many rows as know the changed noise equally well."""
        kept = []
        for sums, rate in zip(self._each(), self.rates, strict=True):
            units = sums.units
            left = 1.0 / (1.0 / units + rate / max(sums.spread, _LEAST_SPREAD)) if units > 0.0 else 0.0
            kept.append(min(left, self.most) / units if units > 0.0 else 1.0)
        shares = (1.0 - _RETURN) * self.shares + _RETURN * _prior(self.rates)
        return replace(self, sums=self.sums * np.array(kept)[:, None], shares=shares)

    def estimate(self) -> NoiseEstimate:
        """Return what all rates together know; standard errors include how far the rates disagree."""
        if len(self.rates) == 1:
            return _known(*self._each())
        each, shares = self._each(), self.shares.tolist()
        if any(sums.rows <= 0.0 for sums in each):
            return _UNKNOWN
        means = [sums.total / sums.rows for sums in each]
        losses = [sums.losses / sums.rows for sums in each]
        relative = [sums.spread / sums.units for sums in each]
        mean = sum(share * one for share, one in zip(shares, means, strict=True))
        loss = sum(share * one for share, one in zip(shares, losses, strict=True))
        return NoiseEstimate(
            mean=mean,
            error=_error(shares, means, relative, mean),
            best_loss=loss,
            best_loss_error=_error(shares, losses, relative, loss),
            rows=sum(share * sums.rows for share, sums in zip(shares, each, strict=True)),
            units=sum(share * sums.units for share, sums in zip(shares, each, strict=True)),
        )


def _known(sums: NoiseSums) -> NoiseEstimate:
    """Return what sums at a single rate know."""
    if sums.rows <= 0.0:
        return _UNKNOWN
    units = sums.units
    mean, loss, relative = sums.total / sums.rows, sums.losses / sums.rows, sums.spread / units
    return NoiseEstimate(
        mean=mean,
        error=math.sqrt(relative * mean * mean),
        best_loss=loss,
        best_loss_error=math.sqrt(relative * loss * loss),
        rows=sums.rows,
        units=units,
    )


def _prior(rates: tuple[float, ...]) -> FloatArray:
    shares = np.array(_PRIOR[: len(rates)])
    return np.asarray(shares / shares.sum())


def _error(shares: list[float], values: list[float], relative: list[float], mean: float) -> float:
    """Return the mean standard error of ``values`` with these ``relative`` variances about ``mean``.

    It is the mean of standard errors, not the root of the mean variance: a rate that is hardly probable does not dominate it.
    """
    return sum(
        share * math.sqrt(variance * value * value + (value - mean) * (value - mean))
        for share, value, variance in zip(shares, values, relative, strict=True)
    )


def _log_density(old: NoiseSums, new: NoiseSums) -> float:
    """Return the logarithm of the density of the mean noise of new rows after the old ones, up to a constant."""
    if not old.total > 0.0:
        return 0.0
    spread = max((old + new).spread, _LEAST_SPREAD)
    known, fresh = old.units / spread, new.units / spread
    before, now = known * old.total / old.units, fresh * new.total / new.units
    return (
        math.lgamma(fresh + known)
        - math.lgamma(fresh)
        - math.lgamma(known)
        + fresh * math.log(now)
        + known * math.log(before)
        - (fresh + known) * math.log(before + now)
    )
