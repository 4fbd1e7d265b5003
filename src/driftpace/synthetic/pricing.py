"""What a turn of the odds costs a stale classifier, and how large a turn has a given cost."""

import math
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import brentq

from driftpace.errors import ParameterError
from driftpace.losses import LinearLoss
from driftpace.synthetic.margins import bare_hessian, bare_risk, slope_parts
from driftpace.synthetic.paths import Path
from driftpace.typing import FloatArray

_WINDOW = 40  # periods over which a cost that depends on the direction is averaged
_NEWTON = 200


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PenalisedMargin:
    """A loss with its penalty, as a function of whitened coefficients v for whitened odds z.

    ``penalty`` is the matrix of the penalty in whitened coordinates. Where it is a multiple of the identity every
    direction is like every other: the minimiser is a multiple of z, and the cost of a turn depends on its angle alone.

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
        alike = np.abs(self.penalty - level * np.eye(len(self.penalty))).max() <= 1e-12 * abs(level)
        object.__setattr__(self, "isotropic", bool(alike))

    def risk(self, z: FloatArray, v: FloatArray, b: FloatArray) -> FloatArray:
        """Return the risk of each model with its intercept, (models,)."""
        bare = bare_risk(self.loss, z, v, b)
        return bare + 0.5 * np.einsum("...i,ij,...j->...", v, self.penalty, v) if self.loss.l2 > 0.0 else bare

    def gradient(self, z: FloatArray, v: FloatArray) -> FloatArray:
        """Return the gradient in v of the risk without an intercept, (models, features)."""
        first, second = slope_parts(self.loss, z, v)
        return np.asarray(first[:, None] * z + second[:, None] * v + v @ self.penalty)

    def hessian(self, z: FloatArray, v: FloatArray) -> FloatArray:
        """Return its Hessian, (models, features, features)."""
        return bare_hessian(self.loss, z, v) + self.penalty

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


def priced(owner: str, path: Path, cost: float, margin: PenalisedMargin) -> Path:
    """Return the path with the size at which a stale model pays ``cost`` a step, or refuse a cost beyond its reach.

    The mean is over one round of a season, over the jump, and otherwise over the steps of the first 40 periods, which all
    cost the same where every direction is like every other.
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
