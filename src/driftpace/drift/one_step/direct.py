"""The paper's direct estimate."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace.constants.concentration import length
from driftpace.drift.one_step.protocol import Step
from driftpace.drift.one_step.reading import limited, strong_convexity
from driftpace.losses.protocol import Loss
from driftpace.records import Seen
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


def direct_step(state: LastFit, seen: Seen, pull: float, owner: str) -> Step | None:
    """Return ||w_i - w_{i-1}|| + (||G_i|| + ||G_{i-1}||) / m, or None when the period before had no rows (theory 3.1)."""
    if state.period is None or seen.period != state.period + 1:
        return None
    m = strong_convexity(owner, seen.constants)
    moved = length(seen.coef - state.coef)
    return Step(value=limited(moved + pull / m + state.pull / m, seen.constants))


@dataclass(frozen=True, kw_only=True, slots=True)
class Direct:
    """||w_i - w_{i-1}|| + (1/m)||G_i|| + (1/m)||G_{i-1}||, G_i the mean gradient at w_i on the rows that trained it.

    Each gradient bounds the distance of a model from its own period's minimiser (the printed derivation has f_i(w_{i-1}),
    theory I2). The rows are the training rows, so G is too short: the correction D_n makes up for that in theory, and is
    large. It cannot see drift slower than the accuracy of the models: its floor is about the root of the risk (theory 3.3).

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

    def measure(self, state: LastFit, seen: Seen, loss: Loss) -> tuple[LastFit, Step | None]:
        """Return the state after one more period, and the estimate where the period before had rows too."""
        del loss
        if len(seen.y) == 0:
            return state, None
        pull = length(seen.gradient)
        step = direct_step(state, seen, pull, "Direct")
        return LastFit(period=seen.period, coef=seen.coef.copy(), pull=pull), step
