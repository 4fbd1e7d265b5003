"""Validation of parameters, with messages of one form: ``owner(name=...) must be ALLOWED; got VALUE``.

Each check takes the owner and the parameter as a keyword, so that the message names the right parameter.

>>> positive("Ball", radius=2.0)
>>> positive("Ball", radius=-1.0)
Traceback (most recent call last):
    ...
driftpace.errors.ParameterError: Ball(radius=...) must be positive and finite; got -1.0.
"""

import math
from collections.abc import Collection
from difflib import get_close_matches
from numbers import Integral, Real

import numpy as np

from driftpace.errors import ParameterError
from driftpace.typing import FloatArray


def _refuse(owner: str, name: str, allowed: str, value: object) -> ParameterError:
    return ParameterError(f"must be {allowed}; got {value!r}.", owner=owner, name=name)


def _is_real(value: object) -> bool:
    if type(value) in (float, int):  # the usual case, and far faster than the abstract class
        return True
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _is_whole(value: object) -> bool:
    return type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))


def positive(owner: str, **named: float) -> None:
    """Raise ParameterError unless the values are finite and above zero."""
    for name, value in named.items():
        if not (_is_real(value) and 0.0 < value < math.inf):
            raise _refuse(owner, name, "positive and finite", value)


def nonnegative(owner: str, **named: float) -> None:
    """Raise ParameterError unless the values are finite and zero or more."""
    for name, value in named.items():
        if not (_is_real(value) and 0.0 <= value < math.inf):
            raise _refuse(owner, name, "zero or more, and finite", value)


def distance(owner: str, **named: float) -> None:
    """Raise ParameterError unless the values are zero or more and their squares do not overflow."""
    for name, value in named.items():
        if not (_is_real(value) and 0.0 <= value <= 1e150):
            raise _refuse(owner, name, "between 0 and 1e150, so that its square is finite", value)


def fraction(owner: str, **named: float) -> None:
    """Raise ParameterError unless the values are strictly between zero and one."""
    for name, value in named.items():
        if not (_is_real(value) and 0.0 < value < 1.0):
            raise _refuse(owner, name, "strictly between 0 and 1", value)


def count(owner: str, *, least: int = 0, at_most: int | None = None, **named: int) -> None:
    """Raise ParameterError unless the values are whole numbers of at least ``least``, and at most ``at_most`` if given."""
    allowed = f"a whole number of at least {least}" if at_most is None else f"a whole number from {least} to {at_most}"
    for name, value in named.items():
        if not (_is_whole(value) and value >= least and (at_most is None or value <= at_most)):
            raise _refuse(owner, name, allowed, value)


def counts(owner: str, *, least: int = 0, **named: object) -> tuple[int, ...]:
    """Return the value as a tuple of whole numbers of at least ``least``, or raise ParameterError.

    >>> counts("DoNotUpdate", least=1, first_samples=[50, 50])
    (50, 50)
    """
    ((name, value),) = named.items()
    whole = isinstance(value, tuple | list) and all(_is_whole(item) and item >= least for item in value)
    if not whole or not isinstance(value, tuple | list):
        raise _refuse(owner, name, f"a tuple of whole numbers of at least {least}", value)
    return tuple(int(item) for item in value)


def switch(owner: str, **named: object) -> None:
    """Raise ParameterError unless the values are True or False."""
    for name, value in named.items():
        if not isinstance(value, bool):
            raise _refuse(owner, name, "True or False", value)


def choice(owner: str, allowed: Collection[str], **named: str) -> None:
    """Raise ParameterError unless the values are among ``allowed``."""
    for name, value in named.items():
        if value not in allowed:
            near = get_close_matches(str(value), allowed, n=1)
            hint = f": did you mean {near[0]!r}?" if near else "."
            listed = ", ".join(repr(word) for word in allowed)
            raise ParameterError(f"must be one of {listed}; got {value!r}{hint}", owner=owner, name=name)


def vector(owner: str, *, length: int | None = None, **named: object) -> FloatArray:
    """Return the value as a finite float vector of ``length`` (any, when None), or raise ParameterError."""
    ((name, value),) = named.items()
    allowed = "a finite vector" if length is None else f"a finite vector of length {length}"
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise _refuse(owner, name, allowed, value) from None
    if array.ndim != 1 or (length is not None and array.size != length):
        raise ParameterError(f"must be {allowed}; got shape {array.shape}.", owner=owner, name=name)
    if not np.isfinite(array).all():
        raise ParameterError(f"must be {allowed}; got NaN or infinity in it.", owner=owner, name=name)
    return array
