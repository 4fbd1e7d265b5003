"""Whether the drift repeats itself though no season was given: the models of earlier cycles are tried on each period.

On the rows of a period, which had no part in older models, the loss of the model one cycle ago is compared with the smaller of
the losses of the last model and of the model half a cycle ago. Where nothing repeats itself, an older model predicts no better
than these two, so the differences are not positive on average; in a season they are, as soon as a step costs more than the errors
of the models do. Their sum over its own size is at most about a standard normal variable, and is looked at after two full cycles.
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from driftpace.adaptive.rows import DesignRows
from driftpace.losses import VectorLoss
from driftpace.typing import FloatArray

LENGTHS = (4, 7, 12, 52)
"""The seasons that are searched for, in periods."""

CLEAR = 2.6
"""The sum of differences in standard units from which on a season is clear.

In 440 campaigns of 60 periods that stand still, walk or follow a line the largest was 1.93; a swing of 12 periods in ten
coefficients, a step of which costs the target, has 3.4 in period 36 (2.8 in one campaign of ten)."""

_LAGS = tuple(sorted({1, *(lag for length in LENGTHS for lag in (length, length // 2))}))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SeasonSearch:
    """The models of the last periods, the latest last, and for each of :data:`LENGTHS` sums of differences of losses.

    ``sums`` has the differences, their squares and their number, (3, lengths).
    """

    models: FloatArray
    sums: FloatArray = field(default_factory=lambda: np.zeros((3, len(LENGTHS))))

    def found(self) -> int | None:
        """Return the season that is clear, the clearest of several; None where none is."""
        total, squares, count = self.sums
        standard = np.where(count >= LENGTHS, total / np.sqrt(np.maximum(squares, 1e-300)), -math.inf)
        best = int(standard.argmax())
        return LENGTHS[best] if standard[best] > CLEAR else None


def with_period(search: SeasonSearch | None, rows: DesignRows, model: FloatArray) -> SeasonSearch:
    """Return the search after a period that was closed with ``model``; a period without rows compares nothing."""
    if search is None:
        return SeasonSearch(models=model[None].copy())
    known = len(search.models)
    if len(rows):
        lags = [lag for lag in _LAGS if lag <= known]
        losses = dict(zip(lags, _losses(rows, search.models[[-lag for lag in lags]]), strict=True))
        gains = np.array(
            [min(losses[1], losses[length // 2]) - losses[length] if length in losses else 0.0 for length in LENGTHS]
        )
        tried = np.array([length in losses for length in LENGTHS], dtype=np.float64)
        search = replace(search, sums=search.sums + np.stack([gains, np.square(gains), tried]))
    return replace(search, models=np.concatenate([search.models, model[None]])[-max(LENGTHS) :])


def _losses(rows: DesignRows, models: FloatArray) -> FloatArray:
    """Return the mean loss of rows at each of some models, the penalty included."""
    if isinstance(rows.loss, VectorLoss):
        losses = np.array([rows.losses(model).mean() for model in models])
    else:
        scores = rows.X @ models.T
        losses = np.array(
            [rows.weighted(rows.loss.curve.phi(score, rows.y)).mean() for score in np.ascontiguousarray(scores.T)]
        )
    return np.asarray(losses + 0.5 * np.square(models) @ rows.penalty)
