"""Features that give the target away: near-copies of it, columns that determine it, and columns known only after it.

A feature is judged by itself and against all others together: a strong feature among strong ones is no surprise, while one that
leaves a fraction of the error of all others is either a copy of the target or the answer to the whole problem. Nothing is left
out: what is known before the label, only the user can say.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import rankdata

from driftpace.tables.categories import category_words
from driftpace.tables.cells import numbers_each
from driftpace.tables.columns import Column
from driftpace.tables.learn import is_numeric
from driftpace.typing import BoolArray, FloatArray, IntArray

CORRELATION, RANK_CORRELATION, AUC = 0.98, 0.99, 0.995
"""A feature is suspected above these, by how well it alone predicts numbers or two classes."""
LEFT_BY_OTHERS = 0.5
"""It is reported where it leaves less than this share of the error that all features not suspected leave together."""
FEW_VALUES = 50
"""Numbers of so few distinct values may be codes, and are judged as categories too."""
BINS = 100
"""Bins of numbers, of equal frequency, where there are several classes."""
FEWEST_ROWS, FEWEST_POSITIVES = 20, 5
"""With fewer rows, or rows of the rarer class, scores above the thresholds arise by chance."""
MOST_CLASSES = 12
"""Classes that are judged where there are several, the commonest."""
MOST_ROWS = 20_000
"""Rows used; more would not change the answer."""

LeakKind = Literal["copy", "determines", "after"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Leak:
    """A feature that may give the target away.

    Parameters
    ----------
    feature, target : str
        The columns.
    kind : {"copy", "determines", "after"}
        A number that predicts the target nearly perfectly, categories that do, or a column that is empty exactly where the
        target is.
    score : float
        The correlation, or the area under the ROC curve (AUC), that the feature reaches; for ``after`` the number of rows.
    others : float
        What all features that are not suspected reach together.
    measure : {"correlation", "rank correlation", "AUC", "rows"}
        What the score is.

    Examples
    --------
    >>> print(Leak(feature="fee", target="late", kind="copy", score=0.9996, others=0.71, measure="AUC").sentence)
    fee predicts late almost perfectly (AUC 0.9996; all other features together 0.71): exclude it if it is known only after late.
    """

    feature: str
    target: str
    kind: LeakKind
    score: float
    others: float
    measure: str

    @property
    def sentence(self) -> str:
        """The warning."""
        if self.kind == "after":
            return (
                f"{self.feature} is empty exactly where {self.target} is, in {self.score:,.0f} rows: exclude it if it is known "
                f"only after {self.target}."
            )
        verb = "determines" if self.kind == "determines" else "predicts"
        return (
            f"{self.feature} {verb} {self.target} almost perfectly ({self.measure} {self.score:.4g}; all other features "
            f"together {self.others:.2g}): exclude it if it is known only after {self.target}."
        )


def find_leaks(
    columns: Mapping[str, Column],
    features: Sequence[str],
    target: str,
    y: FloatArray,
    keep: BoolArray,
    *,
    classes: bool = False,
) -> list[Leak]:
    """Return the features that may give the target away.

    Parameters
    ----------
    columns : mapping of str to Column
        The table.
    features : sequence of str
        Columns to predict from.
    target : str
        The column to predict.
    y : array
        The target of the kept rows as numbers, two distinct ones for two classes.
    keep : array of bool
        The rows that have a target.
    classes : bool, default False
        Whether the numbers are codes of several classes: the AUC is then the mean over classes, each against the others.

    Returns
    -------
    list of Leak

    Examples
    --------
    >>> from driftpace.tables import read_columns
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 200))
    >>> table = read_columns({"x": x, "fee": 1.2 * y + 0.1 * rng.normal(size=200), "y": y})
    >>> [leak.feature for leak in find_leaks(table, ["x", "fee"], "y", y, np.ones(200, dtype=np.bool_))]
    ['fee']
    """
    after = _known_after(columns, features, target)
    if y.size < FEWEST_ROWS or np.ptp(y) == 0.0:
        return after
    chosen = np.unique(np.linspace(0, y.size - 1, min(y.size, MOST_ROWS)).astype(np.int64))
    rows, aims = np.flatnonzero(keep)[chosen], y[chosen]
    distinct, counts = np.unique(aims, return_counts=True)
    several = classes and distinct.size > 2
    classes = several or distinct.size == 2
    if several:  # one class at a time, the commonest first
        order = np.argsort(-counts, kind="stable")[:MOST_CLASSES]
        each = [(aims == distinct[place]).astype(np.float64) for place in order if counts[place] >= FEWEST_POSITIVES]
    else:
        each = [] if distinct.size < 2 or (classes and counts.min() < FEWEST_POSITIVES) else [aims]
    if not each:
        return after
    scores: dict[str, tuple[LeakKind, float, str]] = {}
    predictors: dict[str, list[FloatArray]] = {}
    for name in features:
        made = [_predictor(columns[name], rows, aim, binned=several) for aim in each]
        predictors[name] = [predictor for predictor, _ in made]
        judged = [_score(predictor, aim, classes) for predictor, aim in zip(predictors[name], each, strict=True)]
        scores[name] = (made[0][1], float(np.mean([score for score, _ in judged])), judged[0][1])
    least = {"correlation": CORRELATION, "rank correlation": RANK_CORRELATION, "AUC": AUC}
    suspects = [name for name, (_, score, measure) in scores.items() if score > least[measure]]
    if not suspects:
        return after
    leaks = []
    rest = [name for name in features if name not in suspects]
    together = [_together([predictors[name][place] for name in rest], aim, classes) for place, aim in enumerate(each)]
    others = float(np.mean(together))
    for name in suspects:
        kind, score, measure = scores[name]
        if _left(score, classes) < LEFT_BY_OTHERS * _left(others, classes):
            leaks.append(Leak(feature=name, target=target, kind=kind, score=score, others=others, measure=measure))
    known = {leak.feature for leak in leaks}
    return [*leaks, *(leak for leak in after if leak.feature not in known)]


def _known_after(columns: Mapping[str, Column], features: Sequence[str], target: str) -> list[Leak]:
    """Return the features that are empty where the target is, and hardly elsewhere."""
    gone = columns[target].missing
    count = int(gone.sum())
    if count < FEWEST_POSITIVES or gone.all():
        return []
    leaks = []
    for name in features:
        empty = columns[name].missing
        if empty[gone].mean() >= 0.95 and int(empty[~gone].sum()) <= 0.05 * count:
            leaks.append(
                Leak(feature=name, target=target, kind="after", score=float(count), others=0.0, measure="rows")
            )
    return leaks


def _predictor(column: Column, rows: IntArray, y: FloatArray, *, binned: bool = False) -> tuple[FloatArray, LeakKind]:
    """Return a feature as numbers that predict the target best: as they are, or the means of its categories.

    With ``binned``, numbers of many values are judged by the means of their bins too, missing cells being one: of several classes,
    one may lie between the others.
    """
    part = Column(kind=column.kind, values=column.values[rows], missing=column.missing[rows])
    if column.kind == "time":
        return part.values.astype(np.int64).astype(np.float64), "copy"
    if not is_numeric(part):
        return _category_means(np.array([str(word) for word in category_words(part)]), y), "determines"
    numbers = numbers_each(part)
    gone = np.isnan(numbers)
    if gone.all():
        return np.zeros(y.size), "copy"
    numbers = np.where(gone, numbers[~gone].mean(), np.clip(numbers, -1e75, 1e75))
    distinct = np.unique(numbers)
    if 2 < distinct.size <= FEW_VALUES:
        means = _category_means(numbers, y)
        if abs(_correlation(means, y)) > abs(_correlation(numbers, y)):
            return means, "determines"
    if binned and distinct.size > FEW_VALUES:
        ends = np.unique(np.quantile(numbers[~gone], np.linspace(0.0, 1.0, BINS + 1)[1:-1]))
        means = _category_means(np.where(gone, -1, np.searchsorted(ends, numbers)), y)
        if _auc(means, y) > _auc(numbers, y):
            return means, "copy"
    return numbers, "copy"


def _category_means(words: "np.ndarray[tuple[int], np.dtype[np.generic]]", y: FloatArray) -> FloatArray:
    """Return the mean target of each row's category in the other half of the rows; of all where it is not there."""
    codes = np.unique(words, return_inverse=True)[1]
    halves = np.arange(y.size) % 2
    means = np.empty(y.size)
    for half in (0, 1):
        other = halves != half
        sums = np.bincount(codes[other], weights=y[other], minlength=codes.max() + 1)
        counts = np.bincount(codes[other], minlength=codes.max() + 1)
        average = np.where(counts > 0, sums / np.maximum(counts, 1), y[other].mean())
        means[~other] = average[codes[~other]]
    return means


