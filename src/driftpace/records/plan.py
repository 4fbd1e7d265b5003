"""What a planner answers."""

from dataclasses import dataclass

from driftpace.records.money import Money


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """How many samples to buy in each period of a horizon, what that costs, and what it promises.

    ``samples``, ``costs``, ``risks`` and ``gaps`` have one entry for each period, from ``first_period`` on; a gap is how far
    the risk bound lies above ``epsilon``, and 0 where it does not. ``value`` is what the planner minimised (the mean gap, the
    largest, the largest run, named by ``goal``); the best value that any plan can reach lies between ``lower`` and ``value``.
    ``price`` is what one more unit of money is worth in units of the value, where the planner knows it. ``method`` names the
    planner and ``reason`` says how it came out, as a sentence.

    >>> from driftpace.records import Money
    >>> plan = Plan(
    ...     first_period=1, samples=(10, 0), costs=(Money.of(15), Money.of(0)), risks=(0.1, 0.2), gaps=(0.0, 0.1),
    ...     epsilon=0.1, budget=Money.of(20), goal="mean gap", value=0.05, lower=0.05, method="exact", reason="an example",
    ... )
    >>> plan.horizon, str(plan.spent), str(plan.left), plan.proven_gap
    (2, '15', '5', 0.0)
    """

    first_period: int
    samples: tuple[int, ...]
    costs: tuple[Money, ...]
    risks: tuple[float, ...]
    gaps: tuple[float, ...]
    epsilon: float
    budget: Money
    goal: str
    value: float
    lower: float
    method: str
    reason: str
    price: float | None = None

    @property
    def horizon(self) -> int:
        """The number of periods."""
        return len(self.samples)

    @property
    def spent(self) -> Money:
        """What the whole plan costs."""
        total = Money(self.budget.amount * 0, self.budget.currency)
        for cost in self.costs:
            total += cost
        return total

    @property
    def left(self) -> Money:
        """What is left of the budget."""
        return self.budget - self.spent

    @property
    def proven_gap(self) -> float:
        """How far the value may lie above the best one, as a share of it: (value - lower)/value; 0 where the value is 0."""
        return 0.0 if self.value <= self.lower else (self.value - self.lower) / self.value

    @property
    def holds(self) -> bool:
        """Whether the target is promised in every period."""
        return all(gap == 0.0 for gap in self.gaps)

    @property
    def largest_risk(self) -> float:
        """The epsilon that this plan holds in every period."""
        return max(self.risks)
