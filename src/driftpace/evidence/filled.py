"""Estimated constants, with those the user gave put in their place."""

from dataclasses import dataclass, field
from typing import Any

from driftpace.evidence.pooled import PooledEvidence
from driftpace.evidence.protocol import Evidence
from driftpace.losses.protocol import Loss
from driftpace.records import Constants
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class FilledEvidence:
    """What the user gave, and estimates for the rest.

    >>> from driftpace.losses import SquaredLoss
    >>> evidence = FilledEvidence(given=Constants.given(m=1.0))
    >>> evidence.constants(evidence.init(3), SquaredLoss()).safe("m")
    1.0
    """

    given: Constants
    estimated: Evidence = field(default_factory=PooledEvidence)

    def init(self, features: int) -> Any:
        """Return the state before the first period."""
        return self.estimated.init(features)

    def update(self, state: Any, loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray) -> Any:
        """Return the state after one more period of rows."""
        return self.estimated.update(state, loss, coef, X, y)

    def constants(self, state: Any, loss: Loss) -> Constants:
        """Return the estimates, overridden by what the user gave."""
        return self.estimated.constants(state, loss).updated(self.given)
