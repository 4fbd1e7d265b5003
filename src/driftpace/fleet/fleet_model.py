"""Where models of segments lie: the model of the fleet, and how far those of segments are from it.

In the whitened coordinates of segment s, u_s = L_s'w_s, block b of its model is N(mu_b, T_b) in each coordinate, seen with the
variance v_sb; a few segments are much further out (:data:`FAR`). The center and the variances are found in turns. What is not known
of T_b stays a distribution over a geometric grid, so that few segments, which say little of it, are not taken for alike; segments
far out do not move the center. What a segment is told leaves itself out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftpace.adaptive.expected import ExpectedModel
from driftpace.adaptive.noise import NoiseSums
from driftpace.fleet.drift_prior import FEW
from driftpace.fleet.lent import LEAST_SEGMENTS, Lent
from driftpace.typing import FloatArray

GRID = 2.0 ** -np.arange(24.0)
"""Variances that models may have about their center, as shares of twice the largest squared distance seen."""

KEPT = 0.08
"""The least share of knowing nothing in what is expected of a model."""

FAR = ((1.0, 0.97), (100.0, 0.03))
"""Variances of segments about the center relative to the usual one, and their shares."""

NOISE_ROWS = 10.0
"""Rows that the noise of the other segments stands for at most."""

_ROUNDS = 8
_NOTHING = 1e-300


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SegmentModel:
    """A model that a segment has: its coefficients with columns counted from ``place``, and how well it is known.

    ``factor`` whitens: u = factor'w. ``variances`` are those of a coordinate in each block, ``noise`` the sums over its rows.
    """

    model: FloatArray
    place: FloatArray
    factor: FloatArray
    variances: FloatArray
    noise: NoiseSums


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FleetModel:
    """The model of the fleet and what each segment contributes to its sums, so that one is left out in no more than its own time.

    Rows of the arrays are segments; ``models`` are times their weights in each block, ``place`` times those in the first one.
    """

    parts: tuple[slice, ...]
    models: FloatArray
    place: FloatArray
    weights: FloatArray
    evidence: tuple[FloatArray, ...]
    grids: tuple[FloatArray, ...]
    noises: FloatArray
    totals: "_Totals"

    def lend(self, without: int | None = None, *, level: bool = True) -> Lent:
        """Return what a new segment is lent, or one of these, which is left out; without ``level`` only slopes are pooled."""
        totals, count = self.totals, len(self.models)
        if without is not None:
            totals, count = totals.without(self, without), count - 1
        center = np.empty(len(totals.models))
        for block, part in enumerate(self.parts):
            center[part] = totals.models[part] / totals.weights[block]
        if len(totals.place):
            center[0] -= totals.place / totals.weights[0] @ center[1:]
        kept = max(KEPT, FEW / (FEW + count))
        variances, shares = [], []
        for block, grid in enumerate(self.grids):
            own = _posterior(totals.evidence[block])
            known = (1.0 - kept) if level or block or len(self.parts) == 1 else 0.0
            variances.append(np.append(grid + 1.0 / totals.weights[block], np.inf))
            shares.append(np.append(known * own, 1.0 - known))
        return Lent(
            start=center,
            expected=ExpectedModel(variances=np.array(variances), shares=np.array(shares), noise=totals.noise.usual()),
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Totals:
    """The sums over segments."""

    models: FloatArray
    place: FloatArray
    weights: FloatArray
    evidence: tuple[FloatArray, ...]
    noise: "_NoiseTotals"

    def without(self, fleet: FleetModel, one: int) -> "_Totals":
        """Return the sums without those of a segment."""
        return _Totals(
            models=self.models - fleet.models[one],
            place=self.place - fleet.place[one],
            weights=self.weights - fleet.weights[one],
            evidence=tuple(total - logs[one] for total, logs in zip(self.evidence, fleet.evidence, strict=True)),
            noise=self.noise.without(fleet.noises[one]),
        )


def find_fleet_model(models: Sequence[SegmentModel], parts: tuple[slice, ...], intercept: bool) -> FleetModel | None:
    """Return the model of the fleet; None for too few segments."""
    count = len(models)
    if count < LEAST_SEGMENTS:
        return None
    coefficients = np.array([one.model for one in models])
    place = np.array([one.place for one in models]) if intercept else np.zeros((count, 0))
    factors = np.array([one.factor for one in models])
    variances = np.array([one.variances for one in models])
    sizes = np.array([part.stop - part.start for part in parts])
    weights = 1.0 / (variances + np.median(variances, axis=0))
    squares = np.zeros((count, len(parts)))
    grids: list[FloatArray] = []
    evidence: list[FloatArray] = []
    for _ in range(_ROUNDS):
        center = _center(coefficients, weights, parts)
        gaps = coefficients - center
        if place.shape[1]:
            middle = weights[:, 0] @ place / weights[:, 0].sum()
            gaps[:, 0] -= (place - middle) @ center[1:]
        white = np.einsum("sij,si->sj", factors, gaps)
        for block, part in enumerate(parts):
            squares[:, block] = np.square(white[:, part]).sum(axis=1)
        if not grids:
            grids = [
                np.maximum(2.0 * float((squares[:, b] / sizes[b]).max()), _NOTHING) * GRID for b in range(len(parts))
            ]
        evidence = []
        for block, grid in enumerate(grids):
            logs, precision = _densities(squares[:, block], variances[:, block], sizes[block], grid)
            evidence.append(logs)
            weights[:, block] = precision @ _posterior(logs.sum(axis=0))
    weighted = np.empty_like(coefficients)
    for block, part in enumerate(parts):
        weighted[:, part] = weights[:, block, None] * coefficients[:, part]
    place = weights[:, :1] * place
    noises = np.array([_per_row(one.noise) for one in models])
    return FleetModel(
        parts=parts,
        models=weighted,
        place=place,
        weights=weights,
        evidence=tuple(evidence),
        grids=tuple(grids),
        noises=noises,
        totals=_Totals(
            models=weighted.sum(axis=0),
            place=place.sum(axis=0),
            weights=weights.sum(axis=0),
            evidence=tuple(logs.sum(axis=0) for logs in evidence),
            noise=_NoiseTotals.of(noises),
        ),
    )


def _densities(
    squares: FloatArray, variances: FloatArray, size: float, grid: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the log densities of squared distances, (segments, grid), and the precisions that segments have in the center."""
    far, chances = np.array(FAR).T
    total = grid[None, :, None] * far + variances[:, None, None]
    logs = np.log(chances) - 0.5 * size * np.log(total) - 0.5 * squares[:, None, None] / total
    most = logs.max(axis=2, keepdims=True)
    shares = np.exp(logs - most)
    sums = shares.sum(axis=2)
    return most[:, :, 0] + np.log(sums), (shares / total).sum(axis=2) / sums


