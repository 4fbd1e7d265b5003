"""Candidates side by side in one tracker: what it is made of and what it remembers, both frozen."""

from dataclasses import dataclass

import numpy as np

from driftpace.losses import Loss
from driftpace.selection import Selection, Tally
from driftpace.tracker.state import Settings, State
from driftpace.typing import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Branches:
    """The ``settings`` of each candidate, how one is chosen, and the user's ``loss``: without its penalty it judges them."""

    settings: tuple[Settings, ...]
    selection: Selection
    loss: Loss


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class BranchedState:
    """``states`` of each candidate, and which was ``chosen`` last.

    ``features`` and ``columns`` are those of the rows as they come; ``places`` are the columns that each candidate sees, None
    for all. ``groups`` has one entry for each part of the period that was told: the group of each row, or None. ``tally`` are
    the losses of earlier periods on rows that were not learnt from, where they count.
    """

    states: tuple[State, ...]
    chosen: int = 0
    features: int | None = None
    columns: tuple[str, ...] | None = None
    places: tuple[tuple[int, ...] | None, ...] = ()
    groups: tuple[IntArray | None, ...] = ()
    tally: Tally | None = None

    @property
    def state(self) -> State:
        """The state of the candidate that was chosen last."""
        return self.states[self.chosen]

    @property
    def period(self) -> int:
        """The period being asked for."""
        return self.state.period

    @property
    def order(self) -> object:
        """What was decided for the period, None before it is asked for."""
        return self.state.order

    @property
    def gathered(self) -> int:
        """The rows told so far in this period."""
        return self.state.gathered

    @property
    def coef(self) -> FloatArray | None:
        """The chosen model."""
        return self.coef_of(self.chosen)

    def coef_of(self, index: int) -> FloatArray | None:
        """Return a candidate's model over all columns, zero for those it does not see; the intercept last, where there is one."""
        coef = self.states[index].coef
        if coef is None or (self.features is not None and not self.places):  # names of columns come with the first rows
            return None
        places = self.places[index] if self.places else None
        if places is None:
            return coef
        assert self.features is not None
        whole = np.zeros(self.features + coef.size - len(places))
        whole[list(places)] = coef[: len(places)]
        whole[self.features :] = coef[len(places) :]
        return whole
