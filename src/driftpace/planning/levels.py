"""Plans that hold a level at the least cost, and the least level that a budget can hold.

Largest gap: no gap above the level. Largest run: between one purchase and the next the gaps only rise, so they belong to one run; that no
such stretch adds up to more than the level is necessary, and it is enough where every purchase brings the gap down.
"""

from dataclasses import dataclass

import numpy as np

from driftpace.planning.ladder import Ladder
from driftpace.planning.weights import Weights
from driftpace.typing import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Holding:
    """The least money from every node on, and in all; ``chosen`` leads there (None where nothing does)."""

    free: FloatArray
    money: float
    chosen: IntArray | None


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """A ladder, the weights of the periods, and whether stretches of gaps count (``runs``) or single ones."""

    ladder: Ladder
    weights: Weights
    runs: bool
    adjacent: bool
    duty: bool

    def hold(self, level: float) -> Holding:
        """Return the least money that holds the level: a lower bound, or on a ladder with rungs above an upper one."""
        from driftpace.planning.kernels import levels

        ladder, weights = self.ladder, self.weights
        starts, rungs, values, actions = self._offers(level)
        shape = (len(weights.each) + 1, ladder.size)
        sample, free = np.full(shape, np.inf), np.full(shape, np.inf)
        pending = np.full(shape, np.inf) if self.adjacent else sample
        levels.backward(
            self.runs, level, weights.classes, weights.lowered, starts, rungs, values, ladder.idle, ladder.later_rung,
            ladder.before, self.adjacent, sample, pending, free,
        )  # fmt: skip
        duty = self.adjacent and self.duty
        first = ladder.first
        now = (pending if duty else sample)[0, first]
        money, _ = levels.waiting(
            0, first, now, self.runs, level, weights.lowered, ladder.idle, ladder.later_rung, 0.0, pending
        )
        if not np.isfinite(money):
            return Holding(free, float("inf"), None)
        chosen = np.empty(len(weights.each), np.int64)
        found = levels.follow(
            first, self.runs, level, weights.classes, weights.lowered, starts, rungs, values, actions, ladder.idle,
            ladder.later_rung, ladder.before, self.adjacent, duty, sample, pending, free, chosen,
        )  # fmt: skip
        return Holding(free, float(money), chosen if found else None)

    def _offers(self, level: float) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
        from driftpace.planning.kernels import levels

        ladder, weights = self.ladder, self.weights
        most = ladder.gap.size
        rungs, values, actions = np.empty(most, np.int64), np.empty(most), np.empty(most, np.int64)
        starts = np.empty((len(weights.of_class), ladder.size + 1), np.int64)
        kept, at = [], 0
        for c, weight in enumerate(weights.of_class):
            number = levels.offers(
                ladder.gap, ladder.ahead_rung, ladder.menu.cheapest, weight, level, starts[c], rungs, values, actions
            )
            starts[c] += at
            at += number
            kept.append((rungs[:number].copy(), values[:number].copy(), actions[:number].copy()))
        columns = tuple(np.concatenate(column) for column in zip(*kept, strict=True))
        return starts, *columns  # type: ignore[return-value]
