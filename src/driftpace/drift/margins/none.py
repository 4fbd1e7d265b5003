"""No margin at all."""

from dataclasses import dataclass
from typing import ClassVar

from driftpace.drift.combine.protocol import Combined


@dataclass(frozen=True, kw_only=True, slots=True)
class NoMargin:
    """t_n = 0: the estimate as it is.

    >>> NoMargin().account
    'no margin'
    """

    account: ClassVar[str] = "no margin"

    def upper(self, combined: Combined) -> float:
        """Return the value itself."""
        return combined.value
