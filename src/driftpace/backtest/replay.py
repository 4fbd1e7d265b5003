"""The backtest: replay a table period by period, with the tracker and the baselines."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from driftpace import validation
from driftpace.adaptive import check_audit, season_length
from driftpace.backtest.baselines import feature_error
from driftpace.backtest.check_result import MOST_MODEL_ERROR
from driftpace.backtest.compare import FIRST, CompareSettings, compare_panel, library_of, read_kinds
from driftpace.backtest.compare_result import ModelComparison
from driftpace.backtest.job import Job, TrackerConfig, TrackerMaker, default_loss, prepare
from driftpace.backtest.population import model_error_share
from driftpace.backtest.result import BacktestResult, SkippedBaseline, Strategy
from driftpace.backtest.run import (
    BASELINES,
    RunResult,
    baseline_strategies,
    best_model_movement,
    replay_run,
    stack_checks,
    stack_choices,
    stack_ledger,
    tracker_strategy,
    worst_assumptions,
)
from driftpace.backtest.table import Panel, as_delivered, expanded, read_table
from driftpace.backtest.target import loss_task
from driftpace.backtest.wide import (
    is_wide_panel,
    least_losses,
    movement_of_bands,
    prepare_wide,
    replay_wide_run,
    wide_notes,
    wide_strategies,
    wide_targets,
)
from driftpace.backtest.workers import Workers
from driftpace.errors import CollinearColumnsError, ParameterError
from driftpace.executors import Executor, one_thread, open_executor
from driftpace.formatting import plural
from driftpace.losses import Loss, SoftmaxLoss, classifies
from driftpace.progress import Progress
from driftpace.selection import read_l2
from driftpace.tables.encoding import MissingPolicy
from driftpace.tables.expansion import ExpansionRequest
from driftpace.tables.limits import MAX_CATEGORIES

_OWNER = "backtest"

COMPARED_RUNS = 2
"""The most runs in which kinds of models are compared beside a backtest."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BacktestConfig:
    """How a panel is replayed; the fields are parameters of :func:`backtest`."""

    tracker: TrackerConfig
    loss: Loss | None = None
    runs: int = 20
    test_fraction: float = 0.2
    seed: int = 0
    workers: int | None = None
    executor: Executor | None = None
    price: float = 1.0
    currency: str = ""
    progress: bool | None = None
    models: tuple[str, ...] | None = None
    baselines: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        validation.count(_OWNER, least=1, runs=self.runs)
        validation.count(_OWNER, least=0, seed=self.seed)
        validation.fraction(_OWNER, test_fraction=self.test_fraction)
        validation.nonnegative(_OWNER, price=self.price)
        if self.workers is not None:
            validation.count(_OWNER, least=1, workers=self.workers)


