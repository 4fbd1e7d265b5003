"""What a learner must be able to do."""

from typing import Protocol, runtime_checkable

from driftpace.bounds.base import RiskBound
from driftpace.constraints.protocol import Set
from driftpace.losses.protocol import Loss
from driftpace.records import Constants, Fit
from driftpace.typing import FloatArray


@runtime_checkable
class Learner(Protocol):
    """Turns the last model and new samples into the next model, and knows the bound that is true for it."""

    def bound(self, constants: Constants, features: int) -> RiskBound:
        """Return what this learner promises when these constants hold; ParameterError names a constant that is missing."""
        ...

    def fit(
        self,
        loss: Loss,
        domain: Set,
        start: FloatArray,
        X: FloatArray,
        y: FloatArray,
        *,
        constants: Constants,
        distance: float,
    ) -> Fit:
        """Return the next model from ``start``, at most ``distance`` from the minimiser, and the rows in their order."""
        ...
