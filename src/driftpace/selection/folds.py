"""Folds of a period's rows: at random, stratified by class, or by group."""

import numpy as np

from driftpace import validation
from driftpace.errors import DataError
from driftpace.typing import FloatArray, IntArray

_OWNER = "make_folds"


def make_folds(
    rows: int,
    folds: int,
    *,
    rng: np.random.Generator | int,
    classes: FloatArray | None = None,
    groups: IntArray | None = None,
) -> IntArray:
    """Return the fold of each row, 0 to folds - 1, in parts as equal as can be.

    With ``classes``, one for each row, every class is spread evenly over the folds. With ``groups`` rows of one group are in one
    fold, so that a model is not tested on a person it was fitted to. With both, whole groups are dealt so
    that each of two classes is in every fold, and as evenly as can be. Refused: fewer rows or groups than folds, and a class that
    some fold would not have.

    >>> make_folds(6, 3, rng=0, classes=np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])).tolist()
    [1, 2, 0, 0, 2, 1]
    >>> make_folds(4, 2, rng=0, groups=np.array([7, 7, 8, 8])).tolist()
    [0, 0, 1, 1]
    >>> make_folds(3, 5, rng=0)
    Traceback (most recent call last):
    driftpace.errors.DataError: make_folds(folds=...) must be at most the 3 rows; got 5.
    """
    validation.count(_OWNER, least=0, rows=rows)
    validation.count(_OWNER, least=2, folds=folds)
    for name, labels in (("classes", classes), ("groups", groups)):
        if labels is not None and np.shape(labels) != (rows,):
            raise DataError(
                f"must have one entry for each of {rows} rows; got {np.shape(labels)}.",
                owner=_OWNER,
                name=name,
            )
    if rows < folds:
        raise DataError(f"must be at most the {rows} rows; got {folds}.", owner=_OWNER, name="folds")
    rng = np.random.default_rng(rng)
    if groups is None:
        return _of_rows(rows, folds, rng, classes)
    return _of_groups(folds, rng, np.asarray(groups), classes)


def most_folds(
    rows: int, folds: int, *, classes: FloatArray | None = None, groups: IntArray | None = None
) -> tuple[int, str | None]:
    """Return as many folds as the rows allow, at most ``folds``, and a sentence where that is fewer; 0 where two are too many.

    >>> most_folds(3, 5)
    (3, '3 rows allow 3 folds instead of 5.')
    >>> most_folds(40, 5, classes=np.array([1.0] * 2 + [-1.0] * 38))
    (2, 'a class with 2 rows allows 2 folds instead of 5.')
    """
    limits = [(rows, f"{rows} {'row allows' if rows == 1 else 'rows allow'}")]
    if groups is not None:
        count = len(np.unique(groups))
        limits.append((count, f"{count} {'group allows' if count == 1 else 'groups allow'}"))
    if classes is not None:
        limits += [
            (count, f"a class with {count} {_units(count, groups)} allows") for count in _counts(classes, groups)
        ]
    least, why = min(limits, key=lambda limit: limit[0])
    if least >= folds:
        return folds, None
    if least < 2:
        return 0, f"{why} no folds instead of {folds}."
    return least, f"{why} {least} folds instead of {folds}."


def _units(count: int, groups: IntArray | None) -> str:
    return ("row" if groups is None else "group") + ("" if count == 1 else "s")


def divisible(classes: FloatArray | None, groups: IntArray | None) -> FloatArray | None:
    """Return the classes where each has two rows (groups) at least; else None, for one row cannot be both learnt and tested."""
    if classes is None or min(_counts(classes, groups), default=0) < 2:
        return None
    return classes


def _counts(classes: FloatArray, groups: IntArray | None) -> list[int]:
    """Return for each class its rows, or the groups that have some."""
    places = [classes == label for label in np.unique(classes)]
    return [int(place.sum()) if groups is None else len(np.unique(groups[place])) for place in places]


def _of_rows(rows: int, folds: int, rng: np.random.Generator, classes: FloatArray | None) -> IntArray:
    order = rng.permutation(rows)
    if classes is not None:
        for label in np.unique(classes):
            count = int((classes == label).sum())
            if count < folds:
                raise _missing(label, count, "rows", folds)
        order = order[np.argsort(np.asarray(classes)[order], kind="stable")]  # class by class, each in random order
    fold = np.empty(rows, dtype=np.int64)
    fold[order] = np.arange(rows) % folds
    return rng.permutation(folds)[fold]


def _of_groups(folds: int, rng: np.random.Generator, groups: IntArray, classes: FloatArray | None) -> IntArray:
    """Deal groups from the largest on, each to the fold that is then most even: in its classes, and in its size.

    A fold that lacks a class comes first, and groups of both classes are dealt first of all: then no fold is left without one.
    """
    names, of_row = np.unique(groups, return_inverse=True)
    if len(names) < folds:
        raise DataError(f"must be at most the {len(names)} groups of rows; got {folds}.", owner=_OWNER, name="folds")
    labels, of_class = np.unique(np.zeros(len(groups)) if classes is None else classes, return_inverse=True)
    counts = np.zeros((len(names), len(labels)))
    np.add.at(counts, (of_row, of_class), 1.0)
    has = counts > 0.0
    for label, having in zip(labels, has.sum(axis=0), strict=True):
        if having < folds:
            raise _missing(label, int(having), "groups", folds)
    order = rng.permutation(len(names))
    order = order[np.lexsort((-counts[order].max(axis=1), -has[order].sum(axis=1)))]
    filled = np.zeros((folds, len(labels)))
    share = 1.0 / np.maximum(counts.sum(axis=0), 1.0)
    fold = np.empty(len(names), dtype=np.int64)
    for group in order:
        after = (filled + counts[group]) * share
        cost = (np.square(after) - np.square(filled * share)).sum(axis=1)
        lacking = (has[group] & (filled == 0.0)).sum(axis=1)
        taken = int(np.lexsort((rng.permutation(folds), filled.sum(axis=1), cost, -lacking))[0])
        fold[group] = taken
        filled[taken] += counts[group]
    return fold[of_row]


def _missing(label: float, count: int, what: str, folds: int) -> DataError:
    what = what if count > 1 else what[:-1]
    return DataError(
        f"must leave every class in every fold; class {label:g} has {count} {what}, for {folds} folds.",
        owner=_OWNER,
        name="folds",
    )