def backtest(  # noqa: PLR0913  public API
    frame: Any,
    *,
    period: str | None = None,
    target: str | None = None,
    features: Sequence[str] | None = None,
    text: str | Sequence[str] = (),
    loss: Loss | None = None,
    epsilon: float | None = None,
    tolerance: float | None = None,
    metric: str | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    confidence: float | None = None,
    certificate_level: float = 0.95,
    orders: int | None = None,
    season: int | str | None = None,
    audit: float | None = None,
    splines: Any = None,
    interactions: Any = None,
    runs: int = 20,
    test_fraction: float = 0.2,
    seed: int = 0,
    workers: int | None = None,
    executor: Any = None,
    price: float = 1.0,
    currency: str = "",
    progress: bool | None = None,
    standardise: bool = True,
    baselines: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    tracker: TrackerMaker | None = None,
    l2: Sequence[float] | None = None,
    groups: str | None = None,
    weight: str | None = None,
    exposure: str | None = None,
    name: str | None = None,
    missing: MissingPolicy = "impute",
    max_categories: int = MAX_CATEGORIES,
    calendar: Sequence[str] = (),
    dayfirst: bool | None = None,
    exclude: Sequence[str] = (),
    sheet: str | int | None = None,
) -> BacktestResult:
    """Replay a table as if its labels were still to be bought.

    In each run and period the tracker labels rows without replacement. Its model is compared with the best model of the period
    on all rows, and evaluated on test rows that it never sees. The baselines are replayed on the same rows.

    Parameters
    ----------
    frame : path, bytes, mapping, frame or Table
        Anything that :func:`driftpace.tables.read_columns` reads, or a bundled table.
    period, target : str, optional
        Columns with the period and the value to predict; a ``Table`` knows its own. ``period="date:month"`` and
        ``period=":500"`` make periods as described in :func:`read_table`.
    features : sequence of str, optional
        Columns to predict from; by default all but dates, free text and ids.
    text : str or sequence of str
        Columns that are texts, whose words are used. With texts or more than a hundred columns rows are followed along the
        components of the first period's rows, and excess risks are those of the penalised loss, on test rows.
    loss : Loss, optional
        By default the squared loss for numbers, and with a small penalty the logistic loss for two classes and the softmax loss for
        several.
    epsilon : float, optional
        The largest acceptable excess risk. Give this, ``tolerance`` or ``metric``.
    tolerance : float, optional
        The target as a share of the best achievable loss.
    metric, at_least, at_most
        The target as a value of a metric, as in :class:`~driftpace.Tracker`; judged on the test rows.
    confidence : float, optional
        Meet the target in this share of periods instead of on average.
    certificate_level : float
        The level of the tracker's certificates.
    orders : int, optional
        The most orders of a period, as in :class:`~driftpace.Tracker`; by default batches.
    season : int or str, optional
        After how many periods the drift may repeat itself, as in :class:`~driftpace.Tracker`.
    audit : float, optional
        The share of each order that is held out for the audit, as in :class:`~driftpace.Tracker`.
    splines, interactions : optional
        Columns that are expanded, as in :class:`~driftpace.Tracker`; knots are at quantiles of the first period's rows. The excess
        risk is that over the best model of the expanded columns.
    runs : int
        How many times to replay the table.
    test_fraction : float
        Share of the rows of a period that are test rows.
    seed : int
        The same seed gives the same numbers.
    workers : int, optional
        Processes, all cores by default. Numbers do not depend on it.
    executor : str or object, optional
        Where runs are replayed, as for :class:`~driftpace.Fleet`: ``"dask"``, ``"ray"``, ``"spark"``, a client of them, or any
        object with ``map(function, items)``; by default ``workers`` processes.
    price : float
        The cost of a label.
    currency : str
        The currency of the price.
    progress : bool, optional
        Show a progress bar; by default on a terminal.
    standardise, missing, max_categories, calendar, dayfirst, exclude, sheet, name
        As in :func:`read_table`.
    baselines : sequence of str, optional
        Names of ``BASELINES`` to compare with, all by default. One that cannot run on the table is listed in ``skipped``.
    models : sequence of str, optional
        Kinds of models to compare besides, as in :func:`~driftpace.compare_models`: ``"linear"``, ``"head"``, ``"trees"``, or the
        library of the trees. They are replayed twice, at the target of the backtest where it is ``epsilon``.
    tracker : callable, optional
        Makes a custom tracker from (loss, features, seed).
    l2 : sequence of float, optional
        Penalties to choose from by cross-validation in every period. The loss then has none of its own, and excess risks are
        those of the loss without a penalty.
    groups : str, optional
        Column with the group of a row: rows of one person or shop stay together, in the folds and in the test
        rows, and their noise is counted by group.
    weight : str, optional
        Column with what a row counts for: best models, excess risks and test losses are then weighted, and so are the
        fits of baselines.
    exposure : str, optional
        Column with what a count or amount is a total over, such as years at risk: the target is then the rate, and rows count in
        proportion to it.

    Returns
    -------
    BacktestResult

    Raises
    ------
    ParameterError, DataError
        If a parameter is out of range, or the table cannot be replayed.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=600)
    >>> table = {"month": np.repeat(np.arange(6), 100), "x": x, "y": 2.0 * x + rng.normal(size=600)}
    >>> result = backtest(table, period="month", target="y", epsilon=0.1, runs=2, workers=1, baselines=["even", "paper"])
    >>> [strategy.name for strategy in result.strategies]
    ['driftpace', 'even', 'paper']
    """
    panel = read_table(
        frame,
        period=period,
        target=target,
        features=features,
        text=text,
        groups=groups,
        weight=weight,
        exposure=exposure,
        name=name,
        standardise=standardise,
        missing=missing,
        max_categories=max_categories,
        task=loss_task(loss),
        calendar=calendar,
        dayfirst=dayfirst,
        exclude=exclude,
        sheet=sheet,
        owner=_OWNER,
    )
    if exposure is not None and not getattr(loss, "takes_exposure", False):
        raise ParameterError(
            f"must be None with the loss {loss!r}: counts and amounts have an exposure, such as with PoissonLoss().",
            owner=_OWNER,
            name="exposure",
        )
    config = BacktestConfig(
        tracker=_checked(
            TrackerConfig(
                epsilon=epsilon,
                tolerance=tolerance,
                metric=metric,
                at_least=at_least,
                at_most=at_most,
                confidence=confidence,
                certificate_level=certificate_level,
                orders=orders,
                season=season_length(_OWNER, season),
                audit=audit,
                expand=ExpansionRequest.of(_OWNER, splines, interactions),
                maker=tracker,
                l2=None if l2 is None else read_l2(_OWNER, l2),
            )
        ),
        loss=loss,
        runs=runs,
        test_fraction=test_fraction,
        seed=seed,
        workers=workers,
        executor=None if executor is None else open_executor(executor, owner=_OWNER),
        price=price,
        currency=currency,
        progress=progress,
        baselines=choose_baselines(baselines),
        models=None if models is None else tuple(models),
    )
    return _replay(panel, config)


