"""The labelled rows behind a head: which are kept, what they say of training the base again, and how it is trained."""

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from driftpace.errors import DataError, ParameterError, ProtocolError
from driftpace.losses import LinearLoss, VectorLoss
from driftpace.losses.softmax import helmert
from driftpace.models import (
    CorrectedAdapter,
    HeadFeatures,
    ModelAdapter,
    ScoredRows,
    gain_of_training,
    smooth_correction,
    train,
)
from driftpace.models.corrected import turn_of
from driftpace.models.retraining import ALARM, LEAST_ROWS, MOST_CORRECTIONS, Gain
from driftpace.models.rows import join
from driftpace.progress import over
from driftpace.records import Retraining
from driftpace.storage.codec import encode
from driftpace.typing import FloatArray

MOST_ROWS = 50_000
"""The most labelled rows that are kept for training the base again; the oldest are left out."""

GAIN_ROWS = 10_000
"""The most rows that models are trained on to estimate the gain, so that a period ends in seconds."""


def head_matrix(coef: FloatArray, outputs: int) -> FloatArray:
    """Return the coefficients of a head, (features + 1, outputs), those of classes where there are several."""
    if outputs == 1:
        return coef[:, None]
    return np.asarray(coef.reshape(-1, outputs - 1) @ helmert(outputs).T)


def with_head_scores(parts: Sequence[ScoredRows], scores: FloatArray | None, outputs: int) -> tuple[ScoredRows, ...]:
    """Return the rows of a period with the ``scores`` of its head, (rows, contrasts), in place of those of its base.

    Without any, where no head was fitted, the scores are those of the base.
    """
    joined = tuple(by_period(parts))
    if scores is None:
        return joined
    scores = scores if outputs == 1 else scores @ helmert(outputs).T
    return tuple(replace(part, scores=scores) for part in joined)


def limited(rows: Sequence[ScoredRows], most: int) -> tuple[ScoredRows, ...]:
    """Return the newest parts that have at most so many rows, the last part in any case."""
    kept: list[ScoredRows] = []
    total = 0
    for part in reversed(rows):
        total += len(part)
        if kept and total > most:
            break
        kept.append(part)
    return tuple(reversed(kept))


def gain_now(
    base: ModelAdapter,
    loss: LinearLoss | VectorLoss,
    rows: Sequence[ScoredRows],
    *,
    features: HeadFeatures,
    window: int,
    period: int,
) -> tuple[Gain | None, str | None]:
    """Return what training again would gain, by the rows of the last ``window`` periods, or None and why it cannot be known."""
    if not base.trainable:
        return None, None
    try:
        gain = gain_of_training(
            base,
            loss,
            limited(rows, GAIN_ROWS),
            now=period,
            window=window,
            columns=lambda X: features.smooth(base, X),
        )
    except DataError as error:  # such as folds of one class, which not every library trains on
        return None, f"rows {error.problem}"
    return gain, None


def by_period(parts: Sequence[ScoredRows]) -> list[ScoredRows]:
    """Return one part for each period."""
    grouped: dict[tuple[int, bool], list[ScoredRows]] = {}
    for part in parts:
        if len(part):
            grouped.setdefault((part.period, part.scores is None), []).append(part)
    merged = []
    for (period, unscored), group in grouped.items():
        weighted = any(part.weights is not None for part in group)
        merged.append(
            ScoredRows(
                period=period,
                X=join([part.X for part in group]),
                y=np.concatenate([part.y for part in group]),
                scores=None if unscored else np.concatenate([part.scores for part in group if part.scores is not None]),
                weights=np.concatenate([np.ones(len(part)) if part.weights is None else part.weights for part in group])
                if weighted
                else None,
            )
        )
    return merged


def advice(
    gain: Gain | None,
    rows: Sequence[ScoredRows],
    *,
    target: float,
    period: int,
    trained: int,
    problem: str | None = None,
) -> Retraining:
    """Return the advice of a period; ``target`` is that of head and base together, ``trained`` when the base was trained."""
    threshold = ALARM * target
    judged = [part for part in rows if part.scores is not None]
    return Retraining(
        due=gain is not None and gain.lower > 0.0 and gain.mean > threshold,
        gain=None if gain is None else gain.mean,
        error=None if gain is None else gain.error,
        lower=None if gain is None else gain.lower,
        threshold=threshold,
        rows=sum(len(part) for part in judged) if gain is None else gain.rows,
        periods=len({part.period for part in judged}) if gain is None else gain.periods,
        since=period - trained,
        way=None if gain is None else gain.best.way,
        problem=problem,
    )


def trained_again(
    base: ModelAdapter,
    loss: LinearLoss | VectorLoss,
    rows: Sequence[ScoredRows],
    gain: Gain | None,
    features: HeadFeatures | None,
    coef: FloatArray | None,
    *,
    window: int,
    now: int,
) -> ModelAdapter:
    """Return the base trained again in the way that was found best, or refuse to where none is better than the model in use.

    ``coef`` is that of the head.
    """
    if not base.trainable:
        raise ParameterError(
            f"must be given, since driftpace cannot train a model of {type(base).__name__} again; got None.",
            owner="Tracker.retrain",
            name="model",
        )
    if gain is None or features is None or coef is None:
        raise ProtocolError(
            f"retrain() needs labelled rows, {LEAST_ROWS} or more since the model was last trained, with different targets, of "
            "each class where there are classes; call tell() first."
        )
    if gain.mean <= 0.0:
        raise ProtocolError(
            f"retrain() keeps the base: no training that was tried is better than the model in use (the loss would change by "
            f"{-gain.mean:+.2g} ± {gain.error:.2g}); pass model= to replace it."
        )
    how, matrix, turn = gain.best, head_matrix(coef, base.outputs), turn_of(coef, base.outputs)
    if how.way == "smooth":
        assert isinstance(loss, LinearLoss)
        smooth = smooth_correction(loss, rows, how, now=now, window=window, columns=lambda X: features.smooth(base, X))
        return CorrectedAdapter(base, features, matrix, smooth, turn=turn)
    (trained,) = [train(base, rows, each, now=now).stage(each.stage) for each in over([how], "training", total=1)]
    if how.way == "fresh" and how.share == 1.0 and (turn is None or base.corrections >= MOST_CORRECTIONS):
        return trained
    return CorrectedAdapter(base, features, matrix, trained, share=how.share, blend=how.way == "fresh", turn=turn)


def goes_on(base: ModelAdapter, features: HeadFeatures | None) -> bool:
    """Return whether a head with these features goes on with a base that was trained again, and does not begin anew."""
    if features is None or not isinstance(base, CorrectedAdapter) or base.turn is None:
        return False
    first, second = (json.dumps(encode(each), sort_keys=True) for each in (base.head, features))
    return first == second
