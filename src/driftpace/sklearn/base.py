"""What the regressor and the classifier share: periods, the tracker behind them, and what they say after fitting."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, _safe_indexing, check_random_state, get_tags
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from driftpace import validation
from driftpace.errors import DataError, ParameterError
from driftpace.losses import LinearLoss, VectorLoss
from driftpace.losses.registry import parse_loss
from driftpace.models import Head
from driftpace.models.sklearn import fit_weighted
from driftpace.records import Request, StepReport
from driftpace.sklearn.periods import read_periods
from driftpace.tracker import Tracker
from driftpace.tracker.model_tracker import ModelTracker

TOLERANCE = 0.05
"""The target where none is given: within 5 % of the best loss."""


class DriftpaceEstimator(MetaEstimatorMixin, BaseEstimator):
    """The part of :class:`DriftpaceRegressor` and :class:`DriftpaceClassifier` that does not depend on the target."""

    def __init__(  # noqa: PLR0913  public API
        self,
        estimator: Any = None,
        *,
        epsilon: float | None = None,
        tolerance: float | None = None,
        loss: str | LinearLoss | VectorLoss | None = None,
        l2: float | Sequence[float] | None = None,
        fit_intercept: bool = True,
        missing: str = "impute",
        orders: int | None = 1,
        confidence: float | None = None,
        season: int | str | None = None,
        audit: float | None = None,
        head: Head | None = None,
        base_periods: int = 1,
        retrain: bool = True,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.epsilon = epsilon
        self.tolerance = tolerance
        self.loss = loss
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.missing = missing
        self.orders = orders
        self.confidence = confidence
        self.season = season
        self.audit = audit
        self.head = head
        self.base_periods = base_periods
        self.retrain = retrain
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self.estimator is None:
            tags.input_tags.sparse = True
            tags.input_tags.allow_nan = self.missing == "impute"
        else:
            own = get_tags(self.estimator)
            tags.input_tags.sparse = own.input_tags.sparse
            tags.input_tags.allow_nan = own.input_tags.allow_nan
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return bool(getattr(self, "periods_", ()))

    def fit(self, X: Any, y: Any, sample_weight: Any = None, period: Any = None) -> Self:
        """Follow the rows from the first period to the last. Whatever was known before is forgotten.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (rows, columns)
            Rows of all periods, in any order.
        y : array-like of shape (rows,)
            Targets.
        sample_weight : array-like of shape (rows,), optional
            What each row counts for.
        period : array-like of shape (rows,), optional
            The period of each row: numbers, dates or texts, in the order of their values. By default all rows are of one period.

        Returns
        -------
        self
        """
        with self._named("fit"):
            X, targets, weights = self._checked(X, y, sample_weight, reset=True)
            parts = self._parts(period, len(targets), "fit")
            used = self._begin(X, targets, weights, parts)
            for value, places in parts[used:]:
                self._absorb(value, *_part(X, targets, weights, places))
        return self

    def _go_on(self, X: Any, y: Any, sample_weight: Any, period: Any) -> Self:
        first = not self.__sklearn_is_fitted__()
        with self._named("partial_fit"):
            X, targets, weights = self._checked(X, y, sample_weight, reset=first)
            parts = self._parts(period, len(targets), "partial_fit", after=None if first else self.periods_[-1])
            used = self._begin(X, targets, weights, parts) if first else 0
            for value, places in parts[used:]:
                self._absorb(value, *_part(X, targets, weights, places))
        return self

    def ask(self, *, pool: int | None = None) -> Request:
        """Return how many labelled rows the next period needs, and why.

        Parameters
        ----------
        pool : int, optional
            The most rows that the next period can provide.

        Returns
        -------
        Request
        """
        check_is_fitted(self)
        return self.tracker_.ask(pool=pool)

    def tell(
        self, X: Any = None, y: Any = None, *, sample_weight: Any = None, period: Any = None, final: bool = True
    ) -> StepReport | None:
        """Add labelled rows to the next period, and close it or leave it open for more, as :meth:`Tracker.tell` does.

        For ``orders=None``, where labels are ordered in batches. :meth:`partial_fit` is a single call.

        Parameters
        ----------
        X, y : array-like, optional
            Labelled rows. Without them the period is closed on what was delivered before.
        sample_weight : array-like, optional
            What each row counts for.
        period : object, optional
            The period, later than those seen; by default the next one.
        final : bool, default True
            Whether the period is closed.

        Returns
        -------
        StepReport or None
            The report of the closed period; None while it stays open.
        """
        check_is_fitted(self)
        with self._named("tell"):
            rows: tuple[Any, ...] = (None, None, None)
            if X is not None or y is not None:
                rows = self._checked(X, y, sample_weight, reset=False)
            if final:
                parts = self._parts(period, 1 if rows[1] is None else len(rows[1]), "tell", after=self.periods_[-1])
                if len(parts) > 1:
                    raise DataError(f"must be one period; got {len(parts)}.", name="period")
                return self._absorb(parts[0][0], *rows)
            self.tracker_.tell(rows[0], rows[1], sample_weight=rows[2], final=False)
        self._ask()
        return None

    @property
    def estimator_(self) -> Any:
        """The estimator as it was last trained; only with ``estimator``."""
        if self.estimator is None:
            raise AttributeError("estimator_ needs a DriftpaceRegressor or DriftpaceClassifier of an estimator.")
        check_is_fitted(self)
        return self.tracker_.base.model

    @property
    def reports_(self) -> list[StepReport]:
        """The report of each period that the tracker closed; the first period of an estimator trains it, and has none."""
        check_is_fitted(self)
        return list(self.tracker_.history)

    @property
    def coef_names_(self) -> tuple[str, ...]:
        """The names of the columns of ``coef_``, which are more than those of X where texts or missing cells became columns."""
        names = self._linear_tracker("coef_names_").columns
        if names is None:
            names = tuple(str(place) for place in range(self.n_features_in_))
        return names if self._as_frame else tuple(self._named_column(name) for name in names)

    def _named_column(self, name: str) -> str:
        """Return the name of a column that the tracker knows by its number, such as "3" or "3=missing"."""
        place, equals, rest = name.partition("=")
        given = getattr(self, "feature_names_in_", None)
        return f"{f'x{place}' if given is None else given[int(place)]}{equals}{rest}"

    def _loss(self, task: str, **classes: int) -> LinearLoss | VectorLoss:
        """Return the loss, of the task's kind; ``classes`` counts those of several."""
        owner = type(self).__name__
        if self.loss is not None and not isinstance(self.loss, str):
            if isinstance(self.l2, int | float):
                raise ParameterError("must be None where loss is an object, which has its own.", owner=owner, name="l2")
            return self.loss
        default = {"regression": "squared", "classification": "logistic", "multiclass": "softmax"}[task]
        spec, parameters = parse_loss(default if self.loss is None else self.loss, owner)
        if spec.task != task:
            raise ParameterError(f"must be a loss for {task} here; got {self.loss!r}.", owner=owner, name="loss")
        if self.l2 is not None and not isinstance(self.l2, int | float | list | tuple | np.ndarray):
            raise ParameterError(f"must be a number or several; got {self.l2!r:.80}.", owner=owner, name="l2")
        l2 = float(self.l2) if isinstance(self.l2, int | float) else None
        return spec.make(l2=l2, **parameters, **classes)

    def _task(self) -> tuple[str, dict[str, int]]:
        """Return the task of the loss, and how many classes it has where there are several."""
        raise NotImplementedError

    def _made(self) -> Tracker:
        """Return the tracker of a linear model."""
        task, classes = self._task()
        several = None if self.l2 is None or isinstance(self.l2, int | float) else tuple(self.l2)
        return Tracker(
            self._loss(task, **classes),
            l2=several,
            fit_intercept=self.fit_intercept,
            missing=self.missing,  # type: ignore[arg-type]
            **self._settings(),
        )

    def _settings(self) -> dict[str, Any]:
        """Return what every kind of tracker takes."""
        owner = type(self).__name__
        validation.switch(owner, retrain=self.retrain)
        if self.epsilon is not None and self.tolerance is not None:
            raise ParameterError("must be None where epsilon is given; got both.", owner=owner, name="tolerance")
        tolerance = TOLERANCE if self.tolerance is None else self.tolerance
        target = {"tolerance": tolerance} if self.epsilon is None else {"epsilon": self.epsilon}
        options = {name: getattr(self, name) for name in ("orders", "confidence", "season", "audit")}
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        return target | {name: value for name, value in options.items() if value is not None} | {"rng": seed}

    def _checked(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Any, Any, Any]:
        """Return rows as the tracker takes them, targets and weights."""
        if reset:
            self._as_frame = _is_frame(X) and (self.estimator is not None or not _all_numbers(X))
        X, y = self._read(X, y, reset=reset)
        targets = self._targets(y, reset=reset)
        rows = _count(X)
        if len(targets) != rows:
            raise DataError(f"must have one entry for each of the {rows} rows of X; got {len(targets)}.", name="y")
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
        if weights is not None and (weights < 0.0).any():
            row = int(np.argmax(weights < 0.0))
            raise DataError(f"must not be negative; got {weights[row]} in row {row}.", name="sample_weight")
        return X, targets, weights

    def _read(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        """Return rows, with y where it is given, after the checks of scikit-learn."""
        if self._as_frame and _is_frame(X):
            return validate_data(self, X, y, reset=reset, skip_check_array=True)
        tags = self.__sklearn_tags__().input_tags
        given = {} if isinstance(y, str) else {"y": y, "multi_output": True}
        own = self.estimator is None
        if own or not hasattr(X, "dtype") or X.dtype != object:
            given["ensure_all_finite"] = "allow-nan" if tags.allow_nan else True
        else:
            given["ensure_all_finite"] = False
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr" if tags.sparse else False,
            dtype=np.float64 if own else None,
            **given,
        )

    def _targets(self, y: Any, *, reset: bool) -> Any:
        """Return checked targets, as numbers where the model is linear."""
        raise NotImplementedError

    def _parts(self, period: Any, rows: int, method: str, after: Any = None) -> list[tuple[Any, Any]]:
        """Return the periods with the places of their rows; all must be later than ``after``."""
        owner = f"{type(self).__name__}.{method}"
        if period is None:
            if after is not None and not isinstance(after, int | float):
                raise DataError(
                    f"must be given, since earlier periods were, such as {after!r}; got None.",
                    owner=owner,
                    name="period",
                )
            return [(1 if after is None else after + 1, np.arange(rows))]
        parts = read_periods(period, rows, owner)
        if after is not None:
            try:
                late = parts[0][0] > after
            except TypeError:
                late = False
            if not late:
                raise DataError(
                    f"must be later than {after!r}, the last period seen; got {parts[0][0]!r}.",
                    owner=owner,
                    name="period",
                )
        return parts

    def _begin(self, X: Any, targets: Any, weights: Any, parts: list[tuple[Any, Any]]) -> int:
        """Make the tracker, and return how many periods trained the estimator, if there is one."""
        used = 0
        if self.estimator is None:
            tracker: Any = self._made()
        elif isinstance(self.estimator, FrozenEstimator):
            tracker = self._following(self.estimator.estimator, X)
            tracker.fit_pool(_part(X, targets, weights, parts[0][1])[0])
        else:
            used = self._periods_to_train(targets, parts)
            places = np.sort(np.concatenate([places for _, places in parts[:used]]))
            rows, first, counts = _part(X, targets, weights, places)
            tracker = self._following(fit_weighted(clone(self.estimator), rows, first, counts), rows)
            tracker.remember(rows, first, sample_weight=counts)
            tracker.fit_pool(rows)
        self.tracker_ = tracker
        self.periods_ = [value for value, _ in parts[:used]]
        self.retrained_: list[Any] = []
        self._ask()
        return used

    def _following(self, base: Any, rows: Any) -> ModelTracker:
        """Return the tracker of a fitted estimator."""
        head = self.head
        if head is None and isinstance(rows, np.ndarray) and rows.dtype.kind not in "biuf":
            head = Head(columns=False)  # texts that only the estimator can read
        loss = None
        if self.loss is not None or self.l2 is not None:
            task, classes = self._task()
            loss = self._loss(task, **classes)
        return Tracker.for_model(base, head=head, loss=loss, **self._settings())

    def _periods_to_train(self, targets: Any, parts: list[tuple[Any, Any]]) -> int:  # noqa: ARG002
        """Return how many of the first periods the estimator is trained on."""
        validation.count(type(self).__name__, least=1, base_periods=self.base_periods)
        return min(self.base_periods, len(parts))

    def _absorb(self, value: Any, X: Any, targets: Any, weights: Any) -> StepReport:
        """Close a period on its rows, and train the estimator again where the alarm says so."""
        report: StepReport = self.tracker_.tell(X, targets, sample_weight=weights)
        self.periods_.append(value)
        if self._may_train and report.retrain:
            self.tracker_.retrain()
            self.retrained_.append(value)
        self._ask()
        return report

    @property
    def _may_train(self) -> bool:
        """Whether the alarm trains the estimator again."""
        return self.retrain and self.estimator is not None and not isinstance(self.estimator, FrozenEstimator)

    def _ask(self) -> None:
        self.request_: Request = self.tracker_.ask()
        self.samples_needed_: int = self.request_.samples

    def _of_tracker(self, method: str, X: Any) -> Any:
        """Return what a method of the tracker says of rows."""
        check_is_fitted(self)
        with self._named(method):
            return getattr(self.tracker_, method)(self._read(X, reset=False))

    def _linear_tracker(self, name: str) -> Tracker:
        """Return the tracker of a linear model, for an attribute that only such a model has."""
        if self.estimator is not None or not hasattr(self, "tracker_"):
            raise AttributeError(f"{name} is known after fitting without an estimator.")
        tracker: Tracker = self.tracker_
        return tracker

    @contextmanager
    def _named(self, method: str) -> Iterator[None]:
        """Name this class in errors of the tracker."""
        try:
            yield
        except (DataError, ParameterError) as error:
            owner = type(self).__name__
            if error.name in ("X", "y", "sample_weight", "period"):
                owner = f"{owner}.{method}"
            raise error.renamed(owner=owner, name=error.name) from error


def _part(X: Any, targets: Any, weights: Any, places: Any) -> tuple[Any, Any, Any]:
    if len(places) == len(targets):
        return X, targets, weights
    return _safe_indexing(X, places), targets[places], None if weights is None else weights[places]


def _is_frame(X: Any) -> bool:
    return not isinstance(X, np.ndarray) and hasattr(X, "columns") and hasattr(X, "shape")


def _all_numbers(X: Any) -> bool:
    """Return whether a frame has numbers and truth values only."""
    import narwhals as nw

    schema = nw.from_native(X, eager_only=True).schema
    return all(kind.is_numeric() or kind == nw.Boolean for kind in schema.values())


def _count(X: Any) -> int:
    return int(X.shape[0])