def replay(  # noqa: PLR0913  public API
    panel: Panel,
    *,
    loss: Loss | None = None,
    epsilon: float | None = None,
    tolerance: float | None = None,
    metric: str | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    confidence: float | None = None,
    certificate_level: float = 0.95,
    orders: int | None = None,
    season: int | str | None = None,
    audit: float | None = None,
    splines: Any = None,
    interactions: Any = None,
    runs: int = 20,
    test_fraction: float = 0.2,
    seed: int = 0,
    workers: int | None = None,
    executor: Any = None,
    price: float = 1.0,
    currency: str = "",
    progress: bool | None = None,
    baselines: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    tracker: TrackerMaker | None = None,
    l2: Sequence[float] | None = None,
) -> BacktestResult:
    """Replay a panel that :func:`read_table` returned; the parameters are those of :func:`backtest`."""
    config = BacktestConfig(
        tracker=_checked(
            TrackerConfig(
                epsilon=epsilon,
                tolerance=tolerance,
                metric=metric,
                at_least=at_least,
                at_most=at_most,
                confidence=confidence,
                certificate_level=certificate_level,
                orders=orders,
                season=season_length(_OWNER, season),
                audit=audit,
                expand=ExpansionRequest.of(_OWNER, splines, interactions),
                maker=tracker,
                l2=None if l2 is None else read_l2(_OWNER, l2),
            )
        ),
        loss=loss,
        runs=runs,
        test_fraction=test_fraction,
        seed=seed,
        workers=workers,
        executor=None if executor is None else open_executor(executor, owner=_OWNER),
        price=price,
        currency=currency,
        progress=progress,
        baselines=choose_baselines(baselines),
        models=None if models is None else tuple(models),
    )
    return _replay(panel, config)


def _replay(panel: Panel, config: BacktestConfig) -> BacktestResult:
    began = time.perf_counter()
    asked = config.tracker
    comparison = None if config.models is None else _compared(panel, config)
    if is_wide_panel(panel, config.loss, asked):
        return _replay_wide(panel, config, comparison, began)
    panel = panel if asked.expand is None else expanded(panel, asked.expand, owner=_OWNER)
    with one_thread(), Progress(config.progress) as bar:
        job = prepare(
            panel,
            loss=config.loss,
            asked=asked,
            test_fraction=config.test_fraction,
            seed=config.seed,
            baselines=config.baselines,
        )
        try:
            outcomes, strategies, skipped, alone = _replay_all(job, config, bar)
        except CollinearColumnsError as error:  # of a custom tracker: the default one needs no independence
            raise feature_error(error, panel.features) from None
    return BacktestResult(
        **_shared_fields(panel, config, outcomes, comparison, began),
        features=tuple(panel.features),
        loss=repr(job.loss),
        classification=job.classification,
        pool=tuple(int(size) for size in job.pools),
        test_rows=tuple(len(now.y) - int(size) for now, size in zip(job.populations, job.pools, strict=True)),
        epsilon=tuple(float(target) for target in job.epsilon),
        metric=None if job.metric is None else (job.metric.metric, job.metric.value),
        strategies=strategies,
        skipped=skipped,
        notes=(
            *panel.notes,
            *_notes(panel, config, alone=alone),
            *_zero_periods(job),
            *_too_fine(job, strategies[0]),
        ),
        best_loss=tuple(float(now.least) for now in job.populations),
        choices=stack_choices(outcomes),
        movement=best_model_movement(job.populations),
    )


def _shared_fields(
    panel: Panel,
    config: BacktestConfig,
    outcomes: Sequence[RunResult],
    comparison: ModelComparison | None,
    began: float,
) -> dict[str, Any]:
    """Return the fields of a result that do not depend on what the promise is about."""
    return {
        "table": panel.name,
        "target": panel.target,
        "classes": panel.classes or (),
        "periods": tuple(panel.periods),
        "tolerance": config.tracker.tolerance,
        "confidence": config.tracker.confidence,
        "certificate_level": config.tracker.certificate_level,
        "runs": config.runs,
        "seed": config.seed,
        "price": config.price,
        "currency": config.currency,
        "ledger": stack_ledger(outcomes),
        "assumptions": worst_assumptions(outcomes),
        "checks": stack_checks(outcomes),
        "comparison": comparison,
        "seconds": time.perf_counter() - began,
    }


