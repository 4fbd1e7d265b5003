"""A number with its uncertainty and where it came from."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A number, the interval it is believed to lie in, and an account of how it was made.

    ``rows`` is the number of rows behind it: 0 when the user gave the number, and then ``lower == value == upper``.

    >>> Estimate.given(2.0).upper
    2.0
    """

    value: float
    lower: float
    upper: float
    rows: int
    account: str

    @classmethod
    def given(cls, value: float) -> "Estimate":
        """Return a number that the user vouches for."""
        number = float(value)
        return cls(value=number, lower=number, upper=number, rows=0, account="given")

    @property
    def is_given(self) -> bool:
        """Whether the user gave the number."""
        return self.rows == 0
