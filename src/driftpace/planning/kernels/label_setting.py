"""Which of many beginnings of a plan can be dropped because another is at least as good in every respect."""

import numpy as np

from driftpace.compiled import compiled
from driftpace.typing import BoolArray, FloatArray, IntArray


@compiled()
def undominated(order: IntArray, ranks: IntArray, values: FloatArray, states: IntArray, keep: BoolArray) -> None:
    """Mark the labels that no other beats: ``order`` sorts by distance, then money, then value; ``ranks`` are those of the money.

    A label is dropped when one before it has at most its money and at most its value, in the same state or in the free state 2,
    from which everything can be done. Least values over ranks are kept in a binary indexed tree for each state.
    """
    size = len(order)
    trees = np.full((3, size + 1), np.inf)
    for at in range(size):
        label = order[at]
        state = states[label]
        least = np.inf
        node = ranks[label] + 1
        while node > 0:
            least = min(least, min(trees[state, node], trees[2, node]))
            node -= node & -node
        keep[label] = values[label] < least
        if keep[label]:
            node = ranks[label] + 1
            while node <= size:
                trees[state, node] = min(trees[state, node], values[label])
                node += node & -node
