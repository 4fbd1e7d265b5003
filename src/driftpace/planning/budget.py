"""The budget of a tracker: an amount of money for a number of periods, at given prices."""

from dataclasses import dataclass, field

import numpy as np

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.planning.costs import Cost, LinearCost, Price, budget_units, check_cost, divisible, in_money
from driftpace.planning.gaps import GAPS, Gap
from driftpace.records import Money


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """Limit the money that a tracker spends on labels over a horizon.

    A period is paid as one order, even if it is delivered in parts.

    Parameters
    ----------
    total : Money, Decimal, int, float or str
        The money for the whole horizon.
    horizon : int
        The number of periods, counted from the tracker's first.
    cost : Cost, optional
        The cost of an order; one unit of money per sample by default.
    gap : {"mean", "largest", "run"} or Gap, default "mean"
        The objective: the mean gap above the target, the largest gap, or the largest sum over a non-decreasing run of gaps.
    weights : tuple of float, optional
        One weight per period, for a named ``gap``.
    adjacent : bool, optional
        Require samples in a neighbouring period wherever there are samples. By default this is the case if the tracker's drift
        estimate compares neighbouring periods.
    batches : bool, optional
        Whether the rows of a period may be requested in several batches, each of which may show that fewer suffice. By default
        this is the case if the price of a row does not depend on how it is ordered; a fixed price per order might be charged
        for every batch.

    Examples
    --------
    >>> budget = Budget(total=1200, horizon=12, cost=LinearCost(fixed=50, per_sample=2, currency="EUR"))
    >>> str(budget.money), str(budget.price(45)), budget.goal.name
    ('1,200 EUR', '140 EUR', 'mean gap')
    >>> Budget(total=51, horizon=12, cost=budget.cost)
    Traceback (most recent call last):
        ...
    driftpace.errors.ParameterError: Budget(total=...) must pay for at least one sample, which costs 52 EUR; got 51 EUR.
    """

    total: Price
    horizon: int
    cost: Cost = field(default_factory=LinearCost)
    gap: Gap | str = "mean"
    weights: tuple[float, ...] | None = None
    adjacent: bool | None = None
    batches: bool | None = None

    def __post_init__(self) -> None:
        validation.count("Budget", least=1, horizon=self.horizon)
        check_cost(self.cost, owner="Budget")
        if self.adjacent is not None:
            validation.switch("Budget", adjacent=self.adjacent)
        if self.batches is not None:
            validation.switch("Budget", batches=self.batches)
        if self.weights is not None:
            object.__setattr__(self, "weights", tuple(validation.vector("Budget", weights=self.weights).tolist()))
        object.__setattr__(self, "horizon", int(self.horizon))
        object.__setattr__(self, "total", self._money())
        self._check_gap()
        self.goal.check(self.horizon)
        self._check_total()

    def _money(self) -> Money:
        money = Money.of(self.total, self.cost.currency, owner="Budget", name="total")
        return Money.of(money.amount, money.currency, owner="Budget", name="total")  # Money itself may be negative

    def _check_gap(self) -> None:
        if isinstance(self.gap, str):
            validation.choice("Budget", tuple(GAPS), gap=self.gap)
        elif isinstance(self.gap, type) or not isinstance(self.gap, Gap):
            raise ParameterError(
                f"must be an objective such as 'mean' or MeanGap(); got {self.gap!r}.", owner="Budget", name="gap"
            )
        elif self.weights is not None:
            raise ParameterError(
                f"must be set on the objective when gap is an object; got {self.weights!r} beside {self.gap!r}.",
                owner="Budget",
                name="weights",
            )

    def _check_total(self) -> None:
        try:
            units = budget_units(self.cost, self.money)
        except ParameterError as error:
            raise error.renamed(owner="Budget", name="total") from None
        if int(self.cost.units(np.array([1]))[0]) > units:
            raise ParameterError(
                f"must pay for at least one sample, which costs {self.price(1)}; got {self.money}.",
                owner="Budget",
                name="total",
            )

    @property
    def money(self) -> Money:
        """The total as money, in the currency of the prices."""
        assert isinstance(self.total, Money)
        return self.total

    @property
    def goal(self) -> Gap:
        """The objective."""
        return GAPS[self.gap](self.weights) if isinstance(self.gap, str) else self.gap

    @property
    def in_batches(self) -> bool:
        """Whether the rows of a period may be requested in several batches."""
        return divisible(self.cost) if self.batches is None else self.batches

    def price(self, samples: int) -> Money:
        """Return the price of an order of ``samples``."""
        return in_money(self.cost, int(self.cost.units(np.array([samples]))[0]), self.money.currency)
