"""The protocol of estimators of constants, and constants given by the user."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from driftpace.losses.protocol import Loss
from driftpace.records import Constants
from driftpace.typing import FloatArray


@runtime_checkable
class ConstantsEstimator(Protocol):
    """Protocol of estimators of a problem's constants from rows pooled over periods, with O(features^2) memory.

    Rows reach :meth:`update` before any model is fitted on them, at the model they did not train (``coef``), so their gradients
    are unbiased. The state is a frozen dataclass of numbers, arrays and tuples.
    """

    def init(self, features: int) -> Any:
        """Return the state before the first period."""
        ...

    def update(self, state: Any, loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray) -> Any:
        """Return the state after one more period of rows."""
        ...

    def constants(self, state: Any, loss: Loss) -> Constants:
        """Return the constants as far as they are known, each with its interval."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class NoState:
    """State of an estimator that keeps nothing."""


@dataclass(frozen=True, slots=True)
class GivenConstants:
    """Constants given by the user, which rows do not change.

    Parameters
    ----------
    given : Constants
        The constants.

    Examples
    --------
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
