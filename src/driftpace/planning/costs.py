"""Costs of samples: p(K) in integer units of money, so that sums over a horizon are exact.

A price is an amount of money; a float stands for the decimal it is printed as. Every cost has a ``unit``, the smallest amount its
prices are multiples of (1, 0.1, 0.01, ...), and returns prices as integer numbers of it: planners add integers, never floats.
"""

import bisect
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.planning.tariff import (
    EXACT,
    MAX_UNITS,
    Tariff,
    UnitsOverflowError,
    money_of,
    units_overflow,
    whole_counts,
)
from driftpace.records import Money
from driftpace.typing import IntArray

Price = Decimal | int | float | str | Money
"""How a price may be written; a cost keeps it as the exact decimal."""

MAX_SAMPLES = 10**9
"""The largest order considered."""

_FLOAT_NOISE = Decimal("0.99999999999999")


@runtime_checkable
class Cost(Protocol):
    """p(K), the cost of an order of K samples: 0 for none, and non-decreasing.

    Any object with these three members is a cost; :class:`CustomCost` makes one from a function and checks it.
    """

    @property
    def currency(self) -> str:
        """The currency of the prices; empty if there is none."""
        ...

    @property
    def unit(self) -> Decimal:
        """The smallest amount: every price is an integer number of units."""
        ...

    def units(self, samples: npt.ArrayLike) -> IntArray:
        """Return the price of each number of samples, in units."""
        ...


def check_cost(cost: object, *, owner: str) -> None:
    """Raise ParameterError unless ``cost`` is a cost."""
    if isinstance(cost, type) or not isinstance(cost, Cost):
        raise ParameterError(f"must be a cost, with currency, unit and units; got {cost!r}.", owner=owner, name="cost")


@dataclass(frozen=True, kw_only=True, slots=True)
class LinearCost:
    """A fixed price per order and a price per sample: p(K) = P0 1{K>0} + P1 K.

    Parameters
    ----------
    fixed : Money, Decimal, int, float or str, default 0
        The price P0 of an order.
    per_sample : Money, Decimal, int, float or str, default 1
        The price P1 of each sample.
    minimum : int, default 0
        Smaller orders are billed as orders of this many samples.
    currency : str, optional
        The currency of the prices.

    Examples
    --------
    >>> cost = LinearCost(fixed=50, per_sample=0.1, currency="EUR")
    >>> str(price(cost, 3)), str(price(cost, 0)), cost.units([0, 3, 20])
    ('50.3 EUR', '0 EUR', array([  0, 503, 520]))
    >>> affordable(cost, Money.of(60, "EUR"))
    100
    """

    fixed: Price = Decimal(0)
    per_sample: Price = Decimal(1)
    minimum: int = 0
    currency: str = ""
    unit: Decimal = field(init=False, repr=False, compare=False)
    _tariff: Tariff = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        named: dict[str, object] = {"fixed": self.fixed, "per_sample": self.per_sample}
        (fixed, each), currency = _amounts("LinearCost", self.currency, named)
        validation.count("LinearCost", minimum=self.minimum)
        tariff = Tariff.of("LinearCost", fixed, ((1, each),), self.minimum)
        _set(self, fixed=fixed, per_sample=each, currency=currency, unit=tariff.unit, _tariff=tariff)

    def units(self, samples: npt.ArrayLike) -> IntArray:
        """Return the price of each number of samples, in units."""
        return self._tariff.units(samples)


