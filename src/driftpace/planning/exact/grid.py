"""The discretisation of a problem: vectorised bounds, the order sizes considered, and a grid of distances with its tables."""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.planning.costs import Cost, affordable
from driftpace.planning.kernels.tables import PointIndices
from driftpace.planning.problem import Outlook, Problem
from driftpace.typing import FloatArray, IntArray

_PROBES = 24
_SAME = 1e-11


@dataclass(frozen=True, slots=True, eq=False)
class OutlookArrays:
    """An ``outlook`` on arrays. ``square``: idle risk = square d^2; ``root``: reach = root sqrt(risk); None if not of this form.

    Most bounds have a simple form in the distance (alpha d^2 + beta, a harmonic sum), so that a table is one array expression. The
    form is checked at many points; other bounds are evaluated point by point. ``widest`` is the largest distance in a plan of
    ``horizon`` periods.

    >>> from driftpace.bounds import Anchored
    >>> arrays = OutlookArrays.of(Outlook(bound=Anchored(noise=1.0, features=3), rho=0.3, start=3.0), horizon=10)
    >>> arrays.after(np.array([1.0, 3.0]), np.array([10, 40])).round(4)
    array([[0.1667, 0.0385],
           [0.2368, 0.0413]])
    >>> arrays.idle(np.array([1.0])), arrays.reach(np.array([0.02]))
    (array([0.5]), array([0.2]))
    """

    outlook: Outlook
    widest: float
    square: float | None
    root: float | None

    @classmethod
    def of(cls, outlook: Outlook, horizon: int) -> "OutlookArrays":
        """Return the vectorised outlook for a horizon."""
        widest = max(outlook.first_distance(horizon), outlook.idle_distance(outlook.start, horizon), 1e-9)
        probes = np.geomspace(1e-6 * widest, widest, _PROBES)
        return cls(outlook, widest, _square(outlook, probes), _root(outlook, widest))

    def idle(self, distances: FloatArray) -> FloatArray:
        """Return the risk at each distance without samples."""
        if self.square is not None:
            return self.square * np.square(distances)
        bound = self.outlook.bound
        return np.array([bound(float(d), 0) for d in distances.ravel()]).reshape(distances.shape)

    def reach(self, risks: FloatArray) -> FloatArray:
        """Return the largest distance from its optimum of a model with each risk."""
        if self.root is not None:
            return self.root * np.sqrt(risks)
        reach = self.outlook.reach
        return np.array([reach(float(risk)) for risk in risks.ravel()]).reshape(risks.shape)

    def moved(self, reach: FloatArray, gap: int | IntArray) -> FloatArray:
        """Return each distance ``gap`` periods later."""
        outlook = self.outlook
        if outlook.steps == "walk":
            distances = np.sqrt(np.square(reach) + gap * outlook.rho**2)
        else:
            distances = reach + gap * outlook.rho
        return np.minimum(distances, outlook.diameter)

    def factors(self, counts: IntArray) -> tuple[FloatArray, FloatArray] | None:
        """Return alpha, beta of each count if the risk is min(idle, alpha d^2 + beta), else None."""
        if self.square is None:
            return None
        factors = [self.outlook.bound.factors(int(count)) for count in counts]
        if any(each is None for each in factors):
            return None
        alpha = np.array([each.alpha for each in factors if each is not None])
        beta = np.array([each.beta for each in factors if each is not None])
        if not (np.isfinite(alpha).all() and np.isfinite(beta).all()):
            return None
        return (alpha, beta) if self._agrees(counts, alpha, beta) else None

    def concave(self, counts: IntArray) -> bool:
        """Whether the risk after each count is known to be concave in the squared distance, like that of waiting.

        min(square z, alpha z + beta) is; other bounds declare it.
        """
        simple = self.square is not None and self.root is not None
        return simple and (self.factors(counts) is not None or getattr(self.outlook.bound, "concave", False) is True)

    def after(self, distances: FloatArray, counts: IntArray) -> FloatArray:
        """Return the risk from each distance (a row) after each number of samples (a column)."""
        factors = self.factors(counts)
        if factors is not None:
            squared = np.square(distances)[:, None]
            assert self.square is not None
            return np.minimum(squared * factors[0] + factors[1], self.square * squared)
        bound = self.outlook.bound
        if hasattr(bound, "table"):
            return np.asarray(bound.table(distances, counts), dtype=np.float64)
        return np.array([[bound(float(d), int(count)) for count in counts] for d in distances])

    def _agrees(self, counts: IntArray, alpha: FloatArray, beta: FloatArray) -> bool:
        """Whether the factors reproduce the bound at a range of distances and counts."""
        assert self.square is not None
        bound = self.outlook.bound
        picks = np.unique(np.linspace(0, len(counts) - 1, _PROBES).astype(int))
        for at, d in zip(picks, np.geomspace(1e-3 * self.widest, self.widest, len(picks)), strict=True):
            for distance in (float(d), self.widest, 1e-3 * self.widest):
                formula = min(self.square * distance**2, alpha[at] * distance**2 + beta[at])
                true = bound(distance, int(counts[at]))
                if not abs(formula - true) <= _SAME * true:
                    return False
        return True


