"""What training a model again would gain, estimated from labels that were bought for something else.

The rows of the last periods are scored by the model in use. The model is trained on most of them in several ways, and compared on
those left out, row by row, so that the noise of labels cancels: from the scores in use where it can be, from nothing, with rows
that count half after few periods or after many, with more or less of its training, and going a part of the way only, which few
rows suffice for. Rows that a model in use was fitted to look easier than they are, so that each is scored by the fit without it.
Recent periods count more, so that what was lost in the last of them is seen.

What is gained is the fall by the way that is best on the other rows, so that it is not that of a lucky choice. Whether anything
is gained at all is asked of two directions, from the scores in use to those of models that were trained from nothing on the other
rows, all stages alike, and along smooth corrections: a choice among many would have to be paid for with power. Where the model in
use is right, the labels left out do not pull its scores that way more than by chance.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from driftpace.losses import LinearLoss, VectorLoss
from driftpace.losses.softmax import helmert
from driftpace.models.adapter import ModelAdapter, library_errors
from driftpace.models.rows import join, take
from driftpace.models.smooth import RIDGES, SmoothCorrection
from driftpace.progress import over
from driftpace.typing import FloatArray, IntArray

Way = Literal["correction", "fresh", "smooth"]

FOLDS, FOLDS_OF_MANY, MANY_ROWS = 5, 3, 800
"""Parts of the rows, each left out once; fewer of them with many rows, where a smaller share to train on hardly matters."""

LEAST_ROWS = 40
"""Fewer rows than this are no evidence of anything."""

HALF_LIVES: dict[Way, tuple[float, ...]] = {"correction": (8.0,), "fresh": (2.0, 8.0)}
"""Periods after which a row counts half when a model is trained: those that are tried."""

HALF_LIFE_JUDGED = 1.5
"""Periods after which a row counts half when the gain is averaged."""

_WORDS: dict[Way, str] = {"correction": "a correction", "fresh": "from nothing", "smooth": "a smooth correction"}

SHARES = (0.25, 0.5, 1.0)
"""The parts of the way to a trained model that are tried."""

ALARM = 0.15
"""The share of the target that the gain must exceed for training to be due."""

CONFIDENCE = 1.96
"""The standard errors by which the pull of labels must exceed zero: in one direction it does by chance in one of forty periods."""

JUDGED_ROWS = 3_000
"""The most rows that the gain is averaged over, the newest."""

MOST_CORRECTIONS = 12
"""The most corrections on top of each other: a base with so many is trained from nothing."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ScoredRows:
    """The labelled rows of a period: as the model takes them, targets as the loss takes them, and the scores of the model in use.

    ``y`` are numbers of classes where there are classes; ``scores`` are (rows, outputs) and None for rows that the present base
    was trained on.
    """

    period: int
    X: Any
    y: FloatArray
    scores: FloatArray | None
    weights: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, kw_only=True, slots=True)
class Training:
    """How a base is trained again.

    From the scores in use or from nothing, or left and corrected by a smooth function; the periods after which a row counts half;
    how much of the training is used; and what share of the way from the scores in use is gone.
    """

    way: Way
    half_life: float
    stage: int = 0
    share: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Gain:
    """What the base lacks: the mean fall of the loss with its standard error and its lower end, and the best training found.

    ``lower`` is at most zero where the labels do not show that anything is gained.
    """

    mean: float
    error: float
    lower: float
    rows: int
    periods: int
    best: Training


def losses_of(loss: LinearLoss | VectorLoss, scores: FloatArray, y: FloatArray) -> FloatArray:
    """Return the loss of each row, without penalty; ``scores`` are (rows, outputs) and ``y`` numbers of classes where there are.

    >>> from driftpace.losses import LogisticLoss
    >>> losses_of(LogisticLoss(), np.zeros((2, 1)), np.array([0.0, 1.0])).round(3).tolist()
    [0.693, 0.693]
    """
    if isinstance(loss, VectorLoss):
        return np.asarray(loss.phi(scores @ helmert(scores.shape[1]), y))
    return np.asarray(loss.exact.curve.phi(scores[:, 0], loss.encode(y)))


