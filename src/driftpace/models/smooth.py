"""A smooth correction of scores: kernel ridge regression of gradients, for which few rows are enough where trees need many."""

from dataclasses import dataclass, replace

import numpy as np

from driftpace.losses import LinearLoss
from driftpace.typing import FloatArray

MOST_CENTERS = 600
"""The most rows that a smooth correction is fitted to."""

RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Noise against the size of a smooth correction: those that are tried."""

BANDWIDTH = 0.7
"""The width of the kernel, in standard deviations, times the root of the number of columns."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SmoothCorrection:
    """Weighted similarities to ``centers``, rows in units of ``scale``: ``weights`` are (ridges, centers)."""

    scale: FloatArray
    centers: FloatArray
    weights: FloatArray

    @classmethod
    def fit(
        cls, loss: LinearLoss, Z: FloatArray, scores: FloatArray, y: FloatArray, sample_weight: FloatArray
    ) -> "SmoothCorrection":
        """Return the corrections of given scores, one for each of :data:`RIDGES`; ``y`` as the loss encodes targets."""
        at = np.arange(len(y))[:: -(-len(y) // MOST_CENTERS)]
        curve, root = loss.exact.curve, np.sqrt(sample_weight[at])
        bend = max(float(np.mean(curve.bend(scores, y))), 1e-12)
        residuals = -np.asarray(curve.slope(scores[at], y[at])) / bend
        spread = Z.std(axis=0)
        scale = np.where(spread > 0.0, spread, 1.0)
        centers = Z[at] / scale
        values, basis = np.linalg.eigh(_kernel(centers, centers) * root[:, None] * root)
        along = basis.T @ (root * residuals)
        shrunk = along / (np.maximum(values, 0.0) + np.array(RIDGES)[:, None])
        return cls(scale=scale, centers=centers, weights=(shrunk @ basis.T) * root)

    def ridge(self, place: int) -> "SmoothCorrection":
        """Return the correction of one of the ridges."""
        return replace(self, weights=self.weights[place : place + 1])

    def staged_scores(self, Z: FloatArray) -> FloatArray:
        """Return what is added to the scores of rows, (ridges, rows)."""
        return np.asarray(self.weights @ _kernel(self.centers, Z / self.scale))


def _kernel(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return Gaussian similarities of rows."""
    apart = np.square(left).sum(axis=1)[:, None] + np.square(right).sum(axis=1) - 2.0 * left @ right.T
    return np.asarray(np.exp(-np.maximum(apart, 0.0) / (2.0 * BANDWIDTH**2 * left.shape[1])))
