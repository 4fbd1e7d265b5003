"""A margin of so many standard errors."""

from dataclasses import dataclass

from driftpace import validation
from driftpace.constants.concentration import standard_error
from driftpace.drift.combine.protocol import Combined


@dataclass(frozen=True, kw_only=True, slots=True)
class StandardErrorMargin:
    """z standard errors of the mean, in the units of the values: squares are raised first and rooted after (theory 3.1).

    Neighbouring one-step estimates share a period's rows, and windows overlap: the standard error allows for dependence at lag 1,
    or up to the length of the window, with weights that keep it from going negative; ``lags`` lowers that, 0 for none. Where the
    one-step estimates know their own noise, the larger of the two errors is taken, unless ``own`` is False. None while neither
    is known.

    >>> StandardErrorMargin().account
    'margin of 1.645 standard errors'
    """

    z: float = 1.645
    lags: int | None = None
    own: bool = True

    def __post_init__(self) -> None:
        validation.nonnegative("StandardErrorMargin", z=self.z)
        if self.lags is not None:
            validation.count("StandardErrorMargin", lags=self.lags)

    @property
    def account(self) -> str:
        """A few words for people."""
        return f"margin of {self.z:g} standard errors"

    def upper(self, combined: Combined) -> float | None:
        """Return the length z standard errors up, or None when nothing is known of the spread."""
        own = combined.own_error if self.own else None
        if combined.count < 2 and own is None:
            return None
        error = own or 0.0
        if combined.count >= 2:
            kept = combined.autocovariances[: None if self.lags is None else self.lags + 1]
            error = max(error, standard_error(kept, combined.count))
        return combined.raised(self.z * error)
