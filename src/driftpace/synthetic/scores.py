"""Linear losses on Gaussian data, reduced to one-dimensional integrals.

E F(T), T ~ N(mean, scale^2), is computed to rounding error by Gauss-Legendre rules on panels that are at most one standard
deviation wide and are cut at ``breaks``, where F has a kink or a short length scale. The mass beyond 12 standard
deviations is below 1e-32.

A row reaches the loss through a score T = T(w) and a vector z = dT/dw that are jointly normal:

    regression   T = x'w - y, z = x,    loss phi(T, 0)      (squared, Huber)
    two classes  T = y x'w,   z = y x,  loss phi(T, 1)      (margin losses)

With T ~ N(a, b^2), z ~ N(mu, S), k = Cov(z, T) and u = (T - a)/b, z given T is normal with mean mu + (k/b) u and covariance
S - kk'/b^2, which does not depend on T. Hence, for the curve phi with slope s and second derivative c,

    E[s z]     = mu E s + k E c                                             (Stein's identity: E[s (T - a)] = b^2 E c)
    E[q zz']   = (S - kk'/b^2) E q + E[q (mu + (k/b) u)(mu + (k/b) u)']     for q = c (Hessian), q = s^2 (second moment).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from driftpace.errors import ParameterError
from driftpace.losses import HuberLoss, LinearLoss, LogisticLoss, Loss, SmoothedHinge, SquaredLoss
from driftpace.typing import FloatArray

_REACH = 12
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def normal_rule(
    mean: FloatArray, scale: FloatArray, breaks: Sequence[float] | FloatArray = ()
) -> tuple[FloatArray, FloatArray]:
    """Return nodes u and weights p, (..., nodes), with E F(T) = sum p F(mean + scale u) for each mean and scale.

    A scale of zero is allowed: T is then its mean. ``breaks`` are places in T, the same for all or (..., breaks) for each.

    Examples
    --------
    >>> import numpy as np
    >>> u, p = normal_rule(np.array(1.0), np.array(2.0), breaks=[0.0])
    >>> float((p * np.maximum(1.0 + 2.0 * u, 0.0)).sum())  # E max(T, 0)
    1.39559
    """
    mean, scale = np.broadcast_arrays(np.asarray(mean, np.float64), np.asarray(scale, np.float64))
    grid = np.broadcast_to(np.arange(-_REACH, _REACH + 1.0), (*mean.shape, 2 * _REACH + 1))
    if len(breaks):
        spread = np.where(scale > 0.0, scale, 1.0)[..., None]
        cuts = np.clip((np.asarray(breaks, np.float64) - mean[..., None]) / spread, -_REACH, _REACH)
        grid = np.sort(np.concatenate([grid, cuts], axis=-1), axis=-1)
    half = 0.5 * np.diff(grid, axis=-1)[..., None]
    middle = 0.5 * (grid[..., 1:] + grid[..., :-1])[..., None]
    u = (middle + half * _NODES).reshape(*mean.shape, -1)
    weights = (half * _WEIGHTS).reshape(*mean.shape, -1)
    return u, weights * np.exp(-0.5 * u * u) / np.sqrt(2.0 * np.pi)


_LOGISTIC_BREAKS = tuple(np.linspace(-40.0, 40.0, 33).tolist())  # beyond, log(1 + e^-t) is a line up to 4e-18
_BLOCK = 512


@dataclass(frozen=True, kw_only=True, slots=True)
class GaussianScores:
    """The joint law of score and direction at one model: T ~ N(mean, scale^2), z ~ N(center, covariance)."""

    mean: float
    scale: float
    center: FloatArray
    covariance: FloatArray
    along: FloatArray

    def gradient(self, loss: LinearLoss, target: float) -> FloatArray:
        """Return E[s z], the gradient of E phi(T)."""
        t, _, p = self._rule(loss, target)
        y = np.full_like(t, target)
        return self.center * float(p @ loss.curve.slope(t, y)) + self.along * float(p @ loss.curve.bend(t, y))

    def hessian(self, loss: LinearLoss, target: float) -> FloatArray:
        """Return E[c zz'], the Hessian of E phi(T)."""
        t, u, p = self._rule(loss, target)
        return self._second(p * loss.curve.bend(t, np.full_like(t, target)), u)

    def second_moment(self, loss: LinearLoss, target: float) -> FloatArray:
        """Return E[s^2 zz'], the second moment of the gradient of phi(T)."""
        t, u, p = self._rule(loss, target)
        return self._second(p * loss.curve.slope(t, np.full_like(t, target)) ** 2, u)

    def _rule(self, loss: LinearLoss, target: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        u, p = normal_rule(np.asarray(self.mean), np.asarray(self.scale), breaks(loss, target))
        return self.mean + self.scale * u, u, p

    def _second(self, q: FloatArray, u: FloatArray) -> FloatArray:
        mu, k = self.center, self.along / self.scale if self.scale > 0.0 else np.zeros_like(self.along)
        q0, q1, q2 = float(q.sum()), float(q @ u), float(q @ (u * u))
        moment = q0 * (self.covariance - np.outer(k, k) + np.outer(mu, mu)) + q2 * np.outer(k, k)
        cross = q1 * np.outer(mu, k)
        return moment + cross + cross.T


def mean_curve(loss: LinearLoss, mean: FloatArray, scale: FloatArray, target: float) -> FloatArray:
    """Return E phi(T, target) for T ~ N(mean, scale^2), elementwise: in closed form but for the logistic loss.

    Examples
    --------
    >>> import numpy as np
    >>> mean_curve(SquaredLoss(), np.array([1.0]), np.array([2.0]), 0.0)
    array([2.5])
    """
    if isinstance(loss, SquaredLoss):
        return 0.5 * ((mean - target) ** 2 + scale**2)
    if isinstance(loss, SmoothedHinge):
        return half_square_above(1.0 - target * mean, scale)
    if isinstance(loss, HuberLoss):  # h(r) = r^2/2 - (|r| - threshold)_+^2/2
        off = mean - target
        beyond = half_square_above(off - loss.shape, scale) + half_square_above(-off - loss.shape, scale)
        return 0.5 * (off**2 + scale**2) - beyond
    flat_mean, flat_scale = np.broadcast_arrays(np.atleast_1d(mean), np.atleast_1d(scale))
    values = np.empty(flat_mean.shape)
    for start in range(0, flat_mean.size, _BLOCK):  # a block at a time: the rule has hundreds of nodes for each element
        block = slice(start, start + _BLOCK)
        u, p = normal_rule(flat_mean[block], flat_scale[block], breaks(loss, target))
        t = flat_mean[block, None] + flat_scale[block, None] * u
        values[block] = (p * loss.curve.phi(t, np.full_like(t, target))).sum(axis=-1)
    return values.reshape(np.shape(mean))


def breaks(loss: LinearLoss, target: float) -> tuple[float, ...]:
    """Return the scores at which the curve has a kink or a short length scale."""
    if isinstance(loss, SmoothedHinge):
        return (1.0 / target,)
    if isinstance(loss, HuberLoss):
        return (target - loss.shape, target + loss.shape)
    return _LOGISTIC_BREAKS if isinstance(loss, LogisticLoss) else ()


def require_loss(owner: str, loss: Loss, *allowed: type[LinearLoss]) -> LinearLoss:
    """Return the loss when it is one of the ``allowed`` ones, whose risks are known exactly, or raise ParameterError."""
    if type(loss) in allowed:
        return loss  # type: ignore[return-value]
    names = ", ".join(kind.__name__ for kind in allowed)
    raise ParameterError(f"must be one of {names}; got {loss!r}.", owner=owner, name="loss")


def newton(
    start: FloatArray,
    value: Callable[[FloatArray], float],
    gradient: Callable[[FloatArray], FloatArray],
    hessian: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Return the minimiser of a smooth convex function by Newton's method with halved steps, to rounding error."""
    w = start
    for _ in range(200):
        slope = gradient(w)
        step = np.asarray(np.linalg.solve(hessian(w), slope), dtype=np.float64)
        decrement, here = float(slope @ step), value(w)
        if decrement <= 1e-18 * abs(here) + 1e-300:
            return w - step
        share = 1.0
        while share > 1e-12 and value(w - share * step) > here - 1e-4 * share * decrement:
            share *= 0.5
        w = w - (share * step if share > 1e-12 else step)
    return w


def half_square_above(level: FloatArray, scale: FloatArray) -> FloatArray:
    """Return E (level + scale u)_+^2 / 2 for a standard normal u."""
    spread = np.where(scale > 0.0, scale, 1.0)
    z = np.where(scale > 0.0, level / spread, np.where(level > 0.0, np.inf, -np.inf))
    density = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    mean: FloatArray = 0.5 * ((level**2 + scale**2) * ndtr(z) + level * scale * density)
    return mean
