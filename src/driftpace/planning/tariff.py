"""Exact prices in integer units of money, for graduated price lists."""

import bisect
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Self

import numpy as np
import numpy.typing as npt

from driftpace.errors import ParameterError
from driftpace.records import Money
from driftpace.typing import IntArray

MAX_UNITS = 2**53
"""The largest price and budget in units: up to it floats are exact, and the compiled loops count money in floats."""

EXACT = Context(prec=80)


class UnitsOverflowError(ParameterError):
    """A price of more units than 64 bits hold: it is above every budget."""


@dataclass(frozen=True, slots=True)
class Tariff:
    """Graduated prices in units: ``before[i]`` is the price of all samples before the tier that starts at ``starts[i]``."""

    owner: str
    unit: Decimal
    fixed: int
    starts: tuple[int, ...]
    each: tuple[int, ...]
    before: tuple[int, ...]
    minimum: int

    @classmethod
    def of(cls, owner: str, fixed: Decimal, tiers: tuple[tuple[int, Decimal], ...], minimum: int) -> Self:
        """Return the tariff in the largest decimal unit that all prices are multiples of."""
        amounts = (fixed, *(amount for _, amount in tiers))
        decimals = max(0, *(-int(amount.normalize(EXACT).as_tuple().exponent) for amount in amounts))
        unit = Decimal(1).scaleb(-decimals, EXACT)

        def in_units(amount: Decimal) -> int:
            return int(EXACT.divide(amount, unit))

        starts, each = tuple(start for start, _ in tiers), tuple(in_units(amount) for _, amount in tiers)
        before = [0]
        for index in range(1, len(starts)):
            before.append(before[-1] + (starts[index] - starts[index - 1]) * each[index - 1])
        return cls(owner, unit, in_units(fixed), starts, each, tuple(before), minimum)

    def units(self, samples: npt.ArrayLike) -> IntArray:
        """Return the price of each number of samples, in units."""
        counts = whole_counts(samples)
        top = int(counts.max(initial=0))
        if top == 0:
            return np.zeros(counts.shape, dtype=np.int64)
        billed = max(top, self.minimum)
        if (largest := self._price(billed)) > MAX_UNITS:
            raise units_overflow(f"{self.owner}.units", "samples", top, money_of(largest, self.unit, ""), self.unit)
        last = bisect.bisect_right(self.starts, billed)
        starts = np.array(self.starts[:last], dtype=np.int64)
        full = np.maximum(counts, self.minimum)
        tier = np.searchsorted(starts, full, side="right") - 1
        before, each = np.array(self.before[:last], dtype=np.int64), np.array(self.each[:last], dtype=np.int64)
        prices = self.fixed + before[tier] + (full - starts[tier] + 1) * each[tier]
        return np.where(counts > 0, prices, 0)

    def _price(self, billed: int) -> int:
        """Return one price as a Python integer, which does not overflow."""
        tier = bisect.bisect_right(self.starts, billed) - 1
        return self.fixed + self.before[tier] + (billed - self.starts[tier] + 1) * self.each[tier]


def whole_counts(samples: npt.ArrayLike) -> IntArray:
    """Return numbers of samples as an array of integers; raise ParameterError if any is not a whole number of at least 0."""
    counts = np.asarray(samples)
    if counts.size == 0:
        return np.zeros(counts.shape, dtype=np.int64)
    if counts.dtype.kind not in "iu" or counts.min() < 0 or counts.max() > np.iinfo(np.int64).max:
        raise ParameterError(f"must be whole numbers of at least 0; got {samples!r}.", owner="units", name="samples")
    return counts.astype(np.int64)


def money_of(units: int, unit: Decimal, currency: str) -> Money:
    """Return a number of units as money."""
    return Money(EXACT.multiply(Decimal(units), unit), currency)


def units_overflow(owner: str, name: str, samples: int, cost: object, unit: Decimal) -> UnitsOverflowError:
    """Return the error for a price that 64 bits do not hold."""
    return UnitsOverflowError(
        f"must cost at most {MAX_UNITS} units of {unit}, which fit in 64 bits; got {cost} for {samples} samples.",
        owner=owner,
        name=name,
    )
