"""What the axes of a figure are: whole numbers or not, on a logarithm or not, from zero or not."""

import math
from dataclasses import replace

import numpy as np

from driftpace.typing import FloatArray
from paper.records import Figure, Series

_NEAR_ZERO = 0.4  # of the highest value; a figure that goes so low shows its zero


def along(figure: Figure) -> FloatArray:
    """Return every x of a figure once, in order."""
    return _finite([series.x for series in figure.series])


def heights(figure: Figure) -> FloatArray:
    """Return every height of a figure once, in order, those of intervals among them."""
    return _finite(
        [values for series in figure.series for values in (series.y, series.low, series.high) if values is not None]
    )


def whole(figure: Figure) -> bool:
    """Tell whether the x axis counts, as periods do."""
    x = along(figure)
    return not figure.equal and bool(x.size) and bool((x == np.round(x)).all())


def logarithmic_x(figure: Figure) -> bool:
    """Tell whether the x are even on a logarithm and uneven otherwise, as targets of 0.3, 0.1, 0.03, 0.01 are.

    >>> def over(*x):
    ...     series = Series(label="a", role="paper", x=x, y=x)
    ...     return Figure(key="k", title="", caption="", alt="", x_label="", y_label="", series=(series,))
    >>> logarithmic_x(over(0.3, 0.1, 0.03, 0.01)), logarithmic_x(over(1.0, 2.0, 3.0, 5.0)), logarithmic_x(over(0.0, 0.1, 1.0))
    (True, False, False)
    """
    x = along(figure)
    if figure.equal or x.size < 3 or x[0] <= 0.0:
        return False
    steps, ratios = np.diff(x), np.diff(np.log(x))
    return bool(steps.max() > 4.0 * steps.min() and ratios.max() < 2.5 * ratios.min())


def from_zero(figure: Figure) -> bool:
    """Tell whether the y axis starts at zero: where all is above it and some of it near."""
    y = heights(figure)
    return not (figure.log_y or figure.equal) and bool(y.size) and 0.0 <= y[0] <= _NEAR_ZERO * y[-1]


def marks_of_logarithm(low: float, high: float) -> list[float]:
    """Return round numbers for a logarithmic axis from ``low`` to ``high``: powers of ten, or more where those are few.

    >>> marks_of_logarithm(0.03, 0.4), marks_of_logarithm(0.002, 90.0), marks_of_logarithm(2.2, 4.1)
    ([0.03, 0.1, 0.3], [0.01, 0.1, 1.0, 10.0], [2.5, 3.0, 4.0])
    """
    choices = ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8))
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    marks: list[float] = []
    for digits in choices:
        marks = [float(f"{digit}e{power}") for power in powers for digit in digits]
        marks = [mark for mark in marks if low * 0.999 <= mark <= high * 1.001]
        if len(marks) >= 3:
            break
    every = math.ceil(len(marks) / 7)
    return marks[::every]


def floor(figure: Figure) -> float:
    """Return where a logarithmic axis ends below: under every curve; an interval that goes near zero is cut there."""
    y = _finite([series.y for series in figure.series])
    above = y[y > 0.0]
    return float(above[0]) / 2.0 if above.size else 0.1


def ceiling(figure: Figure) -> float:
    """Return where a logarithmic axis ends above."""
    y = heights(figure)
    return 1.3 * float(y[-1]) if y.size and y[-1] > 0.0 else 10.0


def above(series: Series, least: float) -> Series:
    """Return the series as a logarithmic axis can show it: nothing where it is not above zero, intervals cut at ``least``."""
    y = np.where(series.y > 0.0, series.y, np.nan)
    if series.low is None or series.high is None:
        return replace(series, y=y)
    return replace(series, y=y, low=np.maximum(series.low, least), high=np.maximum(series.high, least))


def _finite(parts: list[FloatArray]) -> FloatArray:
    values = np.unique(np.concatenate(parts)) if parts else np.empty(0)
    return values[np.isfinite(values)]
