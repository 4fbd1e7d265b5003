"""The least money that holds a level, in every period or in every stretch of periods.

Largest gap: no gap above the level. Largest run: between one purchase and the next the gaps only rise, so they belong to one
run; that no such stretch adds up to more than the level is necessary, and it is enough where every purchase brings the gap
down.
"""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.planning.ladder import Ladder
from driftpace.planning.tables import LevelTables, Values
from driftpace.planning.weights import Weights
from driftpace.typing import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Holding:
    """The least money from every node where one is ``free`` to wait, and in all; ``chosen`` leads there (None: nothing does)."""

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
        """Return the least money that holds the level: a lower bound, or on a ladder rounded up an upper one."""
        from driftpace.planning.kernels import levels

        horizon, first = len(self.weights.each), self.ladder.first
        shape = (horizon + 1, self.ladder.size)
        sample = np.full(shape, np.inf)
        values = Values(sample, np.full(shape, np.inf) if self.adjacent else sample, np.full(shape, np.inf))
        tables = self._tables(level)
        levels.backward(tables, values)
        duty = self.adjacent and self.duty
        now = (values.pending if duty else values.sample)[0, first]
        money, _ = levels.waiting(tables, 0, first, now, values.pending)
        if not math.isfinite(money):
            return Holding(values.free, math.inf, None)
        chosen = np.empty(horizon, np.int64)
        found = levels.follow(tables, first, duty, values, chosen)
        return Holding(values.free, float(money), chosen if found else None)

    def _tables(self, level: float) -> LevelTables:
        from driftpace.planning.kernels import levels

        ladder, weights = self.ladder, self.weights
        most = ladder.gap.size
        rungs, values, entries = np.empty(most, np.int64), np.empty(most), np.empty(most, np.int64)
        starts = np.empty((len(weights.of_class), ladder.size + 1), np.int64)
        kept, at = [], 0
        for c, weight in enumerate(weights.of_class):
            number = levels.offers(
                ladder.gap, ladder.ahead_rung, ladder.menu.cheapest, weight, level, starts[c], rungs, values, entries
            )
            starts[c] += at
            at += number
            kept.append((rungs[:number].copy(), values[:number].copy(), entries[:number].copy()))
        each = weights.lowered.max() * np.column_stack([ladder.before, ladder.idle[:, : len(weights.each)]])
        gaps = np.cumsum(each, axis=1) if self.runs else each
        return LevelTables(
            runs=self.runs,
            level=level,
            classes=weights.classes,
            weights=weights.lowered,
            idle=ladder.idle,
            later_rung=ladder.later_rung,
            before=ladder.before,
            waits=np.logical_and.accumulate(gaps[:, 1:] <= level, axis=1).sum(axis=1),
            adjacent=self.adjacent,
            starts=starts,
            rungs=np.concatenate([each[0] for each in kept]),
            values=np.concatenate([each[1] for each in kept]),
            entries=np.concatenate([each[2] for each in kept]),
        )
