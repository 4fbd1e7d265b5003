"""Which of several candidates a period chose, and by how much."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Selected:
    """The candidate that cross-validation chose in a period, with the score of each.

    ``candidates`` are their labels, ``chosen`` the one taken. ``scores`` are mean losses without any penalty on rows that a fit
    did not see, ``errors`` their standard errors and ``gaps`` the standard errors of their differences from the chosen one, in
    the order of the candidates. ``folds`` is how many parts the rows were divided into; where it is 0 the rows were too few to
    compare anything, the scores are empty and the choice of the period before stands.
    """

    candidates: tuple[str, ...]
    chosen: str
    scores: tuple[float, ...] = ()
    errors: tuple[float, ...] = ()
    gaps: tuple[float, ...] = ()
    folds: int = 0

    @property
    def index(self) -> int:
        """The place of the chosen candidate, from 0."""
        return self.candidates.index(self.chosen)
