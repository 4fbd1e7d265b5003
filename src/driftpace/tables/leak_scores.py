"""How well a column predicts a target, by itself and together with others: for the search for leaks."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import rankdata

from driftpace.tables.categories import category_words
from driftpace.tables.cells import numbers_each
from driftpace.tables.columns import Column
from driftpace.tables.learn import is_numeric
from driftpace.tables.number_text import numbers_in_texts
from driftpace.typing import BoolArray, FloatArray, IntArray

CORRELATION, RANK_CORRELATION, AUC = 0.98, 0.99, 0.995
"""A feature is suspected above these, by how well it alone predicts numbers or two classes."""
FEW_VALUES = 50
"""Numbers of so few distinct values may be codes, and are judged as categories too."""
BINS, ROWS_IN_BIN = 100, 10
"""The most bins of numbers, of equal frequency, and the rows of each, where there are several classes."""
FEWEST_ROWS, FEWEST_POSITIVES = 20, 5
"""With fewer rows, or rows of the rarer class, scores above the thresholds arise by chance."""

Kind = Literal["copy", "determines"]


@dataclass(frozen=True, slots=True, eq=False)
class Predictor:
    """A feature as numbers that predict the target, the rows that have it, and what it is called if it is a leak."""

    values: FloatArray
    known: BoolArray
    kind: Kind

    def part(self, rows: IntArray) -> "Predictor":
        """Return it for some rows."""
        return Predictor(self.values[rows], self.known[rows], self.kind)


def predictor_of(column: Column, rows: IntArray, y: FloatArray, *, binned: bool = False) -> Predictor:
    """Return a feature as numbers that predict the target best: as they are, or the means of its categories.

    With ``binned``, numbers of many values are judged by the means of their bins too, missing cells being one: of several classes,
    one may lie between the others.
    """
    part = Column(kind=column.kind, values=column.values[rows], missing=column.missing[rows])
    if column.kind == "time":
        return Predictor(part.values.astype(np.int64).astype(np.float64), ~part.missing, "copy")
    if not is_numeric(part):
        words = np.array([str(word) for word in category_words(part)])
        written = numbers_in_texts(words[~part.missing].tolist()) if np.unique(words).size > FEW_VALUES else None
        if written is None:
            return Predictor(_category_means(words, y), ~part.missing, "determines")
        numbers = np.full(y.size, np.nan)
        numbers[~part.missing] = written
    else:
        numbers = numbers_each(part)
    gone = np.isnan(numbers)
    if gone.all():
        return Predictor(np.zeros(y.size), ~gone, "copy")
    numbers = np.where(gone, numbers[~gone].mean(), np.clip(numbers, -1e75, 1e75))
    distinct = np.unique(numbers)
    if 2 < distinct.size <= FEW_VALUES:
        means = _category_means(numbers, y)
        if abs(_correlation(means[~gone], y[~gone])) > abs(_correlation(numbers[~gone], y[~gone])):
            return Predictor(means, ~gone, "determines")
    if binned and distinct.size > FEW_VALUES:
        bins = min(BINS, int((~gone).sum()) // ROWS_IN_BIN)
        ends = np.unique(np.quantile(numbers[~gone], np.linspace(0.0, 1.0, bins + 1)[1:-1]))
        means = _category_means(np.where(gone, -1, np.searchsorted(ends, numbers)), y)
        if _auc(means, y) > _auc(numbers, y):
            return Predictor(means, ~gone, "copy")
    return Predictor(numbers, ~gone, "copy")


def _category_means(words: "np.ndarray[tuple[int], np.dtype[np.generic]]", y: FloatArray) -> FloatArray:
    """Return the mean target of each row's category in the other half of the rows; of all where it is not there."""
    codes = np.unique(words, return_inverse=True)[1]
    halves = _halves(y.size)
    means = np.empty(y.size)
    for half in (0, 1):
        other = halves != half
        sums = np.bincount(codes[other], weights=y[other], minlength=codes.max() + 1)
        counts = np.bincount(codes[other], minlength=codes.max() + 1)
        average = np.where(counts > 0, sums / np.maximum(counts, 1), y[other].mean())
        means[~other] = average[codes[~other]]
    return means


