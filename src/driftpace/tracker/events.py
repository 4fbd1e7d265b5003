"""What can happen to a tracker: a log of these, folded by the engine, is its state."""

from dataclasses import dataclass

from driftpace.typing import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """The user asked; ``pool`` is how many rows the period can give at most, where that is known."""

    pool: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Told:
    """Rows came, as the door let them in: finite floats, with names of columns and groups of rows where there are any."""

    X: FloatArray
    y: FloatArray
    columns: tuple[str, ...] | None = None
    groups: IntArray | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Closed:
    """The user closed the period on whatever was told."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Forgot:
    """The user took back what was told in the open period."""


Event = Asked | Told | Closed | Forgot