def train(
    base: ModelAdapter,
    parts: Sequence[ScoredRows],
    how: Training,
    *,
    now: int,
    rows: Sequence[IntArray] | None = None,
) -> ModelAdapter:
    """Return the model trained again on rows, which count less the older they are, all of its stages.

    A correction uses rows with scores only, since the base has seen the others. ``rows`` selects some of each part.
    """
    chosen = []
    for place, part in enumerate(parts):
        at = np.arange(len(part)) if rows is None else rows[place]
        if len(at) and (how.way == "fresh" or part.scores is not None):
            chosen.append((part, at))
    X = join([take(part.X, at) for part, at in chosen])
    y = np.concatenate([part.y[at] for part, at in chosen])
    weights = np.concatenate([0.5 ** ((now - part.period) / how.half_life) * _weights(part)[at] for part, at in chosen])
    offset = None
    if how.way == "correction":
        offset = np.concatenate([part.scores[at] for part, at in chosen if part.scores is not None])
    with library_errors("be trained on", None):
        return base.refit(X, y, sample_weight=weights / weights.mean(), offset=offset)


def smooth_correction(
    loss: LinearLoss,
    parts: Sequence[ScoredRows],
    how: Training,
    *,
    now: int,
    window: int,
    columns: Callable[[Any], FloatArray],
) -> SmoothCorrection:
    """Return the smooth correction of the scores in use, fitted to the rows that the gain was judged by."""
    judged = _Judged(parts, now, window)
    return judged.smooth(loss, columns, np.arange(len(judged.y))).ridge(how.stage)


def gain_of_training(
    base: ModelAdapter,
    loss: LinearLoss | VectorLoss,
    parts: Sequence[ScoredRows],
    *,
    now: int,
    window: int = 8,
    columns: Callable[[Any], FloatArray] | None = None,
) -> Gain | None:
    """Return what training the base again would gain; None where rows are too few, or of one class.

    DataError where the library of the model does not train on parts of the rows, such as folds of one class.

    Parameters
    ----------
    base : ModelAdapter
        The model.
    loss : LinearLoss or VectorLoss
        What is compared.
    parts : sequence of ScoredRows
        The rows of each period. Those without scores are trained on, never compared on.
    now : int
        The period at hand.
    window : int
        The periods that are compared on.
    columns : callable, optional
        Rows as numbers of unit variance, for a smooth correction.
    """
    judged = _Judged(parts, now, window)
    if len(judged.y) < LEAST_ROWS or len(np.unique(judged.y)) < 2:
        return None
    choices: list[Training] = []
    tables: list[FloatArray] = []
    fresh: list[FloatArray] = []
    before = losses_of(loss, judged.scores, judged.y)

    def offer(how: Training, moves: FloatArray, shares: Sequence[float]) -> None:
        for share in shares:
            choices.extend(replace(how, stage=stage, share=share) for stage in range(len(moves)))
            tables.append(
                np.array([before - losses_of(loss, judged.scores + share * move, judged.y) for move in moves])
            )

    blends = base.corrections < MOST_CORRECTIONS
    for how in _offers(base):
        moves = _moves(base, parts, judged, how)
        offer(how, moves, SHARES if blends else SHARES[-1:])
        if how.way == "fresh":
            fresh.append(moves.mean(axis=0))
    directions = [np.mean(fresh, axis=0)]
    if columns is not None and isinstance(loss, LinearLoss) and blends:
        moves = _smooth_moves(loss, judged, columns)
        offer(Training(way="smooth", half_life=HALF_LIFE_JUDGED), moves, SHARES[-1:])
        directions.append(moves.mean(axis=0))
    table = np.concatenate(tables)
    brought = table @ judged.weights
    pulls = [_pull(loss, judged, moves) for moves in directions]
    lower = max(least for _, _, least in pulls)
    mean, error = max(*((pulled, deviation) for pulled, deviation, _ in pulls), _chosen(table, judged))
    if brought.max() <= 0.0:
        mean, error, lower = 0.0, 0.0, 0.0
    return Gain(
        mean=mean,
        error=error,
        lower=lower,
        rows=len(judged.y),
        periods=len(judged.parts),
        best=choices[int(np.argmax(brought))],
    )


