"""One-step estimates whose noise is subtracted: the debiased difference of minimisers, and the prequential U-statistic."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace import validation
from driftpace.constants.concentration import influences, leverages, scaled_inverse
from driftpace.drift.one_step.base import Step, all_rows, strong_convexity
from driftpace.losses import LinearLoss
from driftpace.losses.protocol import Loss
from driftpace.records import PeriodData
from driftpace.typing import FloatArray

_POWERS = {"hc2": 0.5, "hc3": 1.0}
_SHARED = 1.5  # without drift, cov(R_i, R_{i+1}) is a quarter of var(R_i): a mean has 1 + 2/4 times the variance


@dataclass(frozen=True, kw_only=True, slots=True)
class LastMinimiser:
    """The last period that could be fitted separately: its number, its minimiser, its variance matrix."""

    period: int | None
    minimiser: FloatArray
    variance: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class DebiasedDifference:
    """Squared difference of two periods' own minimisers with its noise subtracted (theory 3.3 N).

    R_i = ||theta_i - theta_{i-1}||^2 - tr V_i - tr V_{i-1}, whose mean is about rho_i^2. theta_i = w_i - H_i^-1 grad F_i(w_i) is
    one Newton step from the model on the rows of period i alone (least squares for the squared loss); V_i = H_i^-1 S_i H_i^-1 / K_i
    is its sandwich variance, with S_i from gradients divided by a power of one minus the leverage. It has no floor: given
    enough periods, drift is detected at any accuracy of the models.

    Its own standard error is that of a squared length with variance V = V_i + V_{i-1}, the root of 4 D'VD + 2 tr(V^2), times
    sqrt(1.5) because neighbours share a fit. A period with no more rows than features, or with collinear columns, has no
    minimiser of its own: it and its successor are skipped. No constant of the problem is needed.

    Parameters
    ----------
    residuals : {'hc2', 'hc3'}, default 'hc2'
        ``'hc2'`` is unbiased under constant noise; ``'hc3'`` overestimates V for few rows and so underestimates the drift,
        badly in ten dimensions.

    Examples
    --------
    >>> DebiasedDifference(residuals="hc3").squared
    True
    """

    residuals: str = "hc2"

    squared: ClassVar[bool] = True
    measures: ClassVar[str] = "rho"
    correctable: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ()
    held_out: ClassVar[float] = 0.0
    account: ClassVar[str] = "difference of the periods' own minimisers, their noise subtracted"

    def __post_init__(self) -> None:
        validation.choice("DebiasedDifference", tuple(_POWERS), residuals=self.residuals)

    def least_rows(self, features: int) -> int:
        """Return two rows for each feature: with fewer the noise that is subtracted is itself mostly noise."""
        return 2 * features + 2

    def init(self, features: int) -> LastMinimiser:
        """Return the state before the first period."""
        return LastMinimiser(period=None, minimiser=np.zeros(features), variance=np.zeros((features, features)))

    def measure(self, state: LastMinimiser, seen: PeriodData, loss: Loss) -> tuple[LastMinimiser, Step | None]:
        """Return the state after one more period, and R_i where both periods identify a minimiser."""
        X, y = all_rows(seen)
        estimate = _period_minimiser(loss, seen.coef, X, y, _POWERS[self.residuals])
        if estimate is None:
            return state, None
        minimiser, variance = estimate
        step = None
        if state.period is not None and seen.period == state.period + 1:
            step = _debiased(minimiser - state.minimiser, variance + state.variance)
        return LastMinimiser(period=seen.period, minimiser=minimiser, variance=variance), step


def _debiased(moved: FloatArray, variance: FloatArray) -> Step:
    """Return ||D||^2 - tr V with its standard error; the plugged-in D'VD errs upwards by tr(V^2), which is taken off."""
    trace = float(np.trace(variance))
    unit = max(float(np.abs(moved).max()), math.sqrt(max(trace, 0.0)))
    if not 0.0 < unit < math.inf:
        return Step(value=float(moved @ moved) - trace)
    d, v = moved / unit, variance / unit / unit
    squares = float(np.einsum("ij,ij->", v, v))
    spread = 4.0 * max(0.0, float(d @ v @ d) - squares) + 2.0 * squares
    value, error = float(d @ d) - float(np.trace(v)), math.sqrt(_SHARED * spread)
    return Step(value=unit * (unit * value), error=unit * (unit * error))


