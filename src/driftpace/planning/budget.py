"""A budget that a tracker keeps to: so much money for so many periods, at these prices."""

from dataclasses import dataclass, field

import numpy as np

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.planning.api import GAPS
from driftpace.planning.costs import Cost, LinearCost, Price, budget_units, divisible, in_money
from driftpace.planning.gaps import Gap
from driftpace.records import Money


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """``total`` money for the rows of ``horizon`` periods, counted from a tracker's first one; ``cost`` is what an order costs.

    A period is paid as one order, however many deliveries it comes in. ``batches`` is whether its rows may be asked for in several
    batches, each of which may show that fewer are enough; by default so where a row costs the same however it is ordered, and not
    where an order has a price of its own, which every batch might cost. What is made small are the gaps of the risk above
    the target: by ``gap`` their "mean", the "largest" of them, the largest "run" that never falls, or a goal of one's own;
    ``weights``, one for each period, say which periods count more. ``adjacent`` is the paper's rule that samples need neighbours
    in time, so that the drift can be seen; by default it is kept where the tracker's estimate of the drift compares neighbouring
    periods.

    >>> budget = Budget(total=1200, horizon=12, cost=LinearCost(fixed=50, per_sample=2, currency="EUR"))
    >>> str(budget.money), str(budget.price(45)), budget.goal.name
    ('1,200 EUR', '140 EUR', 'mean gap')
    >>> Budget(total=51, horizon=12, cost=budget.cost)
    Traceback (most recent call last):
        ...
    driftpace.errors.ParameterError: Budget(total=...) must pay for one sample at least, which costs 52 EUR; got 51 EUR.
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
        if isinstance(self.cost, type) or not isinstance(self.cost, Cost):
            raise ParameterError(
                f"must be a cost, with currency, unit and units; got {self.cost!r}.",
                owner="Budget",
                name="cost",
            )
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
        return Money.of(money.amount, money.currency, owner="Budget", name="total")  # money may be a negative sum

    def _check_gap(self) -> None:
        if isinstance(self.gap, str):
            validation.choice("Budget", tuple(GAPS), gap=self.gap)
        elif isinstance(self.gap, type) or not isinstance(self.gap, Gap):
            raise ParameterError(
                f"must be a goal such as 'mean' or MeanGap(); got {self.gap!r}.",
                owner="Budget",
                name="gap",
            )
        elif self.weights is not None:
            raise ParameterError(
                f"must be part of the goal where one is given; got {self.weights!r} beside {self.gap!r}.",
                owner="Budget",
                name="weights",
            )

    def _check_total(self) -> None:
        try:
            units = budget_units(self.cost, self.money)
        except ParameterError as error:
            raise ParameterError(str(error).replace("plan(budget=...)", "Budget(total=...)")) from None
        if int(self.cost.units(np.array([1]))[0]) > units:
            raise ParameterError(
                f"must pay for one sample at least, which costs {self.price(1)}; got {self.money}.",
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
        """What is made small."""
        return GAPS[self.gap](self.weights) if isinstance(self.gap, str) else self.gap

    @property
    def in_batches(self) -> bool:
        """Whether the rows of a period may be asked for in several batches."""
        return divisible(self.cost) if self.batches is None else self.batches

    def price(self, samples: int) -> Money:
        """Return what an order of ``samples`` costs."""
        return in_money(self.cost, int(self.cost.units(np.array([samples]))[0]), self.money.currency)
