"""The tracker of a pre-trained model: a linear head that follows the drift, and advice on when to train it again."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from driftpace import validation
from driftpace.errors import DataError, ParameterError, ProtocolError
from driftpace.losses import (
    LinearLoss,
    LogisticLoss,
    PoissonLoss,
    SoftmaxLoss,
    SquaredLoss,
    VectorLoss,
    classifies,
    get_loss,
)
from driftpace.models import (
    Head,
    HeadFeatures,
    ModelAdapter,
    ScoredRows,
    adapt,
    adapter_of_artefact,
    artefact_of,
)
from driftpace.models.features import MOST_COLUMNS
from driftpace.models.retraining import Gain
from driftpace.models.rows import alike, count_rows, join, read_features
from driftpace.records import Request, Retraining, StepReport
from driftpace.storage import write_state
from driftpace.storage.codec import decode, encode
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
from driftpace.tracker.inputs import InputRows, read_entropy, read_weights
from driftpace.tracker.model_rows import (
    UnknownCategories,
    check_columns,
    check_same_scores,
    codes_of,
    part_from_values,
    part_to_values,
    predictions_of,
    probe_from_values,
    probe_of,
    probe_to_values,
    run_period,
    shares_of,
)
from driftpace.tracker.refit_tracker import RefitTracker
from driftpace.tracker.restart import near_start, restarted
from driftpace.tracker.trained_until import TrainedUntil
from driftpace.typing import FloatArray

if TYPE_CHECKING:
    from driftpace.tracker.history import History

Tracker = Any
"""The class :class:`driftpace.Tracker`, which is handed to trackers of models: imported here it would be a circle."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ModelState:
    """What a tracker of a model knows besides its head.

    ``rows`` are the labelled rows that are kept, oldest first, and ``open_rows`` those of the open period. ``trained`` is the
    period in which the base was trained by the tracker; 0 where it was not. ``gain`` is what training it again would have gained
    in the last period, and ``probe`` the first rows with their scores. ``unknown`` counts the cells of the open period with
    categories that the base was not trained on.
    """

    base: ModelAdapter
    features: HeadFeatures | None = None
    rows: tuple[ScoredRows, ...] = ()
    open_rows: tuple[ScoredRows, ...] = ()
    trained: int = 0
    gain: Gain | None = None
    probe: tuple[Any, FloatArray] | None = None
    unknown: UnknownCategories | None = None


