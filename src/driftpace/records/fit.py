"""What a learner hands back."""

from dataclasses import dataclass

from driftpace.records.outcome import Outcome
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """A fitted model.

    ``gradient`` is the mean gradient at ``coef`` over the ``rows`` rows that were used (the penalty included), which the
    direct estimate of the drift needs (theory 3.1); ``updates`` counts steps of the solver.
    """

    coef: FloatArray
    gradient: FloatArray
    rows: int
    updates: int
    outcome: Outcome
