"""Several kinds of models on the same labels: which one is in use follows from their losses on fresh rows left out.

Each kind is followed by a tracker of its own, and all of them get every row. A period has as many rows as the kind in use asks
for. When it is closed, every kind is fitted without each of the same folds in turn and compared on the fold, row by row, so that
the noise of labels cancels; earlier periods count less. Another kind takes over where the lower end of its gain exceeds a share
of the target, or where it loses no more than that share, by its upper end, and its excess loss is a smaller part of its target:
then it needs fewer labels.
"""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from driftpace import validation
from driftpace.errors import DataError, ParameterError, ProtocolError
from driftpace.losses import LinearLoss, VectorLoss
from driftpace.models import ModelAdapter, adapt
from driftpace.models.retraining import CONFIDENCE
from driftpace.records import Assumption, Request, Retraining, Selected, StepReport, Verdict
from driftpace.selection import Tally, choose, divisible, make_folds, most_folds
from driftpace.storage import write_state
from driftpace.storage.codec import decode, encode
from driftpace.tracker.history import History
from driftpace.tracker.method import Folds
from driftpace.tracker.model_rows import codes_of, predictions_of, run_period, shares_of
from driftpace.tracker.model_tracker import OPTIONS, ModelTracker, loss_of
from driftpace.tracker.state import mean_one, weights_of
from driftpace.typing import FloatArray

LINEAR = "linear"
"""The kind that is no model of the user's: a linear model of the columns."""

CHANGE = 0.2
"""The share of the target that a gain must exceed for a kind to take over, and that a cheaper kind may lose at most."""

CHEAPER = 0.8
"""A kind that needs fewer labels has an excess loss of at most this share, in units of its target, of that of the kind in use."""

MEMORY = 0.8
"""What the comparison of a period counts for one period later."""

FOLDS = 5

_OWNER = "Tracker.for_models"
_NOT_SHARED = ("audit", "budget")


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """A kind of model with its tracker: a :class:`Tracker` of a linear model, or a tracker of a head on a model."""

    name: str
    tracker: Any

    @property
    def fitted(self) -> Any:
        """The :class:`Tracker` of what is fitted."""
        return self.tracker.head if isinstance(self.tracker, ModelTracker) else self.tracker

    def losses_left_out(self, folds: Folds) -> FloatArray:
        """Return the loss of each row of the open period by this kind without the fold of the row."""
        method, state = self.fitted.snapshot()
        return np.asarray(method.losses_left_out(state, folds))


