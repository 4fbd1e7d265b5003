"""The tracker of a model without a head: it is trained again in every period, on a number of labels from its learning curve."""

import math
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Self

import numpy as np

from driftpace import validation
from driftpace.errors import DataError, ParameterError, ProtocolError
from driftpace.losses import LinearLoss, VectorLoss
from driftpace.models import (
    ModelAdapter,
    ScoredRows,
    Training,
    adapt,
    losses_of,
    train,
)
from driftpace.models.learning_curve import LearningCurve, MeasuredCurve
from driftpace.models.rows import alike, count_rows, read_features, take
from driftpace.progress import over
from driftpace.records import Outcome, Request, StepReport
from driftpace.storage import write_state
from driftpace.storage.codec import decode, encode
from driftpace.tracker.head_rows import MOST_ROWS, by_period, limited
from driftpace.tracker.history import History
from driftpace.tracker.inputs import read_weights
from driftpace.tracker.model_rows import (
    UnknownCategories,
    check_columns,
    check_same_scores,
    codes_of,
    predictions_of,
    probe_of,
    run_period,
    shares_of,
)
from driftpace.tracker.refit_state import RefitState
from driftpace.typing import FloatArray, IntArray

PILOT, LEAST = 60, 40
"""The rows of the first order of all, and of every other period at least, without which no drift would be seen."""

MOST_PILOT = 2_000
"""Where so many rows show no curve, such as rows of one class, more would not either."""

FIRST_ORDER = 0.5
"""The share of what earlier periods ask for that is ordered before the period itself was looked at."""

LEAST_GROWTH = 1.25
"""The rows after each look, at least, in those before it."""

GROWTH = 2.0
"""The most that a learning curve is trusted beyond the rows that it was measured at."""

OPTIMISM = 2.0
"""How many times the excess loss of the mean curve is stated: orders stop where it happens to look low, on few rows."""

FOLDS = 4
SHARES = (0.5, 1.0)
"""The shares of the fresh rows outside a fold that a model is trained on."""

HALF_LIVES = (1.0, 8.0)
"""Periods after which a row counts half: those that are tried."""

KEPT_CURVES = 16
"""The curves that are remembered, the newest."""

MOST_SAMPLES = 10_000_000


