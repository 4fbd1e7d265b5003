"""One resampling of the panel: every method buys from the same rows in the same order, each beside its twin that bought up front.

The machinery is that of the backtest: which rows are tested on, the order in which the others are bought, the best model of a wave
on all its rows, and what any other model loses against it.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from driftpace.backtest.baselines import generous_constants, up_front
from driftpace.backtest.job import Job, PeriodRows, PeriodSplit, count_test_rows, prepare
from driftpace.backtest.job import TrackerConfig as Wanted
from driftpace.backtest.metrics import RunMetrics, measure
from driftpace.backtest.table import Panel
from driftpace.backtest.tracker_run import RowSource, run_tracker
from driftpace.backtest.yardstick import constant_risks, constant_sizes, find_best_constant
from driftpace.constraints import Ball
from driftpace.losses import SquaredLoss
from driftpace.records import Constants
from driftpace.tracker import Tracker
from driftpace.typing import FloatArray
from paper.income.setting import Setting
from paper.income.tables import panel_of, people_of, target_risk, whitened

METHODS = ("paper", "whitened", "practical")
_PEOPLE = 595  # keeps the stream of a people-wise split apart from those of row-wise ones


@dataclass(frozen=True, kw_only=True, slots=True)
class Resampling:
    """The work of one resampling, by its number."""

    setting: Setting
    run: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Hindsight:
    """The work of finding the best constant size over so many resamplings."""

    setting: Setting
    runs: int


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Walk:
    """One method in one resampling. ``kept`` is its twin: as many rows at once in wave 1, and the model kept.

    ``rho`` is the drift as the method estimates it after each wave (NaN before it can), ``wanted`` what its rule would have bought
    of an endless wave.
    """

    bought: RunMetrics
    kept: RunMetrics
    rho: FloatArray
    wanted: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Constant:
    """The least constant number of rows a wave that holds the target, known in hindsight only, and its labels in all."""

    size: int
    kept: bool
    labels: int


def work(item: Resampling | Hindsight) -> dict[str, Walk] | Constant:
    """Do one piece of work; it depends on the item alone."""
    return resample(item) if isinstance(item, Resampling) else best_constant(item)


def resample(item: Resampling) -> dict[str, Walk]:
    """Return what each method did in one resampling."""
    standard, white = jobs(item.setting)
    return walks(standard, white, item.run, people=people_of(item.setting) if item.setting.people else None)


def walks(standard: Job, white: Job, run: int, people: tuple[FloatArray, ...] | None = None) -> dict[str, Walk]:
    """Return what each method does with the rows of a run; the two jobs are the same rows in two systems of coordinates.

    The paper's rule knows its constants: those of the worst wave where features are standardised, and where they are whitened
    those of the first, in which m = M (but for the penalty). With ``people``, who each row is, test people are never bought.
    """
    first = replace(white, populations=white.populations[:1])
    rows = rows_of(standard, run, people)
    return {
        "paper": _as_in_paper(standard, rows, run, generous_constants(standard)),
        "whitened": _as_in_paper(white, rows_of(white, run, people), run, generous_constants(first)),
        "practical": _by_default(standard, rows, run),
    }


def best_constant(item: Hindsight) -> Constant:
    """Search the least constant size that holds the target in the mean from wave 4 on."""
    job, _ = jobs(item.setting)

    def risks(size: int) -> FloatArray:
        return np.array([constant_risks(job, (run, size)) for run in range(item.runs)]).transpose(1, 0, 2)

    best = find_best_constant(risks, job.epsilon, int(job.pools.max()))
    return Constant(size=best.size, kept=best.kept, labels=int(constant_sizes(job, best.size).sum()))


@lru_cache(maxsize=4)
def jobs(setting: Setting) -> tuple[Job, Job]:
    """Return the panel ready to be replayed, with features standardised and with features whitened, or refuse it."""
    panel = panel_of(setting)
    return job_of(setting, panel), job_of(setting, whitened(panel))


def job_of(setting: Setting, panel: Panel) -> Job:
    """Return a panel ready to be replayed with the target, the penalty and the test rows of a setting."""
    return prepare(
        panel,
        loss=SquaredLoss(l2=setting.l2),
        asked=Wanted(epsilon=target_risk(setting, panel)),
        test_fraction=setting.test_fraction,
        seed=setting.seed,
        baselines=(),
    )


def rows_of(job: Job, run: int, people: tuple[FloatArray, ...] | None = None) -> tuple[PeriodRows, ...]:
    """Return the waves of a run: rows to buy, in their order, and rows to test on; by people, the same ones in every wave."""
    if people is None:
        return job.rows(run)
    names = np.unique(np.concatenate(people))
    rng = np.random.default_rng(np.random.SeedSequence(job.seed, spawn_key=(_PEOPLE, run)))
    tested = rng.permutation(names)[: count_test_rows(names.size, job.test_fraction)]
    rows = []
    for population, who in zip(job.populations, people, strict=True):
        order = rng.permutation(who.size)
        apart = np.isin(who[order], tested)
        rows.append(PeriodRows(population=population, split=PeriodSplit(test=order[apart], pool=order[~apart])))
    return tuple(rows)


def _by_default(job: Job, rows: tuple[PeriodRows, ...], run: int) -> Walk:
    followed = run_tracker(job.asked.tracker(job.loss, job.coefficients - 1, job.tracker_seed(run)), rows)
    return Walk(
        bought=measure(rows, followed.coefs, followed.samples, classification=False),
        kept=up_front(job, rows, int(followed.samples.sum())),
        rho=np.sqrt(2.0 * followed.drift),
        wanted=followed.samples_theory,
    )


def _as_in_paper(job: Job, rows: tuple[PeriodRows, ...], run: int, constants: Constants) -> Walk:
    """Follow Tracker.as_in_paper on rows with a column of ones, and its twin: the same SGD over all rows of wave 1 at once."""
    tracker = _paper_tracker(job, run, constants)
    coefs, samples, rho, wanted = [], [], [], []
    for now in rows:
        report = tracker.step(RowSource(now, ones=True), pool=now.pool)
        coefs.append(tracker.coef)
        samples.append(float(report.samples))
        rho.append(np.nan if report.rho is None else report.rho)
        wanted.append(float(report.samples_theory))
    size = min(int(sum(samples)), rows[0].pool)
    twin = _paper_tracker(job, run, constants, first=(size, size))
    twin.step(RowSource(rows[0], ones=True), pool=rows[0].pool)
    once = np.zeros(len(rows))
    once[0] = size
    return Walk(
        bought=measure(rows, np.array(coefs), np.array(samples), classification=False),
        kept=measure(rows, np.tile(twin.coef, (len(rows), 1)), once, classification=False),
        rho=np.array(rho),
        wanted=np.array(wanted),
    )


def _paper_tracker(job: Job, run: int, constants: Constants, first: tuple[int, ...] | None = None) -> Tracker:
    radius = 2.0 * max(float(np.linalg.norm(now.best)) for now in job.populations)
    return Tracker.as_in_paper(
        job.populations[0].loss,
        epsilon=float(job.epsilon[0]),
        domain=Ball(radius=max(radius, 1.0)),
        constants=constants,
        features=job.coefficients,
        first_samples=first,
        rng=job.tracker_seed(run),
    )
