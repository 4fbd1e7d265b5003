"""What it costs in labels that labels arrive late."""

import math
from dataclasses import dataclass
from typing import Any, Literal

from driftpace.formatting import plural


@dataclass(frozen=True, kw_only=True, slots=True)
class DelayPrice:
    """How many times as many labels a delay takes as labels in time.

    Parameters
    ----------
    periods : int
        How many periods late the labels are.
    value : float
        The price at the mean of what the drift may cost, within those quantiles; nan while nothing is known of it.
    interval : tuple of float
        The price at the 5 % and the 95 % quantile; infinite where no number of labels reaches the target.

    Examples
    --------
    >>> DelayPrice(periods=2, value=2.5, interval=(1.8, 4.0)).sentence
    'labels 2 periods late take 2.5 times as many as labels in time (1.8 to 4.0)'
    >>> DelayPrice(periods=4, value=math.inf, interval=(15.0, math.inf)).status
    'unknown'
    """

    periods: int
    value: float = math.nan
    interval: tuple[float, float] = (math.nan, math.nan)

    @property
    def status(self) -> Literal["unknown", "finite", "impossible"]:
        """Whether the price is known: impossible where even the lower end is infinite, unknown where only the upper end is."""
        low, high = self.interval
        if math.isinf(low):
            return "impossible"
        return "finite" if math.isfinite(low) and math.isfinite(high) else "unknown"

    @property
    def sentence(self) -> str:
        """The price as a sentence, without a full stop."""
        late, low = f"labels {plural(self.periods, 'period')} late", self.interval[0]
        if self.status == "impossible":
            return f"{late} are too late: no number of them reaches the target at this drift"
        if self.status == "finite":
            ends = (f"{end:.1f}" for end in self.interval)
            return f"{late} take {self.value:.1f} times as many as labels in time ({' to '.join(ends)})"
        unknown = "whether any number of them reaches the target is not known yet"
        if math.isnan(low):
            return f"what {late} cost is not known yet"
        if math.isinf(self.value):
            return f"{late} take at least {low:.1f} times as many as labels in time; {unknown}"
        return f"{late} take about {self.value:.1f} times as many as labels in time (at least {low:.1f}); {unknown}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values; None stands for what is unknown or infinite, as ``status`` says."""
        numbers = [number if math.isfinite(number) else None for number in (self.value, *self.interval)]
        return {
            "status": self.status,
            "periods": self.periods,
            "value": numbers[0],
            "interval": numbers[1:],
            "sentence": self.sentence,
        }
