"""Drifting populations of the paper: a regression whose coefficients move, two rotating classes, and rotating features."""

import math
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.losses import Loss
from driftpace.synthetic.classes import TwoClasses
from driftpace.synthetic.features import as_covariance
from driftpace.synthetic.protocol import DriftMixin
from driftpace.synthetic.regression import GaussianRegression
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DriftingRegression(DriftMixin):
    """Gaussian regression whose coefficients move by exactly ``rho`` each period (paper section V-A; theory 6.1).

    With an l2 penalty the minimiser shrinks, and moves by less than ``rho``.

    Parameters
    ----------
    features : int
        Number of columns of X.
    rho : float
        Distance the coefficients move each period.
    noise : float
        Variance of the noise.
    rng : int
        Seed; every period is a function of it alone, so periods may be drawn in any order.
    covariance : ndarray or float, default 1.0
        Covariance of the rows: a matrix, or a number for that multiple of the identity.
    shape : {'walk', 'line'}, default 'walk'
        A uniformly random direction each period, or one random direction throughout.
    start : ndarray, optional
        Coefficients of period 1, zero by default.

    Examples
    --------
    >>> population = DriftingRegression(features=2, rho=1.0, noise=0.08, rng=0)
    >>> moved = population.period(7).coef - population.period(6).coef
    >>> round(float(np.linalg.norm(moved)), 12)
    1.0
    """

    features: int
    rho: float
    noise: float
    rng: int
    covariance: FloatArray | float = 1.0
    shape: str = "walk"
    start: FloatArray | None = None

    def __post_init__(self) -> None:
        validation.count("DriftingRegression", least=1, features=self.features)
        validation.count("DriftingRegression", rng=self.rng)
        validation.nonnegative("DriftingRegression", rho=self.rho, noise=self.noise)
        validation.choice("DriftingRegression", ("walk", "line"), shape=self.shape)
        covariance = as_covariance("DriftingRegression", self.covariance, self.features)
        start = np.zeros(self.features) if self.start is None else self.start
        start = validation.vector("DriftingRegression", length=self.features, start=start)
        start.setflags(write=False)
        object.__setattr__(self, "covariance", covariance)
        object.__setattr__(self, "start", start)

    def path(self, periods: int) -> FloatArray:
        """Return the coefficients of periods 1 .. periods, (periods, features)."""
        validation.count("DriftingRegression.path", least=1, periods=periods)
        directions = np.random.default_rng(self.rng).standard_normal((max(periods - 1, 1), self.features))
        directions /= np.linalg.norm(
            directions, axis=1, keepdims=True
        )  # row i moves period i + 1 on, however many are drawn
        moves = directions[: periods - 1] if self.shape == "walk" else np.tile(directions[0], (periods - 1, 1))
        return cast(FloatArray, self.start) + self.rho * np.vstack([np.zeros(self.features), np.cumsum(moves, axis=0)])

    def period(self, n: int) -> GaussianRegression:
        """Return the population of period n = 1, 2, ..."""
        validation.count("DriftingRegression.period", least=1, n=n)
        return GaussianRegression(coef=self.path(n)[-1], covariance=self.covariance, noise=self.noise)


