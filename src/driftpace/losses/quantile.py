"""The smoothed check loss for quantiles."""

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import ndtr, ndtri

from driftpace import validation
from driftpace.losses.linear import Curve, LinearLoss
from driftpace.losses.targets import encode_numbers, weighted_quantile
from driftpace.typing import FloatArray

BANDWIDTH = 0.3
"""The bandwidth in units of the residual scale, where it is learned: the check loss of the smoothed minimiser is then 0.2 % above
the least for normal residuals."""

SHARED = 0.5
"""How far the curvature of a row goes to the mean curvature of the period."""

_ROOT = math.sqrt(2.0 * math.pi)


@dataclass(frozen=True, kw_only=True, slots=True)
class QuantileLoss(LinearLoss):
    """Regress the quantile ``tau`` by the check loss of r = y - x'w, smoothed by a Gaussian, + (l2/2)||w||^2.

    The check loss, or pinball loss, is tau r for r >= 0 and (tau - 1) r below. Smoothed with the bandwidth h it is the mean check
    loss of r + hZ, Z standard normal: convex, with the slope Phi(-r/h) - tau in the score, so that its minimiser is the quantile of
    targets blurred by h.

    Parameters
    ----------
    l2 : float, default 0.0
        The weight of the penalty (l2/2)||w||^2.
    unpenalised : int, default 0
        How many trailing coefficients the penalty leaves out.
    tau : float, default 0.5
        The quantile, strictly between 0 and 1: 0.5 is the median.
    bandwidth : float, optional
        h, in units of y. By default it is learned: 0.3 times the residual scale of the first rows, updated in every period. A loss
        without one has the value of the check loss itself.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.ones((3, 1)), np.array([-1.0, 0.0, 2.0])
    >>> QuantileLoss(tau=0.9).row_values(np.zeros(1), X, y)
    array([0.1, 0. , 1.8])
    >>> QuantileLoss(tau=0.9, bandwidth=0.5).row_values(np.zeros(1), X, y).round(4)
    array([0.1042, 0.1995, 1.8   ])
    """

    tau: float = 0.5
    bandwidth: float | None = None

    def __post_init__(self) -> None:
        LinearLoss.__post_init__(self)
        validation.fraction("QuantileLoss", tau=self.tau)
        if self.bandwidth is not None:
            validation.positive("QuantileLoss", bandwidth=self.bandwidth)

    @property
    def shape(self) -> float:
        """The quantile."""
        return float(self.tau)

    @property
    def open(self) -> bool:
        """Whether the bandwidth is yet to be learned."""
        return self.bandwidth is None

    @property
    def most_noise(self) -> float:
        """Four times tau (1 - tau) / f, f the density of normal residuals at the quantile."""
        if self.bandwidth is None:
            return math.inf
        density = math.exp(-0.5 * float(ndtri(self.tau)) ** 2) / _ROOT
        return 4.0 * self.tau * (1.0 - self.tau) * self.bandwidth / BANDWIDTH / density

    @property
    def exact(self) -> Self:
        """The check loss itself."""
        return replace(self, bandwidth=None)

    @property
    def shared_curvature(self) -> float:
        """The share of a row's curvature that is the mean of all rows: only the few near the quantile have any of their own."""
        return SHARED

    def tuned(self, scale: float, *, rows_per_coefficient: float = math.inf) -> Self:
        """Return the loss with the bandwidth for residuals of that scale, unless it has one; wider where rows are few.

        With n rows per coefficient the bandwidth is n^-0.4 times the scale, the rate at which smoothing costs no more than
        sampling, and at least 0.3 times: enough rows are then near the quantile to show the curvature.
        """
        if self.bandwidth is not None:
            return self
        share = max(BANDWIDTH, (rows_per_coefficient * math.sqrt(4.0 * self.tau * (1.0 - self.tau))) ** -0.4)
        return replace(self, bandwidth=share * max(scale, 1e-12))

    @property
    def curve(self) -> Curve:
        """The smoothed check loss; slope Phi((s - y)/h) - tau; bend phi((s - y)/h)/h."""
        tau, h = float(self.tau), self.bandwidth
        if h is None:
            return Curve(
                phi=lambda s, y: (s - y) * np.where(s > y, 1.0 - tau, -tau),
                slope=lambda s, y: np.where(s > y, 1.0 - tau, -tau),
                bend=lambda s, y: np.zeros_like(s - y),
                curvature=1.0,
            )
        width = float(h)

        def density(u: FloatArray) -> FloatArray:
            return np.asarray(np.exp(-0.5 * np.square(np.clip(u, -40.0, 40.0))) / _ROOT)

        def phi(scores: FloatArray, y: FloatArray) -> FloatArray:
            off = scores - y
            return np.asarray(off * (ndtr(off / width) - tau) + width * density(off / width))

        def majorant(scores: FloatArray, y: FloatArray) -> FloatArray:
            off = np.maximum(np.abs(scores - y), 1e-6 * width)
            return np.asarray((ndtr(off / width) - 0.5) / off)

        return Curve(
            phi=phi,
            slope=lambda s, y: ndtr((s - y) / width) - tau,
            bend=lambda s, y: density((s - y) / width) / width,
            curvature=1.0 / (width * _ROOT),
            majorant=majorant,
        )

    def encode(self, y: FloatArray) -> FloatArray:
        """Return finite numbers as floats, or raise DataError."""
        return encode_numbers("QuantileLoss", y)

    def constant_score(self, y: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the quantile of the targets."""
        return weighted_quantile(y, self.tau, weights)
