"""A check of the contract of losses."""

from collections.abc import Callable

import numpy as np

from driftpace.errors import DataError
from driftpace.losses.protocol import Loss
from driftpace.typing import FloatArray

_ROWS, _FEATURES = 40, 5
_CLASSES: tuple[tuple[list[float], list[float]], ...] = (
    ([-1.0, 1.0], [-1.0, 1.0]),
    ([0, 1], [-1.0, 1.0]),
    ([False, True], [-1.0, 1.0]),
    ([1, 1], [1.0, 1.0]),
    ([0, 0], [-1.0, -1.0]),
    ([-1, -1], [-1.0, -1.0]),
)
Targets = Callable[[np.random.Generator, int], FloatArray]


def check_loss(loss: Loss, *, rng: np.random.Generator | int | None = None, targets: Targets | None = None) -> None:
    """Check a loss against the contract of :class:`driftpace.losses.Loss`.

    The gradient is the derivative of the value and the Hessian that of the gradient; values are means over rows; the loss
    is convex, and no row's gradient changes faster than ``row_smoothness``; the penalty leaves out the trailing
    ``unpenalised`` coefficients; targets are encoded or refused; nothing is mutated; scores of 1e100 do not overflow.

    Parameters
    ----------
    loss : Loss
        The loss to check.
    rng : Generator or int, optional
        The source of randomness; the same rows in every call when not given.
    targets : callable, optional
        A function of (rng, rows) that draws targets, for a loss that takes neither numbers nor -1 and 1.

    Raises
    ------
    AssertionError
        If a property fails; the message names it.

    Examples
    --------
    >>> from driftpace.losses import SquaredLoss
    >>> check_loss(SquaredLoss(l2=0.1))
    """
    _claim(isinstance(loss, Loss), "does not have every method of driftpace.losses.Loss")
    rng = np.random.default_rng(0 if rng is None else rng)
    X = rng.standard_normal((_ROWS, _FEATURES))
    y = loss.encode(_draw_targets(loss, rng) if targets is None else targets(rng, _ROWS))
    _claim(y.shape == (_ROWS,) and y.dtype == np.float64, "encode does not return one float for each row")
    if targets is None:
        _check_encode(loss, rng)
    for scale in (0.3, 1.0, 3.0):
        coef, direction = scale * rng.standard_normal((2, _FEATURES))
        _check_untouched(loss, coef, X, y, direction)
        _check_means(loss, coef, X, y)
        _check_gradient(loss, coef, X, y)
        _check_hessian(loss, coef, X, y, direction)
        _check_penalty(loss, coef, X, y)
        _check_predictions(loss, coef, X)
        _check_pairs(loss, coef, coef + direction, X, y)
        _check_pairs(loss, coef, coef + 1e-3 * direction, X, y)
        _check_pairs(loss, coef, coef + 10.0 * direction, X, y)
    _check_huge(loss, X, y)


def _claim(holds: bool, sentence: str) -> None:
    if not holds:
        raise AssertionError(f"The loss {sentence}.")


def _close(left: FloatArray | float, right: FloatArray | float, tolerance: float) -> bool:
    scale = 1.0 + float(np.max(np.abs(right), initial=0.0))
    return np.shape(left) == np.shape(right) and bool(np.all(np.abs(np.subtract(left, right)) <= tolerance * scale))


def _takes(loss: Loss, y: FloatArray) -> bool:
    try:
        loss.encode(y)
    except DataError:
        return False
    return True


def _takes_numbers(loss: Loss) -> bool:
    return _takes(loss, np.array([-1.5, 0.25, 3.0]))


def _draw_targets(loss: Loss, rng: np.random.Generator) -> FloatArray:
    if _takes_numbers(loss):
        return rng.standard_normal(_ROWS)
    classes = np.where(rng.random(_ROWS) < 0.5, -1.0, 1.0)
    _claim(_takes(loss, classes), "encodes neither numbers nor -1/1: give check_loss(targets=...)")
    return classes


def _refuses(loss: Loss, y: object) -> bool:
    try:
        loss.encode(y)  # type: ignore[arg-type]
    except DataError as error:
        return str(error).endswith(".")
    return False


