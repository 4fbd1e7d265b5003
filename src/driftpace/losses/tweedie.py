"""The Tweedie loss for amounts that are often zero."""

from dataclasses import dataclass
from functools import lru_cache

from driftpace.errors import ParameterError
from driftpace.losses.linear import Curve
from driftpace.losses.log_link import LogLinkLoss, tweedie_curve

_curve_of = lru_cache(maxsize=64)(tweedie_curve)


@dataclass(frozen=True, kw_only=True, slots=True)
class TweedieLoss(LogLinkLoss):
    """Regress amounts of zero or more by half the Tweedie deviance of the mean e^s, s = x'w, + (l2/2)||w||^2.

    With a = 2 - power and b = power - 1 it is e^(as)/a + y e^(-bs)/b less its value at y = e^s. A sum of a Poisson number of gamma
    amounts, such as the claims of a policy in a year, has such a distribution.

    Parameters
    ----------
    l2 : float, default 0.0
        The weight of the penalty (l2/2)||w||^2.
    unpenalised : int, default 0
        How many trailing coefficients the penalty leaves out.
    power : float, default 1.5
        The variance is proportional to mean^power; between 1 (counts) and 2 (gamma).

    Examples
    --------
    >>> import numpy as np
    >>> loss = TweedieLoss(power=1.5)
    >>> loss.row_values(np.array([0.0]), np.ones((3, 1)), np.array([0.0, 1.0, 4.0]))
    array([2., 0., 2.])
    """

    power: float = 1.5

    def __post_init__(self) -> None:
        LogLinkLoss.__post_init__(self)
        power: object = self.power
        if isinstance(power, bool) or not isinstance(power, int | float) or not 1.0 < power < 2.0:
            raise ParameterError(
                f"must be strictly between 1 and 2 (PoissonLoss is 1, GammaLoss is 2); got {power!r}.",
                owner="TweedieLoss",
                name="power",
            )

    @property
    def shape(self) -> float:
        """The power."""
        return float(self.power)

    @property
    def variance_power(self) -> float:
        """The power."""
        return float(self.power)

    @property
    def curve(self) -> Curve:
        """Half the deviance; slope e^(as) - y e^(-bs); bend a e^(as) + b y e^(-bs)."""
        return _curve_of(float(self.power))
