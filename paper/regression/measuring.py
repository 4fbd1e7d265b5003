"""The groups of twenty runs that the paper has one of, and how still sample sizes stand."""

from dataclasses import dataclass

import numpy as np

from driftpace.typing import FloatArray
from paper.montecarlo import Courses
from paper.over_runs import errors
from paper.regression.settings import PAPER_RUNS


@dataclass(frozen=True, kw_only=True, slots=True)
class Groups:
    """Averages over groups of twenty runs, as the paper has one: 10 %, median and 90 % of their mean risk and spread over n."""

    risk: tuple[float, float, float]
    spread: tuple[float, float, float]


def groups(courses: Courses) -> Groups:
    """Return what averages over twenty runs look like, from many such groups."""
    whole = courses.runs // PAPER_RUNS
    by_period = courses.risk[: whole * PAPER_RUNS].reshape(whole, PAPER_RUNS, -1).mean(axis=1)
    return Groups(risk=_three(by_period.mean(axis=1)), spread=_three(by_period.std(axis=1, ddof=1)))


def _three(values: FloatArray) -> tuple[float, float, float]:
    low, middle, high = (float(number) for number in np.quantile(values, (0.1, 0.5, 0.9)))
    return low, middle, high


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """How still the sample sizes stand in the last five periods, the run average: mean step, slope a period and its error."""

    samples: float
    step: float
    slope: float
    slope_error: float

    @property
    def holds(self) -> bool:
        """Whether sizes move by less than 5 % from one period to the next, and by less than 1 % a period in one direction."""
        return self.step < 0.05 * self.samples and abs(self.slope) < 0.01 * self.samples


def settled(courses: Courses, last: int = 5) -> Settled:
    """Return how the sample sizes stand in the last periods."""
    sizes = courses.samples[:, -last - 1 :].astype(np.float64)
    average = sizes.mean(axis=0)
    time = np.arange(last) - 0.5 * (last - 1)
    slopes = sizes[:, 1:] @ time / float(time @ time)
    return Settled(
        samples=float(average[-1]),
        step=float(abs(np.diff(average)).mean()),
        slope=float(slopes.mean()),
        slope_error=float(errors(slopes)),
    )
