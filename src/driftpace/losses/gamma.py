"""The gamma loss for positive amounts."""

from dataclasses import dataclass
from typing import ClassVar

from driftpace.losses.linear import Curve
from driftpace.losses.log_link import LARGEST, LogLinkLoss, tweedie_curve

_CURVE = tweedie_curve(2.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class GammaLoss(LogLinkLoss):
    """Regress positive amounts by half the gamma deviance y e^-s + s - 1 - log y of the score s = x'w, + (l2/2)||w||^2.

    The mean of a row is e^s; amounts whose standard deviation grows with their mean, such as costs, have constant noise.

    Parameters
    ----------
    l2 : float, default 0.0
        The weight of the penalty (l2/2)||w||^2.
    unpenalised : int, default 0
        How many trailing coefficients the penalty leaves out.

    Examples
    --------
    >>> import numpy as np
    >>> loss = GammaLoss()
    >>> loss.row_values(np.array([0.0]), np.ones((2, 1)), np.array([1.0, 2.0])).round(4)
    array([0.    , 0.3069])
    """

    least_target: ClassVar[float] = 1.0 / LARGEST

    @property
    def variance_power(self) -> float:
        """2: the standard deviation is proportional to the mean."""
        return 2.0

    @property
    def curve(self) -> Curve:
        """Half the deviance; slope 1 - y e^-s; bend y e^-s."""
        return _CURVE
