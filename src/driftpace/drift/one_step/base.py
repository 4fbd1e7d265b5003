"""The protocol of one-step estimates, and what they share in reading a closed period."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from driftpace.errors import UnknownConstantError
from driftpace.losses.protocol import Loss
from driftpace.records import Constants, PeriodData
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One estimate of one change.

    Parameters
    ----------
    value : float
        A length, or the square of one.
    error : float, optional
        Standard error of the value, where known.
    """

    value: float
    error: float | None = None


@runtime_checkable
class OneStep(Protocol):
    """Protocol of one-step estimates: the change from one period to the next.

    A value is a length, or a square when ``squared``: a square may be negative, because its noise has been subtracted rather
    than truncated, and squares are averaged before a root is taken. A value that needs the previous period is not formed when
    that period had no rows; the state remembers the last period that had some.
    """

    @property
    def squared(self) -> bool:
        """Whether values are squares of lengths."""
        ...

    @property
    def measures(self) -> str:
        """What the length is: "rho", "distance", or "monitor" for a number that bounds neither."""
        ...

    @property
    def correctable(self) -> bool:
        """Whether the correction D_n of Theorem 1 is about this estimate."""
        ...

    @property
    def held_out(self) -> float:
        """The share of each period's rows that must be held out from training."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """The constants of the problem it reads."""
        ...

    def least_rows(self, features: int) -> int:
        """Return the fewest rows of a period from which an estimate can be formed."""
        ...

    @property
    def account(self) -> str:
        """Short description for reports."""
        ...

    def init(self, features: int) -> Any:
        """Return the state before the first period."""
        ...

    def measure(self, state: Any, seen: PeriodData, loss: Loss) -> tuple[Any, Step | None]:
        """Return the state after one more period, and the estimate if one could be made."""
        ...


def strong_convexity(owner: str, constants: Constants) -> float:
    """Return the safe end of m, which turns a gradient into a distance; UnknownConstantError without it."""
    estimate = constants.m
    if estimate is None or not estimate.lower > 0.0:
        got = "none" if estimate is None else f"{estimate.lower!r} ({estimate.account})"
        raise UnknownConstantError(
            f"{owner} needs Constants(m=...) to be positive, to turn gradients into distances; got {got}."
        )
    return estimate.lower


def clip_to_diameter(value: float, constants: Constants) -> float:
    """Return a length, at most the diameter of the set where the user gave it (section II-D of the paper).

    An estimated diameter is about the first minimiser only, so it limits nothing here.
    """
    given = constants.diameter is not None and constants.diameter.is_given
    return min(value, constants.safe("diameter")) if given else value


def all_rows(seen: PeriodData) -> tuple[FloatArray, FloatArray]:
    """Return every row of the period, those held out from training included."""
    if len(seen.y_held) == 0:
        return seen.X, seen.y
    return np.concatenate([seen.X, seen.X_held]), np.concatenate([seen.y, seen.y_held])


def subsample(rows: FloatArray, most: int) -> FloatArray:
    """Return at most ``most`` of the rows, evenly spaced, so that no randomness is needed."""
    if len(rows) <= most:
        return rows.copy()
    return rows[np.linspace(0, len(rows) - 1, most).round().astype(np.int64)]
