"""A tracker led through a world whose truth is known, and many such runs side by side."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from driftpace.synthetic import Population
from driftpace.tracker import Tracker
from driftpace.typing import FloatArray
from paper.cost.setting import LOSS


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Followed:
    """True excess risk, samples, drift estimate and promised risk of each period of one run; NaN where there was none."""

    risks: FloatArray
    samples: FloatArray
    drifts: FloatArray
    promised: FloatArray


class Job(Protocol):
    """One run of one arm of a study: a record that can be sent to another process."""

    def follow(self) -> Followed:
        """Return what came of it."""
        ...


def followed(job: Job) -> Followed:
    """Return what came of a job."""
    return job.follow()


def lead(tracker: Tracker, world: Callable[[int], Population], periods: int, number: int) -> Followed:
    """Return how a tracker fares in periods 1 .. periods, with rows from the stream of run ``number``."""
    rows = np.random.default_rng([number, 1])
    risks, samples, drifts, promised = (np.full(periods, math.nan) for _ in range(4))
    for index in range(periods):
        now = world(index + 1)
        report = tracker.step(lambda wanted, now=now: now.draw(wanted, rng=rows))  # type: ignore[misc]
        risks[index] = now.excess_risk(LOSS, tracker.coef)
        samples[index] = report.samples
        drifts[index] = math.nan if report.rho is None else report.rho
        promised[index] = report.risk_bound
    return Followed(risks=risks, samples=samples, drifts=drifts, promised=promised)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Runs:
    """The runs of one arm, (runs, periods) each."""

    risks: FloatArray
    samples: FloatArray
    drifts: FloatArray
    promised: FloatArray

    @classmethod
    def of(cls, found: Sequence[Followed]) -> "Runs":
        """Return the runs, stacked."""
        return cls(
            risks=np.array([one.risks for one in found]),
            samples=np.array([one.samples for one in found]),
            drifts=np.array([one.drifts for one in found]),
            promised=np.array([one.promised for one in found]),
        )

    @property
    def labels(self) -> FloatArray:
        """All samples of each run."""
        return np.asarray(self.samples.sum(axis=1))

    def risk(self, after: int = 0) -> FloatArray:
        """Return the mean excess risk of each run over the periods after the first ``after``."""
        return np.asarray(self.risks[:, after:].mean(axis=1))

    def size(self, after: int = 0) -> FloatArray:
        """Return the mean number of samples of each run over the periods after the first ``after``."""
        return np.asarray(self.samples[:, after:].mean(axis=1))
