"""What a margin must be able to do."""

from typing import Protocol, runtime_checkable

from driftpace.drift.combine.protocol import Combined


@runtime_checkable
class Margin(Protocol):
    """Says how far above its value an estimate of drift is taken to reach."""

    @property
    def account(self) -> str:
        """A few words for people."""
        ...

    def upper(self, combined: Combined) -> float | None:
        """Return the upper end, a length of at least ``combined.value``, or None when too little was seen."""
        ...
