"""A planning problem: minimise the gaps over a horizon, within a budget."""

from dataclasses import dataclass

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.planning.costs import Cost, budget_units
from driftpace.planning.gaps import Gap
from driftpace.planning.outlook import Outlook
from driftpace.records import Money


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """minimise gap(xi_1, ..., xi_T) over whole K_n >= 0 such that the costs p(K_1) + ... + p(K_T) are within the budget.

    ``adjacent``: samples at n only with samples at n-1 or n+1, as the paper's drift estimate needs it (corrected ends, theory
    I12, I13); ``bought_before`` then says whether the period before the first had samples. ``first_period`` only names periods.
    Money without a currency is taken to be in that of the other.

    >>> from driftpace.bounds import Anchored
    >>> from driftpace.planning.costs import LinearCost
    >>> from driftpace.planning.gaps import MeanGap
    >>> problem = Problem(
    ...     outlook=Outlook(bound=Anchored(noise=1.0, features=3), rho=0.3, start=3.0), epsilon=0.1,
    ...     budget=Money.of(500), horizon=12, cost=LinearCost(fixed=20, currency="EUR"), gap=MeanGap(),
    ... )
    >>> str(problem.budget)
    '500 EUR'
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
        validation.positive("plan", epsilon=self.epsilon)
        validation.count("plan", least=1, horizon=self.horizon)
        validation.count("plan", first_period=self.first_period)
        validation.switch("plan", adjacent=self.adjacent, bought_before=self.bought_before)
        if not isinstance(self.outlook, Outlook):
            raise ParameterError(f"must be an Outlook; got {self.outlook!r}.", owner="plan", name="outlook")
        if isinstance(self.cost, type) or not isinstance(self.cost, Cost):
            raise ParameterError(
                f"must be a cost, with currency, unit and units; got {self.cost!r}.",
                owner="plan",
                name="cost",
            )
        if isinstance(self.gap, type) or not isinstance(self.gap, Gap):
            raise ParameterError(f"must be a gap, such as MeanGap(); got {self.gap!r}.", owner="plan", name="gap")
        self.gap.check(self.horizon)
        object.__setattr__(self, "budget", Money.of(self.budget, self.cost.currency, owner="plan", name="budget"))
        budget_units(self.cost, self.budget)
