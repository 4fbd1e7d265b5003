"""Which rows of a period are tested on, and in which order the others may be bought.

Every strategy of a run buys a prefix of the same order, so that strategies differ by what they do and not by their luck.
The order of run r and period n comes from (seed, r, n) alone: it does not depend on other runs or on who computes it.
"""

from dataclasses import dataclass

import numpy as np

from driftpace.typing import IntArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Split:
    """Row numbers of one period: ``test`` rows, and the ``pool`` in the order in which it is bought."""

    test: IntArray
    pool: IntArray


def count_test_rows(rows: int, test_fraction: float) -> int:
    """Return how many of a period's rows are tested on: the nearest whole number, one at least, one fewer than all at most.

    >>> count_test_rows(10, 0.2), count_test_rows(2, 0.01)
    (2, 1)
    """
    return max(min(round(test_fraction * rows), rows - 1), 1)


def split(
    rows: int, *, test_fraction: float, seed: int, run: int, period: int, groups: IntArray | None = None
) -> Split:
    """Return the split of a period of ``rows`` rows in a run; runs and periods count from 0.

    With ``groups`` nobody is tested on who can be bought: whole groups are tested on. Where the number of test rows divides a
    group, the rest of it is bought last.

    >>> split(5, test_fraction=0.2, seed=0, run=0, period=0).pool.size
    4
    >>> split(6, test_fraction=0.3, seed=0, run=0, period=0, groups=np.array([1, 1, 2, 2, 3, 3])).test.tolist()
    [2, 3]
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(run, period)))
    order = rng.permutation(rows)
    tested = count_test_rows(rows, test_fraction)
    if groups is None:
        return Split(test=order[:tested], pool=order[tested:])
    names, of_row = np.unique(groups, return_inverse=True)
    drawn = rng.permutation(len(names))[of_row]
    by_group = np.argsort(drawn, kind="stable")
    test, pool = by_group[:tested], order[~np.isin(order, by_group[:tested])]
    known = np.isin(drawn[pool], drawn[test])
    return Split(test=test, pool=np.concatenate([pool[~known], pool[known]]))
