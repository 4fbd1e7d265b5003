"""Vector instructions that the compiler does not generate by itself, and the slopes of the built-in losses.

A pass over short rows keeps its coefficients in vector registers from the first row to the last. The compiler vectorises
loops, but does not keep registers across rows of a length it does not know; so the vectors are spelt out. What a processor
lacks (a masked load, four doubles in one register) the compiler replaces: results are the same.

Each intrinsic takes the types of its arguments, and returns its signature and a function that emits its instructions.
"""

from collections.abc import Callable
from typing import Any

from numba import extending, types
from numba.core import cgutils
from numba.extending import models, register_model

from driftpace.compiled import compiled

# ruff: noqa: ARG001  (the compiler hands every builder the same four things)


intrinsic: Callable[..., Callable[..., Any]] = extending.intrinsic
insert_function: Callable[..., Any] = cgutils.get_or_insert_function
ir: Any = cgutils.ir  # type: ignore[attr-defined]  # llvmlite's, as numba has it

_DOUBLE = ir.DoubleType()
_FOUR = ir.VectorType(_DOUBLE, 4)
_FOUR_FLAGS = ir.VectorType(ir.IntType(1), 4)
_FOUR_COUNTS = ir.VectorType(ir.IntType(64), 4)
_BYTE = ir.IntType(8).as_pointer()
_INT32 = ir.IntType(32)
_EIGHT_BYTES = ir.Constant(_INT32, 8)
_LOOSE = ("reassoc", "contract", "nsz")  # terms may be regrouped; NaN and infinity stay what they are


class Lanes(types.Type):
    """The type of four doubles."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


LANES = Lanes()


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, described: Any) -> None:
        super().__init__(manager, described, _FOUR)  # type: ignore[no-untyped-call]


def _everywhere(builder: Any, kind: Any, value: Any) -> Any:
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(_INT32, 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_INT32, 4), [0, 0, 0, 0]))


def _address(context: Any, builder: Any, kind: Any, array: Any, index: Any, pointer: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), pointer)


@intrinsic
def fill(context: Any, number: Any) -> Any:
    """Return the number four times."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _everywhere(builder, _FOUR, arguments[0])

    return LANES(types.float64), build


@intrinsic
def load(context: Any, array: Any, index: Any) -> Any:
    """Return four numbers of a flat array from ``index`` on."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        where = _address(context, builder, signature.args[0], arguments[0], arguments[1], _FOUR.as_pointer())
        return builder.load(where, align=8)

    return LANES(array, types.intp), build


@intrinsic
def load_some(context: Any, array: Any, index: Any, count: Any) -> Any:
    """Return four numbers of a flat array from ``index`` on, those past ``count`` not touched and zero."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        where = _address(context, builder, signature.args[0], arguments[0], arguments[1], _FOUR.as_pointer())
        counts = _everywhere(builder, _FOUR_COUNTS, arguments[2])
        wanted = builder.icmp_signed(">", counts, ir.Constant(_FOUR_COUNTS, [0, 1, 2, 3]))
        kind = ir.FunctionType(_FOUR, [_FOUR.as_pointer(), _INT32, _FOUR_FLAGS, _FOUR])
        masked = insert_function(builder.module, kind, "llvm.masked.load.v4f64.p0")
        return builder.call(masked, [where, _EIGHT_BYTES, wanted, ir.Constant(_FOUR, [0.0] * 4)])

    return LANES(array, types.intp, types.intp), build


