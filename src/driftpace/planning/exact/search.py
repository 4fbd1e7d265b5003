"""The state of a search, and label setting: extending partial plans and dropping dominated ones until the optimum is proven.

A label is a partial plan: the distance it leads to, its cost, and the value of its gaps so far. A label is dropped if another of
the same length is at least as good in all three, if no completion is within the budget, or if a lower bound on its completions
shows that it cannot beat the incumbent. An exhaustive run proves that the plan left at the end is optimal.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from driftpace.planning.costs import budget_units
from driftpace.planning.exact.grid import OrderSizes, OutlookArrays, order_sizes
from driftpace.planning.gaps import TIE, LargestRun, MeanGap
from driftpace.planning.problem import Outlook, Problem, objective_value, risk_gaps, satisfies_adjacency
from driftpace.typing import BoolArray, FloatArray, IntArray

PruneRule = Callable[[int, FloatArray, FloatArray, FloatArray], BoolArray]
"""(period, distances, money, values) of labels before that period -> mask of those that cannot lead to a better plan."""

KeepRule = Callable[[FloatArray, FloatArray, FloatArray], IntArray]
"""(distances, money, values) of extended labels -> indices of those to keep."""

_MAX_CELLS = 6_000_000
_MAX_KEPT = 3_000_000  # labels of all periods together, kept to trace the optimal plan back


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Partial plans before a period; ``distance`` is before any purchase, ``last`` and ``run`` the last gap and the current run.

    ``state`` 0: a purchase now needs one in the next period; 1: a purchase is required now; 2: unconstrained.
    """

    distance: FloatArray
    reach: FloatArray
    age: IntArray
    money: FloatArray
    value: FloatArray
    last: FloatArray
    run: FloatArray
    state: IntArray
    parent: IntArray
    action: IntArray

    def __len__(self) -> int:
        return len(self.distance)

    def at(self, chosen: IntArray | BoolArray) -> "Labels":
        """Return a selection of the labels."""
        return Labels(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def best_plan(
    problem: Problem,
    arrays: OutlookArrays,
    sizes: OrderSizes,
    *,
    most: int,
    prune: PruneRule,
    incumbent: tuple[float, float],
) -> tuple[bool, IntArray | None]:
    """Return whether the search was exhaustive, and the samples of a plan better than the ``incumbent`` (value, cost), if any.

    It is not exhaustive if there are more than ``most`` labels. Of plans with equal values the cheapest is the best.
    """
    budget = float(budget_units(problem.cost, problem.budget))
    outlook = problem.outlook
    needs_neighbour = problem.adjacent and not problem.bought_before
    zero = np.zeros(1)
    labels = Labels(
        distance=np.array([outlook.first_distance(0)]), reach=np.array([np.nan]), age=np.zeros(1, np.int64), money=zero,
        value=zero, last=zero, run=zero, state=np.array([0 if needs_neighbour else 2]), parent=np.zeros(1, np.int64),
        action=np.zeros(1, np.int64),
    )  # fmt: skip
    steps: list[tuple[IntArray, IntArray]] = []
    kept_so_far = 0
    weights = problem.gap.shares(problem.horizon)  # type: ignore[attr-defined]
    for n in range(problem.horizon):
        if len(labels) * (len(sizes.counts) + 1) > _MAX_CELLS:
            return False, None
        last = n + 1 == problem.horizon

        def kept(distance: FloatArray, money: FloatArray, value: FloatArray, n: int = n, last: bool = last) -> IntArray:
            """Return the extended labels that are within the budget, not worse than the incumbent, and not pruned."""
            worse = value >= incumbent[0] * (1.0 - _SAME)
            worse &= (value > incumbent[0] * (1.0 + _SAME)) | (money >= incumbent[1])
            good = np.flatnonzero((money <= budget) & ~worse)
            return good if last else good[~prune(n + 1, distance[good], money[good], value[good])]

        weight = float(weights[n])
        labels = _concatenate(
            _extend_waiting(problem, arrays, labels, n, weight, kept),
            _extend_buying(problem, arrays, sizes, labels, weight, kept),
        )
        if problem.adjacent and last:
            labels = labels.at(labels.state != 1)
        labels = _drop_dominated(problem, labels)
        kept_so_far += len(labels)
        if len(labels) > most or kept_so_far > _MAX_KEPT:
            return False, None
        steps.append((labels.parent, labels.action))
        if len(labels) == 0:
            return True, None
    at = int(np.lexsort((labels.money, labels.value))[0])
    ties = np.flatnonzero(labels.value <= labels.value[at] * (1.0 + _SAME))
    at = int(ties[np.argmin(labels.money[ties])])
    samples = np.zeros(problem.horizon, np.int64)
    for n in range(problem.horizon - 1, -1, -1):
        parent, action = steps[n]
        samples[n] = sizes.counts[action[at]] if action[at] >= 0 else 0
        at = int(parent[at])
    return True, samples


def _concatenate(*parts: Labels) -> Labels:
    return Labels(*(np.concatenate([getattr(part, name) for part in parts]) for name in Labels.__dataclass_fields__))


def _extend_waiting(
    problem: Problem, arrays: OutlookArrays, labels: Labels, n: int, weight: float, kept: KeepRule
) -> Labels:
    """Extend the labels by a period without a purchase."""
    free = np.flatnonzero(labels.state != 1)
    some = labels.at(free)
    outlook = problem.outlook
    if outlook.steps == "printed":
        unsampled = np.isnan(some.reach)
        known = np.where(unsampled, 0.0, some.reach)
        here = np.where(unsampled, outlook.first_distance(n), arrays.moved(known, some.age + 1))
        gap = _gaps(problem, arrays.idle(here))
        age = np.where(unsampled, 0, some.age + 1)
        following = np.where(
            unsampled, outlook.first_distance(n + 1), np.minimum(_printed(outlook, known, age + 1), outlook.diameter)
        )
    else:
        gap = _gaps(problem, arrays.idle(some.distance))
        age, following = some.age, arrays.moved(some.distance, 1)
    value, run = _accumulate(problem, some, gap, weight)
    return Labels(
        distance=following, reach=some.reach, age=age, money=some.money, value=value, last=gap, run=run,
        state=np.full(len(some), 0 if problem.adjacent else 2), parent=free, action=np.full(len(some), -1),
    ).at(kept(following, some.money, value))  # fmt: skip


def _extend_buying(
    problem: Problem, arrays: OutlookArrays, sizes: OrderSizes, labels: Labels, weight: float, kept: KeepRule
) -> Labels:
    """Extend the labels by a period with a purchase; most are dropped before they are stored."""
    risk = arrays.after(labels.distance, sizes.counts)
    counts = risk.shape[1]
    gap, reach = _gaps(problem, risk), arrays.reach(risk)
    outlook = problem.outlook
    if outlook.steps == "printed":
        following = np.minimum(_printed(outlook, reach, np.ones(1, np.int64)), outlook.diameter)
    else:
        following = arrays.moved(reach, 1)
    money = labels.money[:, None] + sizes.price
    value, run = _accumulate(problem, labels, gap, weight)
    some = kept(following.ravel(), money.ravel(), value.ravel())
    parent, action = some // counts, some % counts
    state = labels.state[parent]
    return Labels(
        distance=following.ravel()[some], reach=reach.ravel()[some], age=np.zeros(len(some), np.int64),
        money=money.ravel()[some], value=value.ravel()[some], last=gap.ravel()[some], run=run.ravel()[some],
        state=np.where(state == 0, 1, 2) if problem.adjacent else state, parent=parent, action=action,
    )  # fmt: skip


def _printed(outlook: Outlook, reach: FloatArray, gap: IntArray) -> FloatArray:
    squared: FloatArray = 2.0 * reach**2 + 2.0 * (gap * outlook.rho) ** 2
    return np.sqrt(squared)


def _gaps(problem: Problem, risk: FloatArray) -> FloatArray:
    return risk_gaps(risk, problem.epsilon)  # type: ignore[arg-type]


def _accumulate(problem: Problem, labels: Labels, gap: FloatArray, weight: float) -> tuple[FloatArray, FloatArray]:
    """Return the value so far with one more gap, and the current run; a row of ``gap`` is a label."""
    value, run, last = labels.value, labels.run, labels.last
    if gap.ndim == 2:
        value, run, last = value[:, None], run[:, None], last[:, None]
    each = weight * gap
    if isinstance(problem.gap, MeanGap):
        return value + each, each
    if isinstance(problem.gap, LargestRun):
        run = np.where(gap < last * (1.0 - TIE), each, run + each)
        return np.maximum(value, run), run
    return np.maximum(value, each), each


def _drop_dominated(problem: Problem, labels: Labels) -> Labels:
    """Drop dominated labels; with runs or the printed form no dominance order holds, and all are kept."""
    if len(labels) == 0:
        return labels
    if isinstance(problem.gap, LargestRun) or problem.outlook.steps == "printed":
        return labels
    from driftpace.planning.kernels.plans import undominated

    order = np.lexsort((labels.value, labels.money, labels.distance))
    _, ranks = np.unique(labels.money, return_inverse=True)
    keep = np.empty(len(labels), np.bool_)
    undominated(order, ranks.astype(np.int64), labels.value, labels.state, keep)
    return labels.at(keep)


ROUNDING_MARGIN = 1.0 - 1e-9
"""Lower bounds are multiplied by this, so that rounding errors cannot invalidate them."""

_SAME = 1e-12
_MAX_LABELS = 150_000
_FEW, _FEW_RATIO = 24, 1.06
_NEAR, _MANY = 1.4, 160
_MAX_RUN_LABELS = 400_000
_MAX_RUN_HORIZON = 12  # labels of runs do not dominate each other: beyond this there are too many


@dataclass(slots=True, eq=False)
class Search:
    """A search for a plan, with an incumbent ``samples`` of some ``value`` and a proven bound ``lower``.

    ``least`` is the smallest value found; ``money`` breaks ties between values that differ by rounding. ``money_lower`` is a
    lower bound on the cost of meeting the target in every period. A value within ``negligible`` of ``lower`` is good enough.
    ``quick`` trades time for plans that may differ within the accuracy.
    """

    problem: Problem
    accuracy: float
    arrays: OutlookArrays
    budget: float
    samples: IntArray
    value: float
    least: float
    money: float = 0.0
    lower: float = 0.0
    money_lower: float = 0.0
    price: float | None = None
    proof: str = ""
    negligible: float = 0.0
    quick: bool = False
    started: bool = False

    @classmethod
    def of(cls, problem: Problem, accuracy: float, negligible: float = 0.0, *, quick: bool = False) -> "Search":
        """Return a search whose incumbent buys nothing."""
        nothing = np.zeros(problem.horizon, np.int64)
        value = objective_value(problem, nothing)
        return cls(
            problem=problem,
            accuracy=accuracy,
            arrays=OutlookArrays.of(problem.outlook, problem.horizon),
            budget=float(budget_units(problem.cost, problem.budget)),
            samples=nothing,
            value=value,
            least=value,
            negligible=negligible,
            quick=quick,
        )

    @property
    def gap(self) -> float:
        """The relative optimality gap."""
        return 0.0 if self.value <= 0.0 else max(0.0, 1.0 - self.lower / self.value)

    @property
    def done(self) -> bool:
        """Whether the optimality gap is within the accuracy."""
        return self.within(1.0)

    def within(self, share: float) -> bool:
        """Whether the optimality gap is within this share of the accuracy, or negligible."""
        return self.gap <= share * self.accuracy or self.value - self.lower <= self.negligible

    @property
    def settled(self) -> bool:
        """Whether the plan is within the accuracy: in its cost if it meets the target, else in its value."""
        if self.value > 0.0:
            return self.done
        return self.money <= self.money_lower * (1.0 + self.accuracy)

    @property
    def cutoff(self) -> float:
        """The value a plan must beat to matter; with an accuracy of 0 equal values count, since they may cost less."""
        return self.value * (1.0 - 0.9 * self.accuracy if self.accuracy else 1.0 + 1e-10)

    @property
    def weights(self) -> FloatArray:
        """The contribution of a gap of 1 in each period."""
        shares: FloatArray = self.problem.gap.shares(self.problem.horizon)  # type: ignore[attr-defined]
        return shares

    def order_sizes(self, *, fine: bool) -> OrderSizes:
        """Return the order sizes to consider: all up to 2,000 and a geometric sequence, or a coarser choice."""
        return order_sizes(self.problem, self.arrays, each=2000 if fine else 64, ratio=1.01 if fine else 1.03)

    def few_order_sizes(self) -> OrderSizes:
        """Return about a hundred order sizes: a geometric sequence, and the numbers in the range of the incumbent's orders."""
        sizes = order_sizes(self.problem, self.arrays, each=_FEW, ratio=_FEW_RATIO)
        orders = np.unique(self.samples[self.samples > 0])
        if len(orders) == 0:
            return sizes
        low, high = int(orders[0] / _NEAR), int(np.ceil(orders[-1] * _NEAR))
        near = np.arange(low, high + 1)
        if len(near) > _MANY:
            near = np.rint(np.geomspace(max(low, 1), high, _MANY)).astype(np.int64)
        counts = np.union1d(sizes.counts, near)
        counts = counts[(counts >= 1) & (counts <= sizes.counts[-1])]
        return OrderSizes.of(self.problem.cost, counts, beyond=sizes.beyond)

    def start_from(self, samples: IntArray, price: float | None) -> None:
        """Offer an earlier plan, its last orders left out as far as the budget requires, and its price of money."""
        samples = samples.copy()
        costs = np.cumsum(np.where(samples > 0, self.problem.cost.units(np.maximum(samples, 1)), 0))
        samples[costs > self.budget] = 0
        self.offer(samples)
        self.price = price
        self.started = True

    def offer(self, samples: IntArray) -> None:
        """Make a plan the incumbent if it is feasible and better."""
        problem = self.problem
        money = float(problem.cost.units(samples).sum())
        if money > self.budget or not satisfies_adjacency(problem, samples):
            return
        value = objective_value(problem, samples)
        self.least = min(self.least, value)
        tied = self.least * (1.0 + _SAME)
        if value <= tied and (self.value > tied or money < self.money):
            self.samples, self.value, self.money = samples, value, money

    def visited(self) -> FloatArray:
        """Return the distances along the incumbent, without its first steps if there are more."""
        outlook = self.problem.outlook
        distance, distances = outlook.first_distance(0), []
        for count in self.samples.tolist():
            reach = outlook.reach(outlook.bound(distance, count)) if count else distance
            distance = outlook.idle_distance(reach, 1)
            distances.append(distance)
        return np.array(distances[2:] if len(distances) > 4 else distances)

    def raise_lower(self, lower: float) -> None:
        """Record a proven lower bound on the value of every plan."""
        self.lower = max(self.lower, min(lower, self.value))

    def label_setting(self, sizes: OrderSizes, prune: PruneRule) -> bool:
        """Run label setting; return whether it was exhaustive, so that the incumbent is optimal."""
        if not sizes.complete:
            return False
        runs = isinstance(self.problem.gap, LargestRun)
        if runs and self.problem.horizon > _MAX_RUN_HORIZON:
            return False
        exhaustive, samples = best_plan(
            self.problem,
            self.arrays,
            sizes,
            most=_MAX_RUN_LABELS if runs else _MAX_LABELS,
            prune=prune,
            incumbent=(self.value, self.money),
        )
        if samples is not None:
            self.offer(samples)
        return exhaustive
