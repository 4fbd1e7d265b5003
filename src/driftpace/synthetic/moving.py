"""How far the best model of a drifting world moves, from the minimisers of its periods."""

from typing import Protocol

import numpy as np

from driftpace import validation
from driftpace.losses import Loss
from driftpace.typing import FloatArray


class _Period(Protocol):
    def minimiser(self, loss: Loss) -> FloatArray: ...


class _Periods(Protocol):
    def period(self, n: int) -> _Period: ...


class Moving:
    """What every drifting world says of its own movement: rho_n = ||w*_n - w*_{n-1}||, exact to rounding error.

    >>> from driftpace.losses import SquaredLoss
    >>> from driftpace.synthetic import ShapedRegression
    >>> world = ShapedRegression(features=2, cost=0.5, shape="jump", jump_at=3, rng=0)
    >>> world.rhos(SquaredLoss(), periods=4)
    array([0., 1., 0.])
    """

    __slots__ = ()

    def rho_at(self: _Periods, loss: Loss, n: int) -> float:
        """Return how far the minimiser of the loss moves into period n = 2, 3, ... from the period before."""
        validation.count(f"{type(self).__name__}.rho_at", least=2, n=n)
        return float(np.linalg.norm(self.period(n).minimiser(loss) - self.period(n - 1).minimiser(loss)))

    def rhos(self: _Periods, loss: Loss, periods: int) -> FloatArray:
        """Return rho_2 .. rho_periods, (periods - 1,); the bound that a method may be told is the largest."""
        validation.count(f"{type(self).__name__}.rhos", least=2, periods=periods)
        path = np.array([self.period(n).minimiser(loss) for n in range(1, periods + 1)])
        return np.asarray(np.linalg.norm(np.diff(path, axis=0), axis=1))
