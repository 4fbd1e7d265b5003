"""What a tracker knows: its model, predictions of it, and the settings of its method."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from driftpace import validation
from driftpace.errors import ProtocolError
from driftpace.losses import (
    LinearLoss,
    LogLinkLoss,
    Loss,
    PoissonLoss,
    SoftmaxLoss,
    SquaredLoss,
    VectorLoss,
    classifies,
)
from driftpace.planning import Budget
from driftpace.records import Money, StepReport
from driftpace.tracker.builder import check_exposure, is_wide
from driftpace.tracker.candidates_method import CandidatesMethod
from driftpace.tracker.history import History
from driftpace.tracker.inputs import read_exposure
from driftpace.tracker.late import delay_of
from driftpace.tracker.method import Method
from driftpace.tracker.row_reader import RowReader, learns_classes
from driftpace.typing import FloatArray

if TYPE_CHECKING:
    from driftpace.tables.encoding import Encoding


class FittedModel:
    """The current model of a method in a state, and what it predicts of rows; nothing here changes anything."""

    _method: Method
    _state: Any
    _reader: RowReader
    _reports: list[StepReport]

    @property
    def delay(self) -> int | None:
        """How many periods late labels may be; None where they are in time."""
        return delay_of(self._method)

    @property
    def period(self) -> int:
        """The open period, from 1."""
        period: int = self._state.period
        return period

    @property
    def epsilon(self) -> float | None:
        """The largest acceptable excess loss; None where a tolerance is given instead."""
        return self._method.epsilon

    @property
    def budget(self) -> Budget | None:
        """The budget; None without one."""
        return self._method.budget

    @property
    def money_left(self) -> Money | None:
        """What is left of the budget when the rows of the open period are paid; None without a budget."""
        spending = self._method.spending(self._state)
        return None if spending is None else spending.left_after(self._state.gathered)

    @property
    def encoding(self) -> "Encoding | None":
        """How columns are encoded; None before the first rows and :meth:`fit_pool`."""
        return self._reader.encoding

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the coefficients; None where arrays gave none."""
        if self._state.columns is None and self._reader.from_pool and self._reader.encoding is not None:
            return self._reader.encoding.names
        columns: tuple[str, ...] | None = self._state.columns
        return columns

    @property
    def classes(self) -> tuple[str | int, ...] | None:
        """The labels of the classes, in the order of the columns of :meth:`predict_proba`; None where numbers are predicted."""
        loss = self._method.spec.loss
        if isinstance(loss, SoftmaxLoss):
            return self._reader.labels if loss.classes is None else tuple(range(loss.classes))
        return (-1, 1) if classifies(loss) else None

    @property
    def coef(self) -> FloatArray:
        """The coefficients of the current model, in the units of X; of several classes, those of each, (classes, columns)."""
        model = self._model()
        loss = self._objective()
        if isinstance(loss, VectorLoss):
            return loss.output_matrix(model)[:, : self._state.features].copy()
        return model[: self._state.features].copy()

    @property
    def intercept(self) -> Any:
        """The intercept of the current model, 0 when none is fitted; of several classes, that of each."""
        loss, model = self._objective(), self._model()
        if isinstance(loss, VectorLoss):
            matrix = loss.output_matrix(model)
            return matrix[:, -1].copy() if self._method.spec.fit_intercept else np.zeros(len(matrix))
        return float(model[-1]) if self._method.spec.fit_intercept else 0.0

    @property
    def selected(self) -> str | None:
        """The candidate whose model is the current one; None without candidates."""
        if not isinstance(self._method, CandidatesMethod):
            return None
        label: str = self._method.selection.labels[self._state.chosen]
        return label

    @property
    def models(self) -> dict[str, FloatArray]:
        """The current model of each candidate by its label: coefficients for all columns, then an intercept if there is one."""
        if not isinstance(self._method, CandidatesMethod):
            raise ProtocolError("models needs a tracker with candidates; the model of this one is coef and intercept.")
        coefs = [self._state.coef_of(index) for index in range(len(self._method.methods))]
        return {
            label: self._model() if coef is None else coef
            for label, coef in zip(self._method.selection.labels, coefs, strict=True)
        }

    def decision_function(self, X: Any) -> FloatArray:
        """Return the linear scores of rows, X @ coef + intercept; of several classes, those of each.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, columns)
            Features.

        Returns
        -------
        ndarray of shape (rows,)

        Raises
        ------
        ProtocolError
            Before the first fit.
        """
        scores, loss = self._linear_scores(X, "Tracker.decision_function"), self._objective()
        return loss.output_scores(scores) if isinstance(loss, VectorLoss) else scores

    def predict(self, X: Any, *, exposure: Any = None) -> Any:
        """Return the predictions of the current model: numbers for regression, -1 or 1 for two classes, labels for several.

        Those of counts and amounts are means, those of a :class:`~driftpace.QuantileLoss` its quantile.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, columns)
            Features.
        exposure : array-like, optional
            What each count or amount is a total over; by default a unit.

        Returns
        -------
        ndarray of shape (rows,)

        Raises
        ------
        ProtocolError
            Before the first fit.
        """
        loss = self._objective()
        if isinstance(loss, LinearLoss | VectorLoss):
            predicted = loss.link(self._linear_scores(X, "Tracker.predict"))
        else:
            rows = self._rows(X, "Tracker.predict")
            values = np.column_stack([rows, np.ones(len(rows))]) if self._method.spec.fit_intercept else rows
            predicted = loss.predict(self._model(), values)
        if learns_classes(self._method):  # as long as there is one label, the model has a second class without one
            return np.array(self._reader.labels)[np.minimum(predicted.astype(np.int64), len(self._reader.labels) - 1)]
        if exposure is None:
            return predicted
        check_exposure(self._method, "Tracker.predict")
        return predicted * read_exposure(exposure, owner="Tracker.predict", rows=len(predicted))

    def predict_interval(self, X: Any, *, level: float = 0.9, exposure: Any = None) -> FloatArray:
        """Return intervals that hold a new target with a given probability, on average over rows.

        New targets vary about the means that :meth:`predict` returns as those of earlier periods did, and these means are as
        uncertain as the last report says. With :class:`~driftpace.SquaredLoss` errors are normal, of one variance: where some rows
        are noisier than others, theirs are covered less often. Counts (:class:`~driftpace.PoissonLoss`) are negative binomial, and
        amounts (:class:`~driftpace.GammaLoss`, :class:`~driftpace.TweedieLoss`) have the distribution of their loss, with the
        dispersion that was measured. For intervals that assume no distribution, two trackers with a
        :class:`~driftpace.QuantileLoss` each, such as for 0.05 and 0.95, predict the ends.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, columns)
            Features.
        level : float, default 0.9
            The probability.
        exposure : array-like, optional
            What each count or amount is a total over; by default a unit.

        Returns
        -------
        ndarray of shape (rows, 2)
            The ends of each interval, both in it.

        Raises
        ------
        ProtocolError
            Before the first fit, or with another loss or a composed method.

        Examples
        --------
        >>> from driftpace import PoissonLoss, Tracker
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((300, 1))
        >>> tracker = Tracker(PoissonLoss(), epsilon=0.1, rng=0)
        >>> _ = tracker.ask()
        >>> _ = tracker.tell(X, rng.poisson(np.exp(1.0 + 0.5 * X[:, 0])))
        >>> tracker.predict_interval([[0.0], [2.0]])
        array([[ 0.,  6.],
               [ 3., 13.]])
        """
        from driftpace.tracker.intervals import amount_intervals, count_intervals, normal_intervals

        owner = "Tracker.predict_interval"
        validation.fraction(owner, level=level)
        means = self.predict(X, exposure=exposure)
        noise, error = self._spread()
        loss: Any = self._method.current(self._state)[0].spec.loss
        if isinstance(loss, SquaredLoss):
            return normal_intervals(means, noise + error, level)
        totals = np.ones(len(means)) if exposure is None else read_exposure(exposure, owner=owner, rows=len(means))
        power = float(loss.variance_power)
        dispersion = totals ** (1.0 - power) * (noise + totals * error)
        if isinstance(loss, PoissonLoss):
            return count_intervals(means, dispersion, level)
        return amount_intervals(means, dispersion, power, level)

    def _spread(self) -> tuple[float, float]:
        """Return the variance of targets and that of the model, in units of the curvature; refuse losses that do not say them.

        Rows count in proportion to their exposure over its mean: what was measured is the variance at the mean exposure.
        """
        method, state = self._method.current(self._state)
        known, loss = getattr(state, "adaptive", None), method.spec.loss
        memory = getattr(state, "wide", None) if known is None else known.memory
        if not isinstance(loss, SquaredLoss | LogLinkLoss) or memory is None:
            raise ProtocolError(
                "predict_interval() needs SquaredLoss, PoissonLoss, GammaLoss or TweedieLoss, without parts of your own; got "
                f"{type(loss).__name__}. Two trackers with QuantileLoss predict the ends of an interval."
            )
        risk = self._reports[-1].risk_bound if self._reports else math.inf
        noise = float(memory.noise.estimate().mean) * self._reader.mean_exposure
        return noise, 2.0 * risk if math.isfinite(risk) else 0.0

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the classes -1 and 1, or of all :attr:`classes`.

        Parameters
        ----------
        X : array-like or data frame of shape (rows, columns)
            Features.

        Returns
        -------
        ndarray of shape (rows, classes)

        Raises
        ------
        ProtocolError
            Before the first fit, or if the loss does not estimate probabilities.

        Examples
        --------
        >>> from driftpace import LogisticLoss, Tracker
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((40, 1))
        >>> tracker = Tracker(LogisticLoss(l2=0.1), epsilon=0.1, rng=0)
        >>> _ = tracker.ask()
        >>> _ = tracker.tell(X, np.sign(X[:, 0] + rng.standard_normal(40)))
        >>> tracker.predict_proba([[0.0], [2.0]]).round(1)
        array([[0.5, 0.5],
               [0.2, 0.8]])
        """
        scores = self._linear_scores(X, "Tracker.predict_proba")
        loss = self._objective()
        estimate = getattr(loss, "probabilities", None)
        probabilities = None if estimate is None else estimate(scores)
        if probabilities is None:
            raise ProtocolError(
                f"predict_proba() needs a loss that estimates probabilities; got {type(loss).__name__}."
            )
        if isinstance(loss, VectorLoss):
            return (
                self._of_labels(np.asarray(probabilities))
                if learns_classes(self._method)
                else np.asarray(probabilities)
            )
        return np.column_stack([1.0 - probabilities, probabilities])

    @property
    def history(self) -> History:
        """The reports of the closed periods; ``.to_frame()`` for a table."""
        return History(self._reports[: self._state.period - 1])

    def _linear_scores(self, X: Any, owner: str) -> FloatArray:
        """Return the scores of rows, (rows,) or (rows, outputs)."""
        model, loss, rows = self._model(), self._objective(), self._rows(X, owner)
        coef = loss.matrix(model) if isinstance(loss, VectorLoss) else model
        if not self._method.spec.fit_intercept:
            return np.asarray(rows @ coef)
        if is_wide(self._method):
            return np.asarray(rows @ coef[:-1] + coef[-1])
        return np.asarray(np.column_stack([rows, np.ones(len(rows))]) @ coef)

    def _objective(self) -> Loss:
        """Return the loss that the current model minimises, for as many classes as it has."""
        method, state = self._method.current(self._state)
        return method.spec.objective_for(self._model(), state.features)

    def _of_labels(self, probabilities: FloatArray) -> FloatArray:
        """Return a column for each label: zeros where the model has no class for one yet, and no class without a label."""
        known, fitted = len(self._reader.labels), probabilities.shape[1]
        if fitted > known:
            kept = probabilities[:, :known]
            return np.asarray(kept / kept.sum(axis=1, keepdims=True)) if known > 1 else np.ones_like(kept)
        return np.pad(probabilities, ((0, 0), (0, known - fitted)))

    def _model(self) -> FloatArray:
        coef: FloatArray | None = self._state.coef
        if coef is None:
            raise ProtocolError("the tracker has no model yet; call ask() and tell() first, or give features=.")
        return coef

    def _rows(self, X: Any, owner: str) -> Any:
        """Return rows as the method takes them."""
        if self._state.rows_seen == 0:
            raise ProtocolError("the tracker has no model yet; call ask() and tell() first.")
        return self._reader.rows(self._method, self._state, X, owner)

    def _classes_fitted(self) -> int:
        """Return how many classes the current model has; 0 before the first fit."""
        if not learns_classes(self._method) or not self._state.rows_seen:
            return 0
        loss = self._objective()
        return loss.outputs + 1 if isinstance(loss, VectorLoss) else 0
