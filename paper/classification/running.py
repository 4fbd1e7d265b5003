"""One run: a method follows the classes, and its twin buys as many rows at once in period 1 and keeps what it learnt."""

from dataclasses import dataclass

import numpy as np

from driftpace.backtest.metrics import auc
from driftpace.synthetic import TwoClasses
from driftpace.typing import FloatArray
from paper.asked import key
from paper.classification.setting import Setting

_STREAM = 3  # this experiment's own draws
_UP_FRONT, _TEST = 0, 1_000  # the periods' draws are numbered 1, 2, ...; these are not among them


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Course:
    """What a run came to, a number for each period: rows bought, drift as estimated (NaN before there is one), and judgement.

    ``loss`` is the exact risk of the model, penalty included, ``auc`` the area under its curve; ``front_loss`` and ``front_auc``
    those of the model fitted to all the rows in period 1.
    """

    samples: FloatArray
    rho: FloatArray
    loss: FloatArray
    auc: FloatArray
    front_loss: FloatArray
    front_auc: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """Run number ``number`` of a setting. All settings meet the same streams of random numbers, so they are compared in pairs."""

    setting: Setting
    seed: int
    number: int

    def stream(self, part: int) -> np.random.Generator:
        """Return the random numbers of a period, or of another part of the run."""
        return np.random.default_rng((self.seed, _STREAM, self.number, part))


def follow(run: Run) -> Course:
    """Return what the method did in each period, and how its twin fared that was fitted once.

    >>> course = follow(Run(setting=Setting(epsilon=0.1, periods=3), seed=0, number=0))
    >>> course.samples[:2], course.loss.shape
    (array([100., 100.]), (3,))
    """
    setting, world = run.setting, run.setting.world
    tracker = setting.tracker(rng=key(run.seed, run.number))
    models, samples, rho = [], [], []
    for n in range(1, setting.periods + 1):
        period, rng = world.period(n), run.stream(n)
        report = tracker.step(lambda rows, period=period, rng=rng: period.draw(rows, rng=rng))  # type: ignore[misc]
        models.append(tracker.coef)
        samples.append(float(report.samples))
        rho.append(np.nan if report.rho is None else report.rho)
    kept = up_front(run, int(sum(samples)))
    judged = [
        _judged(run, world.period(n), n, np.stack([model, kept])) for n, model in enumerate(models, start=1)
    ]  # (periods, loss and auc, following and up front)
    loss, area = np.moveaxis(np.array(judged), 1, 0)
    return Course(
        samples=np.array(samples),
        rho=np.array(rho),
        loss=loss[:, 0],
        auc=area[:, 0],
        front_loss=loss[:, 1],
        front_auc=area[:, 1],
    )


def up_front(run: Run, total: int) -> FloatArray:
    """Return the model of a fresh tracker of the same method that is told ``total`` rows in period 1."""
    tracker = run.setting.tracker(rng=key(run.seed, run.number))
    tracker.ask()
    tracker.tell(*run.setting.world.period(1).draw(total, rng=run.stream(_UP_FRONT)))
    return tracker.coef


def _judged(run: Run, period: TwoClasses, n: int, models: FloatArray) -> tuple[FloatArray, FloatArray]:
    loss = run.setting.loss
    if run.setting.tested == 0:
        return period.risk(loss, models), period.auc(models)
    X, y = period.draw(run.setting.tested, rng=run.stream(_TEST + n))
    return (
        np.array([loss.value(model, X, y) for model in models]),
        np.array([auc(X @ model, y) for model in models]),
    )