def _check_encode(loss: Loss, rng: np.random.Generator) -> None:
    if _takes_numbers(loss):
        numbers = rng.standard_normal(5)
        _claim(np.array_equal(loss.encode(numbers), numbers), "changes finite targets when it encodes them")
    else:
        for classes, encoded in _CLASSES:
            _claim(np.array_equal(loss.encode(np.array(classes)), encoded), f"does not encode {classes} as {encoded}")
        for strange in ([2.0, 3.0], [-1.0, 0.0, 1.0]):
            _claim(
                _refuses(loss, np.array(strange)), f"does not refuse targets {strange} with a DataError in a sentence"
            )
    for bad in (np.nan, np.inf):
        _claim(
            _refuses(loss, np.array([1.0, bad])), f"does not refuse a target of {bad} with a DataError in a sentence"
        )


def _check_untouched(loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray, direction: FloatArray) -> None:
    given = (coef, X, y, direction)
    before = [array.copy() for array in given]
    for name, call in (
        ("encode", lambda: loss.encode(y)),
        ("predict", lambda: loss.predict(coef, X)),
        ("row_values", lambda: loss.row_values(coef, X, y)),
        ("value", lambda: loss.value(coef, X, y)),
        ("gradient", lambda: loss.gradient(coef, X, y)),
        ("row_gradients", lambda: loss.row_gradients(coef, X, y)),
        ("hessian", lambda: loss.hessian(coef, X, y)),
        ("hessian_product", lambda: loss.hessian_product(coef, X, y, direction)),
        ("row_smoothness", lambda: loss.row_smoothness(X)),
    ):
        call()
        same = all(np.array_equal(now, then) for now, then in zip(given, before, strict=True))
        _claim(same, f"changes an array that {name} was given")


def _check_means(loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray) -> None:
    values, gradients = loss.row_values(coef, X, y), loss.row_gradients(coef, X, y)
    _claim(
        values.shape == y.shape and gradients.shape == X.shape, "returns row values or row gradients of the wrong shape"
    )
    _claim(isinstance(loss.value(coef, X, y), float), "returns a value that is not a float")
    _claim(_close(loss.value(coef, X, y), values.mean(), 1e-9), "has a value that is not the mean of its row values")
    _claim(
        _close(loss.gradient(coef, X, y), gradients.mean(axis=0), 1e-9),
        "has a gradient that is not the mean of its row gradients",
    )


def _check_gradient(loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray) -> None:
    h = 1e-6
    steps = h * np.eye(coef.size)
    moved = np.array([loss.row_values(coef + e, X, y) - loss.row_values(coef - e, X, y) for e in steps])
    _claim(
        _close(loss.row_gradients(coef, X, y), moved.T / (2.0 * h), 1e-5),
        "has a gradient that is not the gradient of its value (finite differences)",
    )


def _check_hessian(loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray, direction: FloatArray) -> None:
    h = 1e-6
    here = loss.row_gradients(coef, X, y)
    ahead = (loss.row_gradients(coef + h * direction, X, y) - here) / h
    behind = (here - loss.row_gradients(coef - h * direction, X, y)) / h
    kink = np.abs(ahead - behind).max(axis=1)  # the two sides disagree where the slope has a kink between them
    _check_jumps(loss, coef, X, y, direction)
    rows = [loss.hessian(coef, X[i : i + 1], y[i : i + 1]) for i in range(_ROWS)]
    error = np.abs(np.array([row @ direction for row in rows]) - 0.5 * (ahead + behind)).max(axis=1)
    scale = 1.0 + np.abs(ahead).max(axis=1)
    _claim(
        bool((error <= 1e-4 * scale + kink).all()),
        "has a Hessian that is not the derivative of its gradient (finite differences)",
    )
    hessian = loss.hessian(coef, X, y)
    _claim(_close(hessian, hessian.T, 1e-12), "has a Hessian that is not symmetric")
    _claim(_close(hessian, np.mean(rows, axis=0), 1e-9), "has a Hessian that is not the mean over rows")
    _claim(
        _close(loss.hessian_product(coef, X, y, direction), hessian @ direction, 1e-9),
        "has a hessian_product that is not the Hessian times the direction",
    )


