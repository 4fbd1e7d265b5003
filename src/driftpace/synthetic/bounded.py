"""Regression on bounded rows with bounded noise, where the smoothness of one row and the largest gradient exist."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftpace import validation
from driftpace.constraints import ConstraintSet
from driftpace.losses import Loss, SquaredLoss
from driftpace.records import Constants
from driftpace.synthetic.constants import (
    domain_constants,
    known_constants,
    largest_eigenvalue,
    max_distance,
    ridge,
    squared_constants,
    squared_covariance,
    squared_excess,
)
from driftpace.synthetic.features import as_covariance
from driftpace.synthetic.scores import require_loss
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class BoundedRegression:
    """Linear regression on bounded rows with bounded noise, for which L and G exist.

    x = covariance^(1/2) sqrt(d) u with u uniform on the unit sphere, y = x'coef + xi, xi uniform with variance ``noise``. Rows have
    mean zero and the given covariance, like Gaussian ones, but ||x||^2 <= d lam_max and |xi| <= sqrt(3 noise). So L, the smoothness
    of one row's loss, exists, and so does G, the largest gradient on a bounded domain. Fourth moments are d/(d+2) times the
    Gaussian ones. For the squared loss only.

    Parameters
    ----------
    coef : ndarray
        True coefficients.
    covariance : ndarray or float
        Covariance of the rows: a matrix, or a number for that multiple of the identity.
    noise : float
        Variance of the noise.

    Examples
    --------
    >>> population = BoundedRegression(coef=[1.0, -2.0], covariance=1.0, noise=0.5)
    >>> population.constants(SquaredLoss()).safe("L")
    2.0
    >>> population.excess_risk(SquaredLoss(), [1.0, 0.0])
    2.0
    """

    coef: FloatArray
    covariance: FloatArray | float
    noise: float
    _covariance: FloatArray = field(init=False, repr=False)
    _root: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        coef = validation.vector("BoundedRegression", coef=self.coef)
        coef.setflags(write=False)
        validation.nonnegative("BoundedRegression", noise=self.noise)
        covariance = as_covariance("BoundedRegression", self.covariance, coef.size)
        object.__setattr__(self, "coef", coef)
        object.__setattr__(self, "covariance", covariance)
        object.__setattr__(self, "_covariance", covariance)
        object.__setattr__(self, "_root", np.linalg.cholesky(covariance).T)

    @property
    def features(self) -> int:
        """The number of columns of X."""
        return self.coef.size

    def draw(self, samples: int, *, rng: np.random.Generator | int) -> tuple[FloatArray, FloatArray]:
        """Return X, (samples, features), and y, (samples,)."""
        X, y = self.draw_batch(1, samples, rng=rng)
        return X[0], y[0]

    def draw_batch(self, runs: int, samples: int, *, rng: np.random.Generator | int) -> tuple[FloatArray, FloatArray]:
        """Return independent draws for many runs at once, (runs, samples, features) and (runs, samples)."""
        validation.count("BoundedRegression.draw_batch", runs=runs, samples=samples)
        rng = np.random.default_rng(rng)
        normal = rng.standard_normal((runs, samples, self.features))
        sphere = math.sqrt(self.features) * normal / np.linalg.norm(normal, axis=-1, keepdims=True)
        X, widest = sphere @ self._root, math.sqrt(3.0 * self.noise)
        return X, X @ self.coef + rng.uniform(-widest, widest, size=(runs, samples))

    def minimiser(self, loss: Loss) -> FloatArray:
        """Return the coefficients of least risk, (S + l2 P)^-1 S coef."""
        loss = self._known(loss)
        return np.array(self.coef) if loss.l2 == 0.0 else ridge(loss, self._covariance, self._covariance @ self.coef)

    def risk(self, loss: Loss, coef: FloatArray, *, intercept: float | FloatArray = 0.0) -> Any:
        """Return the expected loss on a fresh row: a float for one model, (runs,) for a stack (runs, features)."""
        best = self.minimiser(loss)
        off = best - self.coef
        least = 0.5 * (float(off @ self._covariance @ off) + self.noise + float(best @ (self._penalty(loss) * best)))
        return self.excess_risk(loss, coef, intercept=intercept) + least

    def excess_risk(self, loss: Loss, coef: FloatArray, *, intercept: float | FloatArray = 0.0) -> Any:
        """Return how far the risk is above the least."""
        return squared_excess(self.hessian(loss), np.asarray(coef) - self.minimiser(loss), intercept)

    def hessian(self, loss: Loss) -> FloatArray:
        """Return the Hessian of the risk."""
        return self._covariance + np.diag(self._penalty(loss))

    def gradient_covariance(self, loss: Loss) -> FloatArray:
        """Return the covariance of a row's gradient at the minimiser."""
        return squared_covariance(self._covariance, self.minimiser(loss) - self.coef, self.noise, self._peak)

    def constants(self, loss: Loss, domain: ConstraintSet | None = None) -> Constants:
        """Return every constant: exact without a penalty; L always; G, a limit, on a bounded domain."""
        loss = self._known(loss)
        best = self.minimiser(loss)
        error, longest = best - self.coef, math.sqrt(self.features * largest_eigenvalue(self._covariance))
        numbers = domain_constants("BoundedRegression.constants", domain, best)
        far, norm = max_distance(domain, self.coef), max_distance(domain, np.zeros(self.features))
        residual = longest * far + math.sqrt(3.0 * self.noise)
        numbers["G"] = residual * longest + (
            loss.l2 * norm if loss.l2 > 0.0 else 0.0
        )  # |r| ||x|| + l2 ||w||, each largest
        return known_constants(
            loss,
            numbers
            | squared_constants(loss, self._covariance, error, self.noise, self._peak)
            | {"L": longest**2 + float(self._penalty(loss).max())},
        )

    @property
    def _peak(self) -> float:
        return self.features / (self.features + 2.0)

    def _known(self, loss: Loss) -> SquaredLoss:
        require_loss("BoundedRegression", loss, SquaredLoss)
        assert isinstance(loss, SquaredLoss)
        return loss

    def _penalty(self, loss: Loss) -> FloatArray:
        return self._known(loss).penalty_weights(self.features)
