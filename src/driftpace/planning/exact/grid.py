"""The numbers of samples that a planner considers, and what they cost."""

from dataclasses import dataclass

import numpy as np

from driftpace.planning.costs import Cost, affordable
from driftpace.planning.exact.outlook_arrays import OutlookArrays
from driftpace.planning.kernels.tables import PointIndices
from driftpace.planning.problem import Problem
from driftpace.typing import FloatArray, IntArray

_USELESS = 1e-3
"""Numbers of samples that leave less than this share of the target, from anywhere, are not told apart."""

MAX_ORDER = 10**7
"""The largest order that is considered; what larger ones could do is bounded, not planned."""

_TINY = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class OrderSizes:
    """``counts`` rising, and what each costs in units of money.

    The numbers between two entries are covered by ``cheapest``, the price of the fewest of them: with the risk of the entry itself
    that is better than any of them. ``beyond``: the last entry stands for all larger numbers, and its risk is taken as 0.

    >>> from driftpace.planning.costs import LinearCost
    >>> served = OrderSizes.of(LinearCost(fixed=5), np.array([1, 2, 4]))
    >>> served.price, served.cheapest, served.whole
    (array([6., 7., 9.]), array([6., 7., 8.]), False)
    """

    counts: IntArray
    price: FloatArray
    cheapest: FloatArray
    beyond: bool = False

    @classmethod
    def of(cls, cost: Cost, counts: IntArray, *, beyond: bool = False) -> "OrderSizes":
        """Return the menu of these numbers at these costs."""
        price = cost.units(counts).astype(np.float64)
        cheapest = cost.units(np.append(0, counts[:-1]) + 1).astype(np.float64)
        return cls(counts, price, cheapest, beyond)

    @property
    def whole(self) -> bool:
        """Whether every number that can be paid is an entry."""
        return not self.beyond and bool((np.diff(self.counts, prepend=0) == 1).all())

    @property
    def plain(self) -> "OrderSizes":
        """The entries as they are: each stands for itself only, at its own price."""
        last = len(self.counts) - (1 if self.beyond else 0)
        return OrderSizes(self.counts[:last], self.price[:last], self.price[:last])

    def entries(self, samples: IntArray) -> IntArray:
        """Return for each number the last entry that is not larger; -1 for none."""
        return np.searchsorted(self.counts, samples, side="right") - 1

    def samples(self, chosen: IntArray) -> IntArray:
        """Return the numbers of samples of chosen entries; -1 stands for none."""
        return np.where(chosen >= 0, self.counts[chosen], 0)


def order_sizes(problem: Problem, risks: OutlookArrays, *, each: int, ratio: float) -> OrderSizes:
    """Return every number up to ``each`` and from there on a geometric sequence, as far as one order can be paid."""
    most = affordable(problem.cost, problem.budget)
    if most == 0:
        return OrderSizes.of(problem.cost, np.empty(0, np.int64))
    limit = min(most, MAX_ORDER)
    useful = problem.outlook.bound.smallest(risks.widest, max(_USELESS * problem.epsilon, _TINY), limit)
    last = limit if useful is None else min(limit, max(useful, each))
    counts = np.arange(1, min(each, last) + 1)
    if last > each:
        powers = np.arange(1, np.ceil(np.log(last / each) / np.log(ratio)) + 1)
        wide = np.unique(np.rint(each * ratio**powers).astype(np.int64))
        counts = np.concatenate([counts, wide[(wide > each) & (wide < last)], [last]])
    beyond = most > last
    return OrderSizes.of(problem.cost, np.append(counts, last + 1) if beyond else counts, beyond=beyond)


_CORNERS = 64
_NEAR = 0.15  # of the step between rungs, in logarithms
_UP = 1.0 + 1e-12  # a distance that is a rung up to rounding is on it


