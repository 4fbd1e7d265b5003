"""What a planner minimises: one number phi(xi_1, ..., xi_T) made of the gaps of all periods (section IV-A).

A gap xi_n is how far the risk bound of period n lies above the target, and 0 where it does not. Weights say which periods count
more; without them all count alike.
"""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.typing import FloatArray

TIE = 1e-9
"""A gap that is smaller than the one before by less than this share of it has not fallen: it is rounding."""

_HEAVIEST = 1e100


@runtime_checkable
class Gap(Protocol):
    """phi: what the gaps of all periods amount to."""

    @property
    def name(self) -> str:
        """A few words for people."""
        ...

    def __call__(self, gaps: FloatArray) -> float:
        """Return the value of the gaps."""
        ...

    def check(self, horizon: int) -> None:
        """Refuse a horizon that this is not made for."""
        ...

    def later(self, first: int) -> Self:
        """Return the same goal for the periods from index ``first`` (from 0) on, for planning again once some have passed."""
        ...


@dataclass(frozen=True, slots=True)
class _Weighted:
    """What goals with a weight for each period share."""

    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.weights is None:
            return
        owner = type(self).__name__
        weights = validation.vector(owner, weights=self.weights)
        if not (weights.size and weights.min() >= 0.0 and 0.0 < float(weights.max()) <= _HEAVIEST):
            raise ParameterError(
                f"must be numbers from 0 to {_HEAVIEST:.0e}, one for each period and not all 0; got {self.weights!r}.",
                owner=owner,
                name="weights",
            )
        object.__setattr__(self, "weights", tuple(weights.tolist()))

    def check(self, horizon: int) -> None:
        """Refuse a horizon that has not one period for each weight."""
        owner = type(self).__name__
        validation.count(owner, least=1, horizon=horizon)
        if self.weights is not None and len(self.weights) != horizon:
            raise ParameterError(
                f"must be as many as the periods, {horizon}; got {len(self.weights)} weights.",
                owner=owner,
                name="weights",
            )

    def shares(self, horizon: int) -> FloatArray:
        """Return what a gap of 1 in each period counts for."""
        self.check(horizon)
        return np.ones(horizon) if self.weights is None else np.array(self.weights)

    def later(self, first: int) -> Self:
        """Return the same goal for the periods from index ``first`` (from 0) on: the weights before it are dropped.

        Where all weights that are left are 0, nothing that is left counts, and the value is 0.
        """
        validation.count(f"{type(self).__name__}.later", first=first)
        rest = copy.copy(self)
        if self.weights is not None:
            if first >= len(self.weights):
                raise ParameterError(
                    f"{type(self).__name__}.later(first=...) must be one of the {len(self.weights)} periods "
                    f"that have weights, from 0; got {first}."
                )
            object.__setattr__(rest, "weights", self.weights[first:])
        return rest


@dataclass(frozen=True, slots=True)
class MeanGap(_Weighted):
    """phi_1 = sum w_n xi_n / sum w_n.

    >>> MeanGap()(np.array([0.0, 0.3])), MeanGap((3, 1))(np.array([0.0, 0.4]))
    (0.15, 0.1)
    """

    name: ClassVar[str] = "mean gap"

    def __call__(self, gaps: FloatArray) -> float:
        """Return the weighted mean of the gaps."""
        return float(self.shares(len(gaps)) @ gaps)

    def shares(self, horizon: int) -> FloatArray:
        """Return w_n / sum w, what a gap of 1 in each period counts for."""
        weights = _Weighted.shares(self, horizon)
        total = float(weights.sum())
        return weights / total if total > 0.0 else weights


@dataclass(frozen=True, slots=True)
class LargestGap(_Weighted):
    """phi_2 = max w_n xi_n.

    >>> LargestGap()(np.array([0.1, 0.3, 0.2]))
    0.3
    """

    name: ClassVar[str] = "largest gap"

    def __call__(self, gaps: FloatArray) -> float:
        """Return the largest weighted gap."""
        return float(np.max(self.shares(len(gaps)) * gaps))


