"""What one study adds to the finding."""

from dataclasses import dataclass

from paper.records import Claim, Comparison, Figure, OpenConstant, Sensitivity

SURE = 3.0
"""A difference is called one when it is at least this many standard errors."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Part:
    """Figures, numbers and claims of one study, and its outcome in one sentence."""

    sentence: str
    figures: tuple[Figure, ...]
    comparisons: tuple[Comparison, ...]
    claims: tuple[Claim, ...]
    sensitivity: tuple[Sensitivity, ...] = ()
    constants: tuple[OpenConstant, ...] = ()
    notes: tuple[str, ...] = ()
