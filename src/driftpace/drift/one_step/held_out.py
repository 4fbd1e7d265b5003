"""The direct estimate with gradients on rows that did not train the model."""

import math
from dataclasses import dataclass
from typing import ClassVar

from driftpace import validation
from driftpace.constants.concentration import length
from driftpace.drift.one_step.direct import LastFit, direct_step
from driftpace.drift.one_step.protocol import Step
from driftpace.losses.protocol import Loss
from driftpace.records import Seen


@dataclass(frozen=True, kw_only=True, slots=True)
class DirectHeldOut:
    """||w_i - w_{i-1}|| + (1/m)||G_i|| + (1/m)||G_{i-1}||, G_i the mean gradient at w_i on rows kept apart from training.

    E||G|| is at least ||grad f|| (Jensen), so no correction is needed: D_n = 0. But the split costs accuracy and a norm of
    noise is never zero, so it overshoots more than the estimate on training rows (theory 3.3 H): a reference, not a default.
    ``fraction`` of each period's rows, rounded down, is kept apart.

    >>> DirectHeldOut(fraction=0.25).held_out
    0.25
    """

    fraction: float = 1.0 / 3.0

    squared: ClassVar[bool] = False
    measures: ClassVar[str] = "rho"
    correctable: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("m",)
    account: ClassVar[str] = "direct estimate on rows kept apart"

    def __post_init__(self) -> None:
        validation.fraction("DirectHeldOut", fraction=self.fraction)

    @property
    def held_out(self) -> float:
        """The share of each period's rows that must be kept apart from training."""
        return self.fraction

    def least_rows(self, features: int) -> int:
        """Return enough for one row to be kept apart."""
        del features
        return math.ceil(1.0 / self.fraction)

    def init(self, features: int) -> LastFit:
        """Return the state before the first period."""
        return LastFit.none(features)

    def measure(self, state: LastFit, seen: Seen, loss: Loss) -> tuple[LastFit, Step | None]:
        """Return the state after one more period, and the estimate where both periods had rows kept apart."""
        if len(seen.y) == 0 or len(seen.y_held) == 0:
            return state, None
        pull = length(loss.gradient(seen.coef, seen.X_held, seen.y_held))
        step = direct_step(state, seen, pull, "DirectHeldOut")
        return LastFit(period=seen.period, coef=seen.coef.copy(), pull=pull), step
