"""The method that follows a pre-trained model: another method fits a head on top of it."""

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from driftpace.adaptive import MetricTarget
from driftpace.losses import LinearLoss, VectorLoss
from driftpace.models import Head, HeadFeatures, ModelAdapter, ScoredRows
from driftpace.models.rows import join
from driftpace.models.stored import StoredModel
from driftpace.planning import Budget, Outlook
from driftpace.records import Request, StepReport
from driftpace.tracker.budget_method import BudgetMethod
from driftpace.tracker.head_rows import (
    MOST_ROWS,
    advice,
    gain_now,
    goes_on,
    head_matrix,
    limited,
    trained_again,
    with_head_scores,
)
from driftpace.tracker.head_state import HeadState
from driftpace.tracker.inputs import InputRows, read_rows
from driftpace.tracker.method import Folds, Method, TellEvent, require_order
from driftpace.tracker.restart import restarted
from driftpace.tracker.revision import orders_of, with_orders
from driftpace.tracker.spending import Spending
from driftpace.tracker.state import ModelSpec, reweighted
from driftpace.typing import BoolArray, FloatArray

_TELL, _PREDICT = "Tracker.tell", "Tracker.predict"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class HeadMethod:
    """Fit a head on top of a model, by the method ``inner``, and judge whether the model should be trained again.

    Rows have the ``columns`` of the model. ``epsilon`` and ``tolerance`` are the targets of both together, of which ``inner``
    spends a share on the head. The first model has the hash ``sha256`` and the format ``form``.
    """

    inner: Any
    head: Head
    columns: tuple[str, ...]
    form: str
    sha256: str
    epsilon: float | None
    tolerance: float | None

    @property
    def spec(self) -> ModelSpec:
        """What is fitted; the number of features is that of a head before any rows."""
        spec: ModelSpec = self.inner.spec
        return spec

    @property
    def metric(self) -> MetricTarget | None:
        """The target in a metric: none."""
        return None

    @property
    def confidence(self) -> float | None:
        """The probability with which the target is met."""
        confidence: float | None = self.inner.confidence
        return confidence

    @property
    def budget(self) -> Budget | None:
        """The budget."""
        budget: Budget | None = self.inner.budget
        return budget

    @property
    def adjacent(self) -> bool:
        """Whether rows are bought in neighbouring periods only."""
        return bool(self.inner.adjacent)

    def begin(self) -> HeadState:
        """Return the state before the first period."""
        return HeadState(columns=self.columns, form=self.form, sha256=self.sha256, inner=self.inner.begin())

    def _fitted_by(self, features: HeadFeatures | None) -> Any:
        """Return the method that fits a head with these features."""
        return self.inner if features is None else _with_features(self.inner, features)

    def ask(self, state: HeadState, pool: int | None) -> tuple[HeadState, Request]:
        """Size the open period, once or again after rows were delivered."""
        inner, request = self._fitted_by(state.head_features).ask(state.inner, pool)
        return replace(state, inner=inner), request

    def gather(self, state: HeadState, event: TellEvent) -> HeadState:
        """Add rows to the open period; the first of all show the features of the head."""
        require_order(state)
        rows = len(event.y)
        if rows == 0:
            return state
        scores = state.adapter.checked_scores(event.X, rows, _TELL)
        features = state.head_features
        if features is None:
            features = HeadFeatures.learn(self.head, state.adapter, event.X, scores, _TELL)
            state = self._begun(replace(state, head_features=features), orders=True)
        phi = _features_of(features, state.adapter, event.X, scores, _TELL)
        inner = self._fitted_by(features).gather(state.inner, replace(event, X=phi, columns=features.names))
        part = ScoredRows(period=state.period, X=event.X, y=event.y, scores=scores, weights=event.weights)
        return replace(state, inner=inner, open_rows=(*reweighted(state.open_rows, event.earlier_weights), part))

    def _begun(self, state: HeadState, *, orders: bool) -> HeadState:
        """Return the state with a head that begins anew, in the period at hand, with its ``orders`` or without."""
        method = self._fitted_by(state.head_features)
        _, inner = restarted(method, method.begin(), before=state.inner)
        return replace(state, inner=with_orders(inner, orders_of(state.inner)) if orders else inner)

    def forget(self, state: HeadState) -> HeadState:
        """Withdraw the rows of the open period; features that only they have shown are forgotten too."""
        if state.order is None or not state.open_rows:
            return state
        inner = self._fitted_by(state.head_features).forget(state.inner)
        state = replace(state, inner=inner, open_rows=())
        return state if state.rows else self._begun(replace(state, head_features=None), orders=True)

    def close(self, state: HeadState) -> tuple[HeadState, StepReport]:
        """Fit the head, and say whether the base should be trained again."""
        method = self._fitted_by(state.head_features)
        scores = method.scores_left_out(state.inner) if state.open_rows else None
        inner, report = method.close(state.inner)
        after, problem = replace(state, inner=inner, open_rows=()), None
        if state.open_rows:
            assert state.head_features is not None
            features, loss = state.head_features, cast("LinearLoss | VectorLoss", self.spec.loss)
            scored = with_head_scores(state.open_rows, scores, state.adapter.outputs)
            rows = limited((*state.rows, *scored), MOST_ROWS)
            window = self.head.window
            gain, problem = gain_now(state.adapter, loss, rows, features=features, window=window, period=report.period)
            after = replace(after, rows=rows, gain=gain)
        target = self.epsilon if self.epsilon is not None else report.epsilon / self.head.share
        retrain = advice(
            after.gain, after.rows, target=target, period=report.period, trained=state.trained, problem=problem
        )
        return after, replace(report, retrain=retrain)

    def trained(self, state: HeadState) -> ModelAdapter:
        """Return the base trained again on the rows that are kept, in the way that was found best."""
        return trained_again(
            state.adapter,
            cast("LinearLoss | VectorLoss", self.spec.loss),
            state.rows,
            state.gain,
            state.head_features,
            state.coef,
            window=self.head.window,
            now=state.period - 1,
        )

    def rebased(self, state: HeadState, base: StoredModel) -> HeadState:
        """Return the state with another base: the head goes on, or begins anew and expects the drift that was seen before."""
        known = goes_on(base.adapter, state.head_features)
        features = state.head_features if known else None
        if state.rows and not known:
            X = join([part.X for part in state.rows])
            scores = base.adapter.checked_scores(X, len(X), "Campaign.retrain")
            features = HeadFeatures.learn(self.head, base.adapter, X, scores, "Campaign.retrain")
        fresh = replace(
            state,
            form=base.form,
            sha256=base.sha256,
            base=base,
            head_features=features,
            rows=tuple(replace(part, scores=None) for part in state.rows),
            open_rows=(),
            trained=state.period - 1,
            gain=None,
        )
        return fresh.without_order() if known else self._begun(fresh, orders=False)

    def scores(self, state: HeadState, X: FloatArray) -> FloatArray:
        """Return the scores of rows, (rows,) or (rows, classes): those of the base alone before the head is fitted."""
        base = state.adapter
        scores = base.checked_scores(X, len(X), _PREDICT)
        if state.head_features is not None and state.rows_seen:
            phi = _features_of(state.head_features, base, X, scores, _PREDICT)
            assert state.coef is not None
            scores = np.column_stack([phi, np.ones(len(phi))]) @ head_matrix(state.coef, base.outputs)
        return np.asarray(scores[:, 0] if base.outputs == 1 else scores)

    def seen(self, state: HeadState, X: FloatArray) -> FloatArray:
        """Return what the head sees of rows."""
        if state.head_features is None:
            return X
        scores = state.adapter.checked_scores(X, len(X), _PREDICT)
        return _features_of(state.head_features, state.adapter, X, scores, _PREDICT)

    def outlook(self, state: HeadState) -> Outlook:
        """Return how the risk of the head develops from the open period on."""
        outlook: Outlook = self._fitted_by(state.head_features).outlook(state.inner)
        return outlook

    def target(self, state: HeadState) -> float:
        """Return the target of the head in the open period."""
        return float(self._fitted_by(state.head_features).target(state.inner))

    def forecast(self, state: HeadState, samples: int) -> float | None:
        """Return the risk predicted for a period of ``samples`` rows in all."""
        risk: float | None = self._fitted_by(state.head_features).forecast(state.inner, samples)
        return risk

    def spending(self, state: HeadState) -> Spending | None:
        """Return the money in the open period; None without a budget."""
        spending: Spending | None = self.inner.spending(state.inner)
        return spending

    def losses_left_out(self, state: HeadState, folds: Folds) -> FloatArray:
        """Return the loss of each row of the open period by a head that did not see its fold."""
        losses: FloatArray = self._fitted_by(state.head_features).losses_left_out(state.inner, folds)
        return losses

    def held_out(self, state: HeadState) -> BoolArray | None:
        """Return which rows of the open period are held out from every fit."""
        held: BoolArray | None = self.inner.held_out(state.inner)
        return held

    def current(self, state: HeadState) -> tuple[Method, Any]:
        """Return the method and the state of the head."""
        current: tuple[Method, Any] = self._fitted_by(state.head_features).current(state.inner)
        return current


def _with_features(method: Any, features: HeadFeatures) -> Any:
    """Return a method that fits a head with these features, from the base as it is."""
    if isinstance(method, BudgetMethod):
        return replace(method, inner=_with_features(method.inner, features))
    spec = replace(method.spec, features=len(features.names), start=features.start)
    return replace(method, spec=spec, config=replace(method.config, near_start=True, bands=features.bands))


def _features_of(
    features: HeadFeatures, base: ModelAdapter, X: FloatArray, scores: FloatArray, owner: str
) -> FloatArray:
    """Return what a head sees of rows, or refuse what is not finite."""
    rows = InputRows(X=features.of(base, X, scores, owner), columns=features.names)
    return read_rows(rows, owner=owner, features=None, columns=None).X
