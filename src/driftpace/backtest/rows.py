"""One period of one run: rows that can be bought, in their order, and rows to test on."""

from dataclasses import dataclass

from driftpace.backtest.population import Population
from driftpace.backtest.split import Split
from driftpace.typing import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Rows:
    """A period's population and how a run splits it; rows are copied only when they are bought."""

    population: Population
    split: Split

    @property
    def pool(self) -> int:
        """How many rows can be bought."""
        return len(self.split.pool)

    def bought(self, first: int, last: int) -> tuple[FloatArray, FloatArray]:
        """Return the rows from ``first`` up to before ``last`` in the order of the run, as far as there are any."""
        chosen = self.split.pool[first:last]
        return self.population.X[chosen], self.population.y[chosen]

    def groups_of(self, first: int, last: int) -> IntArray | None:
        """Return whose these rows are, None where that is not known."""
        groups = self.population.groups
        return None if groups is None else groups[self.split.pool[first:last]]

    def test(self) -> tuple[FloatArray, FloatArray]:
        """Return the rows to test on."""
        return self.population.X[self.split.test], self.population.y[self.split.test]
