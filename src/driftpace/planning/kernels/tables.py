"""What the compiled loops are given: tables over the rungs of a ladder, as named tuples of arrays and numbers.

Rungs are squared distances, rising. Columns of ``gap`` and ``ahead`` are entries of the menu; columns of ``idle`` and ``later`` are
0, 1, 2, ... periods of waiting. A plan is an entry for each period, -1 for none.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from driftpace.typing import FloatArray

PointIndices = npt.NDArray[np.int32]


class PricedTables(NamedTuple):
    """For the programme in which money has a price; see :mod:`driftpace.planning.kernels.dual`."""

    points: FloatArray
    smooth: bool
    weights: FloatArray
    prices: FloatArray
    gap: FloatArray
    least_gap: FloatArray
    ahead: FloatArray
    ahead_point: PointIndices
    idle: FloatArray
    later: FloatArray
    later_point: PointIndices
    adjacent: bool


class LevelTables(NamedTuple):
    """For the programme that holds a level; see :mod:`driftpace.planning.kernels.levels`.

    From a rung one can wait ``waits`` periods at least, whatever their weights. ``starts`` says, for each class of weights,
    where the offers of each rung begin; an offer is the rung it leads to, its price and the entry bought.
    """

    runs: bool
    level: float
    classes: npt.NDArray[np.int64]
    weights: FloatArray
    idle: FloatArray
    later_point: PointIndices
    before: FloatArray
    waits: npt.NDArray[np.int64]
    adjacent: bool
    starts: npt.NDArray[np.int64]
    points: npt.NDArray[np.int64]
    values: FloatArray
    entries: npt.NDArray[np.int64]


class PlanTables(NamedTuple):
    """For loops that look at one plan at a time; see :mod:`driftpace.planning.kernels.plans`.

    The last column of ``risk`` is that of buying none. ``root`` is that of reach = root sqrt(risk), nan where it is not so;
    ``widest`` is the widest squared distance, ``start`` the first one. ``goal`` is 0 for the mean, 1 for the largest gap, 2
    for the largest run.
    """

    points: FloatArray
    risk: FloatArray
    ahead: FloatArray
    rho: float
    walk: bool
    widest: float
    root: float
    start: float
    epsilon: float
    goal: int
    weights: FloatArray
    prices: FloatArray
    budget: float
    adjacent: bool
    bought_before: bool


class Values(NamedTuple):
    """The least value from every node on: of buying now, of buying with a duty to buy again, of being free to wait."""

    sample: FloatArray
    pending: FloatArray
    free: FloatArray
