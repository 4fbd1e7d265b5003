"""Two Gaussian classes, as in the paper's second experiment."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtr

from driftpace import validation
from driftpace.constraints import ConstraintSet
from driftpace.errors import ParameterError
from driftpace.losses import HuberLoss, LinearLoss, LogisticLoss, Loss, SmoothedHinge, SquaredLoss
from driftpace.records import Constants
from driftpace.synthetic.constants import curve_constants, domain_constants, known_constants, ridge, smallest_eigenvalue
from driftpace.synthetic.features import as_covariance
from driftpace.synthetic.protocol import DrawMixin
from driftpace.synthetic.scores import GaussianScores, mean_curve, newton, require_loss
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TwoClasses(DrawMixin):
    """Two Gaussian classes, as in the paper's second experiment (theory 6.2).

    y = -1 or 1 with equal probability, x | y ~ N(y mean, covariance). The margin y x'w is N(w'mean, w'covariance w), so the risk of
    any built-in loss is a one-dimensional Gaussian integral: in closed form, or for the logistic loss by a quadrature rule with
    an error below 1e-15 + 1e-12 of the risk. An ``intercept`` passed with ``coef`` is evaluated too; the optimal one is zero.

    Parameters
    ----------
    mean : ndarray
        Mean of class 1; class -1 has the opposite mean.
    covariance : ndarray or float
        Covariance of the rows: a matrix, or a number for that multiple of the identity.

    Examples
    --------
    >>> population = TwoClasses(mean=[1.0, 0.0], covariance=0.5)
    >>> X, y = population.draw(4, rng=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((4, 2), [-1.0, 1.0])
    >>> population.minimiser(SmoothedHinge(l2=0.1))
    array([0.809, 0.   ])
    """

    mean: FloatArray
    covariance: FloatArray | float
    _covariance: FloatArray = field(init=False, repr=False)
    _root: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        mean = validation.vector("TwoClasses", mean=self.mean)
        mean.setflags(write=False)
        covariance = as_covariance("TwoClasses", self.covariance, mean.size)
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "covariance", covariance)
        object.__setattr__(self, "_covariance", covariance)
        object.__setattr__(self, "_root", np.linalg.cholesky(covariance).T)

    @property
    def features(self) -> int:
        """The number of columns of X."""
        return self.mean.size

    def draw_batch(self, runs: int, samples: int, *, rng: np.random.Generator | int) -> tuple[FloatArray, FloatArray]:
        """Return independent draws for many runs at once, (runs, samples, features) and (runs, samples)."""
        validation.count("TwoClasses.draw_batch", runs=runs, samples=samples)
        rng = np.random.default_rng(rng)
        y = np.where(rng.random((runs, samples)) < 0.5, -1.0, 1.0)
        return rng.standard_normal((runs, samples, self.features)) @ self._root + y[..., None] * self.mean, y

    def minimiser(self, loss: Loss) -> FloatArray:
        """Return the coefficients of least risk, by Newton's method on the exact risk."""
        loss = self._known(loss)
        start = ridge(SquaredLoss(l2=loss.l2, unpenalised=loss.unpenalised), self._square(), self.mean)
        if isinstance(loss, SquaredLoss):
            return start
        weights = loss.penalty_weights(self.features)
        return newton(
            start,
            lambda w: float(self.risk(loss, w)),
            lambda w: self._scores(w).gradient(loss, 1.0) + weights * w,
            lambda w: self._scores(w).hessian(loss, 1.0) + np.diag(weights),
        )

    def risk(self, loss: Loss, coef: FloatArray, *, intercept: float | FloatArray = 0.0) -> Any:
        """Return the expected loss on a fresh row: a float for one model, (runs,) for a stack (runs, features)."""
        loss = self._known(loss)
        coef = np.asarray(coef, dtype=np.float64)
        margin = coef @ self.mean
        spread = np.sqrt(np.einsum("...i,ij,...j->...", coef, self._covariance, coef))
        value = mean_curve(loss, np.asarray(margin + intercept), spread, 1.0)
        if np.any(intercept):  # an intercept helps one class and harms the other, equally often
            value = 0.5 * (value + mean_curve(loss, np.asarray(margin - intercept), spread, 1.0))
        value = value + 0.5 * (loss.penalty_weights(self.features) * coef**2).sum(axis=-1)
        return float(value) if np.ndim(value) == 0 else value

    def excess_risk(self, loss: Loss, coef: FloatArray, *, intercept: float | FloatArray = 0.0) -> Any:
        """Return how far the risk is above the least; a difference, so good to about 1e-15."""
        loss = self._known(loss)
        value = np.maximum(self.risk(loss, coef, intercept=intercept) - self.risk(loss, self.minimiser(loss)), 0.0)
        return float(value) if np.ndim(value) == 0 else value

    def auc(self, coef: FloatArray) -> Any:
        """Return the chance that a row of class 1 scores above one of class -1: a float, or (runs,) for a stack.

        The difference of two such scores x'w is N(2 w'mean, 2 w'covariance w), so it is Phi(sqrt(2) w'mean / sqrt(w'covariance w));
        where all scores are zero, ties count half. An intercept changes nothing.

        Examples
        --------
        >>> population = TwoClasses(mean=[1.0, 0.0], covariance=0.5)
        >>> population.auc([2.0, 0.0]), population.auc([0.0, 1.0]), population.auc([0.0, 0.0])
        (0.97725, 0.5, 0.5)
        """
        models = _models("TwoClasses.auc", coef, self.features)
        spread = np.sqrt(np.einsum("...i,ij,...j->...", models, self._covariance, models))
        value = ndtr(math.sqrt(2.0) * (models @ self.mean) / np.where(spread > 0.0, spread, 1.0))
        return float(value) if np.ndim(value) == 0 else value

    def hessian(self, loss: Loss) -> FloatArray:
        """Return the Hessian of the risk at the minimiser."""
        loss = self._known(loss)
        return self._scores(self.minimiser(loss)).hessian(loss, 1.0) + np.diag(loss.penalty_weights(self.features))

    def gradient_covariance(self, loss: Loss) -> FloatArray:
        """Return the covariance of a row's gradient at the minimiser."""
        loss = self._known(loss)
        scores = self._scores(self.minimiser(loss))
        mean = scores.gradient(loss, 1.0)
        return scores.second_moment(loss, 1.0) - np.outer(mean, mean)

    def constants(self, loss: Loss, domain: ConstraintSet | None = None) -> Constants:
        """Return every constant that is bounded with proof, on the whole space; L and G do not exist for Gaussian rows.

        M = curvature lam_max(E xx') + l2. For the squared loss m = lam_min(E xx') + l2; for the others m = l2 (left out when
        that is zero), which is far below the curvature where models live: see :meth:`local_constants`.
        """
        loss = self._known(loss)
        best = self.minimiser(loss)
        place = domain_constants("TwoClasses.constants", domain, best)
        numbers = curve_constants(
            loss,
            square=self._square(),
            fourth=self._fourth(),
            hessian=self.hessian(loss),
            covariance=self.gradient_covariance(loss),
        )
        return known_constants(loss, place | numbers)

    def local_constants(self, loss: Loss, domain: ConstraintSet | None = None) -> Constants:
        """Return the constants with m the curvature AT the minimiser: practical, true near it, not proven elsewhere."""
        return self.constants(loss, domain).updated(Constants.given(m=smallest_eigenvalue(self.hessian(loss))))

    def _known(self, loss: Loss) -> LinearLoss:
        return require_loss("TwoClasses", loss, SmoothedHinge, LogisticLoss, SquaredLoss, HuberLoss)

    def _square(self) -> FloatArray:
        return self._covariance + np.outer(self.mean, self.mean)  # E xx'

    def _fourth(self) -> FloatArray:
        """E||x||^2 xx' = (tr S + |mu|^2)(S + mu mu') + 2 S^2 + 2 (S mu mu' + mu mu' S) for x ~ N(mu, S)."""
        square = self._square()
        tilt = np.outer(self._covariance @ self.mean, self.mean)
        return float(np.trace(square)) * square + 2.0 * (self._covariance @ self._covariance + tilt + tilt.T)

    def _scores(self, w: FloatArray) -> GaussianScores:
        along = self._covariance @ w
        return GaussianScores(
            mean=float(w @ self.mean),
            scale=math.sqrt(float(w @ along)),
            center=self.mean,
            covariance=self._covariance,
            along=along,
        )


def _models(owner: str, coef: FloatArray, features: int) -> FloatArray:
    models = np.asarray(coef, dtype=np.float64)
    if models.ndim not in (1, 2) or models.shape[-1] != features or not np.isfinite(models).all():
        raise ParameterError(
            f"must be one model of {features} finite numbers, or a stack of them; got shape {models.shape}.",
            owner=owner,
            name="coef",
        )
    largest = np.abs(models).max(axis=-1, keepdims=True)  # only the direction matters, so no square overflows
    return np.asarray(models / np.where(largest > 0.0, largest, 1.0))
