"""Regression whose truth moves along a path of a given shape and cost."""

import math
from dataclasses import dataclass, field
from typing import Any, Literal, TypeGuard, get_args

import numpy as np
from scipy.linalg import block_diag

from driftpace import validation
from driftpace.constraints import ConstraintSet
from driftpace.losses import HuberLoss, Loss, QuantileLoss, SquaredLoss
from driftpace.records import Constants
from driftpace.synthetic.constants import domain_constants, known_constants, moment_constants
from driftpace.synthetic.features import EllipticRows, split_intercept
from driftpace.synthetic.paths import Path, Shape, check_shape, random_start
from driftpace.synthetic.protocol import DrawMixin, DriftMixin
from driftpace.synthetic.residuals import best_offset, excess_of_offsets
from driftpace.synthetic.scores import require_loss
from driftpace.typing import FloatArray

NoiseKind = Literal["gaussian", "student", "heteroscedastic"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ShapedRegression(DriftMixin):
    """Regression whose coefficients move along a path, each step costing a stale model a given excess risk.

    y = x'w_n + xi with Gaussian rows and coefficients w_n on a path (:mod:`driftpace.synthetic.paths`). One step costs a stale
    model ``cost`` = 1/2 delta'H delta of squared loss, H = E xx', in a direction that is uniform where H is the identity; so
    neither the condition number nor the number of features changes it.

    Parameters
    ----------
    features : int
        Number of columns of X.
    cost : float
        Excess risk that one step of drift costs a stale model.
    shape : {'line', 'walk', 'seasonal', 'jump', 'still'}
        Shape of the path. Seasonal paths close after ``turn`` periods (with one coordinate the cost is the mean over the
        steps); a jump is one step, into period ``jump_at``.
    rng : int
        Seed; every period is a function of it alone, so periods may be drawn in any order.
    condition : float, default 1.0
        Condition number of the covariance of the rows.
    noise : float, default 1.0
        Variance of xi.
    noise_kind : {'gaussian', 'student', 'heteroscedastic'}, default 'gaussian'
        Normal; Student t with three degrees of freedom; or normal with variance noise (1/2 + 1/2 (x'u)^2 / u'Hu) for a
        random direction u.
    signal : float, default 1.0
        Variance of x'w in period 1, at a random start.
    start : ndarray, optional
        Coefficients of period 1, in place of a random start.
    intercept : bool, default False
        Whether the truth has an intercept that moves too, as one more coordinate: last in ``start``, in the minimiser and
        in any model of features + 1 numbers.
    turn : int, default 12
        Periods in a season, for ``shape='seasonal'``.
    jump_at : int, default 20
        Period of the jump, for ``shape='jump'``.

    Examples
    --------
    >>> population = ShapedRegression(features=5, cost=0.3, shape="walk", rng=0, condition=100.0)
    >>> stale = population.period(6).minimiser(SquaredLoss())
    >>> population.period(7).excess_risk(SquaredLoss(), stale)
    0.3
    """

    features: int
    cost: float
    shape: Shape
    rng: int
    condition: float = 1.0
    noise: float = 1.0
    noise_kind: NoiseKind = "gaussian"
    signal: float = 1.0
    start: FloatArray | None = None
    intercept: bool = False
    turn: int = 12
    jump_at: int = 20
    _rows: EllipticRows = field(init=False, repr=False)
    _leaning: FloatArray = field(init=False, repr=False)
    _path: Path = field(init=False, repr=False)
    _periods: dict[int, "RegressionPeriod"] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        owner = "ShapedRegression"
        check_shape(owner, self.shape, self.cost, self.rng, self.turn, self.jump_at)
        validation.nonnegative(owner, noise=self.noise, signal=self.signal)
        validation.choice(owner, get_args(NoiseKind), noise_kind=self.noise_kind)
        validation.switch(owner, intercept=self.intercept)
        rows = EllipticRows(owner=owner, features=self.features, condition=self.condition, rng=self.rng)
        coordinates = self.features + self.intercept
        begin = random_start(coordinates, self.signal, self.rng)
        if self.start is not None:
            start = validation.vector(owner, length=coordinates, start=self.start)
            start.setflags(write=False)
            object.__setattr__(self, "start", start)
            begin = np.append(rows.whiten(start[: self.features]), start[self.features :])
        leaning = np.random.default_rng([self.rng, 3]).standard_normal(self.features)
        path = Path(
            shape=self.shape,
            size=math.sqrt(2.0 * self.cost),
            start=begin,
            rng=self.rng,
            turn=self.turn,
            jump_at=self.jump_at,
        )
        object.__setattr__(self, "_rows", rows)
        object.__setattr__(self, "_leaning", leaning / np.linalg.norm(leaning))
        object.__setattr__(self, "_path", path)

    def period(self, n: int) -> "RegressionPeriod":
        """Return the population of period n = 1, 2, ..."""
        validation.count("ShapedRegression.period", least=1, n=n)
        if n not in self._periods:
            z = self._path.at(n)
            self._periods[n] = RegressionPeriod(
                rows=self._rows,
                whitened=z[: self.features],
                coef=self._rows.colour(z[: self.features]),
                intercept=float(z[-1]) if self.intercept else 0.0,
                fits_intercept=self.intercept,
                noise=self.noise,
                noise_kind=self.noise_kind,
                leaning=self._leaning,
            )
        return self._periods[n]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RegressionPeriod(DrawMixin):
    """One period of a :class:`ShapedRegression`, with squared-loss risks in closed form.

    The check loss (:class:`~driftpace.QuantileLoss`, smoothed or not) and the Huber loss have exact minimisers and excess risks,
    too, as long as there is no penalty and the noise is Gaussian or Student's.

    A model is ``coef``, with an ``intercept`` beside it or as one more number at its end; an intercept is never penalised.

    Parameters
    ----------
    rows : EllipticRows
        Distribution of the rows.
    whitened : ndarray
        True coefficients in whitened coordinates.
    coef : ndarray
        True coefficients.
    intercept : float
        True intercept.
    fits_intercept : bool
        Whether the minimiser includes the intercept.
    noise : float
        Variance of the noise.
    noise_kind : {'gaussian', 'student', 'heteroscedastic'}
        Distribution of the noise.
    leaning : ndarray
        Direction along which heteroscedastic noise varies.

    Examples
    --------
    >>> period = ShapedRegression(features=2, cost=0.0, shape="still", rng=0).period(1)
    >>> X, y = period.draw(3, rng=0)
    >>> X.shape, y.shape, period.excess_risk(SquaredLoss(), period.coef, intercept=1.0)
    ((3, 2), (3,), 0.5)
    """

    rows: EllipticRows = field(repr=False)
    whitened: FloatArray = field(repr=False)
    coef: FloatArray
    intercept: float
    fits_intercept: bool
    noise: float
    noise_kind: NoiseKind
    leaning: FloatArray = field(repr=False)

    @property
    def features(self) -> int:
        """The number of columns of X."""
        return self.rows.features

    def draw_batch(self, runs: int, samples: int, *, rng: np.random.Generator | int) -> tuple[FloatArray, FloatArray]:
        """Return independent draws for many runs at once, (runs, samples, features) and (runs, samples)."""
        validation.count("RegressionPeriod.draw_batch", runs=runs, samples=samples)
        rng = np.random.default_rng(rng)
        normal = rng.standard_normal((runs * samples, self.features))
        if self.noise_kind == "student":
            xi = math.sqrt(self.noise / 3.0) * rng.standard_t(3.0, runs * samples)  # a t3 variable has variance 3
        else:
            xi = math.sqrt(self.noise) * rng.standard_normal(runs * samples)
        if self.noise_kind == "heteroscedastic":
            xi *= np.sqrt(0.5 + 0.5 * (normal @ self.leaning) ** 2)
        y = normal @ self.whitened + (self.intercept + xi)
        return (normal @ self.rows.root).reshape(runs, samples, self.features), y.reshape(runs, samples)

    def minimiser(self, loss: Loss) -> FloatArray:
        """Return the coefficients of least risk, (H + l2 P)^-1 H coef, and the intercept last where the truth has one."""
        if _robust(loss):
            level = self.intercept + best_offset(loss, self.noise_kind, self.noise)
            return np.append(self.coef, level) if self.fits_intercept else np.array(self.coef)
        loss = _squared(loss)
        best = self.coef
        if loss.l2 > 0.0:
            best = np.asarray(np.linalg.solve(self._curvature(loss), self.rows.covariance @ self.coef), np.float64)
        return np.append(best, self.intercept) if self.fits_intercept else np.array(best)

    def excess_risk(self, loss: Loss, coef: FloatArray, *, intercept: float | FloatArray = 0.0) -> Any:
        """Return how far the risk is above the least: a float for one model, (runs,) for a stack.

        That of the check and the Huber loss is above the best model with an intercept.
        """
        coef, constant = split_intercept("RegressionPeriod.excess_risk", self.features, coef, intercept)
        if _robust(loss):
            away = np.linalg.norm(self.rows.whiten(coef - self.coef), axis=-1)
            excess = excess_of_offsets(loss, self.noise_kind, self.noise, constant - self.intercept, away)
            return float(excess) if np.ndim(excess) == 0 else excess
        loss = _squared(loss)
        off = coef - self.minimiser(loss)[: self.features]
        moved = self.rows.whiten(off)
        value = 0.5 * (np.einsum("...i,...i->...", moved, moved) + (constant - self.intercept) ** 2)
        if loss.l2 > 0.0:
            value = value + 0.5 * (off * off) @ loss.penalty_weights(self.features)
        return float(value) if np.ndim(value) == 0 else value

    def risk(self, loss: Loss, coef: FloatArray, *, intercept: float | FloatArray = 0.0) -> Any:
        """Return the expected loss on a fresh row."""
        loss = _squared(loss)
        best = self.minimiser(loss)[: self.features]
        shrunk = self.rows.whiten(best - self.coef)
        least = 0.5 * (self.noise + float(shrunk @ shrunk) + float(loss.penalty_weights(self.features) @ best**2))
        return self.excess_risk(loss, coef, intercept=intercept) + least

    def hessian(self, loss: Loss) -> FloatArray:
        """Return the Hessian of the risk, in the coordinates of the minimiser."""
        inner = self._curvature(_squared(loss))
        if not self.fits_intercept:
            return inner
        whole = np.eye(self.features + 1)
        whole[:-1, :-1] = inner
        return whole

    def gradient_covariance(self, loss: Loss) -> FloatArray:
        """Return the covariance of a row's gradient at the minimiser, in the coordinates of the minimiser.

        With e the minimiser less the truth and a direction u with x'u of variance 1, it is, for the rows,
        (e'Se + noise) S + See'S, and noise Suu'S more where the variance follows (x'u)^2; for the intercept e'Se + noise.
        """
        loss = _squared(loss)
        off = self.rows.whiten(self.minimiser(loss)[: self.features] - self.coef)
        pull, tilt = off @ self.rows.root, self.leaning @ self.rows.root
        level = float(off @ off) + self.noise
        inner = level * self.rows.covariance + np.outer(pull, pull)
        if self.noise_kind == "heteroscedastic":
            inner = inner + self.noise * np.outer(tilt, tilt)
        if not self.fits_intercept:
            return inner
        whole = np.diag(np.append(np.zeros(self.features), level))
        whole[:-1, :-1] = inner
        return whole

    def constants(self, loss: Loss, domain: ConstraintSet | None = None) -> Constants:
        """Return every constant, in the coordinates of the minimiser: exact without a penalty; no L or G, rows being Gaussian."""
        loss = _squared(loss)
        best, rows = self.minimiser(loss), self.rows.covariance
        place = domain_constants("RegressionPeriod.constants", domain, best)
        square, fourth, truth = rows, float(np.trace(rows)) * rows + 2.0 * rows @ rows, self.coef
        if (
            self.fits_intercept
        ):  # z = (x, 1): E||z||^2 zz' = E||x||^2 xx' + E xx' for the rows, tr E xx' + 1 for the last
            square, fourth = block_diag(rows, [1.0]), block_diag(fourth + rows, [float(np.trace(rows)) + 1.0])
            truth = np.append(truth, self.intercept)
        numbers = moment_constants(
            square=square,
            fourth=fourth,
            hessian=self.hessian(loss),
            covariance=self.gradient_covariance(loss),
            error=best - truth,
        )
        return known_constants(loss.with_unpenalised(loss.unpenalised + self.fits_intercept), place | numbers)

    def _curvature(self, loss: SquaredLoss) -> FloatArray:
        return self.rows.covariance + np.diag(loss.penalty_weights(self.features))


def _robust(loss: Loss) -> TypeGuard[HuberLoss | QuantileLoss]:
    """Whether a loss is the check or the Huber loss, without a penalty."""
    return isinstance(loss, HuberLoss | QuantileLoss) and loss.l2 == 0.0


def _squared(loss: Loss) -> SquaredLoss:
    require_loss("ShapedRegression", loss, SquaredLoss)
    assert isinstance(loss, SquaredLoss)
    return loss