@dataclass(frozen=True, kw_only=True, slots=True)
class DriftingClasses(DriftMixin):
    """Two Gaussian classes whose opposite means rotate by ``angle`` each period (theory 6.2).

    Both means rotate together in the first two coordinates; each period is a rotated copy of the first, and the minimiser moves
    by the same :meth:`rho` each time. By default half a rotation in 25 periods.

    Parameters
    ----------
    features : int, default 2
        Number of columns of X.
    angle : float, default 0.12566370614359174
        Rotation per period, in radians.
    radius : float, default 1.0
        Distance of the class means from the origin.
    variance : float, default 0.5
        Variance of a class in every direction.

    Examples
    --------
    >>> from driftpace.losses import SmoothedHinge
    >>> DriftingClasses().rho(SmoothedHinge(l2=0.1))
    0.1016
    """

    features: int = 2
    angle: float = math.pi / 25.0
    radius: float = 1.0
    variance: float = 0.5

    def __post_init__(self) -> None:
        validation.count("DriftingClasses", least=2, features=self.features)
        validation.nonnegative("DriftingClasses", angle=self.angle)
        validation.positive("DriftingClasses", radius=self.radius, variance=self.variance)

    def period(self, n: int) -> TwoClasses:
        """Return the population of period n = 1, 2, ..."""
        validation.count("DriftingClasses.period", least=1, n=n)
        mean = np.zeros(self.features)
        turned = (n - 1) * self.angle
        mean[:2] = self.radius * math.cos(turned), self.radius * math.sin(turned)
        return TwoClasses(mean=mean, covariance=self.variance)

    def rho(self, loss: Loss) -> float:
        """Return how far the minimiser of the loss moves each period: 2 ||w*|| |sin(angle/2)|."""
        return 2.0 * float(np.linalg.norm(self.period(1).minimiser(loss))) * abs(math.sin(0.5 * self.angle))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RotatingFeatures(DriftMixin):
    """Regression on measurements that rotate, while the relation of their hidden causes to y is fixed.

    y = h'coef + xi for hidden causes h ~ N(0, covariance), observed as x = Q_n h, where Q_n rotates the first two coordinates: an
    instrument that works loose. The optimal coefficients are Q_n coef, on rows of covariance Q_n S Q_n'. If the penalty is on
    every coefficient, each period is a rotated copy of the first, including its minimiser, which moves by the same :meth:`rho`
    each time. Period 1 is not rotated.

    Parameters
    ----------
    coef : ndarray, optional
        True coefficients.
    covariance : ndarray or float, default 1.0
        Covariance of the rows: a matrix, or a number for that multiple of the identity.
    noise : float, default 0.5
        Variance of the noise.
    angle : float, default 0.12566370614359174
        Rotation per period, in radians.

    Examples
    --------
    >>> from driftpace.losses import SquaredLoss
    >>> population = RotatingFeatures(angle=math.pi / 2.0)
    >>> population.period(2).minimiser(SquaredLoss())
    array([-0.,  1.])
    >>> population.rho(SquaredLoss())
    1.4142
    """

    coef: FloatArray = field(default_factory=lambda: np.array([1.0, 0.0]))
    covariance: FloatArray | float = 1.0
    noise: float = 0.5
    angle: float = math.pi / 25.0

    def __post_init__(self) -> None:
        coef = validation.vector("RotatingFeatures", coef=self.coef)
        if coef.size < 2:
            raise ParameterError(
                f"must have at least two numbers; got {coef.tolist()!r}.",
                owner="RotatingFeatures",
                name="coef",
            )
        validation.nonnegative("RotatingFeatures", noise=self.noise, angle=self.angle)
        coef.setflags(write=False)
        object.__setattr__(self, "coef", coef)
        object.__setattr__(self, "covariance", as_covariance("RotatingFeatures", self.covariance, coef.size))

    @property
    def features(self) -> int:
        """The number of columns of X."""
        return int(self.coef.size)

    def turned(self, n: int) -> FloatArray:
        """Return Q_n, the turn by (n - 1) angle in the plane of the first two coordinates, (features, features)."""
        validation.count("RotatingFeatures.turned", least=1, n=n)
        whole, turn = np.eye(self.features), (n - 1) * self.angle
        whole[:2, :2] = [[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]]
        return whole

    def period(self, n: int) -> GaussianRegression:
        """Return the population of period n = 1, 2, ..."""
        validation.count("RotatingFeatures.period", least=1, n=n)
        turn = self.turned(n)
        covariance = turn @ np.asarray(self.covariance) @ turn.T
        return GaussianRegression(coef=turn @ self.coef, covariance=0.5 * (covariance + covariance.T), noise=self.noise)

    def rho(self, loss: Loss) -> float:
        """Return how far the minimiser moves into period 2: 2 |sin(angle/2)| times its length in the plane that turns.

        It moves as far into every other period where the penalty, if any, is on every coefficient.
        """
        return self.rho_at(loss, 2)
