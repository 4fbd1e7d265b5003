"""Linear regression on Gaussian rows, and on bounded rows with bounded noise for which L and G exist."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import gammainc

from driftpace import validation
from driftpace.constraints import ConstraintSet
from driftpace.losses import HuberLoss, LinearLoss, Loss, SquaredLoss
from driftpace.records import Constants
from driftpace.synthetic.constants import (
    at_minimiser,
    domain_constants,
    known_constants,
    largest_eigenvalue,
    max_distance,
    ridge,
    smallest_eigenvalue,
    smooth_limits,
    squared_constants,
    squared_covariance,
    squared_excess,
)
from driftpace.synthetic.features import as_covariance
from driftpace.synthetic.protocol import DrawMixin
from driftpace.synthetic.scores import GaussianScores, mean_curve, newton, require_loss
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _LinearRegression(DrawMixin):
    """Parameters of y = x'coef + xi that both distributions of rows share."""

    coef: FloatArray
    covariance: FloatArray | float
    noise: float
    _covariance: FloatArray = field(init=False, repr=False)
    _root: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        owner = type(self).__name__
        coef = validation.vector(owner, coef=self.coef)
        coef.setflags(write=False)
        validation.nonnegative(owner, noise=self.noise)
        covariance = as_covariance(owner, self.covariance, coef.size)
        object.__setattr__(self, "coef", coef)
        object.__setattr__(self, "covariance", covariance)
        object.__setattr__(self, "_covariance", covariance)
        object.__setattr__(self, "_root", np.linalg.cholesky(covariance).T)

    @property
    def features(self) -> int:
        """The number of columns of X."""
        return self.coef.size


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class GaussianRegression(_LinearRegression):
    """Linear regression on Gaussian rows, as in the paper's first experiment (theory 1.1g, 6.1).

    x ~ N(0, covariance), y = x'coef + xi, xi ~ N(0, noise) independent of x. The residual x'w - y is normal with variance
    (w - coef)'covariance(w - coef) + noise, so the risks of the squared loss and of the Huber loss are known in closed form; other
    losses are rejected. An ``intercept`` passed with ``coef`` is evaluated too; the optimal one is zero.

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
    >>> population = GaussianRegression(coef=[1.0, -2.0], covariance=1.0, noise=0.5)
    >>> X, y = population.draw(3, rng=0)
    >>> X.shape, y.shape
    ((3, 2), (3,))
    >>> population.excess_risk(SquaredLoss(), [1.0, 0.0])
    2.0
    >>> population.constants(SquaredLoss()).safe("B")
    4.0
    """

    def draw_batch(self, runs: int, samples: int, *, rng: np.random.Generator | int) -> tuple[FloatArray, FloatArray]:
        """Return independent draws for many runs at once, (runs, samples, features) and (runs, samples)."""
        validation.count("GaussianRegression.draw_batch", runs=runs, samples=samples)
        rng = np.random.default_rng(rng)
        X = rng.standard_normal((runs, samples, self.features)) @ self._root
        return X, X @ self.coef + math.sqrt(self.noise) * rng.standard_normal((runs, samples))

    def minimiser(self, loss: Loss) -> FloatArray:
        """Return the coefficients of least risk: ``coef`` without a penalty, (S + l2 P)^-1 S coef for the squared loss."""
        loss = self._known(loss)
        if loss.l2 == 0.0:
            return np.array(self.coef)
        start = ridge(
            SquaredLoss(l2=loss.l2, unpenalised=loss.unpenalised), self._covariance, self._covariance @ self.coef
        )
        if isinstance(loss, SquaredLoss):
            return start
        weights = loss.penalty_weights(self.features)
        return newton(
            start,
            lambda w: float(self.risk(loss, w)),
            lambda w: self._scores(w).gradient(loss, 0.0) + weights * w,
            lambda w: self._scores(w).hessian(loss, 0.0) + np.diag(weights),
        )

    def risk(self, loss: Loss, coef: FloatArray, *, intercept: float | FloatArray = 0.0) -> Any:
        """Return the expected loss on a fresh row: a float for one model, (runs,) for a stack (runs, features)."""
        loss = self._known(loss)
        coef = np.asarray(coef, dtype=np.float64)
        off = coef - self.coef
        spread = np.sqrt(np.einsum("...i,ij,...j->...", off, self._covariance, off) + self.noise)
        penalty = 0.5 * (loss.penalty_weights(self.features) * coef**2).sum(axis=-1)
        value = mean_curve(loss, np.broadcast_to(intercept, np.shape(spread)), spread, 0.0) + penalty
        return float(value) if np.ndim(value) == 0 else value

    def excess_risk(self, loss: Loss, coef: FloatArray, *, intercept: float | FloatArray = 0.0) -> Any:
        """Return how far the risk is above the least; for the squared loss without a difference of near equals."""
        loss = self._known(loss)
        best = self.minimiser(loss)
        if isinstance(loss, SquaredLoss):
            return squared_excess(self.hessian(loss), np.asarray(coef) - best, intercept)
        value = np.maximum(self.risk(loss, coef, intercept=intercept) - self.risk(loss, best), 0.0)
        return float(value) if np.ndim(value) == 0 else value

    def hessian(self, loss: Loss) -> FloatArray:
        """Return the Hessian of the risk at the minimiser."""
        loss = self._known(loss)
        penalty = np.diag(loss.penalty_weights(self.features))
        if isinstance(loss, SquaredLoss):
            return self._covariance + penalty
        return self._scores(self.minimiser(loss)).hessian(loss, 0.0) + penalty

    def gradient_covariance(self, loss: Loss) -> FloatArray:
        """Return the covariance of a row's gradient at the minimiser: noise times covariance for the plain squared loss."""
        loss = self._known(loss)
        best = self.minimiser(loss)
        if isinstance(loss, SquaredLoss):
            return squared_covariance(self._covariance, best - self.coef, self.noise, 1.0)
        scores = self._scores(best)
        mean = scores.gradient(loss, 0.0)
        return scores.second_moment(loss, 0.0) - np.outer(mean, mean)

    def constants(self, loss: Loss, domain: ConstraintSet | None = None) -> Constants:
        """Return every constant that is known exactly or bounded with proof; L and G do not exist for Gaussian rows.

        Huber loss: M = lam_max + l2 everywhere. In whitened coordinates the Hessian is at least P(chi2_3 <= threshold^2 / v)
        times the identity, v the variance of the residual, so m follows from the largest v on a bounded ``domain``; on the
        whole space m = l2, left out when that is zero.
        """
        loss = self._known(loss)
        best = self.minimiser(loss)
        place = domain_constants("GaussianRegression.constants", domain, best)
        error = best - self.coef
        if isinstance(loss, SquaredLoss):
            return known_constants(loss, place | squared_constants(loss, self._covariance, error, self.noise, 1.0))
        hessian, gradients = self.hessian(loss), self.gradient_covariance(loss)
        penalty, top = loss.penalty_weights(self.features), largest_eigenvalue(self._covariance)
        widest = self.noise + top * max_distance(domain, self.coef) ** 2
        inner = float(gammainc(1.5, 0.5 * loss.shape**2 / widest))  # P(chi2_3 <= threshold^2 / v)
        square = self._covariance
        numbers = {
            "m": smallest_eigenvalue(inner * self._covariance + np.diag(penalty)),
            "M": largest_eigenvalue(self._covariance + np.diag(penalty)),
            **smooth_limits(
                curvature=1.0,
                l2=loss.l2,
                square=square,
                fourth=float(np.trace(square)) * square + 2.0 * square @ square,
                covariance=gradients,
            ),
            **at_minimiser(hessian, gradients),
        }
        return known_constants(loss, place | numbers)

    def _known(self, loss: Loss) -> LinearLoss:
        return require_loss("GaussianRegression", loss, SquaredLoss, HuberLoss)

    def _scores(self, w: FloatArray) -> GaussianScores:
        off = w - self.coef
        along = self._covariance @ off
        return GaussianScores(
            mean=0.0,
            scale=math.sqrt(float(off @ along) + self.noise),
            center=np.zeros(self.features),
            covariance=self._covariance,
            along=along,
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class BoundedRegression(_LinearRegression):
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
