"""Backtests of texts and of many columns, whose promise is about a penalised loss.

The first period's rows, without labels, show the components. The excess loss of a model is that of the penalised loss, with the
penalty of the tracker's run, over the best model of all rows of the period, on test rows: less what that model owes to having seen
them, since a best model of a thousand coordinates fits the noise of its rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftpace.backtest.job import (
    SplitRows,
    TrackerConfig,
    check_loss,
    count_test_rows,
    default_loss,
    split_period,
    tracker_seed,
    with_classes,
)
from driftpace.backtest.metrics import RunMetrics
from driftpace.backtest.promise import promise_kept
from driftpace.backtest.result import SkippedBaseline, Strategy
from driftpace.backtest.run import BASELINES, RunResult, stack_strategy
from driftpace.backtest.table import Panel
from driftpace.backtest.tracker_run import run_tracker
from driftpace.backtest.workers import Workers
from driftpace.backtest.yardstick import JUDGED_AFTER
from driftpace.errors import DataError, ParameterError
from driftpace.formatting import plural
from driftpace.losses import LinearLoss, Loss, SoftmaxLoss, VectorLoss
from driftpace.metrics import evaluate
from driftpace.progress import Progress
from driftpace.tracker import Tracker
from driftpace.tracker.builder import WIDE_COLUMNS, is_wide, model_method, with_wide_spectrum
from driftpace.tracker.wide_method import WIDE_LOSSES
from driftpace.typing import FloatArray, IntArray
from driftpace.wide import Spectrum, WideRows
from driftpace.wide.rows import bends_along
from driftpace.wide.spectrum import bands

STRENGTHS = (30.0, 100.0, 300.0, 1000.0)
"""By how many rows the yardstick may hold its model to that of the period before."""

_FIRST_SIZE, _GROWTH, _FINE = 10, 1.5, 0.1
_LEAST_ROWS = 30
_PLAIN_ONLY = ("maker", "metric", "season", "l2", "expand")
_LEAST_PENALTY = 1e-9
_STEPS = 400
"""Steps to the best model of a period."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WidePeriod:
    """A period: ``X`` as the tracker takes rows, ``Z`` their components with a column of ones first, and encoded targets."""

    X: Any
    Z: FloatArray
    y: FloatArray
    loss: LinearLoss | VectorLoss
    groups: IntArray | None = None

    @property
    def weights(self) -> None:
        """None: rows count alike."""
        return


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WideJob:
    """A table of texts or of many columns, ready to be replayed."""

    loss: LinearLoss | VectorLoss
    periods: tuple[WidePeriod, ...]
    spectrum: Spectrum
    asked: TrackerConfig
    test_fraction: float
    seed: int
    baselines: tuple[str, ...]

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the bands of components."""
        parts = bands(self.spectrum.components, True)[1:]
        return tuple(f"components {part.start} to {part.stop - 1}" for part in parts)

    @property
    def pools(self) -> IntArray:
        """The number of training rows of each period."""
        return np.array([len(now.y) - count_test_rows(len(now.y), self.test_fraction) for now in self.periods])

    def rows(self, run: int) -> tuple[SplitRows, ...]:
        """Return the periods of a run, each split into training and test rows."""
        made = []
        for period, now in enumerate(self.periods):
            split = split_period(
                len(now.y),
                test_fraction=self.test_fraction,
                seed=self.seed,
                run=run,
                period=period,
                groups=now.groups,
            )
            made.append(SplitRows(population=now, split=split))  # type: ignore[arg-type]
        return tuple(made)

    def tracker(self, run: int) -> Tracker:
        """Return the tracker of a run, which has been shown the components."""
        made = self.asked.tracker(self.loss, self.spectrum.columns, tracker_seed(self.seed, run))
        return Tracker.from_snapshot(*with_wide_spectrum(*made.snapshot(), self.spectrum))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Reference:
    """What the promise of a run is about: ``penalty`` of each coordinate and ``scale`` of scores (:class:`WideRows`).

    ``best`` are the best models of the periods, ``least`` their losses on test rows, and ``error`` what these would be above them
    on other rows.
    """

    penalty: FloatArray
    scale: FloatArray | None
    best: FloatArray
    least: FloatArray
    error: FloatArray

    def rows(self, now: WidePeriod, chosen: Any = slice(None)) -> WideRows:
        """Return some rows of a period."""
        return WideRows(loss=now.loss, Z=now.Z[chosen], y=now.y[chosen], scale=self.scale)

    def value(self, now: WidePeriod, chosen: Any, model: FloatArray) -> float:
        """Return the penalised loss of a model on some rows."""
        return penalised_loss(self.rows(now, chosen), self.penalty, model)

    def excess(self, now: WidePeriod, period: int, chosen: Any, model: FloatArray) -> float:
        """Return the excess of a model, measured on test rows."""
        return self.value(now, chosen, model) - float(self.least[period]) - float(self.error[period])


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WideResult(RunResult):
    """The result of a run, and what its promise is about."""

    reference: Reference


def penalised_loss(rows: WideRows, penalty: FloatArray, model: FloatArray) -> float:
    """Return the mean loss of rows and the penalty of a model (coordinates, scores)."""
    losses = rows.losses(rows.scores(model))
    return float(losses.mean()) + 0.5 * float(penalty @ np.square(model).sum(axis=1))


def best_model(rows: WideRows, penalty: FloatArray, start: FloatArray, anchor: FloatArray | None = None) -> FloatArray:
    """Return the model (coordinates, scores) of least mean loss with a penalty of its distance to an anchor, by default zero."""
    from scipy.optimize import minimize  # slow to import, and not always needed

    goal = np.zeros_like(start) if anchor is None else anchor
    size = 1.0 / np.sqrt(penalty + 1.0)[:, None]  # about equally curved coordinates

    def both(flat: FloatArray) -> tuple[float, FloatArray]:
        model = size * flat.reshape(start.shape)
        scores, away = rows.scores(model), model - goal
        value = float(rows.losses(scores).mean()) + 0.5 * float(penalty @ np.square(away).sum(axis=1))
        slope = rows.Z.T @ rows.slopes(scores) / len(rows) + penalty[:, None] * away
        return value, (size * slope).ravel()

    options: Any = {"maxiter": _STEPS, "ftol": 1e-11, "gtol": 1e-7}
    found: Any = minimize(both, (start / size).ravel(), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(size * found.x.reshape(start.shape))


def model_error(rows: WideRows, penalty: FloatArray, model: FloatArray) -> float:
    """Return the expected excess of the best penalised model of rows in the world that they are a sample of: tr(P Cov g)/2N.

    P is the inverse of the second derivatives with the penalty. Of several scores the directions count one by one in which the mean
    second derivatives have no cross terms.
    """
    count, scores = len(rows), rows.scores(model)
    bends, slopes = rows.bends(scores), rows.slopes(scores)
    turn = rows.turn(bends)
    gram = (rows.Z / np.maximum(penalty, _LEAST_PENALTY)) @ rows.Z.T
    total = 0.0
    for bend, slope in zip(bends_along(bends, turn).T, (slopes @ turn).T, strict=True):
        root = np.sqrt(bend / count)
        inner = np.linalg.solve(np.eye(count) + root[:, None] * gram * root, root[:, None] * gram)
        total += float(np.square(slope) @ (np.diag(gram) - np.einsum("ij,ij->j", root[:, None] * gram, inner)))
    return max(total, 0.0) / (2.0 * count * count)


def is_wide_panel(panel: Panel, loss: Loss | None, asked: TrackerConfig) -> bool:
    """Return whether a table is followed along components; refuse texts that cannot be."""
    refused = next((name for name in _PLAIN_ONLY if getattr(asked, name) is not None), None)
    if panel.text and refused is not None:
        what = {"maker": "a custom tracker", "expand": "splines or interactions"}.get(refused, refused)
        raise ParameterError(
            f"must be None with {what}, since texts are followed by the wide method; got {list(panel.text)!r:.80}.",
            owner="backtest",
            name="text",
        )
    if refused is not None or (len(panel.features) <= WIDE_COLUMNS and not panel.text):
        return False
    tracker = asked.tracker(default_loss(panel) if loss is None else loss, len(panel.features), 0)
    found = is_wide(tracker.snapshot()[0])
    if panel.text and not found:
        raise ParameterError(f"must be {WIDE_LOSSES} with text; got {loss!r}.", owner="backtest", name="loss")
    return found


def prepare_wide(
    panel: Panel, *, loss: Loss | None, asked: TrackerConfig, test_fraction: float, seed: int, baselines: Sequence[str]
) -> WideJob:
    """Return the job of a table of texts or of many columns, or refuse one that cannot be replayed."""
    loss = default_loss(panel) if loss is None else loss
    check_loss(panel, loss)
    if isinstance(loss, SoftmaxLoss):
        loss = with_classes(panel, loss)
    if panel.weights is not None:
        raise ParameterError(
            "must be None with texts or more than 100 columns, whose rows count alike; got a column.",
            owner="backtest",
            name="weight",
        )
    if len(panel.periods) < 2:
        raise DataError(f"must have at least two periods; got {len(panel.periods)}.", owner="backtest", name="period")
    small = next((label for label, y in zip(panel.periods, panel.y, strict=True) if y.size < _LEAST_ROWS), None)
    if small is not None:
        rows = panel.sizes[panel.periods.index(small)]
        raise DataError(
            f"must have at least {_LEAST_ROWS} rows in each period; {small!r} has {rows}.",
            owner="backtest",
            name="period",
        )
    assert isinstance(loss, LinearLoss | VectorLoss)
    method: Any = model_method(asked.tracker(loss, len(panel.features), seed).snapshot()[0])
    try:
        spectrum = method.pool_spectrum(panel.X[0])
    except DataError as error:
        raise error.renamed(owner="backtest", name="features") from None
    groups = panel.groups or (None,) * len(panel.periods)
    return WideJob(
        loss=loss,
        periods=tuple(
            WidePeriod(
                X=X,
                Z=np.column_stack([np.ones(X.shape[0]), spectrum.scores(X)]),
                y=loss.encode(y),
                loss=loss,
                groups=whose,
            )
            for X, y, whose in zip(panel.X, panel.y, groups, strict=True)
        ),
        spectrum=spectrum,
        asked=asked,
        test_fraction=test_fraction,
        seed=seed,
        baselines=tuple(baselines),
    )


def replay_wide_run(job: WideJob, run: int) -> WideResult:
    """Replay one run, which depends on the job and its number alone."""
    rows, tracker, outputs = job.rows(run), job.tracker(run), _outputs(job.loss)
    size = job.periods[0].Z.shape[1]

    def read_model(tracker: Tracker, loss: Loss) -> FloatArray:  # noqa: ARG001  as for other methods
        along = tracker.snapshot()[1].row_coef
        return np.zeros(size * outputs) if along is None or along.size != size * outputs else along

    followed = run_tracker(tracker, rows, read_rows=WideSource, read_model=read_model)
    wide = tracker.snapshot()[1].wide
    if wide.penalty is None:
        raise DataError(
            "must be labelled by enough rows in some period for a first model; the tracker had none.",
            owner="backtest",
            name="period",
        )
    scale = wide.scale
    models = followed.coefs.reshape(len(rows), size, outputs)
    models = models if scale is None else np.linalg.solve(scale, models.transpose(0, 2, 1)).transpose(0, 2, 1)
    penalty = np.repeat(wide.penalty, wide.sizes.astype(int))
    reference = _reference(job, rows, penalty, scale, models)
    measured = {"driftpace": _measure(rows, reference, models, followed.samples)}
    if "first_model" in job.baselines:
        kept = np.repeat(models[:1], len(rows), axis=0)
        bought = np.append(followed.samples[:1], np.zeros(len(rows) - 1))
        measured["first_model"] = _measure(rows, reference, kept, bought)
    return WideResult(followed=followed, measured=measured, reference=reference)


class WideSource:
    """Return the next rows of a period on each call, fewer at its end."""

    def __init__(self, rows: SplitRows, **_: Any) -> None:
        self._rows, self._given, self.orders = rows, 0, 0

    def __call__(self, samples: int) -> tuple[Any, FloatArray]:
        """Return the next rows."""
        self.orders += 1
        chosen = self._rows.split.pool[self._given : self._given + samples]
        self._given += len(chosen)
        population: Any = self._rows.population
        return population.X[chosen], population.y[chosen]


def _outputs(loss: LinearLoss | VectorLoss) -> int:
    return loss.outputs if isinstance(loss, VectorLoss) else 1


def _reference(
    job: WideJob, rows: Sequence[SplitRows], penalty: FloatArray, scale: FloatArray | None, models: FloatArray
) -> Reference:
    """Return the best models of the periods under the penalty of a run."""
    best, least, error = [], [], []
    start = models[-1]
    for now, split in zip(job.periods, rows, strict=True):
        every = WideRows(loss=now.loss, Z=now.Z, y=now.y, scale=scale)
        start = best_model(every, penalty, start)
        best.append(start)
        tested = WideRows(loss=now.loss, Z=now.Z[split.split.test], y=now.y[split.split.test], scale=scale)
        least.append(penalised_loss(tested, penalty, start))
        error.append(model_error(every, penalty, start))
    return Reference(penalty=penalty, scale=scale, best=np.array(best), least=np.array(least), error=np.array(error))


def _measure(rows: Sequence[SplitRows], reference: Reference, models: FloatArray, samples: FloatArray) -> RunMetrics:
    """Measure the models of a run on its test rows."""
    excess, losses, found = [], [], []
    for period, (split, model) in enumerate(zip(rows, models, strict=True)):
        now: Any = split.population
        tested = reference.rows(now, split.split.test)
        scores = tested.scores(model)
        excess.append(reference.excess(now, period, split.split.test, model))
        losses.append(float(tested.losses(scores).mean()))
        with np.errstate(all="ignore"):
            found.append(evaluate(now.loss, tested.y, scores if isinstance(now.loss, SoftmaxLoss) else scores[:, 0]))
    return RunMetrics(
        samples=np.asarray(samples, dtype=np.float64),
        excess_risk=np.array(excess),
        held_out_risk=np.array(excess),
        test_loss=np.array(losses),
        metrics={name: np.array([one[name] for one in found]) for name in found[0]},
    )


Constant = tuple[int, int, int, float, Reference]
"""A run, the size of its periods, of its first one, a strength, and what its promise is about."""


def constant_models(job: WideJob, item: Constant) -> FloatArray:
    """Return the models of a run that buys the same number of rows in every period but the first.

    The model of a period is the best one for its rows with the penalty, held to that of the period before as by ``strength`` rows.
    """
    run, size, first, strength, reference = item
    model: FloatArray = np.zeros((job.periods[0].Z.shape[1], _outputs(job.loss)))
    models = []
    for period, (now, split) in enumerate(zip(job.periods, job.rows(run), strict=True)):
        chosen = split.split.pool[: first if period == 0 else size]
        if len(chosen):
            part = reference.rows(now, chosen)
            curved = float(bends_along(part.bends(part.scores(model)), np.eye(part.outputs)).mean())
            held = (0.0 if period == 0 else strength / len(chosen)) * (curved + reference.penalty)
            together = held + np.maximum(reference.penalty, _LEAST_PENALTY)
            model = best_model(part, together, model, anchor=model * (held / together)[:, None])
        models.append(model)
    return np.array(models)


def constant_excess(job: WideJob, item: Constant) -> FloatArray:
    """Return the excess of each period of such a run."""
    run, reference = item[0], item[4]
    models = constant_models(job, item)
    return np.array(
        [
            reference.excess(now, period, split.split.test, model)
            for period, (now, split, model) in enumerate(zip(job.periods, job.rows(run), models, strict=True))
        ]
    )


def constant_run(job: WideJob, item: Constant) -> RunMetrics:
    """Measure such a run."""
    run, size, first, _, reference = item
    rows = job.rows(run)
    sizes = np.minimum([first, *[size] * (len(rows) - 1)], job.pools)
    return _measure(rows, reference, constant_models(job, item), sizes.astype(np.float64))


def wide_strategies(
    job: WideJob, results: list[WideResult], epsilon: FloatArray, crew: Workers, bar: Progress
) -> tuple[list[Strategy], list[SkippedBaseline]]:
    """Return the baselines that were chosen, in their usual order, and those that there are not for such tables."""
    replayed, skipped = [], []
    for name in BASELINES:
        if name not in job.baselines:
            continue
        if name == "first_model":
            note = "The model of driftpace's first period, never updated."
            replayed.append(stack_strategy(name, BASELINES[name], note, [one.measured[name] for one in results]))
        elif name == "best_constant":
            replayed.append(_best_constant(job, results, epsilon, crew, bar))
        else:
            reason = "It fits all columns alike, which texts and more than 100 columns do not allow."
            skipped.append(SkippedBaseline(name=name, title=BASELINES[name], reason=reason))
    return replayed, skipped


def _best_constant(
    job: WideJob, results: list[WideResult], epsilon: FloatArray, crew: Workers, bar: Progress
) -> Strategy:
    """Search for the least constant size that keeps the target after the first periods, for the best strength in hindsight."""
    first = round(float(np.mean([one.followed.samples[0] for one in results])))
    judged, largest = min(JUDGED_AFTER, len(epsilon) - 1), int(job.pools[1:].max())

    def items(size: int, strength: float) -> list[Constant]:
        return [(run, size, first, strength, one.reference) for run, one in enumerate(results)]

    def best(size: int) -> tuple[float, bool]:
        bar.searching(f"best constant size in hindsight: {size}?")
        found = [np.array(list(crew.map(constant_excess, items(size, one)))) for one in STRENGTHS]
        means = [float(one[:, judged:].mean()) for one in found]
        kept = [promise_kept(one[:, judged:], epsilon[judged:], job.asked.confidence) for one in found]
        order = min(range(len(found)), key=lambda place: (not kept[place], means[place]))
        return STRENGTHS[order], kept[order]

    below, size = 0, _FIRST_SIZE
    strength, kept = best(size)
    while not kept and size < largest:
        below, size = size, min(round(_GROWTH * size), largest)
        strength, kept = best(size)
    while kept and size - below > max(_FINE * size, 1.0):
        middle = (size + below) // 2
        other, enough = best(middle)
        if enough:
            size, strength = middle, other
        else:
            below = middle
    how = f"As many rows as driftpace in the first period, then {size} a period"
    how += (
        f", the least that meets the target after period {JUDGED_AFTER}, to {100 * _FINE:.0f} %, with the best strength by which "
        f"models are held to the last one, {strength:g} rows. This number is not known in advance."
        if kept
        else f": no constant size meets the target after period {JUDGED_AFTER}."
    )
    runs = list(crew.map(constant_run, items(size, strength)))
    return stack_strategy("best_constant", BASELINES["best_constant"], how, runs)


def movement_of_bands(job: WideJob, results: Sequence[WideResult]) -> FloatArray:
    """Return how far the best model moved in each band since the period before, in units of the risk, the level last."""
    moved = np.full((len(job.periods), len(job.features) + 1), np.nan)
    parts = bands(job.spectrum.components, True)
    every = []
    for one in results:
        steps = np.square(np.diff(one.reference.best, axis=0)).sum(axis=2)
        now = job.periods[-1]
        rows = one.reference.rows(now)
        bend = float(bends_along(rows.bends(rows.scores(one.reference.best[-1])), np.eye(rows.outputs)).mean())
        by_band = np.array([0.5 * bend * steps[:, part].sum(axis=1) for part in parts]).T
        every.append(np.column_stack([by_band[:, 1:], by_band[:, 0]]))
    moved[1:] = np.mean(every, axis=0)
    return moved


def wide_targets(job: WideJob, results: Sequence[WideResult]) -> FloatArray:
    """Return the target of each period, of a tolerance that over the least losses of the runs."""
    if job.asked.epsilon is not None:
        return np.full(len(job.periods), float(job.asked.epsilon))
    assert job.asked.tolerance is not None
    return job.asked.tolerance * least_losses(results)


def least_losses(results: Sequence[WideResult]) -> FloatArray:
    """Return the least loss of each period, the mean over runs."""
    return np.asarray(np.mean([one.reference.least + one.reference.error for one in results], axis=0))


def wide_notes(job: WideJob) -> list[str]:
    """Return what a reader should know of the components and of the excess risks."""
    found = job.spectrum
    shown = (
        f"Rows are followed along {plural(found.components, 'component')} of the first period's rows, without their labels, which "
        f"have {100 * found.explained:.0f} % of the variance of {plural(found.columns, 'column')}."
    )
    measured = (
        "The target and the excess risks are about the penalised loss, measured on test rows and corrected for what the best model "
        "of a period owes to having seen them: single values are noisy and may be negative."
    )
    return [shown, measured]
