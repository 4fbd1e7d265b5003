"""The protocol of risk bounds, the base class of bounds given by formulas, and the smallest sample size."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, runtime_checkable

from driftpace import validation
from driftpace.records import Outcome, Sizing


class Nature(Enum):
    """Kind of statement that a bound makes."""

    EXACT = "equal to the expected excess risk under its conditions"
    UPPER = "at least the expected excess risk under its conditions, for every number of samples"
    THESE_ROWS = "at least the mean excess risk over the very rows that were drawn, which is not that over new ones"
    ASYMPTOTIC = "the leading term of the expected excess risk, with a margin that is not a theorem"


@dataclass(frozen=True, kw_only=True, slots=True)
class Factors:
    """Coefficients of a bound that is affine in the squared distance at one K.

    b(distance, K) = alpha distance^2 + beta at one K (assumption C.2).

    Parameters
    ----------
    alpha : float
        Coefficient of the squared distance.
    beta : float
        Constant term.
    """

    alpha: float
    beta: float


@runtime_checkable
class RiskBound(Protocol):
    """Protocol of risk bounds b(d0, K).

    b(d0, K) bounds the mean excess risk of a model trained on K samples from a start at most d0 from the minimiser.

    Every value a caller sees is the monotone envelope min over j <= K of the raw bound (theory 1.1, "Monotonicity"):
    non-decreasing in ``distance`` and non-increasing in ``samples``. It holds for a learner that uses only :meth:`used` of the
    samples. ``samples`` may be 0: then nothing is learnt and the bound is that of the start.

    Optional members, used by :func:`~driftpace.bounds.smallest_samples` in its reasons: ``floor(distance)``, a value below which
    the bound never falls, with ``floor_reason``; and ``decided_by(distance, samples)``, when it is the least of several bounds.
    Optional members for planners, which evaluate hundreds of thousands of values: ``table(distances, samples)``, an array of
    values for sample sizes of at least 1, and ``concave = True`` when every column of it is concave in the squared distance.
    """

    @property
    def name(self) -> str:
        """Short description for reports."""
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
        """Assumptions under which the bound holds, one sentence each."""
        ...

    def __call__(self, distance: float, samples: int) -> float:
        """Return the bound on the mean excess risk after ``samples`` samples from ``distance`` away."""
        ...

    def factors(self, samples: int) -> Factors | None:
        """Return the raw bound's alpha(K), beta(K) when it factors as C.2, else None."""
        ...

    def used(self, distance: float, samples: int) -> int:
        """Return how many of the samples the learner must use for the envelope to hold."""
        ...

    def reach(self, risk: float) -> float:
        """Return the largest root mean square distance from the minimiser of a model whose risk this bound limits to ``risk``."""
        ...

    def smallest(self, distance: float, epsilon: float, cap: int) -> int | None:
        """Return the least K <= cap with bound(distance, K) <= epsilon, or None."""
        ...


class FormulaBound(ABC):
    """Base class of bounds given by two formulas: the risk of the start, and the risk after K >= 1 samples.

    A subclass defines :meth:`start`, :meth:`raw` and :meth:`reach`, and declares ``name``, ``nature``, ``rate`` and ``conditions``.
    It inherits the monotone envelope, :meth:`used` and :meth:`smallest` (strides that double from a :meth:`guess`, then
    bisection: the result is verified on both sides whatever the guess).

    :meth:`raw` must satisfy one condition: over K = 1, 2, ... it may rise first, but once it has fallen it never rises again
    (infinity, for too few samples, is allowed). Then the least value among 1 .. K is at 1 or at K, so the envelope costs
    three evaluations, and the sample sizes that meet a target missed by the first sample are all those from some K on, so
    bisection is exact. Most formulas are non-increasing.

    Examples
    --------
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
        """Short description for reports."""

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
        """Assumptions under which the bound holds."""

    @abstractmethod
    def start(self, distance: float) -> float:
        """Return the bound on the risk of the start itself; infinity when it is unknown."""

    @abstractmethod
    def raw(self, distance: float, samples: int) -> float:
        """Return the formula at ``samples`` >= 1; infinity when the samples are too few for it."""

    @abstractmethod
    def reach(self, risk: float) -> float:
        """Return the largest distance from the minimiser of a model whose risk this bound limits to ``risk``."""

    def floor(self, distance: float) -> float:
        """Return a value that the envelope never falls under, however many samples; 0 when it falls to zero."""
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
        """Return about how many samples meet epsilon, where a formula gives it; the search starts there."""
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


def smallest_samples(bound: RiskBound, distance: float, epsilon: float, cap: int = 10**9) -> Sizing:
    """Find the smallest sample size whose bound meets the target (theory 0 and 1.10).

    K* = min{K <= cap : bound(distance, K) <= epsilon}. The outcome is MET; ENOUGH when no sample is needed; CAPPED when the cap is
    reached first; INFEASIBLE when the bound is known to stay above ``epsilon``, which a bound with a method ``floor(distance)``
    reports, with its ``floor_reason``.

    Parameters
    ----------
    bound : RiskBound
        The bound to search.
    distance : float
        Distance of the start from the minimiser.
    epsilon : float
        Target for the mean excess risk.
    cap : int, default 1000000000
        Largest sample size considered.

    Returns
    -------
    Sizing
        Sample size, bound there and at one sample fewer, outcome and reason.

    Examples
    --------
    >>> from driftpace.bounds import ClosedForm, NoiseModel
    >>> bound = ClosedForm(m=1.0, M=1.0, noise=NoiseModel(A=0.16, B=4.0))
    >>> answer = smallest_samples(bound, distance=1.5, epsilon=0.1)
    >>> answer.samples, answer.outcome.name, answer.risk <= 0.1 < answer.risk_one_fewer
    (19, 'MET', True)
    """
    validation.distance("smallest_samples", distance=distance)
    validation.positive("smallest_samples", epsilon=epsilon)
    validation.count("smallest_samples", cap=cap)
    met = bound.smallest(distance, epsilon, cap)
    samples = cap if met is None else met
    decider = getattr(bound, "decided_by", None)
    decided_by = bound.name if decider is None else str(decider(distance, samples))
    risk = bound(distance, samples)
    if met is None:
        outcome, sentence = _why_not(bound, distance, epsilon, cap, risk)
    elif met == 0:
        outcome, sentence = (
            Outcome.ENOUGH,
            f"a start {distance:.4g} from the minimiser has a risk of {risk:.4g} at most",
        )
    else:
        outcome, sentence = (
            Outcome.MET,
            f"{met} samples take the risk of a start {distance:.4g} away to {risk:.4g} at most",
        )
    return Sizing(
        samples=samples,
        risk=risk,
        risk_one_fewer=bound(distance, samples - 1) if samples > 0 else math.inf,
        outcome=outcome,
        reason=f"{sentence}, by {decided_by}",
        decided_by=decided_by,
    )


def _why_not(bound: RiskBound, distance: float, epsilon: float, cap: int, risk: float) -> tuple[Outcome, str]:
    floor = getattr(bound, "floor", None)
    level = 0.0 if floor is None else float(floor(distance))
    if level >= epsilon:
        why = getattr(bound, "floor_reason", "the bound levels off")
        return Outcome.INFEASIBLE, f"{why} at {level:.4g}, not under epsilon={epsilon:.4g}"
    return Outcome.CAPPED, f"{cap} samples take the risk to {risk:.4g} only, above epsilon={epsilon:.4g}"