class ModelTracker:
    """Track a model of any kind: how many labels it needs each period, and when to train it again.

    Made by :meth:`Tracker.for_model`. A linear *head* on top of the model, which sees its scores, the columns and the leading
    components of its leaves or of its last hidden layer, is fitted by the default method of :class:`Tracker` and begins as
    the model itself. The labels bought for the head also say whether the model should be trained again
    (:attr:`StepReport.retrain`), which :meth:`retrain` does without a further label. A call that is refused changes nothing.

    Attributes
    ----------
    head : Tracker
        The tracker of the head; None before the first rows or :meth:`fit_pool`.
    base : ModelAdapter
        The model.
    """

    def __init__(  # noqa: PLR0913  public API
        self,
        tracker: Any,
        model: Any,
        *,
        epsilon: float | None = None,
        tolerance: float | None = None,
        loss: LinearLoss | VectorLoss | None = None,
        head: Head | None = None,
        task: str | None = None,
        labels: Any = None,
        trained_until: Any = None,
        rng: np.random.Generator | int | None = None,
        **options: Any,
    ) -> None:
        owner = "Tracker.for_model"
        self._tracker = tracker
        base = adapt(model, task=task, labels=labels)
        self._head_settings = Head() if head is None else head
        if not isinstance(self._head_settings, Head):
            raise ParameterError(f"must be a Head; got {head!r:.80}.", owner=owner, name="head")
        unknown = sorted(set(options) - set(OPTIONS))
        if unknown:
            raise ParameterError(
                f"must be one of {', '.join(OPTIONS)}; got {unknown[0]!r}.", owner=owner, name=unknown[0]
            )
        if (epsilon is None) == (tolerance is None):
            raise ParameterError(
                f"must be given, or tolerance in its place; got {'neither' if epsilon is None else 'both'}.",
                owner=owner,
                name="epsilon",
            )
        target = {"epsilon": epsilon} if tolerance is None else {"tolerance": tolerance}
        validation.positive(owner, **target)
        self._loss = loss_of(base, loss, owner)
        self._trained_until = None if trained_until is None else TrainedUntil.of(trained_until, owner=owner)
        self._epsilon, self._tolerance = epsilon, tolerance
        share = self._head_settings.share
        self._given = options | {name: share * value for name, value in target.items() if value is not None}
        self._given["rng"] = read_entropy(owner, rng)
        self._state = ModelState(base=base)
        self._head = self._begin(None)

    def _begin(self, features: HeadFeatures | None) -> Tracker:
        """Return the tracker of a head; before its features are known, one that asks for the rows that show them."""
        if features is None:
            base, head = self._state.base, self._head_settings
            columns = 0 if head.columns is False or base.features is None else base.features
            columns = 0 if head.columns is None and columns > MOST_COLUMNS else columns
            return self._tracker(
                self._loss, features=max(base.outputs - 1, 1) + columns + head.components, **self._given
            )
        made = self._tracker(self._loss, features=len(features.names), start=features.start, **self._given)
        method, state = made.snapshot()
        return self._tracker.from_snapshot(*near_start(method, state, features.bands))

    @property
    def head(self) -> Tracker:
        """The tracker of the head, in the features that :attr:`head_features` names."""
        return self._head

    @property
    def head_features(self) -> tuple[str, ...] | None:
        """The names of what the head sees; None before the first rows or :meth:`fit_pool`."""
        return None if self._state.features is None else self._state.features.names

    @property
    def head_share(self) -> float:
        """The share of the target that is spent on the head."""
        return self._head_settings.share

    @property
    def base(self) -> ModelAdapter:
        """The model, as an adapter."""
        return self._state.base

    @property
    def period(self) -> int:
        """The open period, from 1."""
        return int(self._head.period)

    @property
    def epsilon(self) -> float | None:
        """The target: how much worse than the same kind of model with unlimited labels is acceptable."""
        return self._epsilon

    @property
    def history(self) -> "History":
        """The reports of the closed periods."""
        history: History = self._head.history
        return history

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The labels of the classes, in the order of :meth:`predict_proba`; None for numbers."""
        return self._state.base.labels

    def fit_pool(self, X: Any) -> tuple[str, ...]:
        """Show rows without labels, from which the features of the head are learned; recommended before the first labels.

        Parameters
        ----------
        X : array-like or data frame
            Rows that could be labelled, a few hundred or more. Later pools change nothing.

        Returns
        -------
        tuple of str
            The names of the features.
        """
        owner = "Tracker.fit_pool"
        state = self._state
        if state.features is None:
            X = state.base.rows(read_features(X, owner), owner)
            if count_rows(X) == 0:
                raise DataError("must have at least one row; got none.", owner=owner, name="X")
            scores = state.base.checked_scores(X, count_rows(X), owner)
            features = HeadFeatures.learn(self._head_settings, state.base, X, scores, owner)
            self._head, self._state = (
                self._opened(features),
                replace(state, features=features, probe=probe_of(X, scores)),
            )
        assert self._state.features is not None
        return self._state.features.names

    def remember(self, X: Any, y: Any, *, sample_weight: Any = None) -> None:
        """Keep rows that the model was trained on, so that :meth:`retrain` trains on them too; no head is fitted to them.

        Parameters
        ----------
        X : array-like or data frame
            Rows as the model takes them.
        y : array-like
            Targets, labels as the model knows them.
        sample_weight : array-like, optional
            What each row counts for.
        """
        owner = "Tracker.remember"
        state = self._state
        X = state.base.rows(read_features(X, owner), owner)
        X = self._alike(X, owner)
        rows = count_rows(X)
        codes = codes_of(state.base, y, rows, owner)
        weights = None if sample_weight is None else read_weights(sample_weight, owner=owner, rows=rows)
        part = ScoredRows(period=self.period - 1, X=X, y=codes, scores=None, weights=weights)
        self._state = replace(state, rows=limited((*state.rows, part), MOST_ROWS))

    def _opened(self, features: HeadFeatures | None) -> Tracker:
        """Return the tracker of a head with other features, in the period at hand, which was asked for as far as it was before."""
        before = self._head.snapshot()[1]
        method, state = restarted(*self._begin(features).snapshot(), before=before)
        fresh = self._tracker.from_snapshot(method, state, self._head._reports)
        if before.order is not None:
            fresh.ask(pool=before.order.pool)
        return fresh

    def ask(self, *, pool: int | None = None) -> Request:
        """Return how many labelled rows this period needs, and why, as :meth:`Tracker.ask` does.

        Parameters
        ----------
        pool : int, optional
            The most rows that this period can provide.

        Returns
        -------
        Request
        """
        request: Request = self._head.ask(pool=pool)
        return request

    def tell(
        self, X: Any = None, y: Any = None, *, sample_weight: Any = None, times: Any = None, final: bool = True
    ) -> StepReport | None:
        """Add labelled rows, however many, and close the period.

        Parameters
        ----------
        X : array-like or data frame, optional
            Rows as the model takes them. Without rows, the period is closed on what was delivered before.
        y : array-like, optional
            Targets, labels as the model knows them.
        sample_weight : array-like, optional
            What each row counts for.
        times : array-like, optional
            When each row is from, with ``trained_until``: dates in any spelling, or numbers. Rows that the model may have been
            trained on are refused, since its scores of them are too good.
        final : bool, default True
            Whether the period is closed.

        Returns
        -------
        StepReport or None
            The report of the closed period, with ``retrain``; None while it stays open.
        """
        owner = "Tracker.tell"
        validation.switch(owner, final=final)
        if (X is None) != (y is None):
            raise DataError(
                "must be given together with the other; got None.", owner=owner, name="X" if X is None else "y"
            )
        state, head = self._state, self._head
        with _unchanged(self):
            if X is not None:
                head, state = self._with_rows(X, y, sample_weight, times, owner)
            method, fitted = head.snapshot()
            scores = method.scores_left_out(fitted) if final and state.open_rows else None
            report = head.tell(final=final) if final else None
            if report is not None:
                unknown = state.unknown
                state, problem = self._closed(state, report, scores)
                checks = report.assumptions if unknown is None else (*report.assumptions, unknown.check)
                report = replace(report, retrain=self._advice(state, report, problem), assumptions=checks)
                head._reports[-1] = report
        self._head, self._state = head, state
        return report

    def _with_rows(self, X: Any, y: Any, sample_weight: Any, times: Any, owner: str) -> tuple[Tracker, ModelState]:
        state = self._state
        given = read_features(X, owner)
        X = state.base.rows(given, owner)
        unknown = UnknownCategories.of(given, X, state.unknown)
        X = self._alike(X, owner)
        rows = count_rows(X)
        self._check_times(times, rows, owner)
        codes = codes_of(state.base, y, rows, owner)
        weights = None if sample_weight is None else read_weights(sample_weight, owner=owner, rows=rows)
        self._check_same_model(owner)
        scores = state.base.checked_scores(X, rows, owner)
        head, features = self._head, state.features
        if features is None and rows > 0:
            features = HeadFeatures.learn(self._head_settings, state.base, X, scores, owner)
            head = self._opened(features)
        if features is not None:
            phi = features.of(state.base, X, scores, owner)
            head.tell(InputRows(X=phi, columns=features.names), codes, sample_weight=weights, final=False)
        if rows == 0:
            return head, state
        part = ScoredRows(period=head.period, X=X, y=codes, scores=scores, weights=weights)
        probe = state.probe or probe_of(X, scores)
        return head, replace(state, features=features, open_rows=(*state.open_rows, part), probe=probe, unknown=unknown)

    def _alike(self, X: Any, owner: str) -> Any:
        """Return rows of the kind of those that are kept, which they are joined to."""
        kept = (*self._state.rows[:1], *self._state.open_rows[:1])
        return alike(X, kept[0].X, owner) if kept else X

    def _closed(
        self, state: ModelState, report: StepReport, scores: FloatArray | None
    ) -> tuple[ModelState, str | None]:
        """Return the state after a period: its rows with the scores of its head, what training would gain, or why it is unknown."""
        if not state.open_rows:
            return state, None
        assert state.features is not None
        scored = with_head_scores(state.open_rows, scores, state.base.outputs)
        rows = limited((*state.rows, *scored), MOST_ROWS)
        window = self._head_settings.window
        gain, problem = gain_now(
            state.base, self._loss, rows, features=state.features, window=window, period=report.period
        )
        return replace(state, rows=rows, open_rows=(), gain=gain, unknown=None), problem

    def _head_scores(self, head: Tracker, state: ModelState, X: Any, base_scores: FloatArray | None) -> FloatArray:
        """Return the scores of the head, (rows, outputs), those of classes where there are several."""
        assert state.features is not None
        scores = base_scores if base_scores is not None else state.base.checked_scores(X, count_rows(X), "Tracker")
        phi = state.features.of(state.base, X, scores)
        return np.asarray(
            np.column_stack([phi, np.ones(len(phi))]) @ head_matrix(head.snapshot()[1].coef, state.base.outputs)
        )

    def _advice(self, state: ModelState, report: StepReport, problem: str | None) -> Retraining:
        target = self._epsilon if self._epsilon is not None else report.epsilon / self._head_settings.share
        return advice(
            state.gain, state.rows, target=target, period=report.period, trained=state.trained, problem=problem
        )

    def retrain(self, model: Any = None, *, trained_until: Any = None) -> Retraining | None:
        """Train the base again on the rows bought so far, in the way that proved best on rows left out; no label is bought for it.

        Where the base goes a part of the way to a model trained again, or is corrected, the head goes on with what it knows;
        otherwise it begins anew, and expects the drift that was seen before.

        Parameters
        ----------
        model : object, optional
            A model that was trained elsewhere, on rows that will not be delivered again, in place of one that is trained here.
        trained_until : date, str or number, optional
            When the last row is from that this model was trained on, as in :meth:`Tracker.for_model`.

        Returns
        -------
        Retraining or None
            The advice that was followed; None where there was none.

        Raises
        ------
        ProtocolError
            If rows of the open period were delivered, there are none to train on, or no training that was tried is better than
            the model in use.
        """
        state, head = self._state, self._head
        if state.open_rows:
            raise ProtocolError("retrain() must be called between periods; call tell() first.")
        report = head.history[-1] if len(head.history) else None
        if model is None and trained_until is not None:
            raise ParameterError(
                f"must be left out without model=; got {trained_until!r:.80}.",
                owner="Tracker.retrain",
                name="trained_until",
            )
        until = self._trained_until
        if trained_until is not None:
            until = TrainedUntil.of(trained_until, owner="Tracker.retrain")
        if model is not None:
            base = adapt(model)
            check_columns(base, state.base, state.rows)
            if base.task != state.base.task or base.labels != state.base.labels:
                raise ParameterError(
                    f"must be of the same task and classes as the model before; got {base.task} of {base.labels}.",
                    owner="Tracker.retrain",
                    name="model",
                )
        else:
            base = self._trained()
        rows = tuple(replace(part, scores=None) for part in state.rows)
        fresh = ModelState(base=base, rows=rows, trained=head.period - 1)
        if model is None and goes_on(base, state.features):
            self._state = replace(fresh, features=state.features)
            return None if report is None else report.retrain
        features = None
        parts = [part.X for part in state.rows]
        if parts:
            X = join(parts)
            scores = base.checked_scores(X, count_rows(X), "Tracker.retrain")
            features = HeadFeatures.learn(self._head_settings, base, X, scores, "Tracker.retrain")
        self._state = replace(fresh, features=features)
        try:
            self._head = self._opened(features)
        except BaseException:
            self._state = state
            raise
        self._trained_until = until
        return None if report is None else report.retrain

    def _trained(self) -> ModelAdapter:
        """Return the base trained again in the way that was found best."""
        state, head = self._state, self._head
        coef = head.snapshot()[1].coef
        return trained_again(
            state.base,
            self._loss,
            state.rows,
            state.gain,
            state.features,
            coef,
            window=self._head_settings.window,
            now=head.period - 1,
        )

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
        """Return the scores of rows by the head: log-odds, scores of classes, logarithms of means, or numbers."""
        owner = "Tracker.predict"
        state = self._state
        X = state.base.rows(read_features(X, owner), owner)
        self._check_same_model(owner)
        scores = state.base.checked_scores(X, count_rows(X), owner)
        if state.features is not None and self._head.snapshot()[1].rows_seen:
            scores = self._head_scores(self._head, state, X, scores)
        return scores[:, 0] if state.base.outputs == 1 else scores

    def predict(self, X: Any) -> Any:
        """Return predictions: numbers, means of counts, or labels of classes.

        Parameters
        ----------
        X : array-like or data frame
            Rows as the model takes them. Before the first fit they are predicted by the model alone.
        """
        return predictions_of(self._state.base, self.decision_function(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the classes, (rows, classes)."""
        return shares_of(self._state.base, self.decision_function(X))

    def _check_times(self, times: Any, rows: int, owner: str) -> None:
        if self._trained_until is not None:
            self._trained_until.check(times, rows, owner=owner)
        elif times is not None:
            raise DataError("must be None without trained_until; got some.", owner=owner, name="times")

    def _check_same_model(self, owner: str) -> None:
        """Refuse a model that scores the first rows differently from before."""
        check_same_scores(self._state.base, self._state.probe, owner)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, the model included, without pickle; :meth:`Tracker.load` reads it.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        write_state(path, self.to_body())

    def to_body(self) -> dict[str, Any]:
        """Return everything as JSON values, which :meth:`from_body` reads."""
        state = self._state
        settings = {name: getattr(self, f"_{name}") for name in ("epsilon", "tolerance", "trained_until")}
        model = {
            "base": None if state.base.format is None else artefact_of(state.base),
            "task": state.base.task,
            "labels": encode(state.base.labels),
            "loss": encode(self._loss),
            "head": encode(self._head_settings),
            "settings": encode(settings | {"given": {name: self._given[name] for name in sorted(self._given)}}),
            "features": encode(state.features),
            "rows": [part_to_values(part) for part in state.rows],
            "open_rows": [part_to_values(part) for part in state.open_rows],
            "trained": state.trained,
            "gain": encode(state.gain),
            "probe": probe_to_values(state.probe),
            "unknown": encode(state.unknown),
        }
        return {**self._head.to_body(), "model": model}

    @classmethod
    def from_body(cls, tracker: Any, body: Any, model: Any, own: dict[str, Any]) -> Self:
        """Return the tracker that :meth:`save` wrote, with the head that was read from it.

        Parameters
        ----------
        tracker : type
            :class:`Tracker`.
        body : dict
            What was read from the file.
        model : object, optional
            The model, where it could not be saved.
        own : dict
            Parts of the user's own that the head needs.
        """
        held = body["model"]
        made = cls.__new__(cls)
        settings = decode(held["settings"])
        made._tracker, made._loss, made._head_settings = tracker, decode(held["loss"]), decode(held["head"])
        for name in ("epsilon", "tolerance", "trained_until"):
            setattr(made, f"_{name}", settings[name])
        made._given = settings["given"]
        if held["base"] is not None:
            base = adapter_of_artefact(held["base"], model=model)
        elif model is None:
            raise ParameterError(
                "must be given, since the model of the tracker cannot be saved; got None.",
                owner="Tracker.load",
                name="model",
            )
        else:
            base = adapt(model, task=held["task"], labels=decode(held["labels"]))
        made._state = ModelState(
            base=base,
            features=decode(held["features"]),
            rows=tuple(part_from_values(part) for part in held["rows"]),
            open_rows=tuple(part_from_values(part) for part in held["open_rows"]),
            trained=held["trained"],
            gain=decode(held["gain"]),
            probe=probe_from_values(held["probe"]),
            unknown=decode(held["unknown"]),
        )
        made._head = tracker.from_body({name: value for name, value in body.items() if name != "model"}, own)
        made._check_same_model("Tracker.load")
        return made

    def __repr__(self) -> str:
        target = f"tolerance={self._tolerance!r}" if self._epsilon is None else f"epsilon={self._epsilon!r}"
        return f"ModelTracker({type(self._state.base).__name__}, {target}, period={self.period})"


