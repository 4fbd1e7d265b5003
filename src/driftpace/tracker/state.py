"""The model that a tracker fits, the order of a period, and what every method remembers: all frozen."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np

from driftpace.constraints import ConstraintSet
from driftpace.losses import Loss, VectorLoss
from driftpace.records import Assumption, Outcome, Plan
from driftpace.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from driftpace.models import ScoredRows


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ModelSpec:
    """What is fitted, and the limits that only the user can know.

    ``start`` is the model before the first period, by default the point of the set nearest to zero. ``features`` is the number
    of columns, where it is known before the first rows. A period has at most ``cap`` rows, and at most ``pool`` where that is
    known. ``entropy`` seeds the order in which rows are visited: period n uses the stream (entropy, n), so that a replay gives
    the same bits.
    """

    loss: Loss
    domain: ConstraintSet
    fit_intercept: bool
    features: int | None
    start: FloatArray | None
    cap: int
    pool: int | None
    entropy: int

    @property
    def objective(self) -> Loss:
        """The loss in the coordinates of the model: an intercept comes last and is not penalised."""
        return self.loss.with_unpenalised(self.outputs) if self.fit_intercept else self.loss

    @property
    def outputs(self) -> int:
        """The number of scores of a row, as far as the loss says; classes that appear may add to it."""
        return self.loss.outputs if isinstance(self.loss, VectorLoss) else 1

    def dimension(self, features: int) -> int:
        """Return the number of coefficients, those of the intercept included."""
        return (features + (1 if self.fit_intercept else 0)) * self.outputs

    def objective_for(self, coef: FloatArray, features: int) -> Loss:
        """Return the objective for as many scores as a model has coefficients of each column."""
        if not isinstance(self.loss, VectorLoss):
            return self.objective
        outputs = coef.size // (features + (1 if self.fit_intercept else 0))
        loss = self.loss.with_outputs(outputs)
        return loss.with_unpenalised(outputs) if self.fit_intercept else loss

    def limit(self, pool: int | None) -> tuple[int, Outcome]:
        """Return the most rows that a period can have, and the outcome when they are too few."""
        if pool is not None and pool <= self.cap:
            return pool, Outcome.POOL
        return self.cap, Outcome.CAPPED


@dataclass(frozen=True, kw_only=True, slots=True)
class PeriodOrder:
    """What was decided for a period when it was last sized.

    ``total`` is the number of rows of the period and ``theory`` what the rule asks for, before the pool and the drift estimate
    are considered; ``risk`` is the risk that they leave. A method that decides again as rows arrive keeps in ``after`` how many
    there were when it decided, in ``batch`` the number of the decision, and in ``asked`` how many rows were requested in all,
    without those that were delivered on top; in ``first`` how many rows the first order of the period had, in ``decided`` how
    many there were when the size was last open, and in ``placed`` how many orders the period had, this one included and
    initial samples left out. ``whole`` says that it was decided on all rows, those kept for the audit included, and ``more`` that
    it was not the last: a period that is closed after it falls short. ``plan`` is the plan of a budget, this period first.
    """

    total: int
    theory: int
    pool: int | None
    risk: float
    interval: tuple[int, int]
    outcome: Outcome
    reason: str
    epsilon: float
    assumptions: tuple[Assumption, ...] = ()
    after: int = 0
    batch: int = 0
    asked: int = 0
    first: int = 0
    decided: int = 0
    placed: int = 0
    whole: bool = False
    more: bool = False
    status: str | None = None
    plan: Plan | None = None

    def following(self, before: "PeriodOrder | None", gathered: int) -> "PeriodOrder":
        """Return this order after the one ``before``, which says what was requested where this one requests no more."""
        asked = self.total if before is None or self.total > gathered else before.asked
        if before is None:
            return replace(self, asked=asked, first=self.total)
        return replace(self, asked=asked, first=before.first, whole=self.whole or before.whole)

    def is_sized(self, gathered: int, orders: int | None) -> bool:
        """Whether it is being delivered, or the period had all its ``orders``: rows do not change the size of the period.

        An order is delivered as a whole before the period is sized again: every look at part of it would be one more chance to
        stop on rows that look better than they are. A period whose past has changed is sized again, unless the number of its
        orders is limited and it had one.
        """
        limited = orders is not None and self.placed > 0
        if gathered < self.total:
            return limited or self.after >= 0
        return limited and orders is not None and self.placed >= orders

    def undelivered(self, gathered: int) -> "PeriodOrder":
        """Return this order when some of its rows were delivered: the others are still to come."""
        if self.after == gathered:
            return self
        missing = self.total - gathered
        rows = "row completes" if missing == 1 else "rows complete"
        return replace(self, after=gathered, reason=f"{missing} more {rows} the order of {self.total - self.decided}")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RowLabels:
    """The labels of the rows of a batch, where they have annotators.

    ``ids`` are those of the rows. Label l, ``y[l]``, encoded, was given to row ``of_row[l]`` by ``annotators[l]``.
    """

    ids: tuple[str, ...]
    y: FloatArray
    of_row: IntArray
    annotators: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RowBatch:
    """Rows of the open period, not fitted yet; ``y`` is encoded, and a column of ones for the intercept is last in ``X``.

    ``groups`` are the groups of the rows, ``weights`` what they count for, ``labels`` the labels whose means are ``y``; None where
    none were given. Rows of a period that is absorbed again were ``late`` by so many periods.
    """

    X: FloatArray
    y: FloatArray
    groups: IntArray | None = None
    weights: FloatArray | None = None
    labels: RowLabels | None = None
    late: int = 0


def with_batch(batches: tuple[RowBatch, ...], batch: RowBatch) -> tuple[RowBatch, ...]:
    """Return the batches with one more, joined with those before it that are not much larger: many small ones cost like a few.

    Rows keep their order. Batches of which only one has groups or weights, or that have labels by annotators, stay apart.
    """
    while batches and _joins(batches[-1], batch):
        batch = _joined(batches[-1], batch)
        batches = batches[:-1]
    return (*batches, batch)


def _joins(last: RowBatch, batch: RowBatch) -> bool:
    alike = all((getattr(last, name) is None) == (getattr(batch, name) is None) for name in ("groups", "weights"))
    plain = last.labels is None and batch.labels is None
    return alike and plain and last.late == batch.late and len(last.y) < 2 * len(batch.y)


def _joined(last: RowBatch, batch: RowBatch) -> RowBatch:
    return RowBatch(
        X=np.concatenate([last.X, batch.X]),
        y=np.concatenate([last.y, batch.y]),
        groups=None if last.groups is None or batch.groups is None else np.concatenate([last.groups, batch.groups]),
        weights=None
        if last.weights is None or batch.weights is None
        else np.concatenate([last.weights, batch.weights]),
        late=batch.late,
    )


def weights_of(batches: tuple[RowBatch, ...]) -> FloatArray | None:
    """Return the weight of each row of the batches, or None; a row without one has weight 1."""
    if all(batch.weights is None for batch in batches):
        return None
    return np.concatenate([np.ones(len(batch.y)) if batch.weights is None else batch.weights for batch in batches])


Batch = TypeVar("Batch", RowBatch, "ScoredRows")


def reweighted(batches: tuple[Batch, ...], weights: FloatArray | None) -> tuple[Batch, ...]:
    """Return the batches with new weights; as they are where there are none, or where they were made for other rows."""
    if weights is None or not batches:
        return batches
    ends = np.cumsum([len(batch.y) for batch in batches])
    if len(weights) != ends[-1]:
        return batches
    parts = np.split(weights, ends[:-1])
    return tuple(replace(batch, weights=part) for batch, part in zip(batches, parts, strict=True))


def mean_one(weights: FloatArray | None, chosen: BoolArray) -> FloatArray | None:
    """Return the weights of chosen rows, scaled to a mean of 1; None where they all count alike, or for nothing."""
    if weights is None or not weights[chosen].any():
        return None
    return np.asarray(weights[chosen] / weights[chosen].mean())


def groups_of(batches: tuple[RowBatch, ...]) -> IntArray | None:
    """Return the group of each row of the batches, or None; a row without one is a group by itself."""
    if all(batch.groups is None for batch in batches):
        return None
    whole, alone = [], 0
    for batch in batches:
        if batch.groups is None:
            whole.append(-1 - alone - np.arange(len(batch.y), dtype=np.int64))
            alone += len(batch.y)
        else:
            whole.append(batch.groups)
    return np.concatenate(whole)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MethodState:
    """What every method remembers between calls; its size does not grow with the number of periods.

    ``features``, ``columns`` and ``coef`` are None until the first rows show the number of columns. ``bought`` says whether the
    last closed period had rows.
    """

    period: int = 1
    features: int | None = None
    columns: tuple[str, ...] | None = None
    coef: FloatArray | None = None
    rows_seen: int = 0
    order: PeriodOrder | None = None
    batches: tuple[RowBatch, ...] = ()
    bought: bool = False

    @property
    def gathered(self) -> int:
        """The number of rows in the open period so far."""
        return sum(len(batch.y) for batch in self.batches)

    @property
    def row_coef(self) -> FloatArray | None:
        """The model in the units of the rows of ``batches``."""
        return self.coef

    def without_rows(self) -> Self:
        """Return the state without the rows of the open period."""
        return replace(self, batches=())

    def without_order(self) -> Self:
        """Return the state before the open period was sized."""
        return replace(self, order=None)
