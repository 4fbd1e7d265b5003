"""Normals by their number: a stream for each run in which any place can be read without those before it.

The generator is Threefry-2x64 with 13 rounds (J. Salmon, M. Moraes, R. Dror, D. Shaw: Parallel random numbers, as easy as 1, 2,
3; SC 2011), written from its published description: two words of key and two of counter become two words of 64 random bits.
Here the key is (seed, run) and the counter (place, index). Two words make a pair of normals by Box and Muller.

Nothing is used but shifts, additions, products (fused with an addition where that is written), a quotient and a root, each
rounded as IEEE 754 says, so that every processor and every number of runs side by side gives the same bits; and there are no
branches, so that the compiler works on several runs at once.
"""

# ruff: noqa: ARG001  (the compiler hands every builder the same four things)

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import extending, types
from numpy.typing import NDArray

from driftpace.compiled import compiled
from driftpace.typing import FloatArray

intrinsic: Callable[..., Callable[..., Any]] = extending.intrinsic

_PARITY = np.uint64(0x1BD11BDAA9FC1A22)
_R0, _R1, _R2, _R3 = np.uint64(16), np.uint64(42), np.uint64(12), np.uint64(31)
_R4, _R5, _R6, _R7 = np.uint64(16), np.uint64(32), np.uint64(24), np.uint64(21)
_64, _1, _2, _3 = np.uint64(64), np.uint64(1), np.uint64(2), np.uint64(3)

_12, _52, _62 = np.uint64(12), np.uint64(52), np.uint64(62)
_ONE = np.uint64(0x3FF0000000000000)  # 1.0, bit by bit
_MANTISSA = np.uint64(0x000FFFFFFFFFFFFF)
_SIGN = np.uint64(0x8000000000000000)
_ROOT_HALF = np.uint64(0x3FE6A09E667F3BCD)  # sqrt(1/2)
_TO_ONE = np.uint64(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
_BIG = np.uint64(0x4330000000000000)  # 2^52: a small whole number or-ed into it is added to it
_BIG_AND_BIAS = 2.0**52 + 1023.0
_LN2 = 0.6931471805599453
_QUARTER_TURN = 1.5707963267948966
_2F, _3F, _4F, _5F, _6F, _7F, _8F, _9F, _10F, _11F, _12F, _13F, _14F, _15F = (
    float(math.factorial(n)) for n in range(2, 16)
)


@intrinsic
def _as_float(context: Any, bits: Any) -> Any:
    """Return the double that has these bits."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.uint64), build


@intrinsic
def _as_bits(context: Any, number: Any) -> Any:
    """Return the bits of a double."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.uint64))

    return types.uint64(types.float64), build


@intrinsic
def _fused(context: Any, left: Any, right: Any, more: Any) -> Any:
    """Return left times right plus more, rounded once."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), build


@compiled(inline=True)
def _mix(a: np.uint64, b: np.uint64, turn: np.uint64) -> tuple[np.uint64, np.uint64]:
    a = a + b
    b = ((b << turn) | (b >> (_64 - turn))) ^ a
    return a, b


@compiled(inline=True)
def random_words(key0: np.uint64, key1: np.uint64, place: np.uint64, index: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return 128 random bits: Threefry-2x64-13 of the counter (place, index) under the key (key0, key1)."""
    key2 = key0 ^ key1 ^ _PARITY
    a, b = place + key0, index + key1
    a, b = _mix(a, b, _R0)
    a, b = _mix(a, b, _R1)
    a, b = _mix(a, b, _R2)
    a, b = _mix(a, b, _R3)
    a, b = a + key1, b + key2 + _1
    a, b = _mix(a, b, _R4)
    a, b = _mix(a, b, _R5)
    a, b = _mix(a, b, _R6)
    a, b = _mix(a, b, _R7)
    a, b = a + key2, b + key0 + _2
    a, b = _mix(a, b, _R0)
    a, b = _mix(a, b, _R1)
    a, b = _mix(a, b, _R2)
    a, b = _mix(a, b, _R3)
    a, b = a + key0, b + key1 + _3
    a, b = _mix(a, b, _R4)
    return a, b


@compiled(inline=True)
def radius(a: np.uint64, b: np.uint64) -> float:
    """Return sqrt(-2 log u), u in (0, 1] made of one word, with a sign from the other.

    log u = e log 2 + 2 artanh(s), u = 2^e v, sqrt(1/2) <= v < sqrt(2), s = (v-1)/(v+1), by its series, which errs by less than
    4e-14 after s^15. Series are summed in a tree, which is shorter than a chain.
    """
    u = _as_bits(2.0 - _as_float((a >> _12) | _ONE))
    moved = u + _TO_ONE
    exponent = _as_float((moved >> _52) | _BIG) - _BIG_AND_BIAS
    v = _as_float((moved & _MANTISSA) + _ROOT_HALF)
    s = (v - 1.0) / (v + 1.0)
    z = s * s
    z2 = z * z
    low = _fused(_fused(1.0 / 7.0, z, 1.0 / 5.0), z2, _fused(1.0 / 3.0, z, 1.0))
    high = _fused(_fused(1.0 / 15.0, z, 1.0 / 13.0), z2, _fused(1.0 / 11.0, z, 1.0 / 9.0))
    log_u = _fused(exponent, _LN2, (s + s) * _fused(high, z2 * z2, low))
    return float(_as_float(_as_bits(np.sqrt(-2.0 * log_u)) ^ ((b << _62) & _SIGN)))


@compiled(inline=True)
def around(length: float, b: np.uint64) -> tuple[float, float]:
    """Return ``length`` times cosine and sine of an angle made of a word.

    The angle is drawn from an eighth of a turn on either side of zero, where the series are short; one bit more swaps the two, and
    the sign of the length, yet another bit, turns both round: together they cover the circle evenly.
    """
    t = (_as_float((b >> _12) | _ONE) - 1.5) * _QUARTER_TURN
    z = t * t
    z2 = z * z
    z4 = z2 * z2
    low = _fused(_fused(-1.0 / _6F, z, 1.0 / _4F), z2, _fused(-1.0 / _2F, z, 1.0))
    high = _fused(_fused(-1.0 / _14F, z, 1.0 / _12F), z2, _fused(-1.0 / _10F, z, 1.0 / _8F))
    cosine = _fused(high, z4, low)
    low = _fused(_fused(-1.0 / _7F, z, 1.0 / _5F), z2, _fused(-1.0 / _3F, z, 1.0))
    high = _fused(_fused(-1.0 / _15F, z, 1.0 / _13F), z2, _fused(-1.0 / _11F, z, 1.0 / _9F))
    sine = t * _fused(high, z4, low)
    swapped = (b & _1) == _1
    first = sine if swapped else cosine
    second = cosine if swapped else sine
    return length * first, length * second


@compiled()
def fill_words(out: NDArray[np.uint64], key0: np.uint64, key1: np.uint64, place: np.uint64, first: np.uint64) -> None:
    """Fill out[i] with the two words of the counter (place, first + i): what tests look at."""
    for i in range(out.shape[0]):
        out[i, 0], out[i, 1] = random_words(key0, key1, place, first + np.uint64(i))


@compiled()
def fill_normals(out: FloatArray, key0: np.uint64, key1: np.uint64, place: np.uint64, first: np.uint64) -> None:
    """Fill out[i] with the pair of normals of the counter (place, first + i)."""
    for i in range(out.shape[0]):
        a, b = random_words(key0, key1, place, first + np.uint64(i))
        out[i, 0], out[i, 1] = around(radius(a, b), b)
