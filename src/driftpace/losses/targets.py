"""Encoding of targets: finite numbers for regression, -1 and 1 for classification."""

import numpy as np

from driftpace.errors import DataError
from driftpace.typing import FloatArray


def encode_numbers(loss: str, y: object) -> FloatArray:
    """Return finite numbers as floats.

    Parameters
    ----------
    loss : str
        The name of the loss, for the message.
    y : array-like
        The targets.

    Raises
    ------
    DataError
        If a target is not a finite number.

    Examples
    --------
    >>> encode_numbers("SquaredLoss", [1, 2])
    array([1., 2.])
    >>> encode_numbers("SquaredLoss", [1.0, float("nan")])
    Traceback (most recent call last):
        ...
    driftpace.errors.DataError: y must be finite numbers for SquaredLoss; got values such as nan.
    """
    numbers = _as_floats(y)
    if numbers is None:
        raise _target_error(loss, "finite numbers", _distinct(y))
    finite = np.isfinite(numbers)
    if not finite.all():
        raise _target_error(loss, "finite numbers", np.unique(numbers[~finite]).tolist())
    return numbers


def encode_classes(loss: str, y: object) -> FloatArray:
    """Return two classes given as -1/1, 0/1 or False/True as -1.0 and 1.0; targets of one class are allowed.

    Parameters
    ----------
    loss : str
        The name of the loss, for the message.
    y : array-like
        The targets.

    Raises
    ------
    DataError
        If the targets are anything else.

    Examples
    --------
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
        raise _target_error(loss, allowed, _distinct(y))
    present = np.unique(numbers)
    strange = present[~np.isin(present, (-1.0, 0.0, 1.0))]
    if strange.size:
        raise _target_error(loss, allowed, strange.tolist())
    if np.isin((-1.0, 0.0), present).all():
        raise _target_error(loss, allowed, present.tolist())
    return np.where(numbers > 0.0, 1.0, -1.0)


def encode_codes(loss: str, y: object, classes: int) -> FloatArray:
    """Return the numbers of classes, whole numbers from 0 on, as floats.

    Parameters
    ----------
    loss : str
        The name of the loss, for the message.
    y : array-like
        The targets.
    classes : int
        How many classes there are.

    Raises
    ------
    DataError
        If a target is not such a number.

    Examples
    --------
    >>> encode_codes("SoftmaxLoss", [0, 2, 1], 3)
    array([0., 2., 1.])
    >>> encode_codes("SoftmaxLoss", [0, 3], 3)
    Traceback (most recent call last):
        ...
    driftpace.errors.DataError: y must be whole numbers from 0 to 2 for SoftmaxLoss; got values such as 3.0.
    """
    allowed = f"whole numbers from 0 to {classes - 1}"
    numbers = _as_floats(y)
    if numbers is None:
        raise _target_error(loss, allowed, _distinct(y))
    strange = np.unique(numbers[~(np.isin(numbers, np.arange(classes)))])
    if strange.size:
        raise _target_error(loss, allowed, strange.tolist())
    return numbers


def weighted_quantile(y: FloatArray, tau: float, weights: FloatArray | None = None) -> float:
    """Return the quantile ``tau`` of targets, each counted by its weight if there are any; 0 without targets.

    >>> weighted_quantile(np.array([1.0, 2.0, 9.0]), 0.5), weighted_quantile(np.array([1.0, 9.0]), 0.5, np.array([1.0, 3.0]))
    (2.0, 9.0)
    """
    if not len(y):
        return 0.0
    if weights is None:
        return float(np.quantile(y, tau))
    order = np.argsort(y)
    reached = np.cumsum(weights[order]) / weights.sum()
    return float(y[order][min(int(np.searchsorted(reached, tau)), len(y) - 1)])


def _as_floats(y: object) -> FloatArray | None:
    given = np.asarray(y)
    text = given.dtype.kind == "O" and any(isinstance(value, str) for value in given.ravel())
    if text or given.dtype.kind not in "biufO":  # text that looks like a number is still text
        return None
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _distinct(y: object) -> list[object]:
    return list(dict.fromkeys(np.asarray(y).ravel().tolist()))


def _target_error(loss: str, allowed: str, values: list[object]) -> DataError:
    examples = ", ".join(map(repr, values[:3]))
    return DataError(f"must be {allowed} for {loss}; got values such as {examples}.", name="y")