def _score(predictor: FloatArray, y: FloatArray, classes: bool) -> tuple[float, str]:
    """Return how well one column predicts the target, and what the score is."""
    if classes:
        return _auc(predictor, y), "AUC"
    plain, ranks = abs(_correlation(predictor, y)), abs(_correlation(rankdata(predictor), rankdata(y)))
    if plain <= CORRELATION and ranks > RANK_CORRELATION:
        return ranks, "rank correlation"
    return plain, "correlation"


def _correlation(a: FloatArray, b: FloatArray) -> float:
    a, b = a - a.mean(), b - b.mean()
    a, b = a / (np.abs(a).max() or 1.0), b / (np.abs(b).max() or 1.0)
    size = float(np.sqrt((a @ a) * (b @ b)))
    return 0.0 if size == 0.0 else float(a @ b) / size


def _auc(score: FloatArray, y: FloatArray) -> float:
    """Return the area under the ROC curve, whichever direction is the better."""
    positive = y == y.max()
    count = int(positive.sum())
    rank_sum = float(rankdata(score)[positive].sum())
    area = (rank_sum - count * (count + 1) / 2) / (count * (y.size - count))
    return max(area, 1.0 - area)


def _together(predictors: list[FloatArray], y: FloatArray, classes: bool) -> float:
    """Return what least squares on all columns reaches on the half of the rows that it was not fitted to."""
    if not predictors:
        return 0.5 if classes else 0.0
    X = np.column_stack([np.ones(y.size), *(_standardised(column) for column in predictors)])
    fit, test = np.arange(y.size) % 2 == 0, np.arange(y.size) % 2 == 1
    coef = np.linalg.lstsq(X[fit], y[fit], rcond=1e-8)[0]
    predicted = X[test] @ coef
    if np.unique(y[test]).size < 2:
        return 0.5 if classes else 0.0
    return _auc(predicted, y[test]) if classes else max(_correlation(predicted, y[test]), 0.0)


def _standardised(column: FloatArray) -> FloatArray:
    centred = column - column.mean()
    spread = float(np.abs(centred).max())
    return np.asarray(centred / spread if spread > 0.0 else centred)


def _left(score: float, classes: bool) -> float:
    """Return what a score leaves unexplained."""
    return 1.0 - score if classes else 1.0 - score**2
