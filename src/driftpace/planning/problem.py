"""A planning problem: minimise the gaps over a horizon, within a budget."""

from dataclasses import dataclass

from driftpace import require
from driftpace.planning.costs import Cost
from driftpace.planning.gaps import Gap
from driftpace.planning.outlook import Outlook
from driftpace.records import Money


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """minimise gap(xi_1, ..., xi_T) over whole K_n >= 0 such that the costs p(K_1) + ... + p(K_T) are within the budget.

    ``adjacent``: samples at n only with samples at n-1 or n+1, as the paper's drift estimate needs it (corrected ends, theory
    I12, I13); ``bought_before`` then says whether the period before the first had samples. ``first_period`` only names periods.
    """

    outlook: Outlook
    epsilon: float
    budget: Money
    horizon: int
    cost: Cost
    gap: Gap
    adjacent: bool = False
    bought_before: bool = False
    first_period: int = 1

    def __post_init__(self) -> None:
        require.positive("plan", epsilon=self.epsilon)
        require.count("plan", least=1, horizon=self.horizon)
        require.switch("plan", adjacent=self.adjacent, bought_before=self.bought_before)
