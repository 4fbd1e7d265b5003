"""Objectives of a planner: one number phi(xi_1, ..., xi_T) of the gaps of all periods (section IV-A of the paper).

The gap xi_n is the excess of the risk bound of period n over the target, 0 if the bound is within the target.
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
"""A gap that is below the previous one by less than this share of it has not decreased: the difference is rounding."""

MAX_WEIGHT = 1e100
"""The largest weight; sums of weighted gaps stay finite."""

_TRIALS = 192


@runtime_checkable
class Gap(Protocol):
    """An objective: a function of the gaps of all periods."""

    @property
    def name(self) -> str:
        """A short description."""
        ...

    def __call__(self, gaps: FloatArray) -> float:
        """Return the value of the gaps."""
        ...

    def check(self, horizon: int) -> None:
        """Raise ParameterError if the objective does not apply to this number of periods."""
        ...

    def later(self, first: int) -> Self:
        """Return the objective of the periods from index ``first`` (from 0) on, for replanning."""
        ...


@dataclass(frozen=True, slots=True)
class _Weighted:
    """An objective with one weight per period."""

    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.weights is None:
            return
        owner = type(self).__name__
        weights = validation.vector(owner, weights=self.weights)
        if not (weights.size and weights.min() >= 0.0 and 0.0 < float(weights.max()) <= MAX_WEIGHT):
            raise ParameterError(
                f"must be numbers from 0 to {MAX_WEIGHT:.0e}, one per period and not all 0; got {self.weights!r}.",
                owner=owner,
                name="weights",
            )
        object.__setattr__(self, "weights", tuple(weights.tolist()))

    def check(self, horizon: int) -> None:
        """Raise ParameterError unless there is one weight per period."""
        owner = type(self).__name__
        validation.count(owner, least=1, horizon=horizon)
        if self.weights is not None and len(self.weights) != horizon:
            raise ParameterError(
                f"must be one per period, {horizon}; got {len(self.weights)} weights.", owner=owner, name="weights"
            )

    def shares(self, horizon: int) -> FloatArray:
        """Return the contribution of a gap of 1 in each period."""
        self.check(horizon)
        return np.ones(horizon) if self.weights is None else np.array(self.weights)

    def later(self, first: int) -> Self:
        """Return the objective of the periods from index ``first`` (from 0) on: earlier weights are dropped.

        If all remaining weights are 0, the value is 0.
        """
        owner = f"{type(self).__name__}.later"
        validation.count(owner, first=first)
        rest = copy.copy(self)
        if self.weights is not None:
            if first >= len(self.weights):
                raise ParameterError(
                    f"must be one of the {len(self.weights)} periods that have weights, from 0; got {first}.",
                    owner=owner,
                    name="first",
                )
            object.__setattr__(rest, "weights", self.weights[first:])
        return rest


@dataclass(frozen=True, slots=True)
class MeanGap(_Weighted):
    """The weighted mean of the gaps, phi_1 = sum w_n xi_n / sum w_n.

    Parameters
    ----------
    weights : tuple of float, optional
        One weight per period; equal by default.

    Examples
    --------
    >>> MeanGap()(np.array([0.0, 0.3])), MeanGap((3, 1))(np.array([0.0, 0.4]))
    (0.15, 0.1)
    """

    name: ClassVar[str] = "mean gap"

    def __call__(self, gaps: FloatArray) -> float:
        """Return the weighted mean of the gaps."""
        return float(self.shares(len(gaps)) @ gaps)

    def shares(self, horizon: int) -> FloatArray:
        """Return w_n / sum w, the contribution of a gap of 1 in each period."""
        weights = _Weighted.shares(self, horizon)
        total = float(weights.sum())
        return weights / total if total > 0.0 else weights


@dataclass(frozen=True, slots=True)
class LargestGap(_Weighted):
    """The largest weighted gap, phi_2 = max w_n xi_n.

    Parameters
    ----------
    weights : tuple of float, optional
        One weight per period; 1 by default.

    Examples
    --------
    >>> LargestGap()(np.array([0.1, 0.3, 0.2]))
    0.3
    """

    name: ClassVar[str] = "largest gap"

    def __call__(self, gaps: FloatArray) -> float:
        """Return the largest weighted gap."""
        return float(np.max(self.shares(len(gaps)) * gaps))


@dataclass(frozen=True, slots=True)
class LargestRun(_Weighted):
    """The largest sum over a non-decreasing run of gaps.

    phi_3 = max over a <= b with xi_a <= ... <= xi_b of w_a xi_a + ... + w_b xi_b (theory I16: one period is a run too).
    Unlike the others it is not monotone: a larger early gap may break a run, as (1, 2) counts 3 and (2.5, 2) counts 2.5.

    Parameters
    ----------
    weights : tuple of float, optional
        One weight per period; 1 by default.

    Examples
    --------
    >>> LargestRun()(np.array([1.0, 2.0, 0.5, 0.5])), LargestRun()(np.array([2.5, 2.0, 0.5, 0.5]))
    (3.0, 2.5)
    """

    name: ClassVar[str] = "largest run of gaps"

    def __call__(self, gaps: FloatArray) -> float:
        """Return the largest sum over a non-decreasing run."""
        gaps = np.asarray(gaps, dtype=np.float64)
        weighted = self.shares(len(gaps)) * gaps
        falls = np.flatnonzero(gaps[1:] < gaps[:-1] * (1.0 - TIE)) + 1
        return float(np.max(np.add.reduceat(weighted, np.concatenate(([0], falls)))))


@dataclass(frozen=True, slots=True)
class CustomGap:
    """A user-defined objective.

    Parameters
    ----------
    function : callable
        Maps the array of gaps to a finite number of at least 0 that never decreases when a gap grows. :meth:`check` tests
        this on random pairs of gaps.
    name : str
        A short description.
    gone : int, default 0
        The number of past periods; the function receives gaps of 0 for them.

    Examples
    --------
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
                f"must be a function of the gaps; got {self.function!r}.", owner="CustomGap", name="function"
            )
        if not (isinstance(self.name, str) and self.name):
            raise ParameterError(f"must be a non-empty string; got {self.name!r}.", owner="CustomGap", name="name")
        validation.count("CustomGap", gone=self.gone)

    def __call__(self, gaps: FloatArray) -> float:
        """Return the function's value at the gaps."""
        padded = np.concatenate((np.zeros(self.gone), gaps))
        result = self.function(padded.copy())
        try:
            value = float(result)
        except (TypeError, ValueError):
            value = math.nan
        if not 0.0 <= value < math.inf:
            raise ParameterError(
                f"must return a finite number of at least 0; got {result!r} for the gaps {padded.tolist()}.",
                owner="CustomGap",
                name="function",
            )
        return value

    def check(self, horizon: int) -> None:
        """Test on random pairs of gaps that larger gaps never have a smaller value."""
        validation.count("CustomGap", least=1, horizon=horizon)
        rng = np.random.default_rng(4)
        for trial in range(_TRIALS):
            small, added = _random_step(rng, horizon, trial)
            less, more = self(small), self(small + added)
            if more < less - TIE * less:
                raise ParameterError(
                    f"must not decrease when a gap grows; got {less!r} for {small.tolist()} "
                    f"and {more!r} for {(small + added).tolist()}.",
                    owner="CustomGap",
                    name="function",
                )

    def later(self, first: int) -> "CustomGap":
        """Return the objective of the periods from index ``first`` (from 0) on."""
        validation.count("CustomGap.later", first=first)
        return CustomGap(self.function, self.name, self.gone + first)


def _random_step(rng: np.random.Generator, horizon: int, trial: int) -> tuple[FloatArray, FloatArray]:
    """Return gaps, some of them 0 and some sorted, and an increase: in all periods or in one, large or small."""
    scale = 10.0 ** rng.uniform(-4.0, 2.0)
    gaps = np.where(rng.random(horizon) < rng.random(), 0.0, scale * rng.random(horizon))
    added = scale * 10.0 ** rng.uniform(-3.0, 1.0) * rng.random(horizon)
    if trial % 2:
        added *= np.arange(horizon) == rng.integers(horizon)
    return np.sort(gaps) if trial % 3 == 0 else gaps, added


GAPS: dict[str, type[MeanGap] | type[LargestGap] | type[LargestRun]] = {
    "mean": MeanGap,
    "largest": LargestGap,
    "run": LargestRun,
}
"""The objectives that can be given by name."""