def _replay_wide(
    panel: Panel, config: BacktestConfig, comparison: ModelComparison | None, began: float
) -> BacktestResult:
    """Replay texts or many columns, whose promise is about a penalised loss."""
    asked, runs, panel = config.tracker, config.runs, as_delivered(panel)
    with one_thread(), Progress(config.progress) as bar:
        job = prepare_wide(
            panel,
            loss=config.loss,
            asked=asked,
            test_fraction=config.test_fraction,
            seed=config.seed,
            baselines=config.baselines,
        )
        with Workers(job, workers=config.workers, items=runs, executor=config.executor) as crew:
            outcomes = list(bar.over(crew.map(replay_wide_run, range(runs)), "runs", total=runs))
            epsilon = wide_targets(job, outcomes)
            own = tracker_strategy(asked, outcomes)
            baselines, skipped = wide_strategies(job, outcomes, epsilon, crew, bar)
            alone = crew.alone
    return BacktestResult(
        **_shared_fields(panel, config, outcomes, comparison, began),
        features=job.features,
        loss=repr(job.loss),
        classification=classifies(job.loss) or isinstance(job.loss, SoftmaxLoss),
        pool=tuple(int(size) for size in job.pools),
        test_rows=tuple(len(now.y) - int(size) for now, size in zip(job.periods, job.pools, strict=True)),
        epsilon=tuple(float(target) for target in epsilon),
        strategies=(own, *baselines),
        skipped=tuple(skipped),
        notes=(*panel.notes, *_notes(panel, config, alone=alone), *wide_notes(job)),
        best_loss=tuple(least_losses(outcomes).tolist()),
        movement=movement_of_bands(job, outcomes),
    )


def _compared(panel: Panel, config: BacktestConfig) -> ModelComparison:
    """Return the comparison of kinds of models on the same table, in its default loss."""
    assert config.models is not None
    kinds, library = read_kinds(config.models, _OWNER), library_of(config.models, _OWNER)
    plain = default_loss(panel)
    given = {"weight": panel.weights, "groups": panel.groups}
    refused = next((name for name, value in given.items() if value is not None), None)
    if refused is None and config.loss is not None and type(config.loss) is not type(plain):
        refused = "loss"
    if refused is not None:
        raise ParameterError(
            f"must be None with models, which are compared without it, by {plain!r}; got one.",
            owner=_OWNER,
            name=refused,
        )
    epsilon = config.tracker.epsilon
    settings = CompareSettings(
        models=kinds,
        library=library,
        epsilon=None if epsilon is None else (epsilon,),
        first=FIRST,
        runs=min(config.runs, COMPARED_RUNS),
        test_fraction=1.0 / 3.0,
        seed=config.seed,
    )
    return compare_panel(panel, settings, progress=config.progress)


def _too_fine(job: Job, own: Strategy) -> list[str]:
    """Return a note where the best models of periods are themselves too uncertain to judge the target."""
    error = model_error_share(job.populations, job.epsilon)
    if error <= MOST_MODEL_ERROR:
        return []
    rows = round(float(np.mean([len(now.y) for now in job.populations])))
    sentence = (
        f"The target is too fine to be judged on this table: the best model of a period, {job.coefficients} coefficients "
        f"fitted to about {rows:,} rows, is itself uncertain by {error:.2f} times the target, which counts as excess loss of "
        "every strategy. A larger target, fewer features or longer periods can be judged."
    )
    assert own.held_out_risk is not None
    periods = own.held_out_risk.mean(axis=0) / float(job.epsilon.mean())
    spread = float(periods.std(ddof=1)) / math.sqrt(periods.size)
    held_out = (
        f"On held-out rows, where this error does not count, the excess loss of driftpace is {periods.mean():.2f} ± {spread:.2f} "
        "times the target."
    )
    return [sentence, held_out]


def _zero_periods(job: Job) -> list[str]:
    """Return a note on periods whose counts are all zero, which have no best model."""
    labels = [now.label for now in job.populations if now.zeros]
    if not labels:
        return []
    named = ", ".join(labels[:5]) + (" ..." if len(labels) > 5 else "")
    sentence = (
        f"The counts are all zero in {plural(len(labels), 'period')} ({named}), whose excess loss is the whole loss"
    )
    if job.asked.tolerance is not None:
        sentence += " and whose target is that of the mean of the others"
    return [sentence + "."]


