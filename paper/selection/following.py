"""One run of a tracker that chooses its penalty, with the models it did not choose beside it."""

from dataclasses import dataclass

import numpy as np

from driftpace.selection import Choosing
from driftpace.typing import FloatArray
from paper.selection.setting import FOLDS, LOSS, PERIODS, Method, tracker_of, world_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """One run: which method, which penalties, and how it chooses."""

    method: Method
    grid: tuple[float, ...]
    run: int
    seed: int
    folds: int = FOLDS
    choosing: Choosing = "least"
    memory: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Followed:
    """Over periods: rows, the place of the chosen penalty, the excess risk of the chosen model and of every candidate.

    Risks are those of the loss without a penalty. ``each`` is (periods, candidates): what each fixed penalty would have had with
    the same rows.
    """

    samples: FloatArray
    chosen: FloatArray
    risk: FloatArray
    each: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Runs:
    """The same over runs, one more axis in front."""

    grid: tuple[float, ...]
    samples: FloatArray
    chosen: FloatArray
    risk: FloatArray
    each: FloatArray

    @classmethod
    def of(cls, grid: tuple[float, ...], found: list[Followed]) -> "Runs":
        """Return runs put together."""
        return cls(
            grid=grid,
            **{name: np.array([getattr(one, name) for one in found]) for name in ("samples", "chosen", "risk", "each")},
        )

    @property
    def best(self) -> int:
        """The place of the best fixed penalty in hindsight: least mean risk over all runs and periods."""
        return int(self.each.mean(axis=(0, 1)).argmin())

    @property
    def chosen_l2(self) -> FloatArray:
        """The chosen penalty, (runs, periods)."""
        return np.array(self.grid)[self.chosen.astype(np.int64)]


def follow(job: Job) -> Followed:
    """Follow the world of the run; it depends on the job alone."""
    world = world_of(job.seed, job.run)
    rng = np.random.default_rng([job.seed, job.run, 5])
    tracker = tracker_of(
        job.method, world, job.grid, job.run, folds=job.folds, choosing=job.choosing, memory=job.memory
    )
    samples, chosen, risk, each = [], [], [], []
    for n in range(1, PERIODS + 1):
        now = world.period(n)
        report = tracker.step(lambda count, now=now: now.draw(count, rng=rng))  # type: ignore[misc]
        assert report.selected is not None
        samples.append(report.samples)
        chosen.append(report.selected.index)
        risk.append(now.excess_risk(LOSS, tracker.coef))
        each.append([now.excess_risk(LOSS, model) for model in tracker.models.values()])
    return Followed(
        samples=np.array(samples, dtype=np.float64),
        chosen=np.array(chosen, dtype=np.float64),
        risk=np.array(risk),
        each=np.array(each),
    )
