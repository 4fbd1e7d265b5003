"""Constants that the user gave."""

from dataclasses import dataclass

from driftpace.losses.protocol import Loss
from driftpace.records import Constants
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class NothingToLearn:
    """The state of evidence that does not look at rows."""


@dataclass(frozen=True, slots=True)
class GivenConstants:
    """What the user vouches for, and nothing else: rows change nothing.

    >>> from driftpace.losses import SquaredLoss
    >>> evidence = GivenConstants(Constants.given(m=1.0, M=2.0))
    >>> evidence.constants(evidence.init(3), SquaredLoss()).safe("M")
    2.0
    """

    given: Constants

    def init(self, features: int) -> NothingToLearn:
        """Return the empty state."""
        del features
        return NothingToLearn()

    def update(
        self, state: NothingToLearn, loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray
    ) -> NothingToLearn:
        """Return the state as it was."""
        del loss, coef, X, y
        return state

    def constants(self, state: NothingToLearn, loss: Loss) -> Constants:
        """Return what the user gave."""
        del state, loss
        return self.given
