"""What a set of coefficients must be able to say."""

from typing import Protocol, runtime_checkable

from driftpace.typing import FloatArray


@runtime_checkable
class Set(Protocol):
    """A closed convex set in which coefficients live."""

    @property
    def diameter(self) -> float:
        """The largest distance between two of its points; infinite when there is none."""
        ...

    def project(self, point: FloatArray) -> FloatArray:
        """Return the nearest point of the set, argmin over w in the set of ||w - point||; a new array."""
        ...

    def contains(self, point: FloatArray, *, tolerance: float = 1e-12) -> bool:
        """Whether the point is in the set, up to ``tolerance`` relative to its size."""
        ...

    def fits(self, features: int) -> bool:
        """Whether the set lives in a space of that many dimensions."""
        ...
