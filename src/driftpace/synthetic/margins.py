"""Risks of a linear classifier under linear log odds, and the rotation of the odds that has a given cost.

The population is x ~ N(0, S), P(y = 1 | x) = sigmoid(x'theta).
In whitened coordinates the row is a standard normal n, the log odds are t = n'z and the score of a model is s = n'v + b.
Turning (x, y) into (-x, -y) changes nothing, so the risk is E[sigmoid(t)(phi(s) + phi(s - 2b))] with phi the loss of y = 1,
and everything is a one-dimensional integral:

    logistic         phi(s, 1) - phi(s, -1) = -s, so the risk is E log(1 + e^s) - z'v E sigmoid'(t) - b/2
    smoothed hinge   given t the score is normal, with a mean k u along u = t/|z| and a variance tau^2 that does not depend
                     on t, and the mean of phi over it is known in closed form; what is left is the integral over u

The gradient at b = 0 is, by Stein's identity, z A + v B with A = 2 E[sigmoid'(t) phi'(s)], B = 2 E[sigmoid(t) phi''(s)].
All functions take stacks: v is (models, features), b is (models,), and z is (models, features) or, in the risk, one row for all.
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtr

from driftpace.errors import ParameterError
from driftpace.losses import LinearLoss, LogisticLoss
from driftpace.synthetic.paths import Path
from driftpace.synthetic.scores import breaks, half_square_above, mean_curve, normal_rule
from driftpace.typing import FloatArray

_LAYER = np.array(
    [-8.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 8.0]
)  # where a kink that is smoothed over tau has its shape
_CLEAR = 40.0  # standard deviations beyond which a normal variable never is


@dataclass(frozen=True, kw_only=True, slots=True)
class Geometry:
    """Models seen from the truth: v = along e + across f, e = z/|z| and f a unit vector at right angles to it."""

    length: FloatArray
    along: FloatArray
    across: FloatArray
    e: FloatArray
    f: FloatArray


def decompose(z: FloatArray, v: FloatArray) -> Geometry:
    """Return the plane of truth and model; no difference of near squares, so a small angle keeps its digits."""
    length = np.linalg.norm(z, axis=-1)
    e = z / np.where(length > 0.0, length, 1.0)[..., None]
    along = np.einsum("...i,...i->...", e, v)
    rest = v - along[..., None] * e
    across = np.linalg.norm(rest, axis=-1)
    f = rest / np.where(across > 0.0, across, 1.0)[..., None]
    return Geometry(length=length, along=along, across=across, e=e, f=f)


def unpenalised_risk(loss: LinearLoss, z: FloatArray, v: FloatArray, b: FloatArray) -> FloatArray:
    """Return the risk without its penalty, (models,).

    Examples
    --------
    >>> from driftpace.losses import LogisticLoss
    >>> unpenalised_risk(LogisticLoss(), np.array([[2.0, 0.0]]), np.zeros((1, 2)), np.zeros(1))
    array([0.69314718])
    """
    place = decompose(z, v)
    if isinstance(loss, LogisticLoss):
        size = np.linalg.norm(v, axis=-1)
        gain = place.length * place.along * _mean_bend(place.length)
        return np.asarray(mean_curve(loss, b, size, -1.0) - gain - 0.5 * b)
    value = np.zeros(np.shape(place.along))
    for sign in (1.0, -1.0) if np.any(b) else (1.0,):
        level = 1.0 - sign * b
        u, p = _rule(place, level)
        short = half_square_above(level[:, None] - place.along[:, None] * u, place.across[:, None])
        value += (p * expit(place.length[:, None] * u) * short).sum(axis=-1)
    return value if np.any(b) else 2.0 * value


def slope_parts(loss: LinearLoss, z: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return A and B, (models,) each: the gradient of the bare risk in v, without an intercept, is z A + v B."""
    place = decompose(z, v)
    if isinstance(loss, LogisticLoss):
        return -_mean_bend(place.length), _mean_bend(np.linalg.norm(v, axis=-1))
    _, p, odds, level, clear = _hinge_parts(place)
    tau = place.across[:, None]
    short = level * ndtr(clear) + tau * _density(clear)  # E (1 - s)_+ given u
    first = -2.0 * (p * odds * (1.0 - odds) * short).sum(axis=-1)
    return first, 2.0 * (p * odds * ndtr(clear)).sum(axis=-1)


