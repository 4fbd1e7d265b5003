"""The runs of one setting together: means with their standard errors, and following against buying up front, in pairs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from driftpace.typing import FloatArray
from paper.classification.running import Course
from paper.classification.setting import Setting
from paper.over_runs import errors, measured
from paper.records import Measured

FALSE_AHEAD = 0.001
"""The chance that one period is called ahead when it is not (one-sided t test over runs)."""


@dataclass(frozen=True, slots=True, eq=False)
class Lead:
    """By how much following the world beats buying up front: ``gain`` (runs, periods), above zero where following is better.

    >>> lead = Lead(np.array([[-1.0, 2.0, 3.0], [-1.5, 2.1, 3.1], [-0.5, 2.1, 3.2]]))
    >>> lead.since, lead.overall.value
    (2, 1.3888)
    """

    gain: FloatArray

    @property
    def mean(self) -> FloatArray:
        """The mean over runs, for each period."""
        return np.asarray(self.gain.mean(axis=0))

    @property
    def z(self) -> FloatArray:
        """The mean over runs in standard errors of the paired differences, for each period."""
        return self.mean / np.maximum(errors(self.gain), 1e-300)

    @property
    def since(self) -> int | None:
        """The first period from which on following is ahead in every one, each by a t test over runs; None if there is none."""
        clear = self.z > student.isf(FALSE_AHEAD, len(self.gain) - 1)
        behind = np.flatnonzero(~clear)
        first = 1 if behind.size == 0 else int(behind[-1]) + 2
        return first if first <= clear.size else None

    @property
    def overall(self) -> Measured:
        """The mean over runs and periods, with its standard error over runs."""
        return measured(self.gain.mean(axis=1))

    @property
    def overall_z(self) -> float:
        """The mean over runs and periods in standard errors."""
        return in_errors(self.overall)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Gathered:
    """All runs of a setting, (runs, periods) each; ``rho``, in the norm of the method, and ``least`` are the truth."""

    setting: Setting
    samples: FloatArray
    rho_estimate: FloatArray
    loss: FloatArray
    auc: FloatArray
    front_loss: FloatArray
    front_auc: FloatArray
    rho: float
    least: float
    best_auc: float

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.samples)

    @property
    def periods(self) -> FloatArray:
        """1, 2, ..."""
        return np.arange(1.0, self.setting.periods + 1.0)

    @property
    def excess(self) -> FloatArray:
        """The exact excess risk, (runs, periods)."""
        return self.loss - self.least

    @property
    def loss_lead(self) -> Lead:
        """Following against up front, in test loss."""
        return Lead(self.front_loss - self.loss)

    @property
    def auc_lead(self) -> Lead:
        """Following against up front, in area under the curve."""
        return Lead(self.auc - self.front_auc)

    @property
    def above(self) -> Measured:
        """By how much the drift estimate is above the truth, the mean over periods 2, 3, ... and runs."""
        return measured(self.rho_estimate[:, 1:].mean(axis=1) - self.rho)

    @property
    def above_z(self) -> float:
        """The same in standard errors."""
        return in_errors(self.above)


def gather(setting: Setting, courses: Sequence[Course]) -> Gathered:
    """Return the runs of a setting together with its truth, the same in each period: each is a turned copy of the first."""
    loss, first = setting.loss, setting.world.period(1)
    best = first.minimiser(loss)
    return Gathered(
        setting=setting,
        samples=np.array([course.samples for course in courses]),
        rho_estimate=np.array([course.rho for course in courses]),
        loss=np.array([course.loss for course in courses]),
        auc=np.array([course.auc for course in courses]),
        front_loss=np.array([course.front_loss for course in courses]),
        front_auc=np.array([course.front_auc for course in courses]),
        rho=setting.rho(),
        least=float(first.risk(loss, best)),
        best_auc=float(first.auc(best)),
    )


def in_errors(number: Measured) -> float:
    """Return a number as a multiple of its standard error."""
    assert number.error is not None
    return number.value / max(number.error, 1e-300)
