"""The numbers of samples that a planner considers, and what they cost."""

from dataclasses import dataclass

import numpy as np

from driftpace.planning.costs import Cost, affordable
from driftpace.planning.problem import Problem
from driftpace.planning.risks import Risks
from driftpace.typing import FloatArray, IntArray

_USELESS = 1e-3
"""Numbers of samples that leave less than this share of the target, from anywhere, are not told apart."""

MOST_AT_ONCE = 10**7
"""The largest order that is considered; what larger ones could do is bounded, not planned."""

_TINY = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class Menu:
    """``counts`` rising, and what each costs in units of money.

    The numbers between two entries are covered by ``cheapest``, the price of the fewest of them: with the risk of the entry itself
    that is better than any of them. ``beyond``: the last entry stands for all larger numbers, and its risk is taken as 0.

    >>> from driftpace.planning.costs import LinearCost
    >>> served = Menu.of(LinearCost(fixed=5), np.array([1, 2, 4]))
    >>> served.price, served.cheapest, served.whole
    (array([6., 7., 9.]), array([6., 7., 8.]), False)
    """

    counts: IntArray
    price: FloatArray
    cheapest: FloatArray
    beyond: bool = False

    @classmethod
    def of(cls, cost: Cost, counts: IntArray, *, beyond: bool = False) -> "Menu":
        """Return the menu of these numbers at these costs."""
        price = cost.units(counts).astype(np.float64)
        cheapest = cost.units(np.append(0, counts[:-1]) + 1).astype(np.float64)
        return cls(counts, price, cheapest, beyond)

    @property
    def whole(self) -> bool:
        """Whether every number that can be paid is an entry."""
        return not self.beyond and bool((np.diff(self.counts, prepend=0) == 1).all())

    @property
    def plain(self) -> "Menu":
        """The entries as they are: each stands for itself only, at its own price."""
        last = len(self.counts) - (1 if self.beyond else 0)
        return Menu(self.counts[:last], self.price[:last], self.price[:last])

    def entries(self, samples: IntArray) -> IntArray:
        """Return for each number the last entry that is not larger; -1 for none."""
        return np.searchsorted(self.counts, samples, side="right") - 1

    def samples(self, chosen: IntArray) -> IntArray:
        """Return the numbers of samples of chosen entries; -1 stands for none."""
        return np.where(chosen >= 0, self.counts[chosen], 0)


def menu(problem: Problem, risks: Risks, *, each: int, ratio: float) -> Menu:
    """Return every number up to ``each`` and from there on a geometric sequence, as far as one order can be paid."""
    most = affordable(problem.cost, problem.budget)
    if most == 0:
        return Menu.of(problem.cost, np.empty(0, np.int64))
    limit = min(most, MOST_AT_ONCE)
    useful = problem.outlook.bound.smallest(risks.widest, max(_USELESS * problem.epsilon, _TINY), limit)
    last = limit if useful is None else min(limit, max(useful, each))
    counts = np.arange(1, min(each, last) + 1)
    if last > each:
        powers = np.arange(1, np.ceil(np.log(last / each) / np.log(ratio)) + 1)
        wide = np.unique(np.rint(each * ratio**powers).astype(np.int64))
        counts = np.concatenate([counts, wide[(wide > each) & (wide < last)], [last]])
    beyond = most > last
    return Menu.of(problem.cost, np.append(counts, last + 1) if beyond else counts, beyond=beyond)
