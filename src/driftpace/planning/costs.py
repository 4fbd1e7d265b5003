"""What samples cost: p(K) in whole units of money, so that sums over a horizon are exact.

A price is an amount of money; a float means the decimal it is printed as. Every cost knows its ``unit``, the smallest amount its
prices are made of (1, 0.1, 0.01, ...), and gives prices as whole numbers of it: planners add integers, never floats.
"""

import bisect
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal, InvalidOperation
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.records import Money
from driftpace.typing import IntArray

Price = Decimal | int | float | str | Money
"""How a price may be written; a cost keeps it as the exact decimal."""

MAX_UNITS = 2**53
"""No price and no budget exceeds this many units: up to it floats are exact, and the compiled loops count money in floats."""

MAX_SAMPLES = 10**9
"""The most samples that one order is thought to have."""

_EXACT = Context(prec=80)
_FLOAT_NOISE = Decimal("0.99999999999999")


class _BeyondUnitsError(ParameterError):
    """A price with more units than 64 bits hold: it is above every budget."""


@runtime_checkable
class Cost(Protocol):
    """p(K): what an order of K samples costs; 0 for none, and never less for more samples.

    A cost of one's own may be any object with these three members; :class:`CustomCost` makes one of a function and checks it.
    """

    @property
    def currency(self) -> str:
        """The currency of the prices; empty when there is none."""
        ...

    @property
    def unit(self) -> Decimal:
        """The smallest amount: every price is a whole number of units."""
        ...

    def units(self, samples: npt.ArrayLike) -> IntArray:
        """Return the price of each number of samples, in units."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class LinearCost:
    """p(K) = P0 1{K>0} + P1 K: ``fixed`` for an order, ``per_sample`` for each of its samples.

    An order of fewer than ``minimum`` samples is billed as one of ``minimum``.

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
    _bill: "_Bill" = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        named: dict[str, object] = {"fixed": self.fixed, "per_sample": self.per_sample}
        (fixed, each), currency = _amounts("LinearCost", self.currency, named)
        validation.count("LinearCost", minimum=self.minimum)
        unit, bill = _bill("LinearCost", fixed, ((1, each),), self.minimum)
        _keep(self, fixed=fixed, per_sample=each, currency=currency, unit=unit, _bill=bill)

    def units(self, samples: npt.ArrayLike) -> IntArray:
        """Return the price of each number of samples, in units."""
        return self._bill.units(samples)


@dataclass(frozen=True, kw_only=True, slots=True)
class TieredCost:
    """Graduated prices: from the k-th sample of an order on, each costs what its tier says, and the ones before keep their price.

    ``tiers`` are pairs (k, price), from k = 1 on. Because only the samples of a tier have its price, more samples never cost less.
    ``fixed`` and ``minimum`` are as for :class:`LinearCost`.

    >>> cost = TieredCost(tiers=((1, "2.00"), (101, "1.50")))
    >>> [str(price(cost, samples)) for samples in (1, 100, 102)]
    ['2', '200', '203']
    """

    tiers: tuple[tuple[int, Price], ...]
    fixed: Price = Decimal(0)
    minimum: int = 0
    currency: str = ""
    unit: Decimal = field(init=False, repr=False, compare=False)
    _bill: "_Bill" = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            pairs = [(start, each) for start, each in self.tiers]
        except (TypeError, ValueError):
            raise ParameterError(
                f"must be pairs (from which sample on, price); got {self.tiers!r}.",
                owner="TieredCost",
                name="tiers",
            ) from None
        starts = validation.counts("TieredCost", least=1, tiers=[start for start, _ in pairs])
        if not starts or starts[0] != 1 or any(a >= b for a, b in itertools.pairwise(starts)):
            raise ParameterError(
                f"must start at sample 1 and rise; got starts {list(starts)}.",
                owner="TieredCost",
                name="tiers",
            )
        named: dict[str, object] = {"fixed": self.fixed}
        named |= {f"tiers[{index}]": each for index, (_, each) in enumerate(pairs)}
        (fixed, *prices), currency = _amounts("TieredCost", self.currency, named)
        validation.count("TieredCost", minimum=self.minimum)
        tiers = tuple(zip(starts, prices, strict=True))
        unit, bill = _bill("TieredCost", fixed, tiers, self.minimum)
        _keep(self, tiers=tiers, fixed=fixed, currency=currency, unit=unit, _bill=bill)

    def units(self, samples: npt.ArrayLike) -> IntArray:
        """Return the price of each number of samples, in units."""
        return self._bill.units(samples)


