"""What a risk bound must be able to say."""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol, runtime_checkable


class Nature(Enum):
    """What kind of statement a bound is."""

    EXACT = "equal to the expected excess risk under its conditions"
    UPPER = "at least the expected excess risk under its conditions, for every number of samples"
    THESE_ROWS = "at least the mean excess risk over the very rows that were drawn, which is not that over new ones"
    ASYMPTOTIC = "the leading term of the expected excess risk, with a margin that is not a theorem"


@dataclass(frozen=True, kw_only=True, slots=True)
class Factors:
    """b(distance, K) = alpha distance^2 + beta at one K (assumption C.2)."""

    alpha: float
    beta: float


@runtime_checkable
class RiskBound(Protocol):
    """b(d0, K): what K samples promise about the mean excess risk of a model that starts at most d0 from the minimiser.

    Every number a caller sees is the monotone envelope min over j <= K of the raw bound (theory 1.1, "Monotonicity"):
    non-decreasing in ``distance`` and non-increasing in ``samples``. It is true for a learner that uses only
    :meth:`used` of the samples. ``samples`` may be 0: then nothing is learnt and the bound is that of the start.

    A bound may also say, for the reasons that :func:`~driftpace.bounds.smallest_samples` gives: ``floor(distance)``, a value
    it never falls under, with ``floor_reason``; and ``decided_by(distance, samples)``, when it is the least of several. For
    planners, which ask for hundreds of thousands of values: ``table(distances, samples)``, an array of them for samples of at
    least 1, and ``concave = True`` when every column of it is concave in the squared distance.
    """

    @property
    def name(self) -> str:
        """A few words for people."""
        ...

    @property
    def nature(self) -> Nature:
        """Whether it is exact, an upper bound, or asymptotic."""
        ...

    @property
    def rate(self) -> float:
        """The power of K it falls with as K grows at a fixed distance: -1, -0.5; 0 when it levels off."""
        ...

    @property
    def conditions(self) -> tuple[str, ...]:
        """What must be true for the bound to be true, a sentence each."""
        ...

    def __call__(self, distance: float, samples: int) -> float:
        """Return the bound on the mean excess risk after ``samples`` samples from ``distance`` away."""
        ...

    def factors(self, samples: int) -> Factors | None:
        """Return the raw bound's alpha(K), beta(K) when it factors as C.2, else None."""
        ...

    def used(self, distance: float, samples: int) -> int:
        """Return how many of the samples the learner must use for the envelope to be true."""
        ...

    def reach(self, risk: float) -> float:
        """Return how far from the minimiser a model may be (root mean square) when this bound promised ``risk``."""
        ...

    def smallest(self, distance: float, epsilon: float, cap: int) -> int | None:
        """Return the least K <= cap with bound(distance, K) <= epsilon, or None."""
        ...
