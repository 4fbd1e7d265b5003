"""Constants that the user gave."""

from dataclasses import dataclass

from driftpace.losses.protocol import Loss
from driftpace.records import Constants
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class NoState:
    """The state of an estimator that keeps nothing."""


@dataclass(frozen=True, slots=True)
class GivenConstants:
    """What the user vouches for, and nothing else: rows change nothing.

    >>> from driftpace.losses import SquaredLoss
    >>> estimator = GivenConstants(Constants.given(m=1.0, M=2.0))
    >>> estimator.constants(estimator.init(3), SquaredLoss()).safe("M")
    2.0
    """

    given: Constants

    def init(self, features: int) -> NoState:
        """Return the empty state."""
        del features
        return NoState()

    def update(self, state: NoState, loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray) -> NoState:
        """Return the state as it was."""
        del loss, coef, X, y
        return state

    def constants(self, state: NoState, loss: Loss) -> Constants:
        """Return what the user gave."""
        del state, loss
        return self.given
