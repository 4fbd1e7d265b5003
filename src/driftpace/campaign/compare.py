"""Whether two computations came to the same, up to rounding: another processor or library may add numbers in another order.

On one machine with one set of libraries a replay gives the same bits. Elsewhere the last digits of a sum may differ, and that is
no sign that anything was changed.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from driftpace.campaign.state import CampaignState
from driftpace.storage.codec import decode
from driftpace.tracker.codec import snapshot_to_body

ROUNDING = 1e-6
"""How far two numbers may lie apart, as a share of the largest of their array."""

_DECIDED = ("order",)
"""What was decided on the way, which a last digit may turn: it is in the log as it was answered."""


def arrays_agree(one: npt.ArrayLike, other: npt.ArrayLike) -> bool:
    """Whether two arrays of numbers are the same up to rounding.

    >>> arrays_agree([1.0, 0.0], [1.0 + 1e-9, 1e-12]), arrays_agree([1.0], [1.1]), arrays_agree([1.0], [1.0, 2.0])
    (True, False, False)
    """
    a, b = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if a.shape != b.shape:
        return False
    largest = float(np.abs(b[np.isfinite(b)]).max(initial=0.0))
    return bool(np.allclose(a, b, rtol=ROUNDING, atol=ROUNDING * largest, equal_nan=True))


def states_agree(one: CampaignState, other: CampaignState) -> bool:
    """Whether two campaigns stand at the same place, with the same numbers up to rounding."""
    same = all(getattr(one, name) == getattr(other, name) for name in ("seq", "definition", "last_key", "rows"))
    return same and _opened(one) == _opened(other) and _near(_body(one), _body(other))


def _opened(folded: CampaignState) -> tuple[Any, ...] | None:
    opened = folded.opened
    if opened is None:
        return None
    return opened.key, opened.deliveries, opened.draws, opened.approved, opened.overridden


def _body(folded: CampaignState) -> Any:
    return snapshot_to_body(folded.method, folded.state.without_rows())


def _near(one: Any, other: Any) -> bool:
    """Compare two plain forms: shapes, names and whole numbers exactly, numbers up to rounding, sentences not at all."""
    if isinstance(one, dict) and isinstance(other, dict):
        if one.get("!") == "array" == other.get("!"):
            return arrays_agree(decode(one), decode(other))
        names = one.keys() - set(_DECIDED)
        return names == other.keys() - set(_DECIDED) and all(_near(one[name], other[name]) for name in names)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_near(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, float):
        return arrays_agree(one, other)
    return type(one) is type(other) and (isinstance(one, str) or one == other)