@dataclass(frozen=True, kw_only=True, slots=True)
class TieredCost:
    """Graduated prices: each sample of an order has the price of its tier.

    Only the samples of a tier have its price, so more samples never cost less.

    Parameters
    ----------
    tiers : tuple of (int, price)
        Pairs (k, price): from the k-th sample of an order on, each costs this price. The first k is 1.
    fixed : Money, Decimal, int, float or str, default 0
        The price of an order.
    minimum : int, default 0
        Smaller orders are billed as orders of this many samples.
    currency : str, optional
        The currency of the prices.

    Examples
    --------
    >>> cost = TieredCost(tiers=((1, "2.00"), (101, "1.50")))
    >>> [str(price(cost, samples)) for samples in (1, 100, 102)]
    ['2', '200', '203']
    """

    tiers: tuple[tuple[int, Price], ...]
    fixed: Price = Decimal(0)
    minimum: int = 0
    currency: str = ""
    unit: Decimal = field(init=False, repr=False, compare=False)
    _tariff: Tariff = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            pairs = [(start, each) for start, each in self.tiers]
        except (TypeError, ValueError):
            raise ParameterError(
                f"must be pairs (first sample, price); got {self.tiers!r}.", owner="TieredCost", name="tiers"
            ) from None
        starts = validation.counts("TieredCost", least=1, tiers=[start for start, _ in pairs])
        if not starts or starts[0] != 1 or any(a >= b for a, b in itertools.pairwise(starts)):
            raise ParameterError(
                f"must start at sample 1 and increase; got starts {list(starts)}.", owner="TieredCost", name="tiers"
            )
        named: dict[str, object] = {"fixed": self.fixed}
        named |= {f"tiers[{index}]": each for index, (_, each) in enumerate(pairs)}
        (fixed, *prices), currency = _amounts("TieredCost", self.currency, named)
        validation.count("TieredCost", minimum=self.minimum)
        tiers = tuple(zip(starts, prices, strict=True))
        tariff = Tariff.of("TieredCost", fixed, tiers, self.minimum)
        _set(self, tiers=tiers, fixed=fixed, currency=currency, unit=tariff.unit, _tariff=tariff)

    def units(self, samples: npt.ArrayLike) -> IntArray:
        """Return the price of each number of samples, in units."""
        return self._tariff.units(samples)


@dataclass(frozen=True, slots=True)
class CustomCost:
    """A price list given by a function.

    The function is called once for each number of samples that a planner considers, and every price is compared with its
    neighbours: a negative, non-finite or decreasing price raises ParameterError.

    Parameters
    ----------
    function : callable
        Maps a number of samples to the price of an order: 0 for none, and non-decreasing.
    unit : Decimal, default 0.01
        Prices are rounded up to multiples of it; floating-point noise (1e-14 of a price) is ignored.
    currency : str, optional
        The currency of the prices.

    Examples
    --------
    >>> cost = CustomCost(lambda samples: 0.1 * samples + 3 * (samples > 10), currency="EUR")
    >>> cost.units([0, 3, 11])
    array([  0,  30, 410])
    """

    function: Callable[[int], Price]
    unit: Decimal = Decimal("0.01")
    currency: str = ""
    _cache: dict[int, int] = field(init=False, repr=False, compare=False, default_factory=dict)
    _counts: list[int] = field(init=False, repr=False, compare=False, default_factory=list)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ParameterError(
                f"must be a function of the samples; got {self.function!r}.", owner="CustomCost", name="function"
            )
        unit = Money.of(self.unit, owner="CustomCost", name="unit").amount
        if unit == 0:
            raise ParameterError(f"must be positive; got {self.unit!r}.", owner="CustomCost", name="unit")
        _set(self, unit=unit, currency=Money.of(0, self.currency, owner="CustomCost").currency)
        if self._price(0) != 0:
            none = self._text(self._price(0))
            raise ParameterError(f"must be 0 for 0 samples; got {none}.", owner="CustomCost", name="function")

    def units(self, samples: npt.ArrayLike) -> IntArray:
        """Return the price of each number of samples, in units."""
        counts = whole_counts(samples)
        prices = [self._price(int(count)) for count in counts.ravel()]
        return np.array(prices, dtype=np.int64).reshape(counts.shape)

    def _price(self, count: int) -> int:
        if count not in self._cache:
            units, at = self._evaluate(count), bisect.bisect_left(self._counts, count)
            neighbours = [(other, self._cache[other]) for other in self._counts[max(0, at - 1) : at + 1]]
            row = sorted([*neighbours, (count, units)])
            for (fewer, less), (more, dearer) in itertools.pairwise(row):
                if less > dearer:
                    raise ParameterError(
                        "must not decrease with the number of samples; "
                        f"got {self._text(less)} for {fewer} samples and {self._text(dearer)} for {more}.",
                        owner="CustomCost",
                        name="function",
                    )
            self._counts.insert(at, count)
            self._cache[count] = units
        return self._cache[count]

    def _evaluate(self, count: int) -> int:
        result = self.function(count)
        amount = _decimal(result, self.currency)
        if amount is None or not amount.is_finite() or amount < 0:
            raise ParameterError(
                f"must return a finite amount of money of at least 0; got {result!r} for {count} samples.",
                owner="CustomCost",
                name="function",
            )
        if amount > EXACT.multiply(MAX_UNITS, self.unit):
            raise units_overflow("CustomCost", "function", count, result, self.unit)
        if isinstance(result, float | np.floating):
            amount = EXACT.multiply(amount, _FLOAT_NOISE)
        return int(EXACT.divide(amount, self.unit).to_integral_value(ROUND_CEILING, EXACT))

    def _text(self, units: int) -> str:
        return str(money_of(units, self.unit, self.currency))


