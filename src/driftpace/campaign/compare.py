"""Compare two states of a campaign up to rounding.

On left machine with left set of libraries a replay gives the same bits. Elsewhere sums may be added in another order, so that their
last digits differ, which does not mean that anything was changed.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from driftpace.campaign.state import CampaignState
from driftpace.storage.codec import decode
from driftpace.tracker.codec import snapshot_to_body

ROUNDING = 1e-6
"""Largest difference of two numbers, relative to the largest of their array."""

_DECIDED = ("order",)
"""Decisions that a last digit can change; the log has them as they were made."""


def arrays_agree(left: npt.ArrayLike, right: npt.ArrayLike) -> bool:
    """Return whether two arrays of numbers are equal up to rounding.

    >>> arrays_agree([1.0, 0.0], [1.0 + 1e-9, 1e-12]), arrays_agree([1.0], [1.1]), arrays_agree([1.0], [1.0, 2.0])
    (True, False, False)
    """
    a, b = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if a.shape != b.shape:
        return False
    largest = float(np.abs(b[np.isfinite(b)]).max(initial=0.0))
    return bool(np.allclose(a, b, rtol=ROUNDING, atol=ROUNDING * largest, equal_nan=True))


def states_agree(left: CampaignState, right: CampaignState) -> bool:
    """Return whether two states are equal, numbers up to rounding."""
    same = all(getattr(left, name) == getattr(right, name) for name in ("seq", "definition", "last_key", "rows"))
    return same and _opened(left) == _opened(right) and _near(_body(left), _body(right))


def _opened(campaign: CampaignState) -> tuple[Any, ...] | None:
    opened = campaign.opened
    if opened is None:
        return None
    return opened.key, opened.deliveries, opened.draws, opened.approved, opened.overridden


def _body(campaign: CampaignState) -> Any:
    return snapshot_to_body(campaign.method, campaign.state.without_rows())


def _near(left: Any, right: Any) -> bool:
    """Compare two encoded states: shapes, names and integers exactly, floats up to rounding, sentences not at all."""
    if isinstance(left, dict) and isinstance(right, dict):
        if left.get("!") == "array" == right.get("!"):
            return arrays_agree(decode(left), decode(right))
        names = left.keys() - set(_DECIDED)
        return names == right.keys() - set(_DECIDED) and all(_near(left[name], right[name]) for name in names)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(_near(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, float) and isinstance(right, float):
        return arrays_agree(left, right)
    return type(left) is type(right) and (isinstance(left, str) or left == right)
