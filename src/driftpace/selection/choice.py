"""Which candidate is taken, from the losses of each on rows that it did not learn from."""

import math
from dataclasses import dataclass
from typing import Literal, Self, get_args

import numpy as np

from driftpace import validation
from driftpace.errors import DataError
from driftpace.records import Selected
from driftpace.typing import FloatArray, IntArray

Choosing = Literal["least", "one-standard-error"]
CHOOSING = get_args(Choosing)
_ALIKE = 1e-12


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Tally:
    """Sums over losses from which means, their standard errors and those of differences follow, for any number of rows.

    Rows come in units that are independent: rows themselves, or groups of rows. With s_u the losses of the candidates summed
    over unit u, n_u its rows and q_u its weight (1 when it is new): ``rows`` sum q_u n_u, ``sums`` sum q_u s_u, ``squares`` sum
    q_u^2 s_u s_u', ``cross`` sum q_u^2 n_u s_u, ``sizes`` sum q_u^2 n_u^2. The covariance of the mean losses is
    sum q_u^2 (s_u - n_u mean)(s_u - n_u mean)' / rows^2, times units/(units - 1), with units = rows^2/sizes: their number, or as
    many equal ones as say as much.

    >>> tally = Tally.of(np.array([[1.0, 3.0, 2.0, 2.0], [1.5, 3.5, 2.0, 1.5]]))
    >>> tally.scores, tally.errors.round(4)
    (array([2.   , 2.125]), array([0.4082, 0.4732]))
    """

    rows: float
    sums: FloatArray
    squares: FloatArray
    cross: FloatArray
    sizes: float

    @classmethod
    def of(cls, losses: FloatArray, groups: IntArray | None = None, weights: FloatArray | None = None) -> Self:
        """Return the tally of losses, (candidates, rows); a loss that is not finite makes its candidate's score infinite.

        A row with a weight counts as so many rows in n_u and s_u.
        """
        losses = np.asarray(losses, dtype=np.float64)
        if losses.ndim != 2 or losses.shape[1] == 0:
            raise DataError(
                f"must be candidates by rows, and not empty; got shape {losses.shape}.",
                owner="Tally.of",
                name="losses",
            )
        lost = np.asarray(~np.isfinite(losses).all(axis=1))
        losses = np.where(lost[:, None], 0.0, losses)
        sizes = np.ones(losses.shape[1]) if weights is None else weights
        losses = losses if weights is None else losses * weights
        rows = float(sizes.sum())
        if groups is not None:
            names, of_row = np.unique(groups, return_inverse=True)
            sizes = np.asarray(np.bincount(of_row, sizes), dtype=np.float64)
            losses = np.array([np.bincount(of_row, weights=one, minlength=len(names)) for one in losses])
        sums = losses.sum(axis=1)
        return cls(
            rows=rows,
            sums=np.where(lost, np.inf, sums),
            squares=losses @ losses.T,
            cross=losses @ sizes,
            sizes=float(sizes @ sizes),
        )

    @property
    def finite(self) -> bool:
        """Whether no loss overflowed."""
        return bool(np.isfinite(self.sums).all())

    def after(self, more: "Tally", keep: float) -> "Tally":
        """Return the tally with more rows, the old ones counting for ``keep`` of what they did."""
        return Tally(
            rows=keep * self.rows + more.rows,
            sums=keep * self.sums + more.sums,
            squares=keep**2 * self.squares + more.squares,
            cross=keep**2 * self.cross + more.cross,
            sizes=keep**2 * self.sizes + more.sizes,
        )

    @property
    def scores(self) -> FloatArray:
        """The mean loss of each candidate."""
        return self.sums / self.rows

    @property
    def errors(self) -> FloatArray:
        """The standard error of each mean; infinite where one unit alone cannot show it."""
        return self._roots(np.diag(self._covariance()))

    def gaps(self, other: int) -> FloatArray:
        """Return the standard error of the difference of each mean from that of candidate ``other``."""
        covariance = self._covariance()
        own = np.diag(covariance)
        return self._roots(own + own[other] - 2.0 * covariance[other])

    def _covariance(self) -> FloatArray:
        mean = np.where(np.isfinite(self.sums), self.sums, 0.0) / self.rows
        mixed = np.outer(self.cross, mean)
        centred = self.squares - mixed - mixed.T + self.sizes * np.outer(mean, mean)
        return np.asarray(centred / self.rows**2)

    def _roots(self, variances: FloatArray) -> FloatArray:
        units = self.rows**2 / self.sizes
        if units <= 1.0:
            return np.full(len(variances), math.inf)
        free = units / (units - 1.0)
        return np.where(np.isfinite(self.sums), np.sqrt(np.maximum(variances, 0.0) * free), math.inf)


def choose(
    candidates: tuple[str, ...], tally: Tally, *, choosing: Choosing = "least", last: int = 0, folds: int
) -> Selected:
    """Return the candidate of least mean loss, or the simplest one within a standard error of it (Hastie et al. 2009, 7.10).

    Candidates come from the richest to the simplest. Where all are alike the ``last`` one stays.

    >>> tally = Tally.of(np.array([[1.0, 3.0, 2.0, 2.0], [1.5, 3.5, 2.0, 1.5]]))
    >>> choose(("a", "b"), tally, folds=2).chosen, choose(("a", "b"), tally, choosing="one-standard-error", folds=2).chosen
    ('a', 'b')
    """
    validation.choice("choose", CHOOSING, choosing=choosing)
    scores, errors = tally.scores, tally.errors
    if len(scores) != len(candidates):
        raise DataError(
            f"must have a score for each of {len(candidates)} candidates; got {len(scores)}.",
            owner="choose",
            name="tally",
        )
    least = int(np.argmin(scores))
    taken = last
    if math.isfinite(scores[least]):
        finite = np.isfinite(scores)
        near = scores[least] + _ALIKE * np.abs(scores[finite]).max()
        if not (scores <= near).all():
            near = max(near, scores[least] + errors[least]) if choosing == "one-standard-error" else near
            taken = int(np.flatnonzero(finite & (scores <= near))[-1])
    return Selected(
        candidates=candidates,
        chosen=candidates[taken],
        scores=tuple(float(score) for score in scores),
        errors=tuple(float(error) for error in errors),
        gaps=tuple(float(gap) for gap in tally.gaps(taken)),
        folds=folds,
    )
