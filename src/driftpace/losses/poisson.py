"""The Poisson loss for counts."""

from dataclasses import dataclass

from driftpace.losses.linear import Curve
from driftpace.losses.log_link import LogLinkLoss, tweedie_curve

_CURVE = tweedie_curve(1.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class PoissonLoss(LogLinkLoss):
    """Regress counts by half the Poisson deviance e^s - ys - y + y log y of the score s = x'w, + (l2/2)||w||^2.

    The mean of a row is e^s. Only the mean has to be right: a variance other than the mean is part of the estimated noise. Rates,
    which are not whole, are allowed.

    Parameters
    ----------
    l2 : float, default 0.0
        The weight of the penalty (l2/2)||w||^2.
    unpenalised : int, default 0
        How many trailing coefficients the penalty leaves out.

    Examples
    --------
    >>> import numpy as np
    >>> loss = PoissonLoss()
    >>> loss.row_values(np.array([0.0]), np.ones((3, 1)), np.array([0.0, 1.0, 2.0])).round(4)
    array([1.    , 0.    , 0.3863])
    >>> loss.predict(np.array([1.0]), np.array([[0.0], [1.0]])).round(3)
    array([1.   , 2.718])
    """

    @property
    def variance_power(self) -> float:
        """1: the variance is proportional to the mean."""
        return 1.0

    @property
    def curve(self) -> Curve:
        """Half the deviance; slope e^s - y; bend e^s."""
        return _CURVE
