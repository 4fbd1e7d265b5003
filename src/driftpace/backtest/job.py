"""Everything a run of a backtest needs, in one frozen record that can be sent to another process."""

from dataclasses import dataclass

import numpy as np

from driftpace.backtest.following import Asked
from driftpace.backtest.population import Population
from driftpace.backtest.rows import Rows
from driftpace.backtest.split import count_test_rows, split
from driftpace.losses import Loss
from driftpace.typing import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Job:
    """A table ready to be replayed.

    ``loss`` is the user's; ``epsilon`` is the target of each period; ``scale`` the spread of each coefficient's column,
    which is 1 for the intercept; ``features`` are the names of the columns and ``baselines`` those of the baselines to replay.
    """

    loss: Loss
    classification: bool
    populations: tuple[Population, ...]
    epsilon: FloatArray
    scale: FloatArray
    asked: Asked
    test_fraction: float
    seed: int
    features: tuple[str, ...]
    baselines: tuple[str, ...] = ()

    @property
    def coefficients(self) -> int:
        """The number of coefficients, the intercept included."""
        return int(self.scale.size)

    @property
    def pools(self) -> IntArray:
        """How many rows each period can give for training."""
        rows = [len(now.y) for now in self.populations]
        return np.array([total - count_test_rows(total, self.test_fraction) for total in rows])

    def rows(self, run: int) -> tuple[Rows, ...]:
        """Return the periods of a run: rows to buy, in their order, and rows to test on."""
        return tuple(self._period(run, period) for period in range(len(self.populations)))

    def _period(self, run: int, period: int) -> Rows:
        population = self.populations[period]
        parts = split(
            len(population.y),
            test_fraction=self.test_fraction,
            seed=self.seed,
            run=run,
            period=period,
            groups=population.groups,
        )
        return Rows(population=population, split=parts)

    def tracker_seed(self, run: int) -> int:
        """Return the whole number that seeds the tracker of a run."""
        return int(np.random.SeedSequence(self.seed, spawn_key=(run,)).generate_state(1, np.uint64)[0] >> np.uint64(1))
