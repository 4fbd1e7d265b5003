"""Units in which sums neither overflow nor vanish: powers of two, so that changing them costs no accuracy."""

import math

from driftpace.typing import FloatArray


def unit_for(unit: float, largest: float) -> float:
    """Return a power of two of at least ``largest`` and ``unit``; zero while everything is zero.

    >>> unit_for(0.0, 5.0), unit_for(8.0, 5.0), unit_for(0.0, 0.0)
    (8.0, 8.0, 0.0)
    """
    if largest <= unit:
        return unit
    return math.ldexp(1.0, min(math.frexp(largest)[1], 1023))


def shrink(unit: float, new_unit: float, power: int) -> float:
    """Return what a sum of ``power``-th powers in the old unit is multiplied by in the new one; no OverflowError.

    >>> shrink(1.0, 4.0, 2), shrink(0.0, 4.0, 2)
    (0.0625, 0.0)
    """
    ratio = unit / new_unit if new_unit > 0.0 else 1.0
    return math.prod([ratio] * power)


def in_units(array: FloatArray, unit: float) -> FloatArray:
    """Return the array in the unit; zeros stay zeros when the unit is zero."""
    return array / unit if unit > 0.0 else array


def largest_entry(array: FloatArray) -> float:
    """Return the largest absolute entry, zero of no entries."""
    return float(abs(array).max()) if array.size else 0.0