class KindsTracker:
    """Track several kinds of models on the same labels, and use the one that the evidence speaks for.

    Made by :meth:`Tracker.for_models`. A call that is refused changes nothing.

    Attributes
    ----------
    kinds : dict
        The tracker of each kind, by its name.
    in_use : str
        The name of the kind that predicts and orders.
    """

    def __init__(  # noqa: PLR0913  public API
        self,
        tracker: Any,
        models: Sequence[Any],
        *,
        epsilon: float | None = None,
        tolerance: float | None = None,
        loss: LinearLoss | VectorLoss | None = None,
        head: Any = None,
        task: str | None = None,
        labels: Any = None,
        trained_until: Any = None,
        rng: Any = None,
        **options: Any,
    ) -> None:
        refused = next((name for name in _NOT_SHARED if options.get(name) is not None), None)
        if refused is not None:
            raise ParameterError(
                f"must be left out with several kinds; got {options[refused]!r:.80}.", owner=_OWNER, name=refused
            )
        bases = _adapters(models, task, labels)
        self._base = next(base for base in bases if base is not None)
        self._loss = loss_of(self._base, loss, _OWNER)
        self._epsilon, self._tolerance = epsilon, tolerance
        kinds = []
        for name, base in zip(_names(bases), bases, strict=True):
            shared = {"epsilon": epsilon, "tolerance": tolerance, "rng": rng, **options}
            if base is None:
                unknown = sorted(set(options) - set(OPTIONS))
                if unknown:
                    raise ParameterError(
                        f"must be one of {', '.join(OPTIONS)}; got {unknown[0]!r}.", owner=_OWNER, name=unknown[0]
                    )
                made = tracker(self._loss, **shared)
            else:
                made = ModelTracker(tracker, base, loss=self._loss, head=head, trained_until=trained_until, **shared)
            kinds.append(Kind(name=name, tracker=made))
        self._kinds = tuple(kinds)
        self._chosen = 0
        self._tally: Tally | None = None
        self._reports: list[StepReport] = []

    @property
    def kinds(self) -> dict[str, Any]:
        """The tracker of each kind, by its name."""
        return {kind.name: kind.tracker for kind in self._kinds}

    @property
    def in_use(self) -> str:
        """The name of the kind that predicts and orders."""
        return self._kinds[self._chosen].name

    @property
    def _used(self) -> Kind:
        return self._kinds[self._chosen]

    @property
    def period(self) -> int:
        """The open period, from 1."""
        return int(self._used.tracker.period)

    @property
    def epsilon(self) -> float | None:
        """The target: how much worse than the kind in use with unlimited labels is acceptable."""
        return self._epsilon

    @property
    def history(self) -> History:
        """The reports of the closed periods, each of the kind that was in use."""
        return History(self._reports)

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """The labels of the classes; None for numbers."""
        return self._base.labels

    def fit_pool(self, X: Any) -> None:
        """Show rows without labels, from which the heads learn what they see; recommended before the first labels.

        Parameters
        ----------
        X : array-like or data frame
            Rows that could be labelled, a few hundred or more.
        """
        for kind in self._kinds:
            if isinstance(kind.tracker, ModelTracker):
                kind.tracker.fit_pool(X)

    def ask(self, *, pool: int | None = None) -> Request:
        """Return how many labelled rows the kind in use needs, and why.

        Parameters
        ----------
        pool : int, optional
            The most rows that this period can provide.

        Returns
        -------
        Request
        """
        requests = [kind.tracker.ask(pool=pool) for kind in self._kinds]
        request: Request = requests[self._chosen]
        return request

    def tell(
        self, X: Any = None, y: Any = None, *, sample_weight: Any = None, times: Any = None, final: bool = True
    ) -> StepReport | None:
        """Add labelled rows for every kind, and close the period.

        Parameters
        ----------
        X : array-like or data frame, optional
            Rows as the models take them. Without rows, the period is closed on what was delivered before.
        y : array-like, optional
            Targets, labels as the models know them.
        sample_weight : array-like, optional
            What each row counts for.
        times : array-like, optional
            When each row is from, with ``trained_until``.
        final : bool, default True
            Whether the period is closed.

        Returns
        -------
        StepReport or None
            The report of the kind in use in the closed period, with ``selected``: the loss of each kind on rows left out, and the
            kind in use from now on. None while the period stays open.
        """
        owner = "Tracker.tell"
        validation.switch(owner, final=final)
        if (X is None) != (y is None):
            raise DataError(
                "must be given together with the other; got None.", owner=owner, name="X" if X is None else "y"
            )
        with _unchanged(self):
            if X is not None:
                for kind in self._kinds:
                    self._tell(kind, X, y, sample_weight, times)
            return self._close() if final else None

    def _tell(self, kind: Kind, X: Any, y: Any, sample_weight: Any, times: Any) -> None:
        if isinstance(kind.tracker, ModelTracker):
            kind.tracker.tell(X, y, sample_weight=sample_weight, times=times, final=False)
        else:
            codes = codes_of(self._base, y, np.shape(y)[0], "Tracker.tell")
            kind.tracker.tell(X, codes, sample_weight=sample_weight, final=False)

    def _close(self) -> StepReport:
        tally, folds = self._compared()
        reports = [kind.tracker.tell() for kind in self._kinds]
        names = tuple(kind.name for kind in self._kinds)
        before = self._chosen
        report: StepReport = reports[before]
        if tally is None or folds == 0:
            selected = Selected(candidates=names, chosen=names[before])
            sentence = f"{names[before]} is in use; the rows of this period were too few to compare the kinds"
        else:
            self._chosen = _change(tally, before, reports, self._target(reports))
            selected = replace(
                choose(names, tally, last=before, folds=folds),
                chosen=names[self._chosen],
                gaps=tuple(float(gap) for gap in tally.gaps(self._chosen)),
            )
            sentence = _sentence(selected, names[before])
        self._tally = tally
        check = Assumption(name="kinds", verdict=Verdict.PASS, sentence=f"{sentence}.", judged=False)
        report = replace(report, selected=selected, assumptions=(*report.assumptions, check))
        self._reports.append(report)
        return report

    def _target(self, reports: Sequence[StepReport]) -> float:
        """Return the target of a whole kind, of which a head spends a share."""
        if self._epsilon is not None:
            return self._epsilon
        used = self._used.tracker
        share = used.head_share if isinstance(used, ModelTracker) else 1.0
        return reports[self._chosen].epsilon / share

    def _compared(self) -> tuple[Tally | None, int]:
        """Return the losses of all kinds on rows that they were not fitted to, with those of earlier periods, and the folds."""
        state = self._used.fitted.snapshot()[1]
        rows, classes = int(state.gathered), None
        if rows and self._base.labels is not None:
            classes = divisible(np.concatenate([batch.y for batch in state.batches]), None)
        count = most_folds(rows, FOLDS, classes=classes)[0]
        if count == 0:
            return self._tally, 0
        fold = make_folds(rows, count, rng=np.random.default_rng((self.period, 17)), classes=classes)
        loss = replace(self._loss, l2=0.0)
        losses = np.array([kind.losses_left_out(Folds(fold=fold, loss=loss, designs={})) for kind in self._kinds])
        tally = Tally.of(losses, None, mean_one(weights_of(state.batches), np.ones(rows, dtype=np.bool_)))
        if not tally.finite:  # a period whose fit diverged is not remembered
            return self._tally, 0
        return (tally if self._tally is None else self._tally.after(tally, MEMORY)), count

    def retrain(self, model: Any = None, *, kind: str | None = None, trained_until: Any = None) -> Retraining | None:
        """Train the base of a kind again, as :meth:`ModelTracker.retrain` does; what was known of its losses is forgotten.

        Parameters
        ----------
        model : object, optional
            A model that was trained elsewhere.
        kind : str, optional
            The name of the kind; by default the one in use.
        trained_until : date, str or number, optional
            When the last row is from that ``model`` was trained on.
        """
        name = self.in_use if kind is None else kind
        validation.choice("Tracker.retrain", tuple(self.kinds), kind=name)
        tracker = self.kinds[name]
        if not isinstance(tracker, ModelTracker):
            raise ProtocolError(f"retrain() requires a kind with a model below its head; {name} has none.")
        advice = tracker.retrain(model, trained_until=trained_until)
        self._tally = None
        return advice

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
        """Return the scores of rows by the kind in use."""
        return np.asarray(self._used.tracker.decision_function(X))

    def predict(self, X: Any) -> Any:
        """Return predictions by the kind in use: numbers, means of counts, or labels of classes.

        Parameters
        ----------
        X : array-like or data frame
            Rows as the models take them.
        """
        return predictions_of(self._base, self.decision_function(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the classes by the kind in use, (rows, classes)."""
        return shares_of(self._base, self.decision_function(X))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, the models included, without pickle; :meth:`Tracker.load` reads it.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        kinds = [{"name": kind.name, "tracker": kind.tracker.to_body()} for kind in self._kinds]
        held = {"loss": self._loss, "epsilon": self._epsilon, "tolerance": self._tolerance, "tally": self._tally}
        settings = encode({**held, "chosen": self._chosen, "reports": tuple(self._reports)})
        write_state(path, {"kinds": kinds, "settings": settings})

    @classmethod
    def from_body(cls, tracker: Any, body: Any, models: Mapping[str, Any] | None = None) -> Self:
        """Return the tracker that :meth:`save` wrote.

        Parameters
        ----------
        tracker : type
            :class:`Tracker`.
        body : dict
            What was read from the file.
        models : mapping, optional
            Models by the names of their kinds, where they could not be saved.
        """
        made, given = cls.__new__(cls), dict(models or {})
        kinds = []
        for each in body["kinds"]:
            held = each["tracker"]
            read = (
                ModelTracker.from_body(tracker, held, given.get(each["name"]), {})
                if "model" in held
                else tracker.from_body(held, {})
            )
            kinds.append(Kind(name=each["name"], tracker=read))
        made._kinds = tuple(kinds)
        made._base = next(kind.tracker.base for kind in kinds if isinstance(kind.tracker, ModelTracker))
        settings = decode(body["settings"])
        for name in ("loss", "epsilon", "tolerance", "tally", "chosen"):
            setattr(made, f"_{name}", settings[name])
        made._reports = list(settings["reports"])
        return made

    def __repr__(self) -> str:
        return f"KindsTracker({', '.join(self.kinds)}; in use: {self.in_use}, period={self.period})"


def _adapters(models: Sequence[Any], task: str | None, labels: Any) -> list[ModelAdapter | None]:
    """Return the adapters of models, None for a linear model of the columns; refuse models that do not go together."""
    if isinstance(models, str) or not isinstance(models, Sequence) or len(models) < 2:
        raise ParameterError(
            f"must be a list of two or more models, one of which may be {LINEAR!r}; got {models!r:.80}.",
            owner=_OWNER,
            name="models",
        )
    bases: list[ModelAdapter | None] = []
    for model in models:
        linear = isinstance(model, str) and model == LINEAR
        bases.append(None if linear else adapt(model, task=task, labels=labels))
    found = [base for base in bases if base is not None]
    if not found or len(bases) - len(found) > 1:
        got = f"{len(bases)} of it" if not found else f"{LINEAR!r} twice"
        raise ParameterError(
            f"must have at least one model besides {LINEAR!r}, which may be there once; got {got}.",
            owner=_OWNER,
            name="models",
        )
    hard = next((base for base in found if base.hard), None)
    if hard is not None:
        raise ParameterError(
            f"must be models of scores; {type(hard.model).__name__} predicts labels only.", owner=_OWNER, name="models"
        )
    other = next((base for base in found if (base.task, base.labels) != (found[0].task, found[0].labels)), None)
    if other is not None:
        raise ParameterError(
            f"must be models of one task and the same classes; got {found[0].task} of {found[0].labels} and {other.task} of "
            f"{other.labels}.",
            owner=_OWNER,
            name="models",
        )
    return bases


def _names(bases: Sequence[ModelAdapter | None]) -> list[str]:
    """Return a name for each kind, by the class of its model; those of one class are numbered."""
    plain = [LINEAR if base is None else f"head on {type(base.model).__name__}" for base in bases]
    seen: dict[str, int] = {}
    names = []
    for name in plain:
        seen[name] = seen.get(name, 0) + 1
        names.append(name if plain.count(name) == 1 else f"{name} {seen[name]}")
    return names


def _change(tally: Tally, used: int, reports: Sequence[StepReport], target: float) -> int:
    """Return the kind to use: a better one, else one as good that needs fewer labels, else the same."""
    gains, margins = tally.scores[used] - tally.scores, CONFIDENCE * tally.gaps(used)
    needs = np.array([report.risk_bound / report.epsilon for report in reports])
    better = gains - margins > CHANGE * target
    if better.any():
        return int(np.argmax(np.where(better, gains, -math.inf)))
    as_good = margins - gains < CHANGE * target
    cheaper = as_good & np.isfinite(needs) & (needs < CHEAPER * needs[used])
    cheaper[used] = False
    return int(np.argmin(np.where(cheaper, needs, math.inf))) if cheaper.any() else used


def _sentence(selected: Selected, before: str) -> str:
    """Return which kind is in use, and what the others would give, without a full stop."""
    used = selected.index
    others = []
    for place, name in enumerate(selected.candidates):
        if place == used:
            continue
        more = selected.scores[place] - selected.scores[used]
        word = "higher" if more >= 0.0 else "lower"
        others.append(f"the loss of {name} is {abs(more):.2g} ± {selected.gaps[place]:.2g} {word}")
    in_use = (
        f"{selected.chosen} is in use" if selected.chosen == before else f"{selected.chosen} takes over from {before}"
    )
    return f"{in_use}; on rows left out, recent periods counting more, {', '.join(others)}"


@contextmanager
def _unchanged(tracker: KindsTracker) -> Iterator[None]:
    """Undo what a refused call did to some of the trackers."""
    held: list[tuple[Any, dict[str, Any]]] = []
    for kind in tracker._kinds:
        for each in (kind.tracker, kind.fitted):
            kept = {name: list(value) if isinstance(value, list) else value for name, value in vars(each).items()}
            held.append((each, kept))
    own = dict(vars(tracker), _reports=list(tracker._reports))
    try:
        yield
    except BaseException:
        for each, kept in held:
            vars(each).update(kept)
        vars(tracker).update(own)
        raise