def _notes(panel: Panel, config: BacktestConfig, *, alone: bool) -> list[str]:
    """Return what a reader of the result should know about the run."""
    notes = []
    if alone:
        notes.append("One core was used: the loss or the tracker is defined where other processes cannot import it.")
    if config.tracker.tolerance is not None:
        notes.append("The target of a period is the tolerance times the best loss on all its rows.")
    if config.tracker.metric is not None:
        notes.append(
            "The target is in a metric, judged on the test rows. Excess risks are compared with what it affords in hindsight."
        )
    if config.tracker.orders is not None:
        notes.append(
            f"A period has at most {plural(config.tracker.orders, 'order')}, and an initial sample at the start."
        )
    if config.tracker.season is not None:
        notes.append(f"The drift may repeat itself after {plural(config.tracker.season, 'period')}.")
    if config.tracker.audit is not None:
        notes.append(
            f"Of each order {100 * config.tracker.audit:.0f} % is held out for the audit, and counts as bought."
        )
    if panel.weights is not None:
        notes.append("Rows have weights: losses, best models and the fits of baselines are weighted.")
    if panel.groups is not None:
        notes.append("Groups are kept together: in a period, no group is both trained and tested on.")
    if config.runs == 1:
        notes.append("One run has no standard error: periods above the target are not counted.")
    return notes


def _checked(asked: TrackerConfig) -> TrackerConfig:
    """Return what a tracker is asked for, or refuse it."""
    _check_target(asked)
    validation.fraction(_OWNER, certificate_level=asked.certificate_level)
    if asked.orders is not None:
        validation.count(_OWNER, least=1, orders=asked.orders)
    check_audit(_OWNER, asked.audit)
    for name in ("l2", "orders", "season", "audit", "expand"):
        if getattr(asked, name) is not None and asked.maker is not None:
            setting = "splines" if name == "expand" else name
            raise ParameterError("must be None with a custom tracker; got both.", owner=_OWNER, name=setting)
    return asked


def _replay_all(
    job: Job, config: BacktestConfig, bar: Progress
) -> tuple[list[RunResult], tuple[Strategy, ...], tuple[SkippedBaseline, ...], bool]:
    """Return the results of the runs, the strategies, the skipped baselines, and whether the job had to stay in this process."""
    runs = config.runs
    with Workers(job, workers=config.workers, items=runs, executor=config.executor) as crew:
        outcomes = list(bar.over(crew.map(replay_run, range(runs)), "runs", total=runs))
        replayed, skipped = baseline_strategies(job, outcomes, crew, bar)
        return outcomes, (tracker_strategy(job.asked, outcomes), *replayed), tuple(skipped), crew.alone


def choose_baselines(baselines: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the baselines to replay, all for None, or refuse a name that is not one.

    >>> choose_baselines(["paper", "even"])
    ('paper', 'even')
    """
    if baselines is None:
        return tuple(BASELINES)
    allowed = f"a list of names among {', '.join(map(repr, BASELINES))}"
    if isinstance(baselines, str) or not isinstance(baselines, Sequence):
        raise ParameterError(f"must be {allowed}; got {baselines!r}.", owner=_OWNER, name="baselines")
    for name in baselines:
        if name not in BASELINES:
            near = get_close_matches(str(name), BASELINES, n=1)
            hint = f": did you mean {near[0]!r}?" if near else "."
            raise ParameterError(f"must be {allowed}; got {name!r}{hint}", owner=_OWNER, name="baselines")
    return tuple(baselines)


def _check_target(asked: TrackerConfig) -> None:
    kinds = {name: getattr(asked, name) for name in ("epsilon", "tolerance", "metric")}
    given = [name for name, value in kinds.items() if value is not None]
    if len(given) != 1:
        got = " and ".join(given) or "none of them"
        raise ParameterError(
            f"or tolerance or metric must be given, and only one of them; got {got}.",
            owner="backtest",
            name="epsilon",
        )
    if asked.epsilon is not None:
        validation.positive(_OWNER, epsilon=asked.epsilon)
    if asked.tolerance is not None:
        validation.positive(_OWNER, tolerance=asked.tolerance)
    if asked.confidence is not None:
        validation.fraction(_OWNER, confidence=asked.confidence)
    if asked.metric is not None and asked.confidence is not None:
        problem = f"must be None with metric, whose target is met on average; got {asked.confidence!r}."
        raise ParameterError(problem, owner=_OWNER, name="confidence")
