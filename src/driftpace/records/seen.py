"""What one closed period shows to the estimators of constants and of drift."""

from dataclasses import dataclass

from driftpace.records.constants import Constants
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """One closed period: its rows, the model before, the model after.

    ``X, y`` are the rows that trained ``coef``; ``X_held, y_held`` are rows kept apart from training (empty by default).
    ``gradient`` is the mean gradient at ``coef`` over the training rows. ``scatter`` is C, a limit on how far apart two
    independent fits of the period would land, sqrt(E||w - w~||^2) <= C (B.3); infinite when nothing is known.
    """

    period: int
    X: FloatArray
    y: FloatArray
    X_held: FloatArray
    y_held: FloatArray
    start: FloatArray
    coef: FloatArray
    gradient: FloatArray
    scatter: float
    constants: Constants