def _square(outlook: Outlook, probes: FloatArray) -> float | None:
    square = outlook.bound(1.0, 0)
    true = np.array([outlook.bound(float(d), 0) for d in probes])
    return square if np.allclose(square * probes**2, true, rtol=_SAME, atol=0.0) else None


def _root(outlook: Outlook, widest: float) -> float | None:
    if outlook.m is not None:
        return math.sqrt(2.0 / outlook.m)
    root = outlook.reach(1.0)
    risks = np.geomspace(1e-12, 1.0, _PROBES) * max(outlook.bound(widest, 0), 1e-300)
    true = np.array([outlook.reach(float(risk)) for risk in risks])
    return root if np.allclose(root * np.sqrt(risks), true, rtol=_SAME, atol=0.0) else None


_USELESS = 1e-3
"""Order sizes whose risk is below this share of the target from every distance are treated alike."""

MAX_ORDER = 10**7
"""The largest order considered; the effect of larger ones is bounded."""

_TINY = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class OrderSizes:
    """The order sizes ``counts``, increasing, with their ``price`` in units of money.

    An entry also covers the numbers between it and the previous one: ``cheapest`` is the price of the smallest of them, which with
    the risk of the entry itself is better than any of them. With ``beyond`` the last entry covers all larger numbers, at risk 0.

    >>> from driftpace.planning.costs import LinearCost
    >>> sizes = OrderSizes.of(LinearCost(fixed=5), np.array([1, 2, 4]))
    >>> sizes.price, sizes.cheapest, sizes.complete
    (array([6., 7., 9.]), array([6., 7., 8.]), False)
    """

    counts: IntArray
    price: FloatArray
    cheapest: FloatArray
    beyond: bool = False

    @classmethod
    def of(cls, cost: Cost, counts: IntArray, *, beyond: bool = False) -> "OrderSizes":
        """Return the order sizes ``counts`` with their prices."""
        price = cost.units(counts).astype(np.float64)
        cheapest = cost.units(np.append(0, counts[:-1]) + 1).astype(np.float64)
        return cls(counts, price, cheapest, beyond)

    @property
    def complete(self) -> bool:
        """Whether every affordable number is an entry."""
        return not self.beyond and bool((np.diff(self.counts, prepend=0) == 1).all())

    @property
    def plain(self) -> "OrderSizes":
        """The same entries, each covering only itself, at its own price."""
        last = len(self.counts) - (1 if self.beyond else 0)
        return OrderSizes(self.counts[:last], self.price[:last], self.price[:last])

    def entries(self, samples: IntArray) -> IntArray:
        """Return the index of the last entry that is not larger than each number; -1 for none."""
        return np.searchsorted(self.counts, samples, side="right") - 1

    def samples(self, chosen: IntArray) -> IntArray:
        """Return the numbers of samples of entries given by index; -1 stands for none."""
        return np.where(chosen >= 0, self.counts[chosen], 0)


