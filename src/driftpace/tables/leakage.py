"""Features that give the target away: near-copies of it, columns that determine it, and columns known only after it.

A feature is judged by itself and against all others together: a strong feature among strong ones is no surprise, while one that
leaves a fraction of the error of all weaker ones is either a copy of the target or the answer to the whole problem. It is judged on
the rows that have it, too: a copy with empty cells is a copy. Columns that may be leaks themselves excuse no other. Where rows have
periods, a feature is judged within them as well: incomes in prices of the day are a copy of real incomes, year by year. Nothing is
left out: what is known before the label, only the user can say.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from driftpace.tables.categories import category_words
from driftpace.tables.columns import Column
from driftpace.tables.leak_scores import (
    AUC,
    CORRELATION,
    FEWEST_POSITIVES,
    FEWEST_ROWS,
    RANK_CORRELATION,
    Judge,
    Predictor,
    predictor_of,
)
from driftpace.typing import BoolArray, FloatArray, IntArray

NEAR_CORRELATION, NEAR_AUC = 0.95, 0.98
"""Features above these may be leaks themselves, so that they do not excuse others."""
LEFT_BY_OTHERS = 0.5
"""It is reported where it leaves less than this share of the error that all weaker features leave together."""
FEWEST_IN_PERIOD = 10
"""Periods with fewer rows are not looked into."""
MOST_CLASSES = 12
"""Classes that are judged where there are several, the commonest."""
MOST_ROWS = 20_000
"""Rows used; more would not change the answer."""
WITHIN, KNOWN = " within periods", " where it is known"

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
        What all weaker features reach together.
    measure : {"correlation", "rank correlation", "AUC", "rows"}
        What the score is; "correlation within periods" and so on where the column is a copy only there, "correlation where it is
        known" where it is one in the rows that have it.
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
    predictors = {name: [predictor_of(columns[name], rows, aims)] for name in features}
    leaks = _leaks_among(predictors, target, [Judge(aims, classes)])
    if inside is not None:
        members, strata = inside
        named = {leak.feature for leak in leaks}
        left = {name: [made[0].part(members)] for name, made in predictors.items() if name not in named}
        leaks += _leaks_among(left, target, [Judge(aims[members], classes, strata)])
    return leaks


def _leaks_of_classes(
    columns: Mapping[str, Column], features: Sequence[str], target: str, rows: IntArray, each: list[FloatArray]
) -> list[Leak]:
    """Return the features that give several classes away, by the mean AUC of each of them against the others."""
    predictors = {name: [predictor_of(columns[name], rows, aim, binned=True) for aim in each] for name in features}
    return _leaks_among(predictors, target, [Judge(aim, True) for aim in each])


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


def _leaks_among(predictors: Mapping[str, list[Predictor]], target: str, judges: Sequence[Judge]) -> list[Leak]:
    """Return the columns that predict the target nearly perfectly, and much better than all weaker ones together.

    There is a predictor of each column for each judge.
    """
    classes = judges[0].classes
    scores = {name: _score(made, judges) for name, made in predictors.items()}
    least = {"correlation": CORRELATION, "rank correlation": RANK_CORRELATION, "AUC": AUC}
    weak = [name for name, best in scores.items() if best.score <= (NEAR_AUC if classes else NEAR_CORRELATION)]
    where = "" if judges[0].strata is None else WITHIN
    leaks = []
    for name, best in scores.items():
        if best.score <= least[best.measure]:
            continue
        others = max(_together([predictors[other] for other in weak], judges, rows) for rows in best.rows)
        if _left(best.score, classes) < LEFT_BY_OTHERS * _left(others, classes):
            measure = f"{best.measure}{where}{KNOWN if len(best.rows) > 1 else ''}"
            kind = predictors[name][0].kind
            leaks.append(Leak(feature=name, target=target, kind=kind, score=best.score, others=others, measure=measure))
    return leaks


@dataclass(frozen=True, slots=True, eq=False)
class _Score:
    """How well a column predicts the target, what the number is, and the rows that weaker columns are judged on."""

    score: float
    measure: str
    rows: tuple[BoolArray, ...]


def _score(made: Sequence[Predictor], judges: Sequence[Judge]) -> _Score:
    """Return how well a column predicts the target, on all rows or on those that have it, whichever is better."""
    known = made[0].known
    everywhere = np.ones(known.size, dtype=np.bool_)
    best = _Score(*_mean_score(made, judges), (everywhere,))
    if known.all():
        return best
    parts = [(one.part(np.flatnonzero(known)), judge.on(known)) for one, judge in zip(made, judges, strict=True)]
    there = [(one, judge) for one, judge in parts if judge is not None]
    if 2 * len(there) < len(judges) or not there:
        return best
    score, measure = _mean_score([one for one, _ in there], [judge for _, judge in there])
    return _Score(score, measure, (everywhere, known)) if score > best.score else best


def _mean_score(made: Sequence[Predictor], judges: Sequence[Judge]) -> tuple[float, str]:
    found = [judge.score(one.values) for one, judge in zip(made, judges, strict=True)]
    return float(np.mean([score for score, _ in found])), found[0][1]


def _together(columns: Sequence[list[Predictor]], judges: Sequence[Judge], rows: BoolArray) -> float:
    """Return what columns reach together on some rows, on average over the judges that can tell there."""
    found = []
    for place, judge in enumerate(judges):
        there = judge if rows.all() else judge.on(rows)
        if there is not None:
            found.append(there.together([made[place].values[rows] for made in columns]))
    return float(np.mean(found))


def _inside_periods(periods: IntArray) -> tuple[IntArray, IntArray] | None:
    """Return the rows of periods that have enough, and the numbers of their periods from 0; None where these are too few."""
    counts = np.bincount(periods)
    rows = np.flatnonzero(counts[periods] >= FEWEST_IN_PERIOD)
    if rows.size < FEWEST_ROWS:
        return None
    return rows, np.unique(periods[rows], return_inverse=True)[1]


def _left(score: float, classes: bool) -> float:
    """Return what a score leaves unexplained."""
    return 1.0 - score if classes else 1.0 - score**2