class Judge:
    """Measures how well columns predict the target: over all rows, or within the periods ``strata`` of the rows."""

    def __init__(self, y: FloatArray, classes: bool, strata: IntArray | None = None) -> None:
        self.y, self.classes, self.strata = y, classes, strata
        self.ranks = _ranks(y, strata)

    def score(self, predictor: FloatArray) -> tuple[float, str]:
        """Return how well one column predicts the target, and what the score is."""
        if self.classes:
            return _auc(predictor, self.y, self.strata), "AUC"
        plain = abs(_correlation(_centred(predictor, self.strata), _centred(self.y, self.strata)))
        ranks = abs(_correlation(_ranks(predictor, self.strata), self.ranks))
        if plain <= CORRELATION and ranks > RANK_CORRELATION:
            return ranks, "rank correlation"
        return plain, "correlation"

    def together(self, predictors: list[FloatArray]) -> float:
        """Return what least squares on all columns reaches on the half of the rows that it was not fitted to."""
        least = 0.5 if self.classes else 0.0
        if not predictors:
            return least
        strata, y = self.strata, self.y if self.classes else _centred(self.y, self.strata)
        X = np.column_stack([np.ones(y.size), *(_standardised(_centred(column, strata)) for column in predictors)])
        test = _halves(y.size) == 1
        fit = ~test
        predicted = X[test] @ np.linalg.lstsq(X[fit], y[fit], rcond=1e-8)[0]
        if np.unique(y[test]).size < 2:
            return least
        if self.classes:
            return _auc(predicted, y[test], None if strata is None else strata[test])
        return max(_correlation(predicted, y[test]), 0.0)

    def on(self, rows: BoolArray) -> "Judge | None":
        """Return the judge of some rows; None where they are too few to tell."""
        y = self.y[rows]
        if y.size < FEWEST_ROWS or np.ptp(y) == 0.0:
            return None
        if self.classes and min(int((y == end).sum()) for end in (y.min(), y.max())) < FEWEST_POSITIVES:
            return None
        if self.strata is None:
            return Judge(y, self.classes)
        return Judge(y, self.classes, np.unique(self.strata[rows], return_inverse=True)[1])


def _centred(values: FloatArray, strata: IntArray | None) -> FloatArray:
    """Return the values without the mean of their period."""
    if strata is None:
        return values
    means = np.bincount(strata, weights=values) / np.bincount(strata)
    return np.asarray(values - means[strata])


def _ranks(values: FloatArray, strata: IntArray | None) -> FloatArray:
    """Return ranks, within each period from -1 to 1."""
    if strata is None:
        return np.asarray(rankdata(values))
    ranks = np.empty(values.size)
    for rows in _members(strata):
        ranks[rows] = (2.0 * rankdata(values[rows]) - rows.size - 1.0) / rows.size
    return ranks


def _members(strata: IntArray) -> list[IntArray]:
    """Return the rows of each period."""
    order = np.argsort(strata, kind="stable")
    return np.split(order, np.cumsum(np.bincount(strata))[:-1])


def _correlation(a: FloatArray, b: FloatArray) -> float:
    a, b = a - a.mean(), b - b.mean()
    a, b = a / (np.abs(a).max() or 1.0), b / (np.abs(b).max() or 1.0)
    size = float(np.sqrt((a @ a) * (b @ b)))
    return 0.0 if size == 0.0 else float(a @ b) / size


def _auc(score: FloatArray, y: FloatArray, strata: IntArray | None = None) -> float:
    """Return the area under the ROC curve, whichever direction is the better; of pairs within periods where these are given."""
    positive = y == y.max()
    won, pairs = 0.0, 0
    for rows in [np.arange(y.size)] if strata is None else _members(strata):
        first = positive[rows]
        count = int(first.sum())
        won += float(rankdata(score[rows])[first].sum()) - count * (count + 1) / 2
        pairs += count * (rows.size - count)
    area = won / pairs if pairs else 0.5
    return max(area, 1.0 - area)


def _halves(rows: int) -> IntArray:
    """Return the half of each row, 0 or 1, at random but always alike: every other row may be of one class."""
    return np.random.default_rng(0).permutation(rows) % 2


def _standardised(column: FloatArray) -> FloatArray:
    centred = column - column.mean()
    spread = float(np.abs(centred).max())
    return np.asarray(centred / spread if spread > 0.0 else centred)
