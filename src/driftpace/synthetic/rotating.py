"""Regression on rows that turn: what is measured is mixed anew each period, what it stands for stays."""

import math
from dataclasses import dataclass, field

import numpy as np

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.losses import Loss
from driftpace.synthetic.covariance import as_covariance
from driftpace.synthetic.moving import Moving
from driftpace.synthetic.regression import GaussianRegression
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RotatingFeatures(Moving):
    """y = h'coef + xi for hidden causes h ~ N(0, covariance), seen as x = Q_n h; Q_n turns the first two coordinates.

    Think of an instrument that works loose: the causes and what they do to y never change, and the rows have the same size and
    the same variances along their axes for ever, but the axes turn by ``angle`` each period. So the best coefficients are
    Q_n coef, on rows of covariance Q_n S Q_n'. Where the penalty is on every coefficient each period is a turned copy of the
    first, also of its minimiser, which moves by the same :meth:`rho` each time. In period 1 nothing is turned yet.

    >>> from driftpace.losses import SquaredLoss
    >>> world = RotatingFeatures(angle=math.pi / 2.0)
    >>> world.period(2).minimiser(SquaredLoss())
    array([-0.,  1.])
    >>> world.rho(SquaredLoss())
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
        """Return the world of period n = 1, 2, ..."""
        validation.count("RotatingFeatures.period", least=1, n=n)
        turn = self.turned(n)
        covariance = turn @ np.asarray(self.covariance) @ turn.T
        return GaussianRegression(coef=turn @ self.coef, covariance=0.5 * (covariance + covariance.T), noise=self.noise)

    def rho(self, loss: Loss) -> float:
        """Return how far the minimiser moves into period 2: 2 |sin(angle/2)| times its length in the plane that turns.

        It moves as far into every other period where the penalty, if any, is on every coefficient.
        """
        return self.rho_at(loss, 2)