def _period_minimiser(
    loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray, power: float
) -> tuple[FloatArray, FloatArray] | None:
    """Return theta and V, or None when the rows do not identify a minimiser."""
    rows, features = X.shape
    inverse = scaled_inverse(loss.hessian(coef, X, y)) if rows > features else None
    if inverse is None:
        return None
    minimiser = coef - inverse @ loss.gradient(coef, X, y)
    if isinstance(loss, LinearLoss):
        shares = leverages(X, loss.curve.bend(X @ coef, y), inverse)
    else:  # a loss without second derivatives per row: every row the same share
        shares = np.full(rows, features / rows)
    pushes = influences(loss.row_gradients(minimiser, X, y), shares, power=power) @ inverse
    pushes /= rows
    return minimiser, pushes.T @ pushes


@dataclass(frozen=True, kw_only=True, slots=True)
class PrequentialState:
    """Whether any model has been trained: before that, the start carries no information about drift."""

    trained: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Prequential:
    """Unbiased estimate of the squared distance from the last model to the new minimiser (theory 3.3 P).

    U_i / m^2 estimates ||grad f_i(w_{i-1})||^2 / m^2 >= ||w_{i-1} - w_i*||^2. With g_k the gradient of row k of period i at the
    previous model, which the row did not train,

        U_i = ||gbar||^2 - tr(S) / K = (1/(K(K-1))) sum_{j != k} <g_j, g_k>.

    It estimates the start distance that a bound needs, without a triangle inequality and without rho; equality holds when the
    curvature is the same in every direction (whitened features). The distance depends on the accuracy of past models: combine
    it over a few recent periods, and restart after the target has changed. Two rows are needed. The first period with rows
    only trains a model. After a period without rows the distance has had longer to grow, and the value includes that.

    Examples
    --------
    >>> import numpy as np
    >>> squared_gradient(np.array([[3.0, 1.0], [1.0, 1.0]]))
    (4.0, 4.0)
    """

    squared: ClassVar[bool] = True
    measures: ClassVar[str] = "distance"
    correctable: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("m",)
    held_out: ClassVar[float] = 0.0
    account: ClassVar[str] = "gradients of fresh rows at the last model, their noise subtracted"

    def least_rows(self, features: int) -> int:
        """Return 2."""
        del features
        return 2

    def init(self, features: int) -> PrequentialState:
        """Return the state before the first period."""
        del features
        return PrequentialState(trained=False)

    def measure(self, state: PrequentialState, seen: PeriodData, loss: Loss) -> tuple[PrequentialState, Step | None]:
        """Return the state after one more period, and U_i / m^2 where there was a model and two rows."""
        X, y = all_rows(seen)
        after = PrequentialState(trained=state.trained or len(seen.y) > 0)
        if not state.trained or len(y) < 2:
            return after, None
        m = strong_convexity("Prequential", seen.constants)
        gradients = loss.row_gradients(seen.start, X, y)
        unit = float(np.abs(gradients).max()) or 1.0  # squares of gradients may overflow; those of distances do not
        value, error = squared_gradient(gradients / unit)
        scale = (unit / m) * (unit / m)
        return after, Step(value=value * scale, error=error * scale)


def squared_gradient(gradients: FloatArray) -> tuple[float, float]:
    """Return the unbiased estimate of ||grad f||^2 from the gradients of rows, and its standard error.

    The variance is 4 g'Sg/K + 2 tr(S^2)/(K(K-1)). Both terms are estimated without their upward bias:
    tr(S^2) - (tr S)^2/(K-1), rescaled, for tr(Sigma^2) (it is zero or more because S has rank at most K-1), and
    gbar'S gbar - tr(Sigma^2)/K for g'Sigma g. Costs O(rows features min(rows, features)).
    """
    rows, features = gradients.shape
    mean = gradients.mean(axis=0)
    centred = gradients - mean
    trace = float(np.einsum("ki,ki->", centred, centred)) / (rows - 1)
    value = float(mean @ mean) - trace / rows
    gram = centred.T @ centred if features <= rows else centred @ centred.T  # both have the same trace of their square
    squares = float(np.einsum("ij,ij->", gram, gram)) / (rows - 1) ** 2
    if rows > 2:
        squares = max(0.0, squares - trace * trace / (rows - 1)) * (rows - 1) ** 2 / ((rows - 2) * (rows + 1))
    along = centred @ mean
    drift = max(0.0, float(along @ along) / (rows - 1) - squares / rows)
    variance = 4.0 * drift / rows + 2.0 * squares / (rows * (rows - 1))
    return value, float(np.sqrt(variance))
