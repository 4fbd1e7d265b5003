"""An estimate of the drift."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class DriftEstimate:
    """How far the best model moves in one period, with an upper end and an account of how it was made.

    ``measures`` is "rho" when the number bounds the movement of the minimiser in one period, and "distance" when it
    bounds the distance from the last model to the new minimiser, which is what a risk bound wants (theory 3.3 P).
    ``steps`` is the number of one-step estimates behind it: 0 when the user gave the number. ``age`` is the number of
    closed periods since the last of them was formed.
    """

    value: float
    upper: float
    steps: int
    measures: str
    account: str
    age: int = 0
