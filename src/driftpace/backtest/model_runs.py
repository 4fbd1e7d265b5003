"""Models of several kinds on the same rows in the same order: the labels that each buys, and the loss that it reaches."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftpace.backtest.job import PeriodSplit, split_period
from driftpace.losses import LinearLoss, VectorLoss
from driftpace.models import Head, ModelAdapter, losses_of
from driftpace.models.rows import join, take
from driftpace.tracker import Tracker
from driftpace.typing import FloatArray, IntArray

HALF_LIVES = (1.0, 4.0, 16.0)
"""Periods after which a row counts half where a model is fitted again: the three that are tried."""

MOST_HALF_LIVES = 6
"""Rows older than this many half-lives are left out."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class History:
    """Labelled rows by period: ``X`` as models take them, ``y`` numbers or numbers of classes.

    The models begin trained on the ``first`` periods, and are followed over the others. ``columns`` are the same rows for linear
    models.
    """

    X: tuple[Any, ...]
    y: tuple[FloatArray, ...]
    columns: tuple[FloatArray, ...]
    loss: LinearLoss | VectorLoss
    first: int

    @property
    def followed(self) -> range:
        """The places of the periods that models are followed over."""
        return range(self.first, len(self.y))

    def first_rows(self) -> tuple[Any, FloatArray]:
        """Return all rows of the first periods."""
        return join(self.X[: self.first]), np.concatenate(self.y[: self.first])


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ModelRun:
    """One model over the periods followed: its loss on test rows (NaN where it was not measured), and the labels bought.

    ``retrained`` are the places of the periods after which the base was trained again. ``seconds`` are what each period took, to
    ask and take rows, and to close it.
    """

    losses: FloatArray
    labels: FloatArray
    retrained: tuple[int, ...] = ()
    seconds: FloatArray = field(default_factory=lambda: np.zeros((2, 0)))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SplitHistory:
    """A history in one run: the test rows of each period followed, and the others in the order in which they are bought."""

    history: History
    splits: tuple[PeriodSplit, ...]
    run: int

    @classmethod
    def of(cls, history: History, *, test_fraction: float, seed: int, run: int) -> "SplitHistory":
        """Return the splits of a run."""
        splits = tuple(
            split_period(len(history.y[place]), test_fraction=test_fraction, seed=seed, run=run, period=place)
            for place in history.followed
        )
        return cls(history=history, splits=splits, run=run)

    @property
    def pools(self) -> IntArray:
        """The rows that can be bought in each period."""
        return np.array([len(split.pool) for split in self.splits], dtype=np.int64)

    def bought(self, place: int, first: int, last: int) -> tuple[Any, FloatArray]:
        """Return rows of a period followed, in the order in which they are bought."""
        chosen, period = self.splits[place].pool[first:last], self.history.first + place
        return take(self.history.X[period], chosen), self.history.y[period][chosen]

    def test_loss(self, place: int, scores: FloatArray) -> float:
        """Return the mean loss of scores of the test rows of a period followed."""
        y = self.history.y[self.history.first + place][self.splits[place].test]
        return float(losses_of(self.history.loss, scores.reshape(len(y), -1), y).mean())

    def test_rows(self, place: int) -> Any:
        """Return the test rows of a period followed."""
        return take(self.history.X[self.history.first + place], self.splits[place].test)


def head_run(
    split: SplitHistory, base: ModelAdapter, epsilon: float, *, retrain: bool = True, head: Head | None = None
) -> ModelRun:
    """Follow the drift by a head on a model, which is trained again whenever the tracker advises it."""
    history = split.history
    tracker = Tracker.for_model(
        base if retrain else _Frozen(base), epsilon=epsilon, loss=history.loss, head=head, rng=split.run
    )
    tracker.fit_pool(history.first_rows()[0])
    losses, labels, seconds, retrained = [], [], [], []
    for place in range(len(split.splits)):
        began = time.perf_counter()
        source, pool = _Source(split, place), int(split.pools[place])
        while wanted := tracker.ask(pool=pool).samples:
            X, y = source(wanted)
            tracker.tell(X, y, final=False)
            if len(y) < wanted:
                break
        asked = time.perf_counter()
        report = tracker.tell()
        assert report is not None
        seconds.append((asked - began, time.perf_counter() - asked))
        if report.retrain:
            tracker.retrain()
            retrained.append(place)
        losses.append(split.test_loss(place, tracker.decision_function(split.test_rows(place))))
        labels.append(report.samples)
    return ModelRun(
        losses=np.array(losses),
        labels=np.array(labels, dtype=np.float64),
        retrained=tuple(retrained),
        seconds=np.array(seconds).T,
    )


