"""From one formula to a whole bound: the envelope, the samples used, and the smallest number of samples."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

from driftpace import validation
from driftpace.bounds.protocol import Factors, Nature


class FormulaBound(ABC):
    """A bound given by two formulas: the risk of the start, and the risk after K >= 1 samples.

    A subclass writes :meth:`start` and :meth:`raw` and declares ``name``, ``nature``, ``rate``, ``conditions`` and
    :meth:`reach`; it gets the monotone envelope, :meth:`used` and :meth:`smallest` (strides that double from
    a :meth:`guess`, then bisection: the answer is verified on both sides whatever the guess).

    The one duty of :meth:`raw`: over K = 1, 2, ... it may rise first, but once it has fallen it never rises again
    (infinity, for too few samples, is allowed). Then the least value among 1 .. K is at 1 or at K, so the envelope costs
    three evaluations, and the numbers that meet a target the first sample misses are all those from some K on, so
    bisection is exact. Most formulas simply fall.

    >>> class Halving(FormulaBound):
    ...     name, nature, rate, conditions = "one over K", Nature.UPPER, -1.0, ("an example",)
    ...     def start(self, distance): return distance**2 / 2
    ...     def raw(self, distance, samples): return (1 + distance**2) / samples
    ...     def reach(self, risk): return (2 * risk) ** 0.5
    >>> bound = Halving()
    >>> bound(1.0, 0), bound(1.0, 3), bound(1.0, 8)
    (0.5, 0.5, 0.25)
    >>> bound.used(1.0, 3), bound.smallest(1.0, 0.01, cap=1_000)
    (0, 200)
    """

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """A few words for people."""

    @property
    @abstractmethod
    def nature(self) -> Nature:
        """Whether it is exact, an upper bound, or asymptotic."""

    @property
    @abstractmethod
    def rate(self) -> float:
        """The power of K it falls with as K grows."""

    @property
    @abstractmethod
    def conditions(self) -> tuple[str, ...]:
        """What must be true for the bound to be true."""

    @abstractmethod
    def start(self, distance: float) -> float:
        """Return the bound on the risk of the start itself; infinity when nothing is known of it."""

    @abstractmethod
    def raw(self, distance: float, samples: int) -> float:
        """Return the formula at ``samples`` >= 1; infinity when the samples are too few for it."""

    @abstractmethod
    def reach(self, risk: float) -> float:
        """Return how far from the minimiser a model may be when this bound promised ``risk``."""

    def floor(self, distance: float) -> float:
        """Return a value that the envelope never falls under, however many samples; 0 when it falls to nothing."""
        del distance
        return 0.0

    @property
    def floor_reason(self) -> str:
        """Why it stays at :meth:`floor`, as the beginning of a sentence."""
        return "the bound levels off"

    def factors(self, samples: int) -> Factors | None:
        """Return alpha, beta of the raw bound when it factors; by default it does not."""
        del samples
        return None

    def candidates(self, samples: int) -> tuple[int, ...]:
        """Return where, besides 0, the least raw value up to ``samples`` can be: at 1 and at ``samples``, unless overridden."""
        return (1, samples) if samples > 1 else (samples,)

    def __call__(self, distance: float, samples: int) -> float:
        """Return the least of the raw bound over 0 .. ``samples``."""
        return self._best(distance, samples)[0]

    def used(self, distance: float, samples: int) -> int:
        """Return the number of samples at which the least value is reached (the fewest of them)."""
        return self._best(distance, samples)[1]

    def guess(self, distance: float, epsilon: float) -> float:
        """Return about how many samples meet epsilon, where a formula says so; the search starts there."""
        del distance, epsilon
        return 1.0

    def smallest(self, distance: float, epsilon: float, cap: int) -> int | None:
        """Return the least K <= cap with bound(distance, K) <= epsilon, or None."""
        validation.distance(type(self).__name__, distance=distance)
        if self.start(distance) <= epsilon:
            return 0
        if cap < 1:
            return None
        if self.raw(distance, 1) <= epsilon:
            return 1
        guess = self.guess(distance, epsilon)
        first = max(2, math.ceil(guess)) if 2.0 <= guess < cap else (cap if guess >= cap else min(2, cap))
        return _crossing(lambda samples: self.raw(distance, samples) <= epsilon, first, cap)

    def _best(self, distance: float, samples: int) -> tuple[float, int]:
        owner = type(self).__name__
        validation.distance(owner, distance=distance)
        validation.count(owner, samples=samples)
        best, at = float(self.start(distance)), 0
        for used in self.candidates(samples):
            if 1 <= used <= samples and (value := float(self.raw(distance, used))) < best:
                best, at = value, used
        return best, at


def _crossing(meets: Callable[[int], bool], guess: int, cap: int) -> int | None:
    """Return the least K in 2 .. cap that meets, K = 1 being known to miss and all from the least one on to meet."""
    stride = 1
    if meets(guess):
        low, high = guess - 1, guess
        while low > 1 and meets(low):
            low, high, stride = max(1, low - 2 * stride), low, 2 * stride
    else:
        low, high = guess, min(guess + 1, cap)
        while not meets(high):
            if high >= cap:
                return None
            low, high, stride = high, min(high + 2 * stride, cap), 2 * stride
    while high - low > 1:
        middle = (low + high) // 2
        if meets(middle):
            high = middle
        else:
            low = middle
    return high
