"""The runs of one way to spend, side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftpace.typing import FloatArray
from paper.cost.courses import Course
from paper.cost.setting import NOISE


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Taken:
    """Excess risk, samples and prices of every run and period, (runs, periods)."""

    risks: FloatArray
    samples: FloatArray
    prices: FloatArray

    @classmethod
    def of(cls, courses: Sequence[Course]) -> "Taken":
        """Return the courses, stacked."""
        return cls(
            risks=np.array([course.risks for course in courses]),
            samples=np.array([course.samples for course in courses], dtype=np.float64),
            prices=np.array([course.prices for course in courses], dtype=np.float64),
        )

    def first(self, runs: int) -> "Taken":
        """Return the first runs alone."""
        return Taken(risks=self.risks[:runs], samples=self.samples[:runs], prices=self.prices[:runs])

    @property
    def losses(self) -> FloatArray:
        """The expected loss on a fresh row, in every run and period."""
        return self.risks + 0.5 * NOISE

    @property
    def loss(self) -> FloatArray:
        """The test loss of each run, its mean over the periods."""
        return np.asarray(self.losses.mean(axis=1))

    @property
    def risk(self) -> FloatArray:
        """The excess risk of each run, its mean over the periods."""
        return np.asarray(self.risks.mean(axis=1))

    @property
    def spent(self) -> FloatArray:
        """What each run cost."""
        return np.asarray(self.prices.sum(axis=1))

    @property
    def bought(self) -> FloatArray:
        """The samples of each run, a period."""
        return np.asarray(self.samples.mean(axis=1))

    @property
    def empty(self) -> FloatArray:
        """The share of periods of each run in which nothing is bought."""
        return np.asarray((self.samples == 0).mean(axis=1))