@dataclass(frozen=True, slots=True)
class CustomCost:
    """Any price list: ``function`` says what an order of K samples costs, from 0 for none and never less for more samples.

    It is asked only for the numbers that a planner looks at, once each, and each answer is held against those next to it: a
    negative, NaN, infinite or falling price is refused when it is met. Prices are rounded up to the ``unit``; what the arithmetic
    of floats adds to a price (1e-14 of it) does not count.

    >>> cost = CustomCost(lambda samples: 0.1 * samples + 3 * (samples > 10), currency="EUR")
    >>> cost.units([0, 3, 11])
    array([  0,  30, 410])
    """

    function: Callable[[int], Price]
    unit: Decimal = Decimal("0.01")
    currency: str = ""
    _known: dict[int, int] = field(init=False, repr=False, compare=False, default_factory=dict)
    _counts: list[int] = field(init=False, repr=False, compare=False, default_factory=list)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ParameterError(
                f"must be a function of the samples; got {self.function!r}.",
                owner="CustomCost",
                name="function",
            )
        unit = Money.of(self.unit, owner="CustomCost", name="unit").amount
        if unit == 0:
            raise ParameterError(f"must be positive; got {self.unit!r}.", owner="CustomCost", name="unit")
        _keep(self, unit=unit, currency=Money.of(0, self.currency, owner="CustomCost").currency)
        if self._price(0) != 0:
            none = self._shown(self._price(0))
            raise ParameterError(f"must be 0 for 0 samples; got {none}.", owner="CustomCost", name="function")

    def units(self, samples: npt.ArrayLike) -> IntArray:
        """Return the price of each number of samples, in units."""
        counts = _counted(samples)
        prices = [self._price(int(count)) for count in counts.ravel()]
        return np.array(prices, dtype=np.int64).reshape(counts.shape)

    def _price(self, count: int) -> int:
        if count not in self._known:
            units, at = self._asked(count), bisect.bisect_left(self._counts, count)
            beside = [(other, self._known[other]) for other in self._counts[max(0, at - 1) : at + 1]]
            row = sorted([*beside, (count, units)])
            for (fewer, less), (more, dearer) in itertools.pairwise(row):
                if less > dearer:
                    raise ParameterError(
                        "must never be less for more samples; "
                        f"got {self._shown(less)} for {fewer} samples and {self._shown(dearer)} for {more}.",
                        owner="CustomCost",
                        name="function",
                    )
            self._counts.insert(at, count)
            self._known[count] = units
        return self._known[count]

    def _asked(self, count: int) -> int:
        answer = self.function(count)
        amount = _decimal(answer, self.currency)
        if amount is None or not amount.is_finite() or amount < 0:
            raise ParameterError(
                f"must give an amount of money that is finite and at least 0; got {answer!r} for {count} samples.",
                owner="CustomCost",
                name="function",
            )
        if amount > _EXACT.multiply(MAX_UNITS, self.unit):
            raise _beyond("OwnCost(function=...)", count, answer, self.unit)
        if isinstance(answer, float | np.floating):
            amount = _EXACT.multiply(amount, _FLOAT_NOISE)
        return int(_EXACT.divide(amount, self.unit).to_integral_value(ROUND_CEILING, _EXACT))

    def _shown(self, units: int) -> str:
        return str(_money(units, self.unit, self.currency))


def price(cost: Cost, samples: int) -> Money:
    """Return what an order of ``samples`` costs.

    >>> str(price(LinearCost(fixed=5, per_sample="0.25", minimum=10, currency="EUR"), 4))
    '7.5 EUR'
    """
    validation.count("price", samples=samples)
    return in_money(cost, int(cost.units(np.array([samples]))[0]))


def divisible(cost: Cost) -> bool:
    """Whether parts of an order are sure to cost together what the whole costs: so much a sample, and nothing else.

    >>> divisible(LinearCost(per_sample=2)), divisible(LinearCost(fixed=5)), divisible(LinearCost(minimum=25))
    (True, False, False)
    """
    return isinstance(cost, LinearCost) and cost.fixed == 0 and cost.minimum <= 1


def in_money(cost: Cost, units: int, currency: str = "") -> Money:
    """Return units of the cost as money, in its currency, or in ``currency`` where the cost has none.

    >>> str(in_money(LinearCost(per_sample="0.25"), 150, "EUR"))
    '1.5 EUR'
    """
    return _money(units, cost.unit, cost.currency or currency)


def budget_units(cost: Cost, budget: Money) -> int:
    """Return the budget in units of the cost, rounded down: what is left over buys nothing.

    >>> budget_units(LinearCost(fixed=5), Money.of("17.80"))
    17
    """
    amount = Money.of(budget, cost.currency, owner="plan", name="budget").amount
    if amount < 0:
        raise ParameterError(f"must be 0 or more; got {budget}.", owner="plan", name="budget")
    units = int(_EXACT.divide_int(amount, cost.unit))
    if units > MAX_UNITS:
        raise ParameterError(
            f"must be at most {MAX_UNITS} times the unit of the prices, {cost.unit}; got {budget}.",
            owner="plan",
            name="budget",
        )
    return units


