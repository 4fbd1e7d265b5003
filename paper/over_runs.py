"""Numbers over runs: a mean with its standard error, a curve with its band, and a paired difference in standard errors."""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.typing import FloatArray, IntArray
from paper.records import Measured, Role, Series


def errors(values: FloatArray) -> FloatArray:
    """Return the standard error of the mean over runs, the first axis, of every other number."""
    return np.asarray(np.std(values, axis=0, ddof=1) / math.sqrt(len(values)))


def standard_error(each: FloatArray) -> float:
    """Return the standard error of the mean of one number for each run."""
    if np.ptp(each) == 0.0:  # equal numbers have a mean that is off by rounding, and would have an error of 1e-17
        return 0.0
    return float(errors(each))


def measured(each: FloatArray | IntArray, *, unit: str = "", note: str = "") -> Measured:
    """Return the mean of one number for each run, with its standard error.

    >>> measured(np.array([1.0, 2.0, 3.0]))
    Measured(value=2.0, error=0.577, unit='', note='')
    """
    numbers = np.asarray(each, dtype=np.float64)
    mean = numbers[0] if np.ptp(numbers) == 0.0 else numbers.mean()  # of equal numbers without its rounding
    return Measured(value=float(mean), error=standard_error(numbers), unit=unit, note=note)


def curve(
    label: str, role: Role, x: FloatArray, values: FloatArray, *, steps: bool = False, band: bool = True
) -> Series:
    """Return the mean over runs of ``values``, (runs, len(x)), two standard errors to either side."""
    mean = values.mean(axis=0)
    if not band:
        return Series(label=label, role=role, x=x, y=mean, steps=steps)
    error = 2.0 * errors(values)
    # a band of two standard errors never leaves what was seen, so that a log axis can show it
    low, high = np.maximum(mean - error, values.min(axis=0)), np.minimum(mean + error, values.max(axis=0))
    return Series(label=label, role=role, x=x, y=mean, low=low, high=high, steps=steps)


@dataclass(frozen=True, kw_only=True, slots=True)
class Paired:
    """A mean difference over the same runs, ``z`` standard errors from zero."""

    mean: float
    error: float

    @property
    def z(self) -> float:
        """The difference in standard errors; infinite where every run has the same."""
        if self.error == 0.0:
            return 0.0 if self.mean == 0.0 else math.copysign(math.inf, self.mean)
        return self.mean / self.error

    def __str__(self) -> str:
        return f"{self.mean:.3g} +- {self.error:.2g} (z = {self.z:.1f})"


def paired(one: FloatArray, other: FloatArray) -> Paired:
    """Return how much ``one`` is above ``other``, run by run.

    >>> paired(np.array([2.0, 3.0, 4.5]), np.array([1.0, 2.0, 3.0])).z
    7.0
    """
    each = np.asarray(one, dtype=np.float64) - np.asarray(other, dtype=np.float64)
    return Paired(mean=float(each.mean()), error=standard_error(each))
