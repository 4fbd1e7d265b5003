"""Classification whose log odds rotate along a path of a given shape and cost."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit

from driftpace import validation
from driftpace.constraints import ConstraintSet
from driftpace.errors import ParameterError
from driftpace.losses import LinearLoss, LogisticLoss, Loss, SmoothedHinge
from driftpace.records import Constants
from driftpace.synthetic.constants import curve_constants, domain_constants, known_constants
from driftpace.synthetic.features import EllipticRows, split_intercept
from driftpace.synthetic.margins import PenalisedMargin, scale_to_cost, squared_slopes
from driftpace.synthetic.paths import Path, Shape, check_shape, random_start
from driftpace.synthetic.protocol import DrawMixin, DriftMixin
from driftpace.synthetic.scores import require_loss
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ShapedClasses(DriftMixin):
    """Classification whose log odds rotate along a path, each step costing a stale model a given excess risk.

    x ~ N(0, S), P(y = 1 | x) = 1/(1 + exp(-x'theta_n)), y in {-1, 1}. The log odds x'theta keep the variance ``signal``, so the
    classes stay equally hard to separate; theta moves on the sphere where the covariance is the identity
    (:mod:`driftpace.synthetic.paths`): "line" rotates one way, "walk" in a fresh random direction each period, "seasonal" swings
    back and forth once in ``turn`` periods, "jump" rotates once, into period ``jump_at``, "still" never. The rotation is such
    that one step costs the stale minimiser of ``loss`` an excess risk of ``cost``: exactly at every step of a line, walk or jump
    unless a penalty meets rows of unequal variances, else in the mean, over a season or the first 40 periods. A cost
    that no rotation reaches is rejected.

    Parameters
    ----------
    features : int
        Number of columns of X.
    cost : float
        Excess risk that one step of drift costs a stale model.
    shape : {'line', 'walk', 'seasonal', 'jump', 'still'}
        Shape of the path, see :mod:`driftpace.synthetic.paths`.
    rng : int
        Seed; every period is a function of it alone, so periods may be drawn in any order.
    condition : float, default 1.0
        Condition number of the covariance of the rows.
    loss : Loss, optional
        Loss in which ``cost`` is measured; logistic by default.
    signal : float, default 4.0
        Variance of the log odds.
    start : ndarray, optional
        theta of period 1 (its variance is then the signal), in place of a random start.
    turn : int, default 12
        Periods in a season, for ``shape='seasonal'``.
    jump_at : int, default 20
        Period of the jump, for ``shape='jump'``.

    Examples
    --------
    >>> population = ShapedClasses(features=5, cost=0.05, shape="walk", rng=0)
    >>> stale = population.period(6).minimiser(LogisticLoss())
    >>> population.period(7).excess_risk(LogisticLoss(), stale)
    0.05
    """

    features: int
    cost: float
    shape: Shape
    rng: int
    condition: float = 1.0
    loss: Loss = field(default_factory=LogisticLoss)
    signal: float = 4.0
    start: FloatArray | None = None
    turn: int = 12
    jump_at: int = 20
    _rows: EllipticRows = field(init=False, repr=False)
    _path: Path = field(init=False, repr=False)
    _margins: dict[LinearLoss, PenalisedMargin] = field(init=False, repr=False, default_factory=dict)
    _periods: dict[int, "ClassesPeriod"] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        owner = "ShapedClasses"
        check_shape(owner, self.shape, self.cost, self.rng, self.turn, self.jump_at)
        validation.count(owner, least=2, features=self.features)
        validation.positive(owner, signal=self.signal)
        rows = EllipticRows(owner=owner, features=self.features, condition=self.condition, rng=self.rng)
        begin = random_start(self.features, self.signal, self.rng)
        if self.start is not None:
            start = validation.vector(owner, length=self.features, start=self.start)
            if not start.any():
                raise ParameterError(
                    f"must have a number that is not zero; got {start.tolist()!r}.",
                    owner=owner,
                    name="start",
                )
            start.setflags(write=False)
            object.__setattr__(self, "start", start)
            begin = rows.whiten(start)
        object.__setattr__(self, "_rows", rows)
        path = Path(
            shape=self.shape,
            size=0.0,
            start=begin,
            rng=self.rng,
            turn=self.turn,
            jump_at=self.jump_at,
            sphere=True,
        )
        margin = margin_of(rows, self._margins, self.loss)
        object.__setattr__(self, "_path", scale_to_cost(owner, path, float(self.cost), margin))

    def period(self, n: int) -> "ClassesPeriod":
        """Return the population of period n = 1, 2, ..."""
        validation.count("ShapedClasses.period", least=1, n=n)
        if n not in self._periods:
            z = self._path.at(n)
            self._periods[n] = ClassesPeriod(
                rows=self._rows, whitened=z, coef=self._rows.colour(z), margins=self._margins
            )
        return self._periods[n]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ClassesPeriod(DrawMixin):
    """One period of a :class:`ShapedClasses`, with exact logistic and smoothed-hinge risks.

    Risks are one-dimensional integrals, accurate to about 1e-12 (:mod:`driftpace.synthetic.margins`). A model may have an
    ``intercept`` beside it or as one more number at its end; it is never penalised and the optimal one is zero.

    Parameters
    ----------
    rows : EllipticRows
        Distribution of the rows.
    whitened : ndarray
        Log odds in whitened coordinates.
    coef : ndarray
        Log odds theta.
    margins : dict[LinearLoss, PenalisedMargin]
        Penalised losses in these coordinates, cached.

    Examples
    --------
    >>> period = ShapedClasses(features=2, cost=0.0, shape="still", rng=0).period(1)
    >>> X, y = period.draw(4, rng=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((4, 2), [-1.0, 1.0])
    >>> np.allclose(period.minimiser(LogisticLoss()), period.coef)
    True
    """

    rows: EllipticRows = field(repr=False)
    whitened: FloatArray = field(repr=False)
    coef: FloatArray
    margins: dict[LinearLoss, PenalisedMargin] = field(repr=False)
    _best: dict[LinearLoss, tuple[FloatArray, float]] = field(init=False, repr=False, default_factory=dict)

    @property
    def features(self) -> int:
        """The number of columns of X."""
        return self.rows.features

    def draw_batch(self, runs: int, samples: int, *, rng: np.random.Generator | int) -> tuple[FloatArray, FloatArray]:
        """Return independent draws for many runs at once, (runs, samples, features) and (runs, samples)."""
        validation.count("ClassesPeriod.draw_batch", runs=runs, samples=samples)
        rng = np.random.default_rng(rng)
        normal = rng.standard_normal((runs * samples, self.features))
        y = np.where(rng.random(runs * samples) < expit(normal @ self.whitened), 1.0, -1.0)
        return (normal @ self.rows.root).reshape(runs, samples, self.features), y.reshape(runs, samples)

    def minimiser(self, loss: Loss) -> FloatArray:
        """Return the coefficients of least risk, a multiple of the odds where there is no penalty."""
        return self.rows.colour(self._least(loss)[0])

    def risk(self, loss: Loss, coef: FloatArray, *, intercept: float | FloatArray = 0.0) -> Any:
        """Return the expected loss on a fresh row: a float for one model, (runs,) for a stack."""
        coef, b = split_intercept("ClassesPeriod.risk", self.features, coef, intercept)
        models = np.atleast_2d(self.rows.whiten(coef))
        value = self._margin(loss).risk(self.whitened[None], models, np.broadcast_to(b, (len(models),)))
        return float(value[0]) if coef.ndim == 1 and b.ndim == 0 else value

    def excess_risk(self, loss: Loss, coef: FloatArray, *, intercept: float | FloatArray = 0.0) -> Any:
        """Return how far the risk is above the least; a difference, so good to about 1e-15."""
        value = np.maximum(self.risk(loss, coef, intercept=intercept) - self._least(loss)[1], 0.0)
        return float(value) if np.ndim(value) == 0 else value

    def hessian(self, loss: Loss) -> FloatArray:
        """Return the Hessian of the risk at the minimiser."""
        inner = self._margin(loss).hessian(self.whitened[None], self._least(loss)[0][None])[0]
        return np.asarray(self.rows.root.T @ inner @ self.rows.root)

    def gradient_covariance(self, loss: Loss) -> FloatArray:
        """Return the covariance of a row's gradient at the minimiser."""
        margin, best = self._margin(loss), self._least(loss)[0]
        mean = margin.penalty @ best
        inner = squared_slopes(margin.loss, self.whitened, best) - np.outer(mean, mean)
        return np.asarray(self.rows.root.T @ inner @ self.rows.root)

    def constants(self, loss: Loss, domain: ConstraintSet | None = None) -> Constants:
        """Return every constant that is bounded with proof; no L or G, rows being Gaussian, and m is no more than l2."""
        curve = self._margin(loss).loss
        square = self.rows.covariance
        place = domain_constants("ClassesPeriod.constants", domain, self.minimiser(curve))
        numbers = curve_constants(
            curve,
            square=square,
            fourth=float(np.trace(square)) * square + 2.0 * square @ square,
            hessian=self.hessian(curve),
            covariance=self.gradient_covariance(curve),
        )
        return known_constants(curve, place | numbers)

    def _margin(self, loss: Loss) -> PenalisedMargin:
        return margin_of(self.rows, self.margins, loss)

    def _least(self, loss: Loss) -> tuple[FloatArray, float]:
        margin = self._margin(loss)
        if margin.loss not in self._best:
            z = self.whitened[None]
            best = margin.minimisers(z)
            self._best[margin.loss] = best[0], float(margin.risk(z, best, np.zeros(1))[0])
        return self._best[margin.loss]


def margin_of(rows: EllipticRows, margins: dict[LinearLoss, PenalisedMargin], loss: Loss) -> PenalisedMargin:
    """Return the loss in the coordinates of these rows, worked out once."""
    loss = require_loss("ShapedClasses", loss, LogisticLoss, SmoothedHinge)
    if loss not in margins:
        margins[loss] = PenalisedMargin(loss=loss, penalty=rows.penalty(loss.penalty_weights(rows.features)))
    return margins[loss]
