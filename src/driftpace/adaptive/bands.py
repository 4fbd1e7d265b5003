"""Bands of expanded columns: how much each of them explains is anything from nothing to everything before the first rows.

Spline terms and products of columns are worth labels only where they explain something. So the coordinates of a band have a prior
variance of their own, one of many sizes, and the rows of the first period say which: the weights of the sizes are their evidence.
"""

from dataclasses import replace

import numpy as np

from driftpace.adaptive.bank import Bank, Prediction
from driftpace.adaptive.fit import AdaptiveFit
from driftpace.typing import FloatArray

NOTHING = 0.7
"""The chance that a band explains nothing."""

SMALLEST, LARGEST = 1e-4, 0.5
"""Shares of the variance of responses that a band may explain otherwise."""

ALIKE = 0.5
"""How many bands the first opinion of a size counts for, beside what the other bands show."""

COMMON = 0.5
"""How far the weights of the drift models of a band go to those of the slopes in each period."""

_STEP = 2.0
_NONE = 1e-3


def first_bands(
    start: FloatArray, parts: tuple[slice, ...], variance: float, fit: AdaptiveFit | None
) -> tuple[Prediction, ...]:
    """Return what is known of each band before any row, where responses have this ``variance``.

    Bands learn from each other how likely each size is: ``fit`` is a look at the rows before, None for the first.

    >>> first_bands(np.zeros(4), (slice(0, 2), slice(2, 4)), 1.0, None)[0].shares[-1]
    np.float64(0.7)
    """
    count = int(np.ceil(np.log(LARGEST / SMALLEST) / np.log(_STEP))) + 1
    first = np.full(count + 1, (1.0 - NOTHING) / count)
    first[-1] = NOTHING
    explained = np.append(np.geomspace(SMALLEST, LARGEST, count), _NONE * SMALLEST)
    shown = [] if fit is None else [posterior.shares for posterior in fit.posteriors[-len(parts) :]]
    views = []
    for band, part in enumerate(parts):
        size = part.stop - part.start
        others = [shares for other, shares in enumerate(shown) if other != band]
        shares = (ALIKE * first + sum(others, np.zeros(count + 1))) / (ALIKE + len(others))
        mean = np.repeat(start[None, part], count + 1, axis=0)
        views.append(Prediction(shares=shares, mean=mean, variance=variance * explained / size))
    return tuple(views)


def with_common_speed(banks: tuple[Bank, ...], bands: int) -> tuple[Bank, ...]:
    """Return predicted banks, the last ``bands`` of which are those of bands: these learn from the slopes how fast the drift is.

    A band that explains little shows hardly how fast it moves, and steps of the sizes that are plausible at first would add up.
    """
    first = len(banks) - bands
    slopes = banks[first - 1].shares
    found = [replace(bank, shares=(1.0 - COMMON) * bank.shares + COMMON * slopes) for bank in banks[first:]]
    return (*banks[:first], *found)
