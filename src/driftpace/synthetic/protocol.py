"""Protocols of synthetic populations: one period whose risks are known exactly, and a sequence of them that drifts."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from driftpace import validation
from driftpace.constraints import ConstraintSet
from driftpace.losses import Loss
from driftpace.records import Constants
from driftpace.typing import FloatArray


@runtime_checkable
class SyntheticPopulation(Protocol):
    """Protocol of one period of synthetic data: a distribution of rows (x, y) whose risks are known exactly.

    ``risk`` and ``excess_risk`` take one model (features,) and return a float, or a stack (runs, features) with an
    intercept for all or for each, and return (runs,).
    """

    @property
    def features(self) -> int:
        """The number of columns of X."""
        ...

    def draw(self, samples: int, *, rng: np.random.Generator | int) -> tuple[FloatArray, FloatArray]:
        """Return X, (samples, features), and y, (samples,)."""
        ...

    def draw_batch(self, runs: int, samples: int, *, rng: np.random.Generator | int) -> tuple[FloatArray, FloatArray]:
        """Return independent draws for many runs at once, (runs, samples, features) and (runs, samples)."""
        ...

    def minimiser(self, loss: Loss) -> FloatArray:
        """Return the coefficients of least risk."""
        ...

    def risk(self, loss: Loss, coef: FloatArray, *, intercept: float | FloatArray = 0.0) -> Any:
        """Return the expected loss on a fresh row."""
        ...

    def excess_risk(self, loss: Loss, coef: FloatArray, *, intercept: float | FloatArray = 0.0) -> Any:
        """Return how far the risk is above the least risk."""
        ...

    def hessian(self, loss: Loss) -> FloatArray:
        """Return the Hessian of the risk at the minimiser."""
        ...

    def gradient_covariance(self, loss: Loss) -> FloatArray:
        """Return the covariance of a row's gradient at the minimiser."""
        ...

    def constants(self, loss: Loss, domain: ConstraintSet | None = None) -> Constants:
        """Return every constant that is known exactly or bounded with proof."""
        ...


@runtime_checkable
class DriftingPopulation(Protocol):
    """Protocol of drifting synthetic data: a population for each period n = 1, 2, ...

    Each is a function of n and of the parameters alone. So periods may be drawn in any order and repeatedly, and two methods
    that are compared see the same data.
    """

    @property
    def features(self) -> int:
        """The number of columns of X."""
        ...

    def period(self, n: int) -> SyntheticPopulation:
        """Return the population of period n = 1, 2, ..."""
        ...

    def rho_at(self, loss: Loss, n: int) -> float:
        """Return how far the minimiser of the loss moves into period n = 2, 3, ..."""
        ...

    def rhos(self, loss: Loss, periods: int) -> FloatArray:
        """Return rho_2 .. rho_periods."""
        ...


class _HasMinimiser(Protocol):
    def minimiser(self, loss: Loss) -> FloatArray: ...


class _Periods(Protocol):
    def period(self, n: int) -> _HasMinimiser: ...


class DriftMixin:
    """Drift of the minimiser, rho_n = ||w*_n - w*_{n-1}||, exact to rounding error.

    Examples
    --------
    >>> from driftpace.losses import SquaredLoss
    >>> from driftpace.synthetic import ShapedRegression
    >>> population = ShapedRegression(features=2, cost=0.5, shape="jump", jump_at=3, rng=0)
    >>> population.rhos(SquaredLoss(), periods=4)
    array([0., 1., 0.])
    """

    __slots__ = ()

    def rho_at(self: _Periods, loss: Loss, n: int) -> float:
        """Return how far the minimiser of the loss moves into period n = 2, 3, ... from the period before."""
        validation.count(f"{type(self).__name__}.rho_at", least=2, n=n)
        return float(np.linalg.norm(self.period(n).minimiser(loss) - self.period(n - 1).minimiser(loss)))

    def rhos(self: _Periods, loss: Loss, periods: int) -> FloatArray:
        """Return rho_2 .. rho_periods, (periods - 1,); their maximum bounds the drift."""
        validation.count(f"{type(self).__name__}.rhos", least=2, periods=periods)
        path = np.array([self.period(n).minimiser(loss) for n in range(1, periods + 1)])
        return np.asarray(np.linalg.norm(np.diff(path, axis=0), axis=1))


class _DrawsBatches(Protocol):
    def draw_batch(
        self, runs: int, samples: int, *, rng: np.random.Generator | int
    ) -> tuple[FloatArray, FloatArray]: ...


class DrawMixin:
    """Draw the rows of one run from ``draw_batch``."""

    __slots__ = ()

    def draw(self: _DrawsBatches, samples: int, *, rng: np.random.Generator | int) -> tuple[FloatArray, FloatArray]:
        """Return X, (samples, features), and y, (samples,)."""
        X, y = self.draw_batch(1, samples, rng=rng)
        return X[0], y[0]
