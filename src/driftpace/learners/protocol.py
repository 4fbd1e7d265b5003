"""The protocol of learners."""

from typing import Protocol, runtime_checkable

from driftpace.bounds.base import RiskBound
from driftpace.constraints import ConstraintSet
from driftpace.losses.protocol import Loss
from driftpace.records import Constants, Fit
from driftpace.typing import FloatArray


@runtime_checkable
class Learner(Protocol):
    """Protocol of learners: from the last model and new rows to the next model, with a bound that holds for it."""

    def bound(self, constants: Constants, features: int) -> RiskBound:
        """Return the bound of this learner under these constants; ParameterError names a missing constant."""
        ...

    def fit(
        self,
        loss: Loss,
        domain: ConstraintSet,
        start: FloatArray,
        X: FloatArray,
        y: FloatArray,
        *,
        constants: Constants,
        distance: float,
    ) -> Fit:
        """Return the next model from ``start``, at most ``distance`` from the minimiser, and the rows in their order."""
        ...