def _pull(loss: LinearLoss | VectorLoss, judged: "_Judged", moves: FloatArray) -> tuple[float, float, float]:
    """Return what going some way along ``moves`` gains, its standard error, and its lower end.

    With A = -sum w l'(s) f the pull of the labels along moves f, and D = sum w [l(s + f) - l(s) - l'(s) f], going the share
    A / 2D of the way, five times of it at most, lowers the loss by A^2 / 4D. A has the variance V = sum (w l' f)^2 where moves do
    not depend on the labels of the row, and the mean of A^2 is larger by as much than the square of what is expected of A.
    """
    scores, y, weights = judged.scores, judged.y, judged.weights
    slopes, along = _slopes(loss, scores, moves, y)
    each = -np.sum(slopes * along, axis=1)
    bent = losses_of(loss, scores + moves, y) - losses_of(loss, scores, y) + each
    pull, variance = float(weights @ each), float(np.square(weights * each).sum())
    unit = 4.0 * max(float(weights @ bent), 0.1 * abs(pull), 1e-300) * float(weights.sum())
    if variance <= 0.0:
        return 0.0, 0.0, 0.0
    deviation = math.sqrt(variance)
    mean = math.copysign(max(pull**2 - variance, 0.0), pull) / unit + 0.0
    error = math.sqrt(4.0 * pull**2 * variance + 2.0 * variance**2) / unit
    least = pull - CONFIDENCE * deviation
    return mean, error, math.copysign(least**2, least) / unit