@dataclass(frozen=True, slots=True)
class LargestRun(_Weighted):
    """phi_3 = max over a <= b with xi_a <= ... <= xi_b of w_a xi_a + ... + w_b xi_b (theory I16: one period is a run too).

    Unlike the two others it is not monotone: a larger gap early may break a run, as (1, 2) counts 3 and (2.5, 2) counts 2.5.

    >>> LargestRun()(np.array([1.0, 2.0, 0.5, 0.5])), LargestRun()(np.array([2.5, 2.0, 0.5, 0.5]))
    (3.0, 2.5)
    """

    name: ClassVar[str] = "largest run of gaps"

    def __call__(self, gaps: FloatArray) -> float:
        """Return the largest sum over a run of gaps that never falls."""
        gaps = np.asarray(gaps, dtype=np.float64)
        weighted = self.shares(len(gaps)) * gaps
        falls = np.flatnonzero(gaps[1:] < gaps[:-1] * (1.0 - TIE)) + 1
        return float(np.max(np.add.reduceat(weighted, np.concatenate(([0], falls)))))


@dataclass(frozen=True, slots=True)
class CustomGap:
    """A goal of one's own: ``function`` makes one number of the gaps, finite, at least 0, and never less for larger gaps.

    That is tried on pairs of random gaps by :meth:`check`, as soon as the number of periods is known. After ``gone`` periods
    have passed, the function sees gaps of 0 for them.

    >>> two_worst = CustomGap(lambda gaps: np.sort(gaps)[-2:].sum(), "the two largest gaps")
    >>> two_worst.check(12)
    >>> two_worst(np.array([0.1, 0.3, 0.2]))
    0.5
    """

    function: Callable[[FloatArray], float]
    name: str
    gone: int = 0

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ParameterError(
                f"must be a function of the gaps; got {self.function!r}.",
                owner="CustomGap",
                name="function",
            )
        if not (isinstance(self.name, str) and self.name):
            raise ParameterError(f"must be a few words; got {self.name!r}.", owner="CustomGap", name="name")
        validation.count("CustomGap", gone=self.gone)

    def __call__(self, gaps: FloatArray) -> float:
        """Return what the function makes of the gaps."""
        seen = np.concatenate((np.zeros(self.gone), gaps))
        answer = self.function(seen.copy())
        try:
            value = float(answer)
        except (TypeError, ValueError):
            value = math.nan
        if not 0.0 <= value < math.inf:
            raise ParameterError(
                f"must give a finite number of at least 0; got {answer!r} for the gaps {seen.tolist()}.",
                owner="CustomGap",
                name="function",
            )
        return value

    def check(self, horizon: int) -> None:
        """Try the function on random pairs of gaps, one never below the other, and refuse it where the larger ones count less."""
        validation.count("CustomGap", least=1, horizon=horizon)
        rng = np.random.default_rng(4)
        for trial in range(_TRIALS):
            small, added = _random_step(rng, horizon, trial)
            less, more = self(small), self(small + added)
            if more < less - TIE * less:
                raise ParameterError(
                    f"must never be less for larger gaps; got {less!r} for {small.tolist()} "
                    f"and {more!r} for {(small + added).tolist()}.",
                    owner="CustomGap",
                    name="function",
                )

    def later(self, first: int) -> "CustomGap":
        """Return the same goal for the periods from index ``first`` (from 0) on."""
        validation.count("OwnGap.later", first=first)
        return CustomGap(self.function, self.name, self.gone + first)


_TRIALS = 192


def _random_step(rng: np.random.Generator, horizon: int, trial: int) -> tuple[FloatArray, FloatArray]:
    """Return gaps, some of them 0 and some sorted, and what is added to them: in all periods or in one, much or little."""
    scale = 10.0 ** rng.uniform(-4.0, 2.0)
    gaps = np.where(rng.random(horizon) < rng.random(), 0.0, scale * rng.random(horizon))
    added = scale * 10.0 ** rng.uniform(-3.0, 1.0) * rng.random(horizon)
    if trial % 2:
        added *= np.arange(horizon) == rng.integers(horizon)
    return np.sort(gaps) if trial % 3 == 0 else gaps, added