class RefitTracker:
    """Track a model that no head can follow: train it again in every period, on as many labels as its learning curve asks for.

    Made by :meth:`Tracker.for_model` with ``head=False``, and for models that predict labels only. This is the fallback: a head
    needs fewer labels wherever there can be one. The loss is that of the model's task, or the share of errors for a model that
    predicts labels only.

    Attributes
    ----------
    base : ModelAdapter
        The model in use.
    """

    def __init__(
        self,
        base: ModelAdapter,
        loss: LinearLoss | VectorLoss,
        *,
        epsilon: float | None,
        cap: int | None = None,
        **options: Any,
    ) -> None:
        owner = "Tracker.for_model"
        if options:
            name = min(options)
            raise ParameterError("must be left out without a head; got one.", owner=owner, name=name)
        if epsilon is None:
            raise ParameterError("must be given without a head; got None.", owner=owner, name="epsilon")
        validation.positive(owner, epsilon=epsilon)
        if cap is not None:
            validation.count(owner, least=1, cap=cap)
        if not base.trainable:
            raise ParameterError(
                f"must be a model that can be trained again where there is no head; {type(base).__name__} has no refit().",
                owner=owner,
                name="model",
            )
        self._loss, self._epsilon, self._cap = loss, float(epsilon), cap
        self._state = RefitState(model=base)

    @property
    def base(self) -> ModelAdapter:
        """The model in use, as an adapter."""
        return self._state.model

    @property
    def period(self) -> int:
        """The open period, from 1."""
        return self._state.period

    @property
    def epsilon(self) -> float:
        """The target: how much worse than the same learner with unlimited labels of the period is acceptable."""
        return self._epsilon

    @property
    def history(self) -> History:
        """The reports of the closed periods."""
        return History(self._state.reports)

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The labels of the classes; None for numbers."""
        return self._state.model.labels

    def remember(self, X: Any, y: Any, *, sample_weight: Any = None) -> None:
        """Keep rows that the model was trained on, so that it is trained again on them too.

        Parameters
        ----------
        X : array-like or data frame
            Rows as the model takes them.
        y : array-like
            Targets, labels as the model knows them.
        sample_weight : array-like, optional
            What each row counts for.
        """
        part = self._part(X, y, sample_weight, self.period - 1, "Tracker.remember")
        self._state = replace(self._state, rows=limited((*self._state.rows, part), MOST_ROWS))

    def ask(self, *, pool: int | None = None) -> Request:
        """Return how many labelled rows this period needs, and why.

        Parameters
        ----------
        pool : int, optional
            The most rows that this period can provide.

        Returns
        -------
        Request
        """
        if pool is not None:
            validation.count("Tracker.ask", least=0, pool=pool)
        state = self._state
        if state.ordered is None or state.gathered >= state.ordered:
            state = self._ordered(state, pool)
        elif pool != state.pool:
            state = replace(state, pool=pool)
        most = self._most(pool)
        ordered = state.ordered or 0
        self._state = state
        risk, outcome = self._standing(state, min(ordered, most))
        stated = "no learning curve yet" if math.isinf(risk) else f"expected excess loss {risk:.3g}"
        return Request(
            period=state.period,
            samples=max(min(ordered, most) - state.gathered, 0),
            samples_theory=ordered,
            interval=(min(ordered, most), most if outcome is Outcome.PILOT else min(math.ceil(GROWTH * ordered), most)),
            epsilon=self._epsilon,
            risk_bound=risk,
            outcome=outcome,
            reason=f"{stated} with {min(ordered, most)} rows (target {self._epsilon:.3g})",
            assumptions=(state.audit.check,),
        )

    def _most(self, pool: int | None) -> int:
        return min(each for each in (pool, self._cap, MOST_SAMPLES) if each is not None)

    def _curve(self, state: RefitState) -> LearningCurve | None:
        """Return the learning curve of the open period; None before any was measured."""
        measured = state.curves if state.look is None else (*state.curves, state.look)
        return LearningCurve.of(measured, now=state.period) if measured else None

    def _ordered(self, state: RefitState, pool: int | None) -> RefitState:
        """Return the state with the next order: a pilot, then as many rows as the curve so far asks for, in steps."""
        gathered = state.gathered
        if gathered and (state.look is None or state.looked < gathered):
            found = self._compared(state)
            state = replace(state, look=None if found is None else found[0], looked=gathered)
        curve = self._curve(state)
        if curve is None:
            more = gathered if gathered >= MOST_PILOT else math.ceil(GROWTH * gathered)
            return replace(state, pool=pool, ordered=PILOT if gathered < PILOT else more)
        aim = self._epsilon / (OPTIMISM * state.audit.factor)
        trusted = math.ceil(GROWTH * gathered) if gathered else math.ceil(GROWTH * state.reports[-1].samples)
        wanted = curve.rows_for(aim, max(trusted, LEAST))
        rows = max(trusted, LEAST) if wanted is None else wanted
        if not gathered:
            return replace(state, pool=pool, ordered=max(math.ceil(FIRST_ORDER * rows), LEAST))
        if rows <= gathered:
            return replace(state, pool=pool, ordered=gathered)
        return replace(state, pool=pool, ordered=max(rows, math.ceil(LEAST_GROWTH * gathered)))

    def _standing(self, state: RefitState, rows: int) -> tuple[float, Outcome]:
        """Return the excess loss to state with so many rows, and the outcome."""
        curve = self._curve(state)
        if curve is None or (state.look is None and not state.curves):
            return math.inf, Outcome.PILOT
        risk = OPTIMISM * state.audit.factor * curve.excess(float(rows))
        if risk <= self._epsilon:
            return risk, Outcome.MET
        if rows >= self._most(state.pool):
            return risk, Outcome.POOL if rows == state.pool else Outcome.CAPPED
        return risk, Outcome.SHORT if rows < (state.ordered or 0) else Outcome.SETTLING

    def tell(self, X: Any = None, y: Any = None, *, sample_weight: Any = None, final: bool = True) -> StepReport | None:
        """Add labelled rows, however many, and close the period.

        Parameters
        ----------
        X : array-like or data frame, optional
            Rows as the model takes them. Without rows, the period is closed on what was delivered before.
        y : array-like, optional
            Targets, labels as the model knows them.
        sample_weight : array-like, optional
            What each row counts for.
        final : bool, default True
            Whether the period is closed.

        Returns
        -------
        StepReport or None
            The report of the closed period; None while it stays open.
        """
        owner = "Tracker.tell"
        validation.switch(owner, final=final)
        if (X is None) != (y is None):
            raise DataError(
                "must be given together with the other; got None.", owner=owner, name="X" if X is None else "y"
            )
        state = self._state
        if state.ordered is None:
            raise ProtocolError("tell() must follow ask() in every period.")
        if X is not None:
            check_same_scores(state.model, state.probe, owner)
            given = read_features(X, owner)
            part = self._part(given, y, sample_weight, state.period, owner)
            if len(part):
                assert part.scores is not None
                probe = state.probe or probe_of(part.X, part.scores)
                unknown = UnknownCategories.of(given, part.X, state.unknown)
                state = replace(state, open_rows=(*state.open_rows, part), probe=probe, unknown=unknown)
        report = None
        if final:
            state, report = self._closed(state)
        self._state = state
        return report

    def _part(self, X: Any, y: Any, sample_weight: Any, period: int, owner: str) -> ScoredRows:
        """Return rows with the scores of the model in use, or refuse them."""
        state = self._state
        X = state.model.rows(read_features(X, owner), owner)
        kept = (*state.rows[:1], *state.open_rows[:1])
        X = alike(X, kept[0].X, owner) if kept else X
        rows = count_rows(X)
        codes = codes_of(state.model, y, rows, owner)
        weights = None if sample_weight is None else read_weights(sample_weight, owner=owner, rows=rows)
        scores = state.model.checked_scores(X, rows, owner)
        return ScoredRows(period=period, X=X, y=codes, scores=scores, weights=weights)

    def _closed(self, state: RefitState) -> tuple[RefitState, StepReport]:
        """Return the state after a period: its curve is measured, and the model trained again where that is better."""
        began = time.perf_counter()
        model, curves, audit = state.model, state.curves, state.audit
        found = self._compared(state)
        if found is not None:
            measured, half_life = found
            if curves:
                audit = audit.after(LearningCurve.of(curves, now=state.period), measured)
            state = replace(state, look=measured, audit=audit)
            if measured.falls[-1] > 0.0:
                how = Training(way="fresh", half_life=half_life)
                with suppress(
                    DataError
                ):  # the library trains on each part of the rows, but not on all: the model stays
                    model = train(model, (*state.rows, *state.open_rows), how, now=state.period)
                    state = replace(state, probe=None)
            curves = (*curves, measured)[-KEPT_CURVES:]
        risk, outcome = self._standing(state, state.gathered)
        report = StepReport(
            period=state.period,
            asked=state.ordered or 0,
            samples=state.gathered,
            rho=None,
            rho_upper=None,
            measures=None,
            risk_bound=risk,
            certificate=None,
            outcome=outcome,
            epsilon=self._epsilon,
            assumptions=(audit.check,) if state.unknown is None else (audit.check, state.unknown.check),
            seconds=time.perf_counter() - began,
        )
        after = replace(
            state,
            model=model,
            period=state.period + 1,
            rows=limited((*state.rows, *by_period(state.open_rows)), MOST_ROWS),
            open_rows=(),
            unknown=None,
            ordered=None,
            look=None,
            looked=0,
            pool=None,
            curves=curves,
            audit=audit,
            reports=(*state.reports, report),
        )
        return after, report

    def _losses(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the loss of each row."""
        if not self._state.model.hard:
            return losses_of(self._loss, scores, y)
        chosen = scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0.0).astype(np.int64)
        return np.asarray(chosen != y, dtype=np.float64)

    def _compared(self, state: RefitState) -> tuple[MeasuredCurve, float] | None:
        """Return how much fresh rows lower the loss of the model in use, and the half-life that is best with all of them.

        Each fold is left out once. None where there are too few rows, or the library cannot train on them.
        """
        parts = by_period(state.open_rows)
        if not parts or len(parts[0]) < 2 * FOLDS:
            return None
        (part,) = parts
        assert part.scores is not None
        before = self._losses(part.scores, part.y)
        weights = np.ones(len(part)) if part.weights is None else part.weights
        fold = np.arange(len(part)) % FOLDS
        falls = np.zeros((len(HALF_LIVES), len(SHARES), len(part)))
        try:
            for one in over(range(FOLDS), "learning curve", total=FOLDS):
                held, kept = np.flatnonzero(fold == one), np.flatnonzero(fold != one)
                X = take(part.X, held)
                for place, half_life in enumerate(HALF_LIVES):
                    for step, share in enumerate(SHARES):
                        rows = kept[:: round(1.0 / share)]
                        model = self._trained(state, part, rows, half_life)
                        scores = model.checked_scores(X, len(held), "Tracker.tell")
                        falls[place, step, held] = before[held] - self._losses(scores, part.y[held])
        except DataError:  # such as folds of one class, which not every library trains on
            return None
        total = float(weights.sum())
        means = falls @ weights / total
        best = int(np.argmax(means[:, -1]))
        start = float(before @ weights) / total
        around = (falls[best] - means[best][:, None]) * weights
        last = falls[best, -1] - falls[best, -2]
        doubled = float(last @ weights) / total
        error = float(np.sqrt(np.square((last - doubled) * weights).sum())) / total
        curve = MeasuredCurve(
            period=state.period,
            rows=np.array([len(part) * (FOLDS - 1.0) / FOLDS * share for share in SHARES]),
            falls=means[best],
            errors=np.sqrt(np.square(around).sum(axis=1)) / total,
            start=start,
            doubling=max(doubled, 0.0) + error,
            start_error=float(np.sqrt(np.square((before - start) * weights).sum())) / total,
        )
        return curve, HALF_LIVES[best]

    def _trained(self, state: RefitState, part: ScoredRows, rows: IntArray, half_life: float) -> ModelAdapter:
        """Return the model trained on the rows that are kept and some of the open period."""
        every = [np.arange(len(each)) for each in state.rows]
        how = Training(way="fresh", half_life=half_life)
        return train(state.model, (*state.rows, part), how, now=state.period, rows=(*every, rows))

    def retrain(self, model: Any = None) -> None:
        """Put a model that was trained elsewhere in place of the one in use; without one there is nothing to do.

        Parameters
        ----------
        model : object, optional
            A fitted model of the same task, columns and classes.
        """
        owner, state = "Tracker.retrain", self._state
        if state.open_rows:
            raise ProtocolError("retrain() must be called between periods; call tell() first.")
        if model is None:
            return
        base = adapt(model)
        if (base.task, base.labels, base.hard) != (state.model.task, state.model.labels, state.model.hard):
            raise ParameterError(
                f"must be of the same task and classes as the model before; got {base.task} of {base.labels}.",
                owner=owner,
                name="model",
            )
        check_columns(base, state.model, state.rows)
        self._state = replace(state, model=base, probe=None)

    def step(self, draw: Callable[[int], tuple[Any, ...]], *, pool: int | None = None) -> StepReport:
        """Run a whole period: ask, draw rows until there are enough or no more, and close it.

        Parameters
        ----------
        draw : callable
            ``draw(k)`` returns k fresh rows ``(X, y)``, or fewer when there are no more.
        pool : int, optional
            The most rows that this period can provide.

        Returns
        -------
        StepReport
        """
        return run_period(self, draw, pool)

    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores of rows by the model in use."""
        owner, model = "Tracker.predict", self._state.model
        X = model.rows(read_features(X, owner), owner)
        check_same_scores(model, self._state.probe, owner)
        scores = model.checked_scores(X, count_rows(X), owner)
        return scores[:, 0] if model.outputs == 1 else scores

    def predict(self, X: Any) -> Any:
        """Return predictions: numbers, means of counts, or labels of classes.

        Parameters
        ----------
        X : array-like or data frame
            Rows as the model takes them.
        """
        return predictions_of(self._state.model, self.decision_function(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the classes, (rows, classes)."""
        return shares_of(self._state.model, self.decision_function(X))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, the model included, without pickle; :meth:`Tracker.load` reads it.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        settings = {"loss": encode(self._loss), "epsilon": self._epsilon, "cap": self._cap}
        write_state(path, {"refit": {**settings, **self._state.to_values()}})

    @classmethod
    def from_body(cls, body: Any, model: Any = None) -> Self:
        """Return the tracker that :meth:`save` wrote.

        Parameters
        ----------
        body : dict
            What was read from the file.
        model : object, optional
            The model, where only its weights were saved.
        """
        held = body["refit"]
        made = cls.__new__(cls)
        made._loss, made._epsilon, made._cap = decode(held["loss"]), held["epsilon"], held["cap"]
        made._state = RefitState.of_values(held, model)
        return made

    def __repr__(self) -> str:
        return f"RefitTracker({type(self._state.model).__name__}, epsilon={self._epsilon!r}, period={self.period})"