def linear_run(split: SplitHistory, epsilon: float) -> ModelRun:
    """Follow the drift by a linear model of the columns, as the default tracker does."""
    history = split.history
    tracker = Tracker(history.loss, epsilon=epsilon, features=history.columns[0].shape[1], rng=split.run)
    losses, labels = [], []
    for place in range(len(split.splits)):
        report = tracker.step(_Source(split, place, columns=True), pool=int(split.pools[place]))
        X = history.columns[history.first + place][split.splits[place].test]
        losses.append(split.test_loss(place, tracker.decision_function(X)))
        labels.append(report.samples)
    return ModelRun(losses=np.array(losses), labels=np.array(labels, dtype=np.float64))


def frozen_run(split: SplitHistory, base: ModelAdapter) -> ModelRun:
    """Leave a model as it is."""
    losses = [
        split.test_loss(place, np.asarray(base.scores(split.test_rows(place)))) for place in range(len(split.splits))
    ]
    return ModelRun(losses=np.array(losses), labels=np.zeros(len(losses)))


def refit_run(
    split: SplitHistory,
    base: ModelAdapter,
    labels: FloatArray,
    *,
    half_life: float,
    places: Sequence[int],
    interval: int = 1,
) -> ModelRun:
    """Train a model again on the first periods and everything bought, every so many periods; measured at some places."""
    losses = np.full(len(split.splits), np.nan)
    trained: dict[int, ModelAdapter] = {}
    for place in places:
        at = place - place % interval
        if at not in trained:
            trained[at] = refitted(split, base, labels, half_life=half_life, now=at)
        losses[place] = split.test_loss(place, np.asarray(trained[at].scores(split.test_rows(place))))
    return ModelRun(losses=losses, labels=np.minimum(labels, split.pools))


def refitted(
    split: SplitHistory, base: ModelAdapter, labels: FloatArray, *, half_life: float, now: int
) -> ModelAdapter:
    """Return a model trained again at the end of a period on what was bought until then, which counts less the older it is."""
    history = split.history
    parts, ages = [], []
    for place in range(-history.first, now + 1):
        age = now - place
        if age > MOST_HALF_LIVES * half_life:
            continue
        period = history.first + place
        part = (history.X[period], history.y[period]) if place < 0 else split.bought(place, 0, int(labels[place]))
        parts.append(part)
        ages.append(np.full(len(part[1]), float(age)))
    weights = 0.5 ** (np.concatenate(ages) / half_life)
    X, y = join([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    return base.refit(X, y, sample_weight=weights / weights.mean())


def reference_run(split: SplitHistory, base: ModelAdapter, places: Sequence[int]) -> ModelRun:
    """Train a model again with every row of every period labelled, at the best of three half-lives."""
    pools = split.pools.astype(np.float64)
    runs = [refit_run(split, base, pools, half_life=each, places=places) for each in HALF_LIVES]
    return min(runs, key=lambda run: float(np.nanmean(run.losses)))


class _Frozen(ModelAdapter):
    """A model that cannot be trained again."""

    def __init__(self, base: ModelAdapter) -> None:
        super().__init__(base.model)
        self._base = base
        self.task, self.labels, self.columns, self.features = base.task, base.labels, base.columns, base.features

    def scores(self, X: Any) -> FloatArray:
        return self._base.scores(X)

    def leaves(self, X: Any) -> IntArray | None:
        return self._base.leaves(X)

    def hidden(self, X: Any) -> FloatArray | None:
        return self._base.hidden(X)


class _Source:
    """The rows of a period, in the order in which they are bought."""

    def __init__(self, split: SplitHistory, place: int, *, columns: bool = False) -> None:
        self._split, self._place, self._given, self._columns = split, place, 0, columns

    def __call__(self, samples: int) -> tuple[Any, FloatArray]:
        first, self._given = self._given, self._given + samples
        X, y = self._split.bought(self._place, first, self._given)
        if self._columns:
            period = self._split.history.first + self._place
            X = self._split.history.columns[period][self._split.splits[self._place].pool[first : self._given]]
        return X, y
