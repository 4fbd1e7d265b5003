"""How large the coefficients of a band may be, before the drift is known: a power of how much rows vary along it.

In whitened coordinates coefficients usually fall with the variance l of their direction, as l^gamma: gamma = 0 is a model whose
every direction matters alike, 1 is ridge regression on the columns as they are, and more looks at the first components only. The
rows of a first period say which gamma and which share f of the variance are plausible, by the likelihood of

    response ~ N(level, v [(1 - f) I + f G_gamma]),    G_gamma = sum_b l_b^gamma Z_b Z_b' (trace one for each row),

one eigendecomposition for each gamma. Several scores have a response each, of a variance v of its own, and the same law. Responses
of classes are those of the quadratic of the loss at the level of all rows, where v is known. A band may then deviate from the power
law by a factor of a few, which its own rows decide.
"""

from dataclasses import dataclass

import numpy as np

from driftpace.adaptive.bank import Prediction
from driftpace.typing import FloatArray

EXPONENTS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
"""Powers of the variance that coefficients may follow."""

SHARES = (0.003, 0.01, 0.03, 0.06, 0.12, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.88, 0.94, 0.98)
"""Shares of the variance of responses that the columns may explain."""

DEVIATION = 0.6
"""The standard deviation of the logarithm of a band's energy about the power law."""

NOTHING = 0.01
"""The chance that a band explains nothing."""

_STEP = 2.0
_ROUNDING = 1e-12
_SMALLEST = 1e-6
_LEAST_REST = 0.02
"""The least share of noise in the responses of a score."""
_MOST_SHARE = 0.4
"""The largest share of responses that coefficients are scaled for."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PowerLaws:
    """Plausible power laws: ``weights``, the variance of coordinates in each band (laws, bands), and the noise of each law."""

    weights: FloatArray
    variances: FloatArray
    noise: FloatArray

    @property
    def mean_noise(self) -> float:
        """The noise expected."""
        return float(self.weights @ self.noise)


def power_laws(
    Z: FloatArray,
    response: FloatArray,
    scale: FloatArray,
    sizes: FloatArray,
    *,
    total: FloatArray | None,
    level: bool,
) -> PowerLaws:
    """Return how plausible each power law is, from rows in whitened coordinates without the level.

    ``response`` has a column for each score. ``scale`` is the variance of rows in each band before whitening. ``total`` is the
    variance of the responses of each score, which signal and noise share; None where it is unknown, which it may be of one score.
    Of classes the share of each says what the total is.
    """
    count = len(response)
    if level:
        Z, response = Z - Z.mean(axis=0), response - response.mean(axis=0)
    free = max(count - (1 if level else 0), 1)
    logs, variances, noises = [], [], []
    relative = scale / scale.max()
    for exponent in EXPONENTS:
        each = relative**exponent
        each = each / float(sizes @ each)  # a row has variance one
        scaled = Z * np.sqrt(np.repeat(each, sizes.astype(int)))
        values, along = _directions(scaled, response)
        beyond = np.maximum(np.square(response).sum(axis=0) - along.sum(axis=0), 0.0)
        unseen = free - len(values)
        for share in SHARES:
            odds = share / (1.0 - share)
            if total is None:
                grown = 1.0 + odds * values[:, None]
                best = float((along / grown).sum() + beyond.sum()) / free
                log = -0.5 * (free * np.log(max(best, 1e-300)) + float(np.log(grown).sum()))
            else:
                signal = share / float((1.0 / total).mean())
                rest = np.maximum(total - signal, _LEAST_REST * total)
                grown = rest + signal * values[:, None]
                log = -0.5 * float((along / grown + np.log(grown)).sum())
                log -= 0.5 * float((beyond / rest + unseen * np.log(rest)).sum())
                best = signal / odds * _of_scores(share)
            logs.append(log)
            variances.append(best * odds * each)
            noises.append(best)
    weights = np.exp(np.array(logs) - max(logs))
    return PowerLaws(weights=weights / weights.sum(), variances=np.array(variances), noise=np.array(noises))


def _of_scores(share: float) -> float:
    """Return by how much the variance of scores is larger than that which responses of classes show at the level of all rows.

    A logistic curve is flatter on average than at its middle: scores of the variance v show v/(1 + pi v/8) of the responses'
    variance of 4, the usual approximation of the logistic by a normal distribution.
    """
    return 1.0 / (1.0 - 0.5 * np.pi * min(share, _MOST_SHARE))


def _directions(Z: FloatArray, response: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues of Z Z' that are not zero, and the squared lengths of each response along their directions."""
    if len(Z) <= Z.shape[1]:
        values, basis = np.linalg.eigh(Z @ Z.T)
        kept = values > _ROUNDING * max(float(values[-1]), 1e-300)
        return values[kept], np.square(basis[:, kept].T @ response)
    values, basis = np.linalg.eigh(Z.T @ Z)
    kept = values > _ROUNDING * max(float(values[-1]), 1e-300)
    return values[kept], np.square(basis[:, kept].T @ (Z.T @ response)) / values[kept, None]


def band_views(laws: PowerLaws, sizes: FloatArray) -> list[Prediction]:
    """Return the prediction of each band before the first period: zero, with variances about the plausible power laws."""
    views = []
    for band, size in enumerate(sizes.astype(int)):
        centers = np.log(np.maximum(laws.variances[:, band], 1e-300))
        likely = laws.weights > 1e-4
        low = float(centers[likely].min()) - 2.0 * DEVIATION
        high = float(centers[likely].max()) + 2.0 * DEVIATION
        points = np.linspace(low, high, max(int(np.ceil((high - low) / np.log(_STEP))) + 1, 2))
        near = np.exp(-0.5 * np.square((points[:, None] - centers[likely]) / DEVIATION))
        near /= near.sum(axis=0)
        shares = near @ laws.weights[likely]
        shares *= (1.0 - NOTHING) / shares.sum()
        variance = np.append(np.exp(points), _SMALLEST * np.exp(low))
        shares = np.append(shares, NOTHING)
        views.append(Prediction(shares=shares, mean=np.zeros((len(shares), size)), variance=variance))
    return views
