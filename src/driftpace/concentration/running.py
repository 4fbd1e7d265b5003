"""The mean and the autocovariances of a sequence, from sums that do not grow with it."""

import math
from dataclasses import dataclass

from driftpace import require


@dataclass(frozen=True, kw_only=True, slots=True)
class Running:
    """Running sums of x_1, x_2, ...: enough for the mean and for the autocovariances at lags 0 to ``lags``.

    The sums are of (x - x_1) / unit, where the unit is a power of two at least as large as any |x - x_1|: so they neither
    cancel when the values are close to each other nor overflow when they are huge. ``add`` returns a new object.

    >>> sums = Running.of_lags(1)
    >>> for value in (1.0, 2.0, 4.0):
    ...     sums = sums.add(value)
    >>> sums.mean, sums.autocovariances()
    (2.3333333, (1.5555555, -0.0370370))
    """

    lags: int
    count: int = 0
    origin: float = 0.0
    unit: float = 0.0
    total: float = 0.0
    products: tuple[float, ...] = ()
    head: tuple[float, ...] = ()
    tail: tuple[float, ...] = ()

    @classmethod
    def of_lags(cls, lags: int) -> "Running":
        """Return the sums of an empty sequence."""
        require.count("Running", lags=lags)
        return cls(lags=lags, products=(0.0,) * (lags + 1))

    def add(self, value: float) -> "Running":
        """Return the sums with one more value at the end."""
        origin = value if self.count == 0 else self.origin
        offset = value - origin
        unit = self.unit if abs(offset) <= self.unit else math.ldexp(1.0, math.frexp(offset)[1])
        shrink = self.unit / unit if unit > 0.0 else 1.0
        scaled = offset / unit if unit > 0.0 else 0.0
        tail = tuple(x * shrink for x in self.tail)
        head = tuple(x * shrink for x in self.head)
        recent = (scaled, *tail)  # the newest first
        products = tuple(
            p * shrink * shrink + (scaled * recent[lag] if lag < len(recent) else 0.0)
            for lag, p in enumerate(self.products)
        )
        return Running(
            lags=self.lags,
            count=self.count + 1,
            origin=origin,
            unit=unit,
            total=self.total * shrink + scaled,
            products=products,
            head=(*head, scaled) if len(head) < self.lags else head,
            tail=recent[: self.lags],
        )

    @property
    def mean(self) -> float:
        """The mean so far; zero of an empty sequence."""
        return self.origin + self.unit * (self.total / self.count) if self.count else 0.0

    def autocovariances(self) -> tuple[float, ...]:
        """Return g_l = (1/n) sum_i (x_i - mean)(x_{i+l} - mean) for l = 0 .. min(lags, n - 1); nothing of nothing."""
        mean = self.total / self.count if self.count else 0.0
        found = []
        for lag in range(min(self.lags, self.count - 1) + 1):
            without_last = self.total - sum(self.tail[:lag])
            without_first = self.total - sum(self.head[:lag])
            centred = self.products[lag] - mean * (without_last + without_first) + (self.count - lag) * mean * mean
            found.append(self.unit * (self.unit * (centred / self.count)))
        return tuple(found)
