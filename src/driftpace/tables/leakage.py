"""Features that give the target away: near-copies of it, columns that determine it, and columns known only after it.

A feature is judged by itself and against all others together: a strong feature among strong ones is no surprise, while one that
leaves a fraction of the error of all others is either a copy of the target or the answer to the whole problem. Where rows have
periods, a feature is judged within them as well: incomes in prices of the day are a copy of real incomes, year by year. Nothing is
left out: what is known before the label, only the user can say.
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
FEWEST_IN_PERIOD = 10
"""Periods with fewer rows are not looked into."""
MOST_CLASSES = 12
"""Classes that are judged where there are several, the commonest."""
MOST_ROWS = 20_000
"""Rows used; more would not change the answer."""
WITHIN = " within periods"

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
        target is, or is of one class.
    score : float
        The correlation, or the area under the ROC curve (AUC), that the feature reaches; for ``after`` the number of rows.
    others : float
        What all features that are not suspected reach together.
    measure : {"correlation", "rank correlation", "AUC", "rows"}
        What the score is; "correlation within periods" and so on where the column is a copy only there.
    level : str, optional
        For ``after``, the class of the target where the feature is empty, where it is not the missing ones.

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
    level: str | None = None

    @property
    def sentence(self) -> str:
        """The warning."""
        if self.kind == "after":
            return (
                f"{self.feature} is empty exactly where {self.target} is{'' if self.level is None else f' {self.level!r}'}, in "
                f"{self.score:,.0f} rows: exclude it if it is known only after {self.target}."
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
    periods: IntArray | None = None,
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
    periods : array of int, optional
        The number of each kept row's period: features are then judged within periods, too.
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
    if classes or np.unique(y).size == 2:
        after += _empty_for_class(columns, features, target, y, keep)
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
    if several:
        leaks = _leaks_of_classes(columns, features, target, rows, each)
    else:
        inside = None if periods is None else _inside_periods(periods[chosen])
        leaks = _leaks_of_target(columns, features, target, rows, aims, inside, classes=classes)
    known = {leak.feature for leak in leaks}
    return [*leaks, *(leak for leak in after if leak.feature not in known)]


def _leaks_of_target(
    columns: Mapping[str, Column],
    features: Sequence[str],
    target: str,
    rows: IntArray,
    aims: FloatArray,
    inside: tuple[IntArray, IntArray] | None,
    *,
    classes: bool,
) -> list[Leak]:
    """Return the features that give numbers or two classes away, over all rows or within periods."""
    predictors: dict[str, FloatArray] = {}
    kinds: dict[str, LeakKind] = {}
    for name in features:
        predictors[name], kinds[name] = _predictor(columns[name], rows, aims)
    leaks = _leaks_among(predictors, kinds, target, _Judge(aims, classes))
    if inside is not None:
        members, strata = inside
        left = {name: values[members] for name, values in predictors.items() if name not in {x.feature for x in leaks}}
        leaks += _leaks_among(left, kinds, target, _Judge(aims[members], classes, strata))
    return leaks


def _leaks_of_classes(
    columns: Mapping[str, Column], features: Sequence[str], target: str, rows: IntArray, each: list[FloatArray]
) -> list[Leak]:
    """Return the features that give several classes away, by the mean AUC of each of them against the others."""
    judges = [_Judge(aim, True) for aim in each]
    scores: dict[str, tuple[LeakKind, float]] = {}
    predictors: dict[str, list[FloatArray]] = {}
    for name in features:
        made = [_predictor(columns[name], rows, aim, binned=True) for aim in each]
        predictors[name] = [predictor for predictor, _ in made]
        found = [judge.score(predictor)[0] for judge, predictor in zip(judges, predictors[name], strict=True)]
        scores[name] = (made[0][1], float(np.mean(found)))
    suspects = [name for name, (_, score) in scores.items() if score > AUC]
    if not suspects:
        return []
    rest = [name for name in features if name not in suspects]
    others = float(
        np.mean([judge.together([predictors[name][place] for name in rest]) for place, judge in enumerate(judges)])
    )
    return [
        Leak(feature=name, target=target, kind=scores[name][0], score=scores[name][1], others=others, measure="AUC")
        for name in suspects
        if _left(scores[name][1], True) < LEFT_BY_OTHERS * _left(others, True)
    ]


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


def _empty_for_class(
    columns: Mapping[str, Column], features: Sequence[str], target: str, y: FloatArray, keep: BoolArray
) -> list[Leak]:
    """Return the features that are empty in the rows of one class and hardly elsewhere, such as the delay of cancelled flights."""
    leaks = []
    for name in features:
        empty = columns[name].missing[keep]
        count = int(empty.sum())
        if count < FEWEST_POSITIVES or empty.all():
            continue
        codes, counts = np.unique(y[empty], return_counts=True)
        members = y == codes[counts.argmax()]
        if empty[members].mean() >= 0.95 and counts.max() >= 0.95 * count:
            word = category_words(columns[target])[np.flatnonzero(keep)[int(members.argmax())]]
            leaks.append(
                Leak(
                    feature=name,
                    target=target,
                    kind="after",
                    score=float(counts.max()),
                    others=0.0,
                    measure="rows",
                    level=str(word),
                )
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
    halves = _halves(y.size)
    means = np.empty(y.size)
    for half in (0, 1):
        other = halves != half
        sums = np.bincount(codes[other], weights=y[other], minlength=codes.max() + 1)
        counts = np.bincount(codes[other], minlength=codes.max() + 1)
        average = np.where(counts > 0, sums / np.maximum(counts, 1), y[other].mean())
        means[~other] = average[codes[~other]]
    return means


class _Judge:
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


def _leaks_among(
    predictors: Mapping[str, FloatArray], kinds: Mapping[str, LeakKind], target: str, judge: _Judge
) -> list[Leak]:
    """Return the columns that predict the target nearly perfectly, and much better than all that do not."""
    scores = {name: judge.score(values) for name, values in predictors.items()}
    least = {"correlation": CORRELATION, "rank correlation": RANK_CORRELATION, "AUC": AUC}
    suspects = [name for name, (score, measure) in scores.items() if score > least[measure]]
    if not suspects:
        return []
    others = judge.together([values for name, values in predictors.items() if name not in suspects])
    where = "" if judge.strata is None else WITHIN
    return [
        Leak(feature=name, target=target, kind=kinds[name], score=score, others=others, measure=measure + where)
        for name, (score, measure) in scores.items()
        if name in suspects and _left(score, judge.classes) < LEFT_BY_OTHERS * _left(others, judge.classes)
    ]


def _inside_periods(periods: IntArray) -> tuple[IntArray, IntArray] | None:
    """Return the rows of periods that have enough, and the numbers of their periods from 0; None where these are too few."""
    counts = np.bincount(periods)
    rows = np.flatnonzero(counts[periods] >= FEWEST_IN_PERIOD)
    if rows.size < FEWEST_ROWS:
        return None
    return rows, np.unique(periods[rows], return_inverse=True)[1]


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


def _left(score: float, classes: bool) -> float:
    """Return what a score leaves unexplained."""
    return 1.0 - score if classes else 1.0 - score**2