def _slopes(
    loss: LinearLoss | VectorLoss, scores: FloatArray, moves: FloatArray, y: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the derivatives of losses in the scores of rows, and moves of these scores, (rows, scores or contrasts)."""
    if isinstance(loss, VectorLoss):
        contrasts = helmert(scores.shape[1])
        return np.asarray(loss.slope(scores @ contrasts, y)), moves @ contrasts
    return np.asarray(loss.exact.curve.slope(scores[:, 0], loss.encode(y)))[:, None], moves


def _offers(base: ModelAdapter) -> list[Training]:
    """Return the ways to train a base, stages aside."""
    continued = base.takes_offset and base.corrections < MOST_CORRECTIONS
    ways: tuple[Way, ...] = ("correction", "fresh") if continued else ("fresh",)
    return [Training(way=way, half_life=half_life) for way in ways for half_life in HALF_LIVES[way]]


class _Judged:
    """The rows that are compared on: those of the newest scored parts, with their folds, ages and weights."""

    def __init__(self, parts: Sequence[ScoredRows], now: int, window: int) -> None:
        self.now = now
        self.parts = _newest(parts, now - window)
        rows = [len(part) for part in self.parts]
        folds = FOLDS if sum(rows) < MANY_ROWS else FOLDS_OF_MANY
        none = np.zeros(0)
        self.y = np.concatenate([none, *(part.y for part in self.parts)])
        self.scores = np.concatenate([part.scores for part in self.parts if part.scores is not None] or [none])
        self.fold = np.arange(len(self.y)) % folds
        self.ages = np.repeat([float(now - part.period) for part in self.parts], rows)
        self.weights = 0.5 ** (self.ages / HALF_LIFE_JUDGED) * np.concatenate([none, *map(_weights, self.parts)])
        self._starts = np.concatenate([[0], np.cumsum(rows, dtype=np.int64)])

    def of_part(self, place: int) -> slice:
        """Return where the rows of a part are."""
        return slice(int(self._starts[place]), int(self._starts[place + 1]))

    def smooth(self, loss: LinearLoss, columns: Callable[[Any], FloatArray], at: IntArray) -> SmoothCorrection:
        """Return the smooth correction that some rows show."""
        Z = np.concatenate([columns(part.X) for part in self.parts])
        return SmoothCorrection.fit(loss, Z[at], self.scores[at, 0], loss.encode(self.y)[at], self.weights[at])


def _newest(parts: Sequence[ScoredRows], after: int) -> list[ScoredRows]:
    """Return the scored parts after a period, the newest up to a number of rows and one of them in any case."""
    newest: list[ScoredRows] = []
    rows = 0
    for part in reversed(parts):
        if part.scores is None or not len(part) or part.period <= after:
            continue
        rows += len(part)
        if newest and rows > JUDGED_ROWS:
            break
        newest.append(part)
    return newest[::-1]


def _weights(part: ScoredRows) -> FloatArray:
    return np.ones(len(part)) if part.weights is None else part.weights


def _chosen(table: FloatArray, judged: _Judged) -> tuple[float, float]:
    """Return the mean fall by what is best on the other folds, none where that is the model in use, and its standard error."""
    each = np.zeros(table.shape[1])
    for one in np.unique(judged.fold):
        held = judged.fold == one
        others = table[:, ~held] @ judged.weights[~held]
        best = int(np.argmax(others))
        each[held] = table[best, held] if others[best] > 0.0 else 0.0
    shares = judged.weights / judged.weights.sum()
    mean = float(shares @ each)
    return mean, float(np.linalg.norm(shares * (each - mean)))


def _smooth_moves(loss: LinearLoss, judged: _Judged, columns: Callable[[Any], FloatArray]) -> FloatArray:
    """Return what the smooth corrections of the other folds add to the score of each row, (ridges, rows, 1)."""
    Z = np.concatenate([columns(part.X) for part in judged.parts])
    moves = np.zeros((len(RIDGES), len(judged.y), 1))
    for one in np.unique(judged.fold):
        held = judged.fold == one
        made = judged.smooth(loss, columns, np.flatnonzero(~held))
        moves[:, held, 0] = made.staged_scores(Z[held])
    return moves


def _moves(base: ModelAdapter, parts: Sequence[ScoredRows], judged: _Judged, how: Training) -> FloatArray:
    """Return what training adds to the scores of each row, by a model that did not see its fold, (stages, rows, outputs)."""
    places = {id(part): place for place, part in enumerate(judged.parts)}
    moves: FloatArray | None = None
    folds = np.unique(judged.fold)
    for one in over(
        folds, f"gain of training again ({_WORDS[how.way]}, half-life {how.half_life:g})", total=len(folds)
    ):
        kept = [
            np.flatnonzero(judged.fold[judged.of_part(places[id(part)])] != one)
            if id(part) in places
            else np.arange(len(part))
            for part in parts
        ]
        model = train(base, parts, how, now=judged.now, rows=kept)
        held = np.flatnonzero(judged.fold == one)
        X = join([take(part.X, held_of) for part, held_of in _held(judged, one)])
        with library_errors("score", None):
            scores = model.staged_scores(X).reshape(-1, len(held), judged.scores.shape[1])
        if how.way == "fresh":
            scores = scores - judged.scores[held]
        if moves is None:
            moves = np.zeros((len(scores), *judged.scores.shape))
        moves[:, held] = scores
    assert moves is not None
    return moves


def _held(judged: _Judged, fold: int) -> Iterator[tuple[ScoredRows, IntArray]]:
    """Yield the parts with their rows in a fold."""
    for place, part in enumerate(judged.parts):
        at = np.flatnonzero(judged.fold[judged.of_part(place)] == fold)
        if len(at):
            yield part, at