OPTIONS = ("confidence", "certificate_level", "orders", "season", "audit", "cap", "pool", "budget")
"""What a tracker of a model takes besides, as Tracker does."""


def track_model(
    tracker: Any, model: Any, *, head: Any, task: str | None, labels: Any, **options: Any
) -> "ModelTracker | RefitTracker":
    """Return the tracker of a model: of a head on top of it, or of the model itself."""
    owner = "Tracker.for_model"
    base = adapt(model, task=task, labels=labels)
    if head is not False:
        if base.hard:
            raise ParameterError(
                "must be False for a model that predicts labels only, which no head can use: it is trained again in every period; "
                f"got {head!r:.80}.",
                owner=owner,
                name="head",
            )
        return ModelTracker(tracker, base, head=head, **options)
    unused = {name: options.pop(name) for name in ("tolerance", "trained_until", "rng")}
    given = sorted(name for name, value in unused.items() if value is not None and name != "rng")
    if given:
        raise ParameterError("must be left out without a head; got one.", owner=owner, name=given[0])
    return RefitTracker(base, loss_of(base, options.pop("loss"), owner), **options)


def loss_of(base: ModelAdapter, loss: Any, owner: str) -> LinearLoss | VectorLoss:
    """Return the loss of a model's task, or the one that was given for it."""
    made: LinearLoss | VectorLoss
    if base.loss_name is not None:
        named = get_loss(base.loss_name, l2=0.0 if base.task == "regression" else 1e-4)
        assert isinstance(named, LinearLoss)
        made = named
    elif base.task == "multiclass":
        made = SoftmaxLoss(l2=1e-4, classes=base.outputs)
    else:
        made = {"regression": SquaredLoss(), "classification": LogisticLoss(l2=1e-4), "counts": PoissonLoss(l2=1e-4)}[
            base.task
        ]
    if loss is None:
        return made
    alike = (
        isinstance(loss, LinearLoss)
        and base.task in ("regression", "classification")
        and classifies(loss) == classifies(made)
        and not loss.takes_exposure
    )
    if not alike and type(loss) is not type(made):
        raise ParameterError(
            f"must be a loss for {base.task}, such as {type(made).__name__}; got {loss!r:.80}.",
            owner=owner,
            name="loss",
        )
    given: LinearLoss | VectorLoss = loss
    return given


@contextmanager
def _unchanged(tracker: ModelTracker) -> Iterator[None]:
    """Undo what a refused call did to the head."""
    head = tracker._head
    method, state = head.snapshot()
    reports, kept = list(head._reports), (head._reader, head._late, head._pool)
    try:
        yield
    except BaseException:
        head._method, head._state, head._reports = method, state, reports
        head._reader, head._late, head._pool = kept
        raise
