"""The backtest: a table replayed period by period, the tracker beside every other way of buying labels."""

import time
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from driftpace import validation
from driftpace.backtest.baselines import feature_error
from driftpace.backtest.job import Job, TrackerConfig, TrackerMaker, prepare
from driftpace.backtest.progress import Progress
from driftpace.backtest.result import BacktestResult, SkippedBaseline, Strategy
from driftpace.backtest.run import (
    BASELINES,
    RunResult,
    baseline_strategies,
    replay_run,
    stack_choices,
    stack_ledger,
    tracker_strategy,
    worst_assumptions,
)
from driftpace.backtest.table import Panel, read_table
from driftpace.backtest.workers import Workers, one_thread
from driftpace.errors import CollinearColumnsError, ParameterError
from driftpace.losses import Loss
from driftpace.selection import read_l2

_OWNER = "backtest"


def backtest(
    frame: Any,
    *,
    period: str | None = None,
    target: str | None = None,
    features: Sequence[str] | None = None,
    loss: Loss | None = None,
    epsilon: float | None = None,
    tolerance: float | None = None,
    confidence: float | None = None,
    certificate_level: float = 0.95,
    runs: int = 20,
    test_fraction: float = 0.2,
    seed: int = 0,
    workers: int | None = None,
    price: float = 1.0,
    currency: str = "",
    progress: bool | None = None,
    standardise: bool = True,
    baselines: Sequence[str] | None = None,
    tracker: TrackerMaker | None = None,
    l2: Sequence[float] | None = None,
    groups: str | None = None,
    name: str | None = None,
    categories: str = "one-hot",
    missing: str = "refuse",
) -> BacktestResult:
    """Replay a table as if its labels were still to be bought, and say what each way of buying them would have cost.

    ``frame`` is a frame, the path of a file or a bundled table; ``period``, ``target`` and ``features`` name its columns,
    and with ``standardise``, ``categories`` and ``missing`` they mean what they do in ``read_table``. In each run and
    period the tracker buys rows without replacement; its model is judged against the period's own best model on all rows,
    and on test rows kept apart (``test_fraction``). Give the largest excess risk you accept, ``epsilon``, or a share of
    the best achievable loss, ``tolerance``. ``confidence`` asks for it that often instead of in the mean; ``certificate_level``
    is the level of the tracker's certificates. ``loss`` is squared for numbers, and logistic with a small penalty for two
    classes. ``price`` is what one label costs. ``workers`` is None for all cores; numbers do not depend on it.
    ``tracker`` makes a tracker of your own from (loss, features, seed). ``l2`` are penalties to choose among by cross-validation in
    every period; the loss has none of its own then, and excess risks are those of the loss without a penalty. ``groups`` names the
    column that says whose a row is: rows of one person or shop stay together, in the folds and in the test rows. ``baselines``
    are the names of those to compare with, all for None; one that cannot run on the table is reported in ``skipped``.

    See :class:`~driftpace.backtest.result.BacktestResult` for what comes back.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=600)
    >>> table = {"month": np.repeat(np.arange(6), 100), "x": x, "y": 2.0 * x + rng.normal(size=600)}
    >>> result = backtest(table, period="month", target="y", epsilon=0.1, runs=2, workers=1)
    >>> [strategy.name for strategy in result.strategies]
    ['driftpace', 'up_front', 'even', 'from_scratch', 'first_model', 'paper', 'best_constant']
    """
    panel = read_table(
        frame,
        period=period,
        target=target,
        features=features,
        groups=groups,
        name=name,
        standardise=standardise,
        categories=categories,
        missing=missing,
        owner=_OWNER,
    )
    return replay(
        panel,
        loss=loss,
        epsilon=epsilon,
        tolerance=tolerance,
        confidence=confidence,
        certificate_level=certificate_level,
        runs=runs,
        test_fraction=test_fraction,
        seed=seed,
        workers=workers,
        price=price,
        currency=currency,
        progress=progress,
        baselines=baselines,
        tracker=tracker,
        l2=l2,
    )


