"""The interface of a method: pure transitions from one state to the next.

A method sees no clock, no files and no hidden randomness: the same events give the same bits. :class:`Tracker` knows only
:class:`Method`. A new one is a frozen dataclass with this interface, a state of its own, and a tag for each in
:mod:`driftpace.storage.codec`; :class:`ModelMethod` has what all methods share that fit one model.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from driftpace.adaptive import MetricTarget
from driftpace.errors import DataError, ParameterError, ProtocolError
from driftpace.losses import Loss
from driftpace.planning import Budget, Outlook
from driftpace.records import Assumption, Request, StepReport
from driftpace.selection import Design
from driftpace.tracker.inputs import MOST_COLUMNS
from driftpace.tracker.row_labels import with_labels
from driftpace.tracker.spending import Spending
from driftpace.tracker.state import MethodState, ModelSpec, PeriodOrder, RowBatch, reweighted, with_batch
from driftpace.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TellEvent:
    """Rows are delivered, as finite floats, with the names of their columns, and groups and weights where there are any.

    ``earlier_weights`` are new weights of all rows that were delivered before in the period; None where theirs do not change.
    With ``annotators`` each of them is one label, and those of one id are labels of one row.
    They may be ``late`` by so many periods.
    """

    X: FloatArray
    y: FloatArray
    columns: tuple[str, ...] | None = None
    groups: IntArray | None = None
    weights: FloatArray | None = None
    earlier_weights: FloatArray | None = None
    ids: tuple[str, ...] | None = None
    annotators: tuple[str, ...] | None = None
    late: int = 0


MANY_CLASSES = 60
"""With more classes than this the rows of a period must have each of them 1.5 times on average, or the target looks like ids."""

_LEAST_EACH = 1.5


class TrackerState(Protocol):
    """What a tracker reads of the state of its method."""

    @property
    def period(self) -> int:
        """The open period, from 1."""
        ...

    @property
    def order(self) -> PeriodOrder | None:
        """What was decided for the period; None before it is sized."""
        ...

    @property
    def gathered(self) -> int:
        """The number of rows in the open period so far."""
        ...

    @property
    def features(self) -> int | None:
        """The number of columns; None before it is known."""
        ...

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the columns; None where they have none."""
        ...

    @property
    def coef(self) -> FloatArray | None:
        """The current model over all columns, the intercept last; None before the number of columns is known."""
        ...

    @property
    def bought(self) -> bool:
        """Whether the last closed period had rows."""
        ...

    @property
    def rows_seen(self) -> int:
        """The number of rows that were fitted so far."""
        ...

    def without_rows(self) -> Any:
        """Return the state without the rows of the open period."""
        ...

    def without_order(self) -> Any:
        """Return the state before the open period was sized."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Folds:
    """The fold of each row of a period, the loss that compares candidates, and designs that candidates share by ``key``."""

    fold: IntArray
    loss: Loss
    designs: dict[object, Design]
    key: object = None


class Method(Protocol):
    """How periods are sized, gathered and closed. Each method has a state type of its own."""

    @property
    def spec(self) -> ModelSpec:
        """What is fitted; of several candidates, the first."""
        ...

    @property
    def epsilon(self) -> float | None:
        """The target; None where a tolerance is given instead."""
        ...

    @property
    def tolerance(self) -> float | None:
        """The target as a share of the best loss."""
        ...

    @property
    def metric(self) -> MetricTarget | None:
        """The target in a metric, where it is given in one."""
        ...

    @property
    def confidence(self) -> float | None:
        """The probability with which the target is met in each period; None for the mean."""
        ...

    @property
    def budget(self) -> Budget | None:
        """The budget; None without one."""
        ...

    @property
    def adjacent(self) -> bool:
        """Whether the drift is estimated from neighbouring periods, which then both must have rows."""
        ...

    def begin(self) -> Any:
        """Return the state before the first period."""
        ...

    def ask(self, state: Any, pool: int | None) -> tuple[Any, Request]:
        """Size the open period, once or again after rows were delivered."""
        ...

    def gather(self, state: Any, event: TellEvent) -> Any:
        """Add rows to the open period."""
        ...

    def forget(self, state: Any) -> Any:
        """Withdraw the rows of the open period."""
        ...

    def close(self, state: Any) -> tuple[Any, StepReport]:
        """Fit the rows of the open period and begin the next one."""
        ...

    def outlook(self, state: Any) -> Outlook:
        """Return how the risk develops from the open period on; TooEarlyError while too little is known."""
        ...

    def target(self, state: Any) -> float:
        """Return the target of the open period; TooEarlyError while a tolerance cannot be turned into one."""
        ...

    def forecast(self, state: Any, samples: int) -> float | None:
        """Return the risk predicted for a period of ``samples`` rows in all; None while too little is known."""
        ...

    def spending(self, state: Any) -> Spending | None:
        """Return the money in the open period; None without a budget."""
        ...

    def losses_left_out(self, state: Any, folds: Folds) -> FloatArray:
        """Return the loss of each row of the open period by a model that did not see its fold."""
        ...

    def held_out(self, state: Any) -> BoolArray | None:
        """Return which rows of the open period are held out from every fit; None where none ever are."""
        ...

    def current(self, state: Any) -> "tuple[Method, Any]":
        """Return the method and the state whose model is in use: of several candidates, the chosen one."""
        ...


class ModelMethod(ABC):
    """What all methods share that fit one model: rows are gathered and withdrawn in the same way."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def spec(self) -> ModelSpec:
            """What is fitted."""
            ...

        @property
        def budgeted(self) -> bool:
            """Whether a budget decides how many rows a period has."""
            ...

        @property
        def epsilon(self) -> float | None:
            """The target."""
            ...

    decides_again: ClassVar[bool] = False
    """Whether a period is sized again once an order was delivered."""

    uses_groups: ClassVar[bool] = False
    """Whether groups of rows that belong together change what is known of the model."""

    uses_weights: ClassVar[bool] = False
    """Whether rows can count for more or less than one."""

    linear: ClassVar[bool] = False
    """Whether only linear losses can be fitted and compared."""

    most_columns: ClassVar[int] = MOST_COLUMNS
    """The most columns of rows."""

    state_type: ClassVar[type[MethodState]] = MethodState
    """The class of its states."""

    @property
    def budget(self) -> Budget | None:
        """None: money is the business of :class:`~driftpace.tracker.budget_method.BudgetMethod`."""
        return None

    @abstractmethod
    def validate(self, owner: str) -> None:
        """Raise ParameterError where the method cannot work with its loss, set and parts."""

    @abstractmethod
    def initial(self) -> Any:
        """Return the state before anything is known."""

    @abstractmethod
    def with_model(self, state: Any, coef: FloatArray, start: FloatArray) -> Any:
        """Return the state with the model before the first rows."""

    @abstractmethod
    def order_within_budget(self, state: Any, spending: Spending, pool: int | None) -> PeriodOrder:
        """Return what the plan for the money that is left says of the open period."""

    @abstractmethod
    def checks(self, state: Any) -> tuple[Assumption, ...]:
        """Return the assumptions that every request carries, besides those of its order."""

    @abstractmethod
    def outlook(self, state: Any) -> Outlook:
        """Return how the risk develops from the open period on."""

    @abstractmethod
    def target(self, state: Any) -> float:
        """Return the target of the open period."""

    @abstractmethod
    def ask(self, state: Any, pool: int | None) -> tuple[Any, Request]:
        """Size the open period."""

    @abstractmethod
    def close(self, state: Any) -> tuple[Any, StepReport]:
        """Fit the rows of the open period and begin the next one."""

    @abstractmethod
    def forecast(self, state: Any, samples: int) -> float | None:
        """Return the risk predicted for a period of ``samples`` rows in all."""

    @abstractmethod
    def losses_left_out(self, state: Any, folds: Folds) -> FloatArray:
        """Return the loss of each row by a model that did not see its fold."""

    def begin(self) -> Any:
        """Return the state before the first period."""
        state = self.initial()
        if self.spec.features is None:
            return state
        if self.spec.features > self.most_columns:
            raise ParameterError(
                f"must be at most {self.most_columns:,}, the most columns that rows may have with {type(self.spec.loss).__name__}; "
                f"got {self.spec.features:,}.",
                owner="Tracker",
                name="features",
            )
        try:
            return self._with_features(state, self.spec.features, None)
        except DataError as error:
            raise ParameterError(error.problem, owner="Tracker", name="features") from None

    def gather(self, state: Any, event: TellEvent) -> Any:
        """Add rows to the open period; targets are encoded by the loss here."""
        require_order(state)
        X, y = event.X, self.spec.loss.encode(event.y)
        if state.features is None:
            state = self._with_features(state, X.shape[1], event.columns)
        elif state.columns is None and event.columns is not None:
            state = replace(state, columns=event.columns)
        if self.spec.fit_intercept:
            X = np.column_stack([X, np.ones(len(X))])
        batch = RowBatch(X=X, y=y, groups=event.groups, weights=event.weights, late=event.late)
        earlier = reweighted(state.batches, event.earlier_weights)
        if event.annotators is None or event.ids is None:
            return replace(state, batches=with_batch(earlier, batch))
        return replace(state, batches=with_labels(earlier, batch, event.ids, event.annotators))

    def forget(self, state: Any) -> Any:
        """Withdraw the rows. What was decided with them is decided again.

        In the first period the columns are forgotten too, since nothing else has shown them.
        """
        if state.order is None or not state.batches:
            return state
        fresh = replace(self.begin(), order=state.order) if state.period == 1 else state.without_rows()
        return replace(fresh, order=replace(state.order, after=-1, batch=-1, decided=0, placed=0))

    def sized(self, state: Any) -> bool:  # noqa: ARG002
        """Whether the open period is not sized again with the rows that it has: never, unless the method says so."""
        return False

    def held_out(self, state: Any) -> BoolArray | None:  # noqa: ARG002
        """Return which rows of the open period are held out from every fit: None, unless the method holds rows out."""
        return None

    def spending(self, state: Any) -> Spending | None:  # noqa: ARG002
        """Return None: there is no budget."""
        return None

    def current(self, state: Any) -> tuple[Any, Any]:
        """Return the method itself and its state."""
        return self, state

    def _with_features(self, state: Any, features: int, columns: tuple[str, ...] | None) -> Any:
        spec = self.spec
        size = spec.dimension(features)
        given = f"{features} columns" + (" and an intercept" if spec.fit_intercept else "")
        if not spec.domain.fits(size):
            raise DataError(f"must fit the set of coefficients, {spec.domain!r}; got {given}.")
        start = np.zeros(size) if spec.start is None else spec.start
        if start.size != size:
            raise DataError(f"must give as many coefficients as start has, {start.size}; got {given}.")
        return self.with_model(replace(state, features=features, columns=columns), spec.domain.project(start), start)