@dataclass(frozen=True, slots=True, eq=False)
class DistanceGrid:
    """``rungs`` are squared distances, rising; a row of every table is a rung.

    ``risk`` after each number of the menu, and in its last column after none; ``gap`` after each number, ``ahead`` the
    squared distance of the next period then, ``ahead_rung`` the rung at or below it; ``idle``, ``later``, ``later_rung`` the
    same after 0, 1, 2, ... periods of waiting. ``before`` is the least gap of a purchase that leads to a rung, ``first`` the
    rung of the start.

    On a ``smooth`` ladder values between rungs may be joined by straight lines: all risks are concave in the squared distance, and
    gaps with their corner inside a step are lowered at its ends so that the line between them stays below.
    """

    points: FloatArray
    sizes: OrderSizes
    smooth: bool
    risk: FloatArray
    gap: FloatArray
    ahead: FloatArray
    ahead_point: PointIndices
    idle: FloatArray
    later: FloatArray
    later_point: PointIndices
    before: FloatArray
    first: int

    @property
    def size(self) -> int:
        """The number of rungs."""
        return len(self.points)


def build_grid(
    problem: Problem,
    risks: OutlookArrays,
    sizes: OrderSizes,
    distances: FloatArray,
    *,
    smooth: bool = False,
    up: bool = False,
) -> DistanceGrid:
    """Return the ladder on these distances; the first distance of the problem becomes one of them.

    It is smooth where asked and where the bound is known to be concave in the squared distance. With ``up`` rungs are those at or
    above a distance: then values are upper bounds, and what they lead to can be done.
    """
    start = problem.outlook.first_distance(0)
    distances = np.unique(np.append(distances, start))
    points = np.square(distances)
    risk = risks.after(distances, sizes.counts)
    if sizes.beyond:
        risk[:, -1] = 0.0
    waited = risks.moved(distances[:, None], np.arange(problem.horizon + 1))
    idle = risks.idle(waited)
    smooth = smooth and risks.concave(sizes.counts)
    ahead, later = np.square(risks.moved(risks.reach(risk), 1)), np.square(waited)
    gap = _gaps(risk, problem.epsilon, smooth)
    if up:
        gap[ahead > points[-1] * _UP] = np.inf  # a purchase that leads beyond the ladder (M > m) is not offered
    return DistanceGrid(
        points=points,
        sizes=sizes,
        smooth=smooth,
        risk=np.column_stack([risk, idle[:, 0]]),
        gap=gap,
        ahead=ahead,
        ahead_point=_point_above(points, ahead) if up else point_below(points, ahead),
        idle=_gaps(idle, problem.epsilon, smooth),
        later=later,
        later_point=_point_above(points, later) if up else point_below(points, later),
        before=_gap_before(problem, risks, distances, up=up),
        first=int(np.searchsorted(distances, start)),
    )


def _drop_close(distances: FloatArray) -> FloatArray:
    """Return the distances without those next to another: a line through two such rungs tells nothing."""
    if len(distances) < 3:
        return distances
    steps = np.diff(np.log(np.maximum(distances, 1e-300)))
    keep = np.append(steps > _NEAR * np.median(steps), True)
    return np.asarray(distances[keep])


def point_below(points: FloatArray, squares: FloatArray) -> PointIndices:
    """Return the last rung at or below each squared distance, the first where there is none."""
    at = np.searchsorted(points, (squares * _UP).ravel(), side="right") - 1
    return np.maximum(at, 0).reshape(squares.shape).astype(np.int32)


def _point_above(points: FloatArray, squares: FloatArray) -> PointIndices:
    at = np.searchsorted(points, (squares / _UP).ravel(), side="left")
    return np.minimum(at, len(points) - 1).reshape(squares.shape).astype(np.int32)