def order_sizes(problem: Problem, arrays: OutlookArrays, *, each: int, ratio: float) -> OrderSizes:
    """Return every number up to ``each``, then a geometric sequence, up to the largest affordable order."""
    most = affordable(problem.cost, problem.budget)
    if most == 0:
        return OrderSizes.of(problem.cost, np.empty(0, np.int64))
    limit = min(most, MAX_ORDER)
    useful = problem.outlook.bound.smallest(arrays.widest, max(_USELESS * problem.epsilon, _TINY), limit)
    last = limit if useful is None else min(limit, max(useful, each))
    counts = np.arange(1, min(each, last) + 1)
    if last > each:
        powers = np.arange(1, np.ceil(np.log(last / each) / np.log(ratio)) + 1)
        wide = np.unique(np.rint(each * ratio**powers).astype(np.int64))
        counts = np.concatenate([counts, wide[(wide > each) & (wide < last)], [last]])
    beyond = most > last
    return OrderSizes.of(problem.cost, np.append(counts, last + 1) if beyond else counts, beyond=beyond)


_CORNERS = 64
_NEAR = 0.15  # of the median step between points, in logarithms
_UP = 1.0 + 1e-12  # a distance that equals a point up to rounding is that point


@dataclass(frozen=True, slots=True, eq=False)
class DistanceGrid:
    """A grid of squared distances ``points``, increasing; the rows of every table are grid points.

    ``risk`` after each order size, and in its last column without samples; ``gap`` after each order size, ``ahead`` the squared
    distance of the next period, ``ahead_point`` the grid point at or below it; ``idle``, ``later``, ``later_point`` the same after
    0, 1, 2, ... periods of waiting. ``before`` is the least gap of a purchase that leads to a point, ``first`` the start.

    On a ``smooth`` grid values may be interpolated linearly: all risks are concave in the squared distance, and gaps with their
    corner inside a cell are lowered at its ends so that the line between them is a lower bound.
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
        """The number of grid points."""
        return len(self.points)


def build_grid(
    problem: Problem,
    arrays: OutlookArrays,
    sizes: OrderSizes,
    distances: FloatArray,
    *,
    smooth: bool = False,
    up: bool = False,
) -> DistanceGrid:
    """Return the grid on these distances and the first distance of the problem.

    It is smooth if requested and if the bound is known to be concave in the squared distance. With ``up`` distances are rounded up
    to grid points: values are then upper bounds, and their policies are feasible.
    """
    start = problem.outlook.first_distance(0)
    distances = np.unique(np.append(distances, start))
    points = np.square(distances)
    risk = arrays.after(distances, sizes.counts)
    if sizes.beyond:
        risk[:, -1] = 0.0
    waited = arrays.moved(distances[:, None], np.arange(problem.horizon + 1))
    idle = arrays.idle(waited)
    smooth = smooth and arrays.concave(sizes.counts)
    ahead, later = np.square(arrays.moved(arrays.reach(risk), 1)), np.square(waited)
    gap = _gaps(risk, problem.epsilon, smooth)
    if up:
        gap[ahead > points[-1] * _UP] = np.inf  # a purchase that leads beyond the grid (M > m) is not available
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
        before=_gap_before(problem, arrays, distances, up=up),
        first=int(np.searchsorted(distances, start)),
    )


def _drop_close(distances: FloatArray) -> FloatArray:
    """Drop distances that nearly coincide with another: a line through two such points is ill-conditioned."""
    if len(distances) < 3:
        return distances
    steps = np.diff(np.log(np.maximum(distances, 1e-300)))
    keep = np.append(steps > _NEAR * np.median(steps), True)
    return np.asarray(distances[keep])


def point_below(points: FloatArray, squares: FloatArray) -> PointIndices:
    """Return the index of the last point at or below each squared distance, 0 if there is none."""
    at = np.searchsorted(points, (squares * _UP).ravel(), side="right") - 1
    return np.maximum(at, 0).reshape(squares.shape).astype(np.int32)


def _point_above(points: FloatArray, squares: FloatArray) -> PointIndices:
    at = np.searchsorted(points, (squares / _UP).ravel(), side="left")
    return np.minimum(at, len(points) - 1).reshape(squares.shape).astype(np.int32)


def _gaps(risk: FloatArray, epsilon: float, smooth: bool) -> FloatArray:
    """Return the gaps; on a smooth grid lowered at both ends of a cell in which they begin.

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