def replay(
    panel: Panel,
    *,
    loss: Loss | None = None,
    epsilon: float | None = None,
    tolerance: float | None = None,
    confidence: float | None = None,
    certificate_level: float = 0.95,
    runs: int = 20,
    test_fraction: float = 0.2,
    seed: int = 0,
    workers: int | None = None,
    price: float = 1.0,
    currency: str = "",
    progress: bool | None = None,
    baselines: Sequence[str] | None = None,
    tracker: TrackerMaker | None = None,
    l2: Sequence[float] | None = None,
) -> BacktestResult:
    """Replay a panel that was read before; the parameters are those of :func:`backtest`."""
    began = time.perf_counter()
    validation.count(_OWNER, least=1, runs=runs)
    validation.count(_OWNER, least=0, seed=seed)
    validation.fraction(_OWNER, test_fraction=test_fraction)
    validation.nonnegative(_OWNER, price=price)
    chosen = choose_baselines(baselines)
    if workers is not None:
        validation.count(_OWNER, least=1, workers=workers)
    _check_target(epsilon, tolerance, confidence)
    validation.fraction(_OWNER, certificate_level=certificate_level)
    if l2 is not None and tracker is not None:
        raise ParameterError("must be None with a tracker of your own; got both.", owner="backtest", name="l2")
    asked = TrackerConfig(
        epsilon=epsilon,
        tolerance=tolerance,
        confidence=confidence,
        certificate_level=certificate_level,
        maker=tracker,
        l2=None if l2 is None else read_l2(_OWNER, l2),
    )
    notes = list(panel.notes)
    with one_thread(), Progress(progress) as bar:
        job = prepare(panel, loss=loss, asked=asked, test_fraction=test_fraction, seed=seed, baselines=chosen)
        try:
            found, strategies, skipped, alone = _replay_all(job, runs, workers, bar)
        except CollinearColumnsError as error:  # of a tracker of the user's own: the default one needs no independence
            raise feature_error(error, panel.features) from None
    if alone:
        notes.append("One core was used: the loss or the tracker is defined where other processes cannot see it.")
    if tolerance is not None:
        notes.append("The target of a period is the tolerance times the least loss that any model has on all its rows.")
    if panel.groups is not None:
        notes.append("Rows of one group are tested on together: in a period nobody is both learnt from and tested on.")
    if runs == 1:
        notes.append("One run has no standard error: periods above the target are not counted.")
    return BacktestResult(
        table=panel.name,
        target=panel.target,
        features=tuple(panel.features),
        loss=repr(job.loss),
        classification=job.classification,
        periods=tuple(panel.periods),
        pool=tuple(int(size) for size in job.pools),
        test_rows=tuple(len(now.y) - int(size) for now, size in zip(job.populations, job.pools, strict=True)),
        epsilon=tuple(float(one) for one in job.epsilon),
        tolerance=tolerance,
        confidence=confidence,
        certificate_level=certificate_level,
        runs=runs,
        seed=seed,
        price=price,
        currency=currency,
        strategies=strategies,
        skipped=skipped,
        ledger=stack_ledger(found),
        assumptions=worst_assumptions(found),
        notes=tuple(notes),
        seconds=time.perf_counter() - began,
        best_loss=tuple(float(now.least) for now in job.populations),
        choices=stack_choices(found),
    )


def _replay_all(
    job: Job, runs: int, workers: int | None, bar: Progress
) -> tuple[list[RunResult], tuple[Strategy, ...], tuple[SkippedBaseline, ...], bool]:
    """Return what the runs found, all strategies, the baselines left out, and whether the job had to stay in this process."""
    with Workers(job, workers=workers, items=runs) as crew:
        found = list(bar.over(crew.map(replay_run, range(runs)), "runs", total=runs))
        replayed, skipped = baseline_strategies(job, found, crew, bar)
        return found, (tracker_strategy(job, found), *replayed), tuple(skipped), crew.alone


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


def _check_target(epsilon: float | None, tolerance: float | None, confidence: float | None) -> None:
    if (epsilon is None) == (tolerance is None):
        came = "neither" if epsilon is None else "both"
        raise ParameterError(
            f"or backtest(tolerance=...) must be given, and only one; got {came}.",
            owner="backtest",
            name="epsilon",
        )
    if epsilon is not None:
        validation.positive(_OWNER, epsilon=epsilon)
    if tolerance is not None:
        validation.positive(_OWNER, tolerance=tolerance)
    if confidence is not None:
        validation.fraction(_OWNER, confidence=confidence)