def _gaps(risk: FloatArray, epsilon: float, smooth: bool) -> FloatArray:
    """Return the gaps; on a smooth ladder lowered at both ends of a step in which they begin.

    There max(L, 0), L the chord of risk - epsilon, lies above t L for every t in [0, 1]; t = s/(s + l), s and -l the values of L at
    the upper and the lower end, lowers both ends by s l/(s + l).
    """
    over = risk - epsilon
    over[np.abs(over) <= 1e-12 * epsilon] = 0.0
    gaps = np.maximum(over, 0.0)
    if smooth:
        corner = (over[:-1] < 0.0) & (over[1:] > 0.0)
        lowered = np.where(corner, over[1:] * -over[:-1] / np.where(corner, over[1:] - over[:-1], 1.0), 0.0)
        nothing = np.zeros((1, risk.shape[1]))
        gaps -= np.maximum(np.concatenate([nothing, lowered]), np.concatenate([lowered, nothing]))
    return gaps


def _gap_before(problem: Problem, risks: OutlookArrays, distances: FloatArray, *, up: bool) -> FloatArray:
    """Return the least gap of a purchase one period before each rung; 0 where the way back is not known (``up``: the most)."""
    outlook = problem.outlook
    if risks.root is None:
        return np.full(len(distances), np.inf if up else 0.0)
    if outlook.steps == "walk":
        reach = np.sqrt(np.maximum(distances**2 - outlook.rho**2, 0.0))
    else:
        reach = np.maximum(distances - outlook.rho, 0.0)
    rounding = 1.0 + 1e-9 if up else 1.0 - 1e-9
    return np.maximum((reach / risks.root) ** 2 * rounding - problem.epsilon, 0.0)


def spread_distances(problem: Problem, risks: OutlookArrays, sizes: OrderSizes, size: int) -> FloatArray:
    """Return ``size`` distances in geometric sequence over all that a plan can meet."""
    best = 0.0 if sizes.beyond else _least_risk(risks, sizes)
    lowest = float(risks.moved(risks.reach(np.array([best])), 1)[0])
    lowest = max(lowest * (1.0 - 1e-9), 1e-9 * risks.widest)
    outlook = problem.outlook
    nearest = outlook.first_distance(0) or outlook.first_distance(1)  # a start of 0 is a rung of its own
    lowest = min(lowest, nearest or lowest)
    return _drop_close(np.union1d(np.geomspace(lowest, risks.widest, size), corner_distances(problem, risks, lowest)))


def corner_distances(problem: Problem, risks: OutlookArrays, lowest: float) -> FloatArray:
    """Return the distances from which the target is just met after 0, 1, 2, ... periods of waiting: gaps begin there."""
    if risks.square is None:
        return np.empty(0)
    waits = np.arange(min(problem.horizon, _CORNERS))
    edge, rho = np.sqrt(problem.epsilon / risks.square), problem.outlook.rho
    if problem.outlook.steps == "walk":
        found = np.sqrt(np.maximum(edge**2 - waits * rho**2, 0.0))
    else:
        found = edge - waits * rho
    return np.asarray(found[(found > lowest) & (found < risks.widest)])


def _least_risk(risks: OutlookArrays, sizes: OrderSizes) -> float:
    """Return a risk that no purchase gets under, from the nearest start that repeated purchases lead to."""
    distance = risks.moved(np.zeros(1), 1)
    return float(risks.after(distance, sizes.counts[-1:])[0, 0])


def concentrated_distances(distances: FloatArray, visited: FloatArray, size: int) -> FloatArray:
    """Return ``size`` distances of which four in five lie where a good plan goes, ``visited``, with a margin of a tenth."""
    low = max(visited.min() / 1.1, distances[0])
    high = min(visited.max() * 1.1, distances[-1])
    if not low < high:
        return np.geomspace(distances[0], distances[-1], size)
    dense = np.geomspace(low, high, size * 4 // 5)
    sparse = np.geomspace(distances[0], distances[-1], size - len(dense))
    return _drop_close(np.union1d(np.union1d(dense, sparse), distances if len(distances) < size else distances[::4]))
