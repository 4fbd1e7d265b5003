"""Counts and positive amounts whose log mean rotates along a path of a given shape and cost."""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from scipy.optimize import brentq

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.losses import LogLinkLoss, Loss, PoissonLoss
from driftpace.synthetic.features import EllipticRows, split_intercept
from driftpace.synthetic.paths import Path, Shape, check_shape, random_start
from driftpace.synthetic.protocol import DrawMixin
from driftpace.typing import FloatArray

AmountKind = Literal["count", "amount", "compound"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ShapedCounts:
    """Counts or positive amounts whose log mean moves along a path, each step costing a stale model a given excess risk.

    x ~ N(0, S), E[y | x] = exp(level_n + x'theta_n). x'theta keeps the variance ``signal`` and theta rotates along a path
    (:mod:`driftpace.synthetic.paths`); the rotation is such that one step costs the stale minimiser of ``loss`` an excess risk of
    ``cost`` at the first level.

    Parameters
    ----------
    features : int
        Number of columns of X, at least 2.
    cost : float
        Excess risk that one step of drift costs a stale model.
    shape : {'line', 'walk', 'seasonal', 'jump', 'still'}
        Shape of the path.
    rng : int
        Seed; every period is a function of it alone.
    kind : {'count', 'amount', 'compound'}, default 'count'
        Poisson counts; positive amounts; or sums of a Poisson number of gamma amounts, which are often zero.
    mean : float, default 5.0
        The mean of y in the first period.
    dispersion : float, default 0.0
        Variance of a factor of mean 1 that multiplies the mean of each row: counts have the variance m + dispersion m^2. Amounts
        have no other noise, so they need one above 0.
    heavy : bool, default False
        Whether the factor is lognormal, which has heavy tails, instead of gamma.
    growth : float, default 0.0
        By how much the level, the logarithm of the mean, grows in each period.
    loss : LogLinkLoss, optional
        Loss in which ``cost`` is measured; Poisson by default.
    condition, signal, turn, jump_at
        As for :class:`ShapedClasses`; the signal is 0.25 by default.

    Examples
    --------
    >>> population = ShapedCounts(features=5, cost=0.05, shape="walk", rng=0, dispersion=0.5)
    >>> stale = population.period(6).minimiser()
    >>> round(population.period(7).excess_risk(PoissonLoss(), stale), 9)
    0.05
    """

    features: int
    cost: float
    shape: Shape
    rng: int
    kind: AmountKind = "count"
    mean: float = 5.0
    dispersion: float = 0.0
    heavy: bool = False
    growth: float = 0.0
    loss: LogLinkLoss = field(default_factory=PoissonLoss)
    condition: float = 1.0
    signal: float = 0.25
    turn: int = 12
    jump_at: int = 20
    _rows: EllipticRows = field(init=False, repr=False)
    _path: Path = field(init=False, repr=False)

    def __post_init__(self) -> None:
        owner = "ShapedCounts"
        check_shape(owner, self.shape, self.cost, self.rng, self.turn, self.jump_at)
        validation.count(owner, least=2, features=self.features)
        validation.choice(owner, get_args(AmountKind), kind=self.kind)
        validation.positive(owner, mean=self.mean, signal=self.signal)
        validation.nonnegative(owner, dispersion=self.dispersion)
        validation.switch(owner, heavy=self.heavy)
        if self.kind == "amount" and self.dispersion == 0.0:
            raise ParameterError("must be above 0 for amounts, or they have no noise.", owner=owner, name="dispersion")
        object.__setattr__(
            self, "_rows", EllipticRows(owner=owner, features=self.features, condition=self.condition, rng=self.rng)
        )
        path = Path(
            shape=self.shape,
            size=0.0,
            start=random_start(self.features, self.signal, self.rng),
            rng=self.rng,
            turn=self.turn,
            jump_at=self.jump_at,
            sphere=True,
        )
        object.__setattr__(self, "_path", replace(path, size=self._angle()))

    def _angle(self) -> float:
        """Return the rotation that costs a stale model what was asked."""
        here = np.zeros(self.features)
        here[0] = math.sqrt(self.signal)
        level = math.log(self.mean) - 0.5 * self.signal

        def excess(angle: float) -> float:
            there = math.sqrt(self.signal) * np.array([math.cos(angle), math.sin(angle)])
            stale = np.append(there, np.zeros(self.features - 2))
            return float(_excess(self.loss, here, level, stale, np.array(level))) - self.cost

        if self.cost == 0.0 or self.shape == "still":
            return 0.0
        if excess(math.pi) < 0.0:
            most = excess(math.pi) + self.cost
            raise ParameterError(f"must be at most {most:.4g}; got {self.cost!r}.", owner="ShapedCounts", name="cost")
        return float(brentq(excess, 0.0, math.pi, xtol=1e-14))

    def period(self, n: int) -> "CountsPeriod":
        """Return the population of period n = 1, 2, ..."""
        validation.count("ShapedCounts.period", least=1, n=n)
        z = self._path.at(n)
        return CountsPeriod(
            rows=self._rows,
            whitened=z,
            coef=self._rows.colour(z),
            level=math.log(self.mean) - 0.5 * self.signal + self.growth * (n - 1),
            kind=self.kind,
            dispersion=self.dispersion,
            heavy=self.heavy,
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CountsPeriod(DrawMixin):
    """One period of a :class:`ShapedCounts`, with excess risks in closed form.

    Any half deviance with a log link (:class:`~driftpace.PoissonLoss`, :class:`~driftpace.GammaLoss`,
    :class:`~driftpace.TweedieLoss`) has the same minimiser without a penalty: the true coefficients and the level.

    Parameters
    ----------
    rows : EllipticRows
        Distribution of the rows.
    whitened : ndarray
        Coefficients of the log mean in whitened coordinates.
    coef : ndarray
        Coefficients of the log mean.
    level : float
        The intercept of the log mean.
    kind, dispersion, heavy
        Distribution of the targets.

    Examples
    --------
    >>> period = ShapedCounts(features=2, cost=0.0, shape="still", rng=0).period(1)
    >>> X, y = period.draw(4, rng=0)
    >>> X.shape, bool((y == np.round(y)).all())
    ((4, 2), True)
    """

    rows: EllipticRows = field(repr=False)
    whitened: FloatArray = field(repr=False)
    coef: FloatArray
    level: float
    kind: AmountKind
    dispersion: float
    heavy: bool

    @property
    def features(self) -> int:
        """The number of columns of X."""
        return self.rows.features

    def draw_batch(self, runs: int, samples: int, *, rng: np.random.Generator | int) -> tuple[FloatArray, FloatArray]:
        """Return independent draws for many runs at once, (runs, samples, features) and (runs, samples)."""
        validation.count("CountsPeriod.draw_batch", runs=runs, samples=samples)
        rng = np.random.default_rng(rng)
        total = runs * samples
        normal = rng.standard_normal((total, self.features))
        means = np.exp(self.level + normal @ self.whitened)
        if self.dispersion > 0.0 and self.heavy:
            spread = math.log1p(self.dispersion)
            means = means * np.exp(math.sqrt(spread) * rng.standard_normal(total) - 0.5 * spread)
        elif self.dispersion > 0.0:
            means = means * rng.gamma(1.0 / self.dispersion, self.dispersion, total)
        if self.kind == "amount":
            y = np.maximum(means, 1e-12)
        elif self.kind == "count":
            y = rng.poisson(means).astype(np.float64)
        else:
            y = 2.0 * rng.gamma(np.maximum(rng.poisson(0.5 * means), 1e-300), 1.0)
        return (normal @ self.rows.root).reshape(runs, samples, self.features), y.reshape(runs, samples)

    def minimiser(self) -> FloatArray:
        """Return the coefficients of least risk, the intercept last."""
        return np.append(self.coef, self.level)

    def excess_risk(self, loss: Loss, coef: FloatArray, *, intercept: float | FloatArray = 0.0) -> Any:
        """Return how far the risk is above the least: a float for one model, (runs,) for a stack."""
        if not isinstance(loss, LogLinkLoss) or loss.l2 != 0.0:
            raise ParameterError(
                f"must be a loss with a log link and no penalty; got {loss!r}.",
                owner="CountsPeriod.excess_risk",
                name="loss",
            )
        coef, constant = split_intercept("CountsPeriod.excess_risk", self.features, coef, intercept)
        value = _excess(loss, self.whitened, self.level, self.rows.whiten(coef), constant)
        return float(value) if np.ndim(value) == 0 else value


def _excess(loss: LogLinkLoss, z: FloatArray, level: float, v: FloatArray, b: FloatArray) -> FloatArray:
    """Return the excess risk of the log mean n'v + b over the true n'z + level, n standard normal.

    With a = 2 - p and c = p - 1 the risk is E e^(as)/a + E e^(t - cs)/c, and E e^(n'u) = e^(|u|^2/2).
    """
    a, c = 2.0 - loss.variance_power, loss.variance_power - 1.0

    def squared(u: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("...i,...i->...", u, u))

    def risk(v: FloatArray, b: FloatArray) -> FloatArray:
        mean = math.exp(level + 0.5 * float(z @ z))
        first = b if a == 0.0 else np.exp(a * b + 0.5 * a * a * squared(v)) / a
        second = -mean * (b + v @ z) if c == 0.0 else np.exp(level - c * b + 0.5 * squared(z - c * v)) / c
        return np.asarray(first + second)

    return np.maximum(risk(v, b) - risk(z, np.asarray(level)), 0.0)