@intrinsic
def store(context: Any, array: Any, index: Any, value: Any) -> Any:
    """Write four numbers into a flat array from ``index`` on."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        where = _address(context, builder, signature.args[0], arguments[0], arguments[1], _FOUR.as_pointer())
        builder.store(arguments[2], where, align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, LANES), build


@intrinsic
def fetch_ahead(context: Any, array: Any, index: Any) -> Any:
    """Ask for a place of a flat array to be brought near; a place past its end is harmless."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        where = _address(context, builder, signature.args[0], arguments[0], arguments[1], _BYTE)
        kind = ir.FunctionType(ir.VoidType(), [_BYTE, _INT32, _INT32, _INT32])
        prefetch = insert_function(builder.module, kind, "llvm.prefetch.p0")
        read, keep, data = (ir.Constant(_INT32, flag) for flag in (0, 3, 1))
        builder.call(prefetch, [where, read, keep, data])
        return context.get_dummy_value()

    return types.void(array, types.intp), build


@intrinsic
def times(context: Any, left: Any, right: Any) -> Any:
    """Return the four products."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fmul(*arguments, flags=_LOOSE)

    return LANES(LANES, LANES), build


@intrinsic
def times_plus(context: Any, left: Any, right: Any, more: Any) -> Any:
    """Return left times right plus more, four times."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, right, more = arguments
        return builder.fadd(builder.fmul(left, right, flags=_LOOSE), more, flags=_LOOSE)

    return LANES(LANES, LANES, LANES), build


@intrinsic
def total(context: Any, value: Any) -> Any:
    """Return the sum of the four."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(_DOUBLE, [_DOUBLE, _FOUR])
        reduce = insert_function(builder.module, kind, "llvm.vector.reduce.fadd.v4f64")
        return builder.call(reduce, [ir.Constant(_DOUBLE, -0.0), arguments[0]], fastmath=_LOOSE)

    return types.float64(LANES), build


@intrinsic
def two_to(context: Any, power: Any) -> Any:
    """Return 2^power for a double that is a whole number, by writing the bits of the result."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        integer = ir.IntType(64)
        exponent = builder.fptosi(builder.fadd(arguments[0], ir.Constant(_DOUBLE, 1023.0)), integer)
        return builder.bitcast(builder.shl(exponent, ir.Constant(integer, 52)), _DOUBLE)

    return types.float64(types.float64), build


@intrinsic
def nearest(context: Any, number: Any) -> Any:
    """Return the nearest whole number as a double."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(_DOUBLE, [_DOUBLE])
        rint = builder.module.declare_intrinsic("llvm.rint", [_DOUBLE], kind)
        return builder.call(rint, arguments)

    return types.float64(types.float64), build


_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # ln 2 in two parts: whole multiples of the first are exact
_LN2_LOW = 1.90821492927058770002e-10


@compiled(inline=True)
def exponential(x: float) -> float:
    """e^x to the last digit or two for |x| <= 700, and e^+-700 beyond.

    Written out, since a call to the system's function inside a pass would push every number of the pass out of the
    processor's registers, for every loss.
    """
    if x > 700.0:
        x = 700.0
    if x < -700.0:
        x = -700.0
    power = nearest(x * _LOG2_E)
    r = (
        x - power * _LN2_HIGH
    ) - power * _LN2_LOW  # |r| <= (ln 2)/2; Taylor's series in pairs, so that few wait in line
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + r) + (1.0 / 2.0 + r * (1.0 / 6.0)) * r2
    middle = (1.0 / 24.0 + r * (1.0 / 120.0)) + (1.0 / 720.0 + r * (1.0 / 5040.0)) * r2
    high = (1.0 / 40320.0 + r * (1.0 / 362880.0)) + (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) * r2
    top = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0)
    return (low + middle * r4 + (high + top * r4) * (r4 * r4)) * two_to(power)


@compiled(inline=True)
def slope(loss: int, shape: float, score: float, y: float) -> float:
    """0 squared, 1 smoothed hinge, 2 logistic, 3 Huber with its threshold in ``shape``."""
    if loss == 0:
        return score - y
    if loss == 1:
        short = 1.0 - y * score
        if short <= 0.0:
            return 0.0
        return -y * short  # NaN too
    if loss == 2:
        return -y / (1.0 + exponential(y * score))
    residual = score - y
    if residual > shape:
        return shape
    if residual < -shape:
        return -shape
    return residual
