"""The debiased difference of two periods' own minimisers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace import require
from driftpace.concentration import influences, leverages, scaled_inverse
from driftpace.drift.one_step.protocol import Step
from driftpace.drift.one_step.reading import all_rows
from driftpace.losses import LinearLoss
from driftpace.losses.protocol import Loss
from driftpace.records import Seen
from driftpace.typing import FloatArray

_POWERS = {"hc2": 0.5, "hc3": 1.0}


@dataclass(frozen=True, kw_only=True, slots=True)
class LastMinimiser:
    """The last period that could be fitted on its own: its number, its minimiser, the trace of its variance."""

    period: int | None
    minimiser: FloatArray
    noise: float


@dataclass(frozen=True, kw_only=True, slots=True)
class DebiasedDifference:
    """R_i = ||theta_i - theta_{i-1}||^2 - tr V_i - tr V_{i-1}, whose mean is about rho_i^2 (theory 3.3 N).

    theta_i = w_i - H_i^-1 grad F_i(w_i) is one Newton step from the model on the rows of period i alone (least squares for
    the squared loss); V_i = H_i^-1 S_i H_i^-1 / K_i is its sandwich variance, with S_i from gradients divided by a power of
    one minus the leverage. It has no floor: the drift is seen at any accuracy of the models, given periods enough.

    ``residuals="hc3"`` over-states V for few rows and so under-states the drift; ``"hc2"`` does not where the noise level is
    constant. A period with no more rows than features, or with collinear columns, has no minimiser of its own: it and its
    successor are skipped. No constant of the problem is needed.

    >>> DebiasedDifference(residuals="hc2").squared
    True
    """

    residuals: str = "hc3"

    squared: ClassVar[bool] = True
    measures: ClassVar[str] = "rho"
    correctable: ClassVar[bool] = False
    held_out: ClassVar[float] = 0.0
    account: ClassVar[str] = "difference of the periods' own minimisers, their noise subtracted"

    def __post_init__(self) -> None:
        require.choice("DebiasedDifference", tuple(_POWERS), residuals=self.residuals)

    def init(self, features: int) -> LastMinimiser:
        """Return the state before the first period."""
        return LastMinimiser(period=None, minimiser=np.zeros(features), noise=0.0)

    def measure(self, state: LastMinimiser, seen: Seen, loss: Loss) -> tuple[LastMinimiser, Step | None]:
        """Return the state after one more period, and R_i where both periods have a minimiser of their own."""
        X, y = all_rows(seen)
        found = _own_minimiser(loss, seen.coef, X, y, _POWERS[self.residuals])
        if found is None:
            return state, None
        minimiser, noise = found
        step = None
        if state.period is not None and seen.period == state.period + 1:
            moved = minimiser - state.minimiser
            step = Step(value=float(moved @ moved) - noise - state.noise)
        return LastMinimiser(period=seen.period, minimiser=minimiser, noise=noise), step


def _own_minimiser(
    loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray, power: float
) -> tuple[FloatArray, float] | None:
    """Return theta and tr V, or None when the rows do not identify a minimiser."""
    rows, features = X.shape
    inverse = scaled_inverse(loss.hessian(coef, X, y)) if rows > features else None
    if inverse is None:
        return None
    minimiser = coef - inverse @ loss.gradient(coef, X, y)
    if isinstance(loss, LinearLoss):
        shares = leverages(X, loss.curve.bend(X @ coef, y), inverse)
    else:  # a loss that does not say how each row bends: every row the same share
        shares = np.full(rows, features / rows)
    pushes = influences(loss.row_gradients(minimiser, X, y), shares, power=power) @ inverse
    return minimiser, float(np.einsum("ki,ki->", pushes, pushes)) / rows**2