def price(cost: Cost, samples: int) -> Money:
    """Return the price of an order of ``samples``.

    Examples
    --------
    >>> str(price(LinearCost(fixed=5, per_sample="0.25", minimum=10, currency="EUR"), 4))
    '7.5 EUR'
    """
    validation.count("price", samples=samples)
    return in_money(cost, int(cost.units(np.array([samples]))[0]))


def divisible(cost: Cost) -> bool:
    """Whether splitting an order certainly does not change its price: a price per sample and nothing else.

    >>> divisible(LinearCost(per_sample=2)), divisible(LinearCost(fixed=5)), divisible(LinearCost(minimum=25))
    (True, False, False)
    """
    return isinstance(cost, LinearCost) and cost.fixed == 0 and cost.minimum <= 1


def in_money(cost: Cost, units: int, currency: str = "") -> Money:
    """Return units of the cost as money, in its currency, or in ``currency`` if the cost has none.

    >>> str(in_money(LinearCost(per_sample="0.25"), 150, "EUR"))
    '1.5 EUR'
    """
    return money_of(units, cost.unit, cost.currency or currency)


def budget_units(cost: Cost, budget: Money) -> int:
    """Return the budget in units of the cost, rounded down.

    >>> budget_units(LinearCost(fixed=5), Money.of("17.80"))
    17
    """
    amount = Money.of(budget, cost.currency, owner="plan", name="budget").amount
    if amount < 0:
        raise ParameterError(f"must be 0 or more; got {budget}.", owner="plan", name="budget")
    units = int(EXACT.divide_int(amount, cost.unit))
    if units > MAX_UNITS:
        raise ParameterError(
            f"must be at most {MAX_UNITS} times the unit of the prices, {cost.unit}; got {budget}.",
            owner="plan",
            name="budget",
        )
    return units


def affordable(cost: Cost, budget: Money, cap: int = MAX_SAMPLES) -> int:
    """Return the largest order within a budget, max{K <= cap : p(K) <= budget}; 0 if one sample costs more.

    Examples
    --------
    >>> affordable(LinearCost(fixed=5, per_sample=2), Money.of(12)), affordable(LinearCost(fixed=5), Money.of(5))
    (3, 0)
    """
    validation.count("affordable", cap=cap)
    return affordable_units(cost, budget_units(cost, budget), cap)


def affordable_units(cost: Cost, units: int, cap: int = MAX_SAMPLES) -> int:
    """Return the largest order within a budget in units of the cost."""

    def pays(samples: int) -> bool:
        try:
            return int(cost.units(np.array([samples]))[0]) <= units
        except UnitsOverflowError:
            return False

    low, high = 0, min(1, cap)
    while low < cap and pays(high):
        low, high = high, min(2 * high, cap)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if pays(middle) else (low, middle)
    return low


def _amounts(owner: str, currency: str, named: dict[str, object]) -> tuple[list[Decimal], str]:
    """Return the amounts, and the currency: the given one, or that of an amount."""
    amounts: list[Decimal] = []
    for name, value in named.items():
        money = Money.of(value, currency, owner=owner, name=name)
        amounts.append(money.amount)
        currency = money.currency
    return amounts, currency


def _decimal(result: object, currency: str) -> Decimal | None:
    if isinstance(result, Money):
        return Money.of(result, currency, owner="CustomCost", name="function").amount
    try:
        return None if isinstance(result, bool) else Decimal(str(result))
    except InvalidOperation:
        return None


def _set(cost: object, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(cost, name, value)
