"""Dominance among the labels of partial plans."""

import numpy as np

from driftpace.compiled import compiled
from driftpace.typing import BoolArray, FloatArray, IntArray


@compiled()
def undominated(order: IntArray, ranks: IntArray, values: FloatArray, states: IntArray, keep: BoolArray) -> None:
    """Mark the undominated labels: ``order`` sorts by distance, then cost, then value; ``ranks`` are the ranks of the costs.

    A label is dominated if an earlier one has at most its cost and at most its value, in the same state or in the unconstrained
    state 2. Minimal values over ranks are kept in a binary indexed tree for each state.
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