def _gap_before(problem: Problem, arrays: OutlookArrays, distances: FloatArray, *, up: bool) -> FloatArray:
    """Return the least gap of a purchase one period before each point; 0 if it is unknown (``up``: infinity)."""
    outlook = problem.outlook
    if arrays.root is None:
        return np.full(len(distances), np.inf if up else 0.0)
    if outlook.steps == "walk":
        reach = np.sqrt(np.maximum(distances**2 - outlook.rho**2, 0.0))
    else:
        reach = np.maximum(distances - outlook.rho, 0.0)
    rounding = 1.0 + 1e-9 if up else 1.0 - 1e-9
    return np.maximum((reach / arrays.root) ** 2 * rounding - problem.epsilon, 0.0)


def spread_distances(problem: Problem, arrays: OutlookArrays, sizes: OrderSizes, size: int) -> FloatArray:
    """Return ``size`` distances in geometric sequence over the range of all plans, and the corners."""
    best = 0.0 if sizes.beyond else _least_risk(arrays, sizes)
    lowest = float(arrays.moved(arrays.reach(np.array([best])), 1)[0])
    lowest = max(lowest * (1.0 - 1e-9), 1e-9 * arrays.widest)
    outlook = problem.outlook
    nearest = outlook.first_distance(0) or outlook.first_distance(1)  # a start of 0 is a separate point
    lowest = min(lowest, nearest or lowest)
    return _drop_close(np.union1d(np.geomspace(lowest, arrays.widest, size), corner_distances(problem, arrays, lowest)))


def corner_distances(problem: Problem, arrays: OutlookArrays, lowest: float) -> FloatArray:
    """Return the distances at which the target is just met after 0, 1, 2, ... periods of waiting: gaps begin there."""
    if arrays.square is None:
        return np.empty(0)
    waits = np.arange(min(problem.horizon, _CORNERS))
    edge, rho = np.sqrt(problem.epsilon / arrays.square), problem.outlook.rho
    if problem.outlook.steps == "walk":
        corners = np.sqrt(np.maximum(edge**2 - waits * rho**2, 0.0))
    else:
        corners = edge - waits * rho
    return np.asarray(corners[(corners > lowest) & (corners < arrays.widest)])


def _least_risk(arrays: OutlookArrays, sizes: OrderSizes) -> float:
    """Return a lower bound on the risk after a purchase, from the closest distance that repeated purchases reach."""
    distance = arrays.moved(np.zeros(1), 1)
    return float(arrays.after(distance, sizes.counts[-1:])[0, 0])


def concentrated_distances(distances: FloatArray, visited: FloatArray, size: int) -> FloatArray:
    """Return ``size`` distances, four in five of them in the range ``visited`` by a good plan, with a margin of 10 %."""
    low = max(visited.min() / 1.1, distances[0])
    high = min(visited.max() * 1.1, distances[-1])
    if not low < high:
        return np.geomspace(distances[0], distances[-1], size)
    dense = np.geomspace(low, high, size * 4 // 5)
    sparse = np.geomspace(distances[0], distances[-1], size - len(dense))
    return _drop_close(np.union1d(np.union1d(dense, sparse), distances if len(distances) < size else distances[::4]))
