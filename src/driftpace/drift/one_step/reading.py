"""What one-step estimates read of a closed period."""

import numpy as np

from driftpace.errors import UnknownConstantError
from driftpace.records import Constants, Seen
from driftpace.typing import FloatArray


def strong_convexity(owner: str, constants: Constants) -> float:
    """Return the safe end of m, or refuse: without it a gradient says nothing of a distance."""
    estimate = constants.m
    if estimate is None or not estimate.lower > 0.0:
        got = "none" if estimate is None else f"{estimate.lower!r} ({estimate.account})"
        raise UnknownConstantError(
            f"{owner} needs Constants(m=...) to be positive, to turn gradients into distances; got {got}."
        )
    return estimate.lower


def limited(value: float, constants: Constants) -> float:
    """Return a length, at most the diameter of the set where the user gave it (section II-D of the paper).

    An estimated diameter says where the first minimiser was, not how far a later one may go, so it limits nothing here.
    """
    given = constants.diameter is not None and constants.diameter.is_given
    return min(value, constants.safe("diameter")) if given else value


def all_rows(seen: Seen) -> tuple[FloatArray, FloatArray]:
    """Return every row of the period, those kept apart from training included."""
    if len(seen.y_held) == 0:
        return seen.X, seen.y
    return np.concatenate([seen.X, seen.X_held]), np.concatenate([seen.y, seen.y_held])


def spread_out(rows: FloatArray, most: int) -> FloatArray:
    """Return at most ``most`` of the rows, evenly spaced, so that no randomness is needed."""
    if len(rows) <= most:
        return rows.copy()
    return rows[np.linspace(0, len(rows) - 1, most).round().astype(np.int64)]
