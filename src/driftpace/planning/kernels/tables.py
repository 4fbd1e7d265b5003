"""The arguments of the compiled loops: tables over the points of a distance grid, as named tuples.

Grid points are squared distances, increasing. Columns of ``gap`` and ``ahead`` are order sizes; columns of ``idle`` and ``later``
are 0, 1, 2, ... periods of waiting. A plan is an index of the order sizes for each period, -1 for none.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from driftpace.typing import FloatArray

PointIndices = npt.NDArray[np.int32]


class PricedTables(NamedTuple):
    """Tables of the priced programme; see :mod:`driftpace.planning.kernels.dual`."""

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
    """Tables of the programme for a level; see :mod:`driftpace.planning.kernels.levels`.

    From a grid point one can wait at least ``waits`` periods for any weights. ``starts`` holds, for each class of weights, the
    first purchase of each grid point; a purchase has the point it leads to (``points``), its price (``values``) and its order
    size.
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
    """Tables for loops over single plans; see :mod:`driftpace.planning.kernels.plans`.

    The last column of ``risk`` is without samples. ``root`` is that of reach = root sqrt(risk), nan if not of this form;
    ``widest`` is the largest squared distance, ``start`` the first one. ``goal`` is 0 for the mean, 1 for the largest gap, 2
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
    """The minimal values of all nodes: of buying now, of buying now and in the next period, of being free to wait."""

    sample: FloatArray
    pending: FloatArray
    free: FloatArray