def require_order(state: TrackerState, call: str = "tell") -> None:
    """Raise ProtocolError where the open period was not sized yet."""
    if state.order is None:
        raise ProtocolError(f"{call}() was called before ask() in period {state.period}; call ask() first.")


def check_classes(batches: Sequence[RowBatch]) -> None:
    """Raise DataError where nearly every row of a period has a class that no other row has, as ids and amounts do."""
    rows = sum(len(batch.y) for batch in batches)
    if rows <= MANY_CLASSES:
        return
    classes = len(np.unique(np.concatenate([batch.y for batch in batches])))
    if classes > MANY_CLASSES and rows < _LEAST_EACH * classes:
        raise DataError(
            f"must be classes that rows have in common; got {classes:,} classes in {rows:,} rows: a target of ids or amounts is "
            "not one of classes, and of so many classes more rows must come at once, or rare ones be merged.",
            name="y",
        )


def check_pool(state: TrackerState, pool: int | None) -> None:
    """Raise ProtocolError where the open period was sized for another pool."""
    order = state.order
    if order is not None and pool is not None and pool != order.pool:
        before = "without a pool" if order.pool is None else f"for {order.pool:,} (rows already bought included)"
        raise ProtocolError(
            f"must be the same as when period {state.period} was sized, {before}; got {pool}.",
            owner="ask",  # of a tracker or of a campaign
            name="pool",
        )
