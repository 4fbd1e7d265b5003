"""What targets may be: finite numbers for regression, two classes for classification."""

import numpy as np

from driftpace.errors import DataError
from driftpace.losses.protocol import Loss
from driftpace.typing import FloatArray


def classifies(loss: Loss) -> bool:
    """Return whether a loss is for two classes: it takes 0 and 1 for -1 and 1.

    >>> from driftpace.losses import LogisticLoss, SquaredLoss
    >>> classifies(LogisticLoss()), classifies(SquaredLoss())
    (True, False)
    """
    return np.array_equal(loss.encode(np.array([0.0, 1.0])), [-1.0, 1.0])


def encode_numbers(owner: str, y: object) -> FloatArray:
    """Return finite floats as they came, or refuse them.

    >>> encode_numbers("SquaredLoss", [1, 2])
    array([1., 2.])
    >>> encode_numbers("SquaredLoss", [1.0, float("nan")])
    Traceback (most recent call last):
        ...
    driftpace.errors.DataError: y must be finite numbers for SquaredLoss; got values such as nan.
    """
    numbers = _as_floats(y)
    if numbers is None:
        raise _refuse(owner, "finite numbers", _examples(y))
    finite = np.isfinite(numbers)
    if not finite.all():
        raise _refuse(owner, "finite numbers", np.unique(numbers[~finite]).tolist())
    return numbers


def encode_classes(owner: str, y: object) -> FloatArray:
    """Return two classes given as -1/1, 0/1 or False/True as -1.0 and 1.0, or refuse them; one class alone is fine.

    >>> encode_classes("SmoothedHinge", [0, 1, 1])
    array([-1.,  1.,  1.])
    >>> encode_classes("SmoothedHinge", [1, 2, 3])
    Traceback (most recent call last):
        ...
    driftpace.errors.DataError: y must be -1/1 or 0/1 for SmoothedHinge; got values such as 2.0, 3.0.
    """
    allowed = "-1/1 or 0/1"
    numbers = _as_floats(y)
    if numbers is None:
        raise _refuse(owner, allowed, _examples(y))
    present = np.unique(numbers)
    strange = present[~np.isin(present, (-1.0, 0.0, 1.0))]
    if strange.size:
        raise _refuse(owner, allowed, strange.tolist())
    if np.isin((-1.0, 0.0), present).all():
        raise _refuse(owner, allowed, present.tolist())
    return np.where(numbers > 0.0, 1.0, -1.0)


def _as_floats(y: object) -> FloatArray | None:
    given = np.asarray(y)
    text = given.dtype.kind == "O" and any(isinstance(value, str) for value in given.ravel())
    if text or given.dtype.kind not in "biufO":  # text that looks like a number is still text
        return None
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _examples(y: object) -> list[object]:
    return list(dict.fromkeys(np.asarray(y).ravel().tolist()))


def _refuse(owner: str, allowed: str, came: list[object]) -> DataError:
    return DataError(f"y must be {allowed} for {owner}; got values such as {', '.join(map(repr, came[:3]))}.")