def _check_jumps(loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray, direction: FloatArray) -> None:
    """Close in on the largest change of each row's gradient along a segment: a continuous one becomes small."""
    low, high = np.full(_ROWS, -8.0), np.full(_ROWS, 8.0)

    def gradients(where: FloatArray) -> FloatArray:
        return np.array([
            loss.row_gradients(coef + where[i] * direction, X[i : i + 1], y[i : i + 1])[0] for i in range(_ROWS)
        ])  # fmt: skip

    left, right = gradients(low), gradients(high)
    whole = 1.0 + np.abs(right - left).max(axis=1)
    for _ in range(30):
        middle = 0.5 * (low + high)
        between = gradients(middle)
        go_left = np.abs(between - left).max(axis=1) >= np.abs(right - between).max(axis=1)
        low, high = np.where(go_left, low, middle), np.where(go_left, middle, high)
        left = np.where(go_left[:, None], left, between)
        right = np.where(go_left[:, None], between, right)
    _claim(bool((np.abs(right - left).max(axis=1) <= 1e-4 * whole).all()), "has a gradient that jumps")


def _check_penalty(loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray) -> None:
    none, two = loss.with_unpenalised(0), loss.with_unpenalised(2)
    _claim(none.unpenalised == 0 and two.unpenalised == 2, "does not keep the number given to with_unpenalised")
    _claim(none.l2 == loss.l2 == two.l2, "changes l2 in with_unpenalised")
    tail = np.where(np.arange(coef.size) >= coef.size - 2, coef, 0.0)
    _claim(
        _close(none.value(coef, X, y) - two.value(coef, X, y), 0.5 * loss.l2 * float(tail @ tail), 1e-9)
        and _close(none.gradient(coef, X, y) - two.gradient(coef, X, y), loss.l2 * tail, 1e-9),
        "has a penalty that does not leave the trailing unpenalised coefficients alone",
    )


def _check_predictions(loss: Loss, coef: FloatArray, X: FloatArray) -> None:
    values = loss.predict(coef, X)
    _claim(
        values.shape == (_ROWS,) and bool(np.isfinite(values).all()), "does not predict one finite number for each row"
    )


def _check_pairs(loss: Loss, u: FloatArray, v: FloatArray, X: FloatArray, y: FloatArray) -> None:
    at_u, at_v = loss.row_values(u, X, y), loss.row_values(v, X, y)
    slack = 1e-9 * (1.0 + np.abs(at_u) + np.abs(at_v))
    for share in (0.25, 0.5, 0.75):
        between = loss.row_values((1.0 - share) * u + share * v, X, y)
        _claim(bool((between <= (1.0 - share) * at_u + share * at_v + slack).all()), "is not convex")
    change = loss.row_gradients(v, X, y) - loss.row_gradients(u, X, y)
    limit = loss.row_smoothness(X)
    _claim(
        limit.shape == y.shape and bool(np.isfinite(limit).all()),
        "has a row_smoothness that is not a number for each row",
    )
    moved = float(np.linalg.norm(v - u))
    _claim(
        bool((np.linalg.norm(change, axis=1) <= limit * moved * (1.0 + 1e-9) + 1e-9).all()),
        "has a gradient that changes faster than its row_smoothness allows",
    )
    monotone = change @ (v - u)
    _claim(bool((monotone >= -1e-9 * (1.0 + np.abs(change).max() * moved)).all()), "is not convex")


def _check_huge(loss: Loss, X: FloatArray, y: FloatArray) -> None:
    for sign in (-1.0, 1.0):
        coef = np.full(_FEATURES, sign * 1e100)
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            try:
                answers = (
                    loss.row_values(coef, X, y),
                    loss.row_gradients(coef, X, y),
                    loss.hessian(coef, X, y),
                )
            except FloatingPointError as error:
                raise AssertionError(f"The loss overflows at scores of 1e100: {error}.") from None
        _claim(all(np.isfinite(answer).all() for answer in answers), "is not finite at scores of 1e100")