def unpenalised_hessian(loss: LinearLoss, z: FloatArray, v: FloatArray) -> FloatArray:
    """Return the Hessian of the bare risk in v, without an intercept, (models, features, features)."""
    place = decompose(z, v)
    eye = np.eye(z.shape[-1])
    if isinstance(loss, LogisticLoss):
        size = np.linalg.norm(v, axis=-1)
        unit = v / np.where(size > 0.0, size, 1.0)[:, None]
        u, p = normal_rule(np.zeros_like(size), size, breaks(loss, 1.0))
        s = size[:, None] * u
        q = p * loss.curve.bend(s, np.ones_like(s))
        q0, q2 = q.sum(axis=-1), (q * u * u).sum(axis=-1)
        return np.asarray(q0[:, None, None] * eye + (q2 - q0)[:, None, None] * _outer(unit, unit))
    u, p, odds, _, clear = _hinge_parts(place)
    mass, density = ndtr(clear), _density(clear)
    q = 2.0 * p * odds
    q0, quu = (q * mass).sum(axis=-1), (q * mass * u * u).sum(axis=-1)
    qum, qmm = -(q * u * density).sum(axis=-1), (q * (mass - clear * density)).sum(axis=-1)
    cross = qum[:, None, None] * _outer(place.e, place.f)
    return np.asarray(
        q0[:, None, None] * eye
        + (quu - q0)[:, None, None] * _outer(place.e, place.e)
        + (qmm - q0)[:, None, None] * _outer(place.f, place.f)
        + cross
        + np.swapaxes(cross, -1, -2)
    )


def squared_slopes(loss: LinearLoss, z: FloatArray, v: FloatArray) -> FloatArray:
    """Return E[phi'(s)^2 nn'], (features, features), for one truth and one model: an integral over the plane of both."""
    place = decompose(z[None], v[None])
    u, p = (row[0] for row in normal_rule(np.zeros(1), place.length, breaks(LogisticLoss(), 1.0)))
    mean = place.along[0] * u
    m, inner = normal_rule(mean, np.full_like(mean, place.across[0]), breaks(loss, 1.0))
    s = mean[:, None] + place.across[0] * m
    q = 2.0 * (p * expit(place.length[0] * u))[:, None] * inner * loss.curve.slope(s, np.ones_like(s)) ** 2
    q0, quu, qum, qmm = (float((q * g).sum()) for g in (1.0, u[:, None] ** 2, u[:, None] * m, m * m))
    e, f = place.e[0], place.f[0]
    cross = qum * np.outer(e, f)
    return np.asarray(q0 * np.eye(e.size) + (quu - q0) * np.outer(e, e) + (qmm - q0) * np.outer(f, f) + cross + cross.T)


def _mean_bend(size: FloatArray) -> FloatArray:
    """E sigmoid'(size u) for a standard normal u."""
    u, p = normal_rule(np.zeros_like(size), size, breaks(LogisticLoss(), 1.0))
    small = np.exp(-np.abs(size[..., None] * u))
    return np.asarray((p * small / (1.0 + small) ** 2).sum(axis=-1))


def _hinge_parts(place: Geometry) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Nodes, weights, sigmoid(t), what the mean score lacks of 1, and that in standard deviations."""
    u, p = _rule(place, np.ones_like(place.along))
    level = 1.0 - place.along[:, None] * u
    tau = np.maximum(place.across, 1e-300)[:, None]
    return (
        u,
        p,
        expit(place.length[:, None] * u),
        level,
        np.clip(level / np.maximum(tau, np.abs(level) / _CLEAR), -_CLEAR, _CLEAR),
    )


def _rule(place: Geometry, level: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Nodes in u, cut where the mean score meets the kink at ``level``, finely there, and at the scale of the sigmoid."""
    tilt = np.where(place.along != 0.0, place.along, 1e-300)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        kink = (level[:, None] + _LAYER * place.across[:, None]) / tilt
    cuts = np.nan_to_num(kink)
    if (place.length > 2.5).any():  # else a panel, one standard deviation wide, is narrow enough for the sigmoid
        odds = np.asarray(breaks(LogisticLoss(), 1.0)) / np.maximum(place.length, 1e-300)[:, None]
        cuts = np.concatenate([cuts, np.broadcast_to(odds, (len(cuts), odds.shape[1]))], axis=-1)
    return normal_rule(np.zeros_like(place.along), np.ones_like(place.along), cuts)


def _density(x: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi))