def affordable(cost: Cost, budget: Money, cap: int = MAX_SAMPLES) -> int:
    """Return max{K <= cap : p(K) <= budget}, the most samples that one order can have; 0 where not even one can be paid.

    >>> affordable(LinearCost(fixed=5, per_sample=2), Money.of(12)), affordable(LinearCost(fixed=5), Money.of(5))
    (3, 0)
    """
    validation.count("affordable", cap=cap)
    return affordable_units(cost, budget_units(cost, budget), cap)


def affordable_units(cost: Cost, units: int, cap: int = MAX_SAMPLES) -> int:
    """Return the same for a budget in units of the cost."""

    def pays(samples: int) -> bool:
        try:
            return int(cost.units(np.array([samples]))[0]) <= units
        except _BeyondUnitsError:
            return False

    low, high = 0, min(1, cap)
    while low < cap and pays(high):
        low, high = high, min(2 * high, cap)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if pays(middle) else (low, middle)
    return low


@dataclass(frozen=True, slots=True)
class _Bill:
    """Graduated prices in units: ``before[i]`` is the price of all samples before the tier that starts at ``starts[i]``."""

    owner: str
    unit: Decimal
    fixed: int
    starts: tuple[int, ...]
    each: tuple[int, ...]
    before: tuple[int, ...]
    minimum: int

    def units(self, samples: npt.ArrayLike) -> IntArray:
        counts = _counted(samples)
        top = int(counts.max(initial=0))
        if top == 0:
            return np.zeros(counts.shape, dtype=np.int64)
        billed = max(top, self.minimum)
        if (most := self._exactly(billed)) > MAX_UNITS:
            raise _beyond(f"{self.owner}.units(samples=...)", top, _money(most, self.unit, ""), self.unit)
        last = bisect.bisect_right(self.starts, billed)
        starts = np.array(self.starts[:last], dtype=np.int64)
        full = np.maximum(counts, self.minimum)
        tier = np.searchsorted(starts, full, side="right") - 1
        before, each = np.array(self.before[:last], dtype=np.int64), np.array(self.each[:last], dtype=np.int64)
        prices = self.fixed + before[tier] + (full - starts[tier] + 1) * each[tier]
        return np.where(counts > 0, prices, 0)

    def _exactly(self, billed: int) -> int:
        tier = bisect.bisect_right(self.starts, billed) - 1
        return self.fixed + self.before[tier] + (billed - self.starts[tier] + 1) * self.each[tier]


def _bill(owner: str, fixed: Decimal, tiers: tuple[tuple[int, Decimal], ...], minimum: int) -> tuple[Decimal, _Bill]:
    decimals = max(
        0, *(-int(amount.normalize(_EXACT).as_tuple().exponent) for amount in (fixed, *(p for _, p in tiers)))
    )
    unit = Decimal(1).scaleb(-decimals, _EXACT)

    def whole(amount: Decimal) -> int:
        return int(_EXACT.divide(amount, unit))

    starts, each = tuple(start for start, _ in tiers), tuple(whole(amount) for _, amount in tiers)
    before = [0]
    for index in range(1, len(starts)):
        before.append(before[-1] + (starts[index] - starts[index - 1]) * each[index - 1])
    return unit, _Bill(owner, unit, whole(fixed), starts, each, tuple(before), minimum)


def _amounts(owner: str, currency: str, named: dict[str, object]) -> tuple[list[Decimal], str]:
    """Return the amounts, and the currency: the one said, or the one that an amount brings with it."""
    amounts: list[Decimal] = []
    for name, value in named.items():
        money = Money.of(value, currency, owner=owner, name=name)
        amounts.append(money.amount)
        currency = money.currency
    return amounts, currency


def _counted(samples: npt.ArrayLike) -> IntArray:
    counts = np.asarray(samples)
    if counts.size == 0:
        return np.zeros(counts.shape, dtype=np.int64)
    if counts.dtype.kind not in "iu" or counts.min() < 0 or counts.max() > np.iinfo(np.int64).max:
        raise ParameterError(f"must be whole numbers of at least 0; got {samples!r}.", owner="units", name="samples")
    return counts.astype(np.int64)


def _decimal(answer: object, currency: str) -> Decimal | None:
    if isinstance(answer, Money):
        return Money.of(answer, currency, owner="CustomCost", name="function").amount
    try:
        return None if isinstance(answer, bool) else Decimal(str(answer))
    except InvalidOperation:
        return None


def _money(units: int, unit: Decimal, currency: str) -> Money:
    return Money(_EXACT.multiply(Decimal(units), unit), currency)


def _beyond(owner: str, samples: int, cost: object, unit: Decimal) -> _BeyondUnitsError:
    return _BeyondUnitsError(
        f"{owner} must cost at most {MAX_UNITS} units of {unit}, which 64 bits hold; got {cost} for {samples} samples."
    )


def _keep(cost: object, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(cost, name, value)
