"""The paper's direct estimate, on training rows or on held-out rows."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace import validation
from driftpace.constants.concentration import length
from driftpace.drift.one_step.base import Step, clip_to_diameter, strong_convexity
from driftpace.losses.protocol import Loss
from driftpace.records import PeriodData
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class LastFit:
    """The last period that had rows: its number (None before the first), its model, the length of the mean gradient."""

    period: int | None
    coef: FloatArray
    pull: float

    @classmethod
    def none(cls, features: int) -> "LastFit":
        """Return the state before the first period."""
        return cls(period=None, coef=np.zeros(features), pull=0.0)


def direct_step(state: LastFit, seen: PeriodData, pull: float, owner: str) -> Step | None:
    """Return ||w_i - w_{i-1}|| + (||G_i|| + ||G_{i-1}||) / m, or None when the period before had no rows (theory 3.1)."""
    if state.period is None or seen.period != state.period + 1:
        return None
    m = strong_convexity(owner, seen.constants)
    moved = length(seen.coef - state.coef)
    return Step(value=clip_to_diameter(moved + pull / m + state.pull / m, seen.constants))


@dataclass(frozen=True, kw_only=True, slots=True)
class Direct:
    """The paper's direct estimate, with gradients on the training rows (theory 3.1).

    ||w_i - w_{i-1}|| + (1/m)||G_i|| + (1/m)||G_{i-1}||, G_i the mean gradient at w_i on the rows that trained it. Each gradient
    bounds the distance of a model from its own period's minimiser (the printed derivation has f_i(w_{i-1}), theory I2). On
    training rows G is too short: the correction D_n compensates in theory, and is large. The estimate cannot detect drift
    below the accuracy of the models: its floor is about the root of the risk (theory 3.3).

    Examples
    --------
    >>> Direct().account
    'direct estimate on the training rows'
    """

    squared: ClassVar[bool] = False
    measures: ClassVar[str] = "rho"
    correctable: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("m",)
    held_out: ClassVar[float] = 0.0
    account: ClassVar[str] = "direct estimate on the training rows"

    def least_rows(self, features: int) -> int:
        """Return 1."""
        del features
        return 1

    def init(self, features: int) -> LastFit:
        """Return the state before the first period."""
        return LastFit.none(features)

    def measure(self, state: LastFit, seen: PeriodData, loss: Loss) -> tuple[LastFit, Step | None]:
        """Return the state after one more period, and the estimate where the period before had rows too."""
        del loss
        if len(seen.y) == 0:
            return state, None
        pull = length(seen.gradient)
        step = direct_step(state, seen, pull, "Direct")
        return LastFit(period=seen.period, coef=seen.coef.copy(), pull=pull), step


@dataclass(frozen=True, kw_only=True, slots=True)
class DirectHeldOut:
    """The direct estimate with gradients on held-out rows (theory 3.3 H).

    ||w_i - w_{i-1}|| + (1/m)||G_i|| + (1/m)||G_{i-1}||, G_i the mean gradient at w_i on rows held out from training. E||G|| is at
    least ||grad f|| (Jensen), so no correction is needed: D_n = 0. But the split costs accuracy and the norm of noise is never
    zero, so it overshoots more than the estimate on training rows: a reference, not a default.

    Parameters
    ----------
    fraction : float, default 0.3333333333333333
        Fraction of each period's rows held out, rounded down.

    Examples
    --------
    >>> DirectHeldOut(fraction=0.25).held_out
    0.25
    """

    fraction: float = 1.0 / 3.0

    squared: ClassVar[bool] = False
    measures: ClassVar[str] = "rho"
    correctable: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("m",)
    account: ClassVar[str] = "direct estimate on held-out rows"

    def __post_init__(self) -> None:
        validation.fraction("DirectHeldOut", fraction=self.fraction)

    @property
    def held_out(self) -> float:
        """The share of each period's rows that must be held out from training."""
        return self.fraction

    def least_rows(self, features: int) -> int:
        """Return enough for one row to be kept apart."""
        del features
        return math.ceil(1.0 / self.fraction)

    def init(self, features: int) -> LastFit:
        """Return the state before the first period."""
        return LastFit.none(features)

    def measure(self, state: LastFit, seen: PeriodData, loss: Loss) -> tuple[LastFit, Step | None]:
        """Return the state after one more period, and the estimate where both periods had held-out rows."""
        if len(seen.y) == 0 or len(seen.y_held) == 0:
            return state, None
        pull = length(loss.gradient(seen.coef, seen.X_held, seen.y_held))
        step = direct_step(state, seen, pull, "DirectHeldOut")
        return LastFit(period=seen.period, coef=seen.coef.copy(), pull=pull), step