def _outer(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(a[:, :, None] * b[:, None, :])


_WINDOW = 40  # periods over which a cost that depends on the direction is averaged
_NEWTON = 200


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PenalisedMargin:
    """A loss with its penalty, as a function of whitened coefficients v for whitened odds z.

    ``penalty`` is the matrix of the penalty in whitened coordinates. Where it is a multiple of the identity the
    problem is isotropic: the minimiser is a multiple of z, and the cost of a rotation depends on its angle alone.

    Examples
    --------
    >>> from driftpace.losses import LogisticLoss
    >>> margin = PenalisedMargin(loss=LogisticLoss(), penalty=np.zeros((2, 2)))
    >>> margin.minimisers(np.array([[2.0, -1.0]]))  # the model is true, so the best coefficients are the odds themselves
    array([[ 2., -1.]])
    """

    loss: LinearLoss
    penalty: FloatArray
    isotropic: bool = field(init=False)
    _scales: dict[float, float] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        level = float(self.penalty[0, 0])
        isotropic = np.abs(self.penalty - level * np.eye(len(self.penalty))).max() <= 1e-12 * abs(level)
        object.__setattr__(self, "isotropic", bool(isotropic))

    def risk(self, z: FloatArray, v: FloatArray, b: FloatArray) -> FloatArray:
        """Return the risk of each model with its intercept, (models,)."""
        bare = unpenalised_risk(self.loss, z, v, b)
        return bare + 0.5 * np.einsum("...i,ij,...j->...", v, self.penalty, v) if self.loss.l2 > 0.0 else bare

    def gradient(self, z: FloatArray, v: FloatArray) -> FloatArray:
        """Return the gradient in v of the risk without an intercept, (models, features)."""
        first, second = slope_parts(self.loss, z, v)
        return np.asarray(first[:, None] * z + second[:, None] * v + v @ self.penalty)

    def hessian(self, z: FloatArray, v: FloatArray) -> FloatArray:
        """Return its Hessian, (models, features, features)."""
        return unpenalised_hessian(self.loss, z, v) + self.penalty

    def minimisers(self, z: FloatArray) -> FloatArray:
        """Return the whitened coefficients of least risk for each z, (models, features)."""
        if not self.isotropic:
            return self._newton(z)
        return np.asarray(z * [[self._scale(float(f"{length:.13g}"))] for length in np.linalg.norm(z, axis=1)])

    def stale_costs(self, z: FloatArray) -> FloatArray:
        """Return the excess risk of each period's minimiser one period later, (periods - 1,)."""
        best, zero = self.minimisers(z), np.zeros(len(z) - 1)
        return self.risk(z[1:], best[:-1], zero) - self.risk(z[1:], best[1:], zero)

    def _scale(self, length: float) -> float:
        """Return the minimiser as a multiple of a z of this length, from a problem of one feature."""
        if length not in self._scales:
            line = replace(self, penalty=self.penalty[:1, :1])
            self._scales[length] = float(line._newton(np.array([[length]]))[0, 0]) / length
        return self._scales[length]

    def _newton(self, z: FloatArray) -> FloatArray:
        """Newton's method from zero on all rows at once; a row whose gradient does not shrink halves its step."""
        v, share = np.zeros_like(z), np.ones(len(z))
        slope = self.gradient(z, v)
        size = np.linalg.norm(slope, axis=1)
        enough = 1e-14 * np.maximum(size, 1e-300)
        for _ in range(_NEWTON):
            step = np.linalg.solve(self.hessian(z, v), slope[:, :, None])[:, :, 0]
            tried = v - share[:, None] * step
            there = self.gradient(z, tried)
            after = np.linalg.norm(there, axis=1)
            better = after < size
            v, slope = np.where(better[:, None], tried, v), np.where(better[:, None], there, slope)
            size, share = np.where(better, after, size), np.where(better, 1.0, 0.5 * share)
            if ((size <= enough) | (share < 1e-3)).all():  # no step shrinks a gradient that is rounding error
                break
        return v


def scale_to_cost(owner: str, path: Path, cost: float, margin: PenalisedMargin) -> Path:
    """Return the path with the size at which a stale model pays ``cost`` a step; ParameterError for a cost out of reach.

    The mean is over one round of a season, over the jump, and otherwise over the steps of the first 40 periods, which all
    cost the same in an isotropic problem.
    """
    if cost == 0.0 or path.shape == "still":
        return replace(path, size=0.0)
    periods = path.turn + 1 if path.shape == "seasonal" else 2 if path.shape == "jump" or margin.isotropic else _WINDOW

    def mean_cost(size: float) -> float:
        moving = replace(path, size=size, jump_at=2)
        return max(float(margin.stale_costs(moving.upto(periods)).mean()), 0.0)

    widest = math.pi if path.shape != "seasonal" else min(math.pi, 0.5 * math.pi / math.sin(math.pi / path.turn))
    reach = mean_cost(widest)
    if reach < cost:
        raise ParameterError(
            f"must be at most {reach:.3g}, what the widest step of shape {path.shape!r} costs with this "
            f"signal under {margin.loss!r}; got {cost!r}.",
            owner=owner,
            name="cost",
        )
    size = brentq(  # the root of a cost is nearly a straight line in the size
        lambda size: math.sqrt(mean_cost(size)) - math.sqrt(cost), 0.0, widest, rtol=1e-10 if margin.isotropic else 1e-4
    )
    return replace(path, size=float(size))