def _posterior(evidence: FloatArray) -> FloatArray:
    """Return how probable the variances of the grid are after what all segments say, the sum of their log densities.

    Beforehand all standard deviations are alike: a variance that is too small to be seen is not taken for none.
    """
    total = evidence + 0.5 * np.log(GRID)
    shares = np.exp(total - total.max())
    return np.asarray(shares / shares.sum())


def _center(models: FloatArray, weights: FloatArray, parts: tuple[slice, ...]) -> FloatArray:
    center = np.empty(models.shape[1])
    for block, part in enumerate(parts):
        center[part] = weights[:, block] @ models[:, part] / weights[:, block].sum()
    return center


def _per_row(sums: NoiseSums) -> tuple[float, float, float, float, float]:
    """Return rows, noise, square and loss of a row, and the squared relative error of the noise."""
    rows = max(sums.rows, _NOTHING)
    return sums.rows, sums.total / rows, sums.squares / rows, sums.losses / rows, sums.spread / max(sums.units, 1.0)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _NoiseTotals:
    """What the noises of segments add up to: their logarithms from ``middle``, squares of these, and what else is averaged."""

    middle: float
    sums: FloatArray

    @classmethod
    def of(cls, noises: FloatArray) -> "_NoiseTotals":
        """Return the sums over segments whose noise is known."""
        known = noises[(noises[:, 0] > 0.0) & (noises[:, 1] > 0.0)]
        middle = float(np.log(known[:, 1]).mean()) if len(known) else 0.0
        return cls(middle=middle, sums=sum((_noise_terms(one, middle) for one in known), start=np.zeros(6)))

    def without(self, noise: FloatArray) -> "_NoiseTotals":
        """Return the sums without those of a segment."""
        if not (noise[0] > 0.0 and noise[1] > 0.0):
            return self
        return _NoiseTotals(middle=self.middle, sums=self.sums - _noise_terms(noise, self.middle))

    def usual(self) -> NoiseSums:
        """Return the noise of segments as sums over as many rows as would know it as well as they agree on it."""
        count = float(self.sums[0])
        if count < LEAST_SEGMENTS:
            return NoiseSums()
        mean, square, error, spread, loss = (self.sums[1:] / count).tolist()
        between = max(count / (count - 1.0) * (square - mean * mean) - error, 1e-6)
        level = math.exp(self.middle + mean + 0.5 * between)
        rows = min(NOISE_ROWS, spread / between)
        return NoiseSums(
            rows=rows, total=rows * level, squares=rows * level * level * (1.0 + spread), losses=rows * loss * level
        )


def _noise_terms(noise: FloatArray, middle: float) -> FloatArray:
    """Return what a segment adds to the sums: one, its log noise and its square, their error, the spread of rows, their loss."""
    _, level, squares, losses, error = noise.tolist()
    log = math.log(level) - middle
    return np.array([1.0, log, log * log, error, max(squares / level**2 - 1.0, 0.2), losses / level])
