"""What an estimator of the constants must be able to do."""

from typing import Any, Protocol, runtime_checkable

from driftpace.losses.protocol import Loss
from driftpace.records import Constants
from driftpace.typing import FloatArray


@runtime_checkable
class ConstantsEstimator(Protocol):
    """Estimates the constants of a problem from rows, pooled over periods, with O(features^2) memory.

    Rows reach :meth:`update` before any model is fitted on them, at the model they did not train (``coef``), so gradients
    are honest. The state is a frozen dataclass of numbers, arrays and tuples.
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
