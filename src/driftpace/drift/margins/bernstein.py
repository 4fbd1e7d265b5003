"""A margin that holds at every period at once, for bounded estimates."""

from dataclasses import dataclass

from driftpace import validation
from driftpace.constants.concentration import empirical_bernstein_radius
from driftpace.drift.combine.protocol import Combined


@dataclass(frozen=True, kw_only=True, slots=True)
class BernsteinMargin:
    """sqrt(2 V log(3/delta_n)/(n-1)) + 3 width log(3/delta_n)/(n-1), with delta_n = delta/(n(n+1)) (theory 3.1).

    The delta_n add up to less than ``delta``, so one statement covers all periods. ``width`` is the length of the interval in
    which one-step estimates lie, in lengths: the diameter of the set, for instance. They are treated as independent, which
    neighbours are not.

    >>> BernsteinMargin(delta=0.05, width=1.0).account
    'empirical Bernstein margin at level 0.05'
    """

    delta: float
    width: float

    def __post_init__(self) -> None:
        validation.fraction("BernsteinMargin", delta=self.delta)
        validation.positive("BernsteinMargin", width=self.width)

    @property
    def account(self) -> str:
        """A few words for people."""
        return f"empirical Bernstein margin at level {self.delta:g}"

    def upper(self, combined: Combined) -> float:
        """Return the length with the radius added, in the units of the values."""
        n = combined.steps + 1
        width = self.width * self.width if combined.squared else self.width
        radius = empirical_bernstein_radius(
            variance=max(0.0, combined.autocovariances[0]),
            width=combined.stretch * width,
            count=combined.count,
            delta=self.delta / (n * (n + 1)),
        )
        return combined.raised(radius)
