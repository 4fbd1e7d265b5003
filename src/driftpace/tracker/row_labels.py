"""Rows with several labels: the labels of one id in a period are those of one row, whose target is their mean.

A mean of classes is a share of each: the loss of the row is then the mean of the losses of its labels, so that rows labelled once
and rows labelled several times have the same best model. A majority would have another one.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from driftpace.errors import DataError
from driftpace.tracker.state import RowBatch, RowLabels
from driftpace.typing import FloatArray, IntArray

_SAME = 1e-6
"""Features of one row agree up to so much of the largest of them, since files may round them."""


def with_labels(
    batches: tuple[RowBatch, ...], labels: RowBatch, ids: Sequence[str], annotators: Sequence[str]
) -> tuple[RowBatch, ...]:
    """Return the batches with more labels, one in each place of ``labels``: of rows that are there, and of new rows."""
    there = {
        row_id: (at, row)
        for at, batch in enumerate(batches)
        if batch.labels is not None
        for row, row_id in enumerate(batch.labels.ids)
    }
    given = {
        (batch.labels.ids[row], name)
        for batch in batches
        if batch.labels is not None
        for row, name in zip(batch.labels.of_row.tolist(), batch.labels.annotators, strict=True)
    }
    new: dict[str, int] = {}
    first: list[int] = []
    more: dict[int, list[tuple[int, int]]] = {}
    for place, (row_id, name) in enumerate(zip(ids, annotators, strict=True)):
        if (row_id, name) in given:
            raise DataError(
                f"must label each row once; got a second label of {row_id!r:.80} by {name!r:.80}.", name="annotators"
            )
        given.add((row_id, name))
        if row_id not in there:
            there[row_id] = (len(batches), len(first))
            new[row_id] = len(first)
            first.append(place)
        at, row = there[row_id]
        more.setdefault(at, []).append((row, place))
    own = RowBatch(
        X=np.ascontiguousarray(labels.X[first]),
        y=labels.y[first],
        groups=None if labels.groups is None else labels.groups[first],
        weights=None if labels.weights is None else labels.weights[first],
        labels=RowLabels(ids=tuple(new), y=np.empty(0), of_row=np.empty(0, dtype=np.int64), annotators=()),
    )
    changed = [*batches, own] if first else list(batches)
    for at, pairs in more.items():
        rows, places = (np.array(part, dtype=np.int64) for part in zip(*pairs, strict=True))
        _check_same_features(changed[at].X[rows], labels.X[places], [ids[place] for place in places])
        changed[at] = _extended(changed[at], rows, labels.y[places], [annotators[place] for place in places])
    return tuple(changed)


def _extended(batch: RowBatch, rows: IntArray, y: FloatArray, annotators: Sequence[str]) -> RowBatch:
    """Return a batch with more labels of its rows."""
    before = batch.labels
    assert before is not None
    after = RowLabels(
        ids=before.ids,
        y=np.concatenate([before.y, y]),
        of_row=np.concatenate([before.of_row, rows]),
        annotators=(*before.annotators, *annotators),
    )
    count = np.bincount(after.of_row, minlength=len(batch.y))
    mean = np.bincount(after.of_row, after.y, minlength=len(batch.y)) / count
    return replace(batch, y=np.where(count == 1, _last(after, len(batch.y)), mean), labels=after)


def _last(labels: RowLabels, rows: int) -> FloatArray:
    """Return one label of each row, exactly as it is."""
    y = np.empty(rows)
    y[labels.of_row] = labels.y
    return y


def _check_same_features(known: FloatArray, given: FloatArray, ids: Sequence[str]) -> None:
    """Raise DataError where labels of one id have other features: they are of another row."""
    scale = np.abs(known).max(axis=0, initial=0.0)
    other = (np.abs(given - known) > _SAME * scale).any(axis=1)
    if other.any():
        raise DataError(
            f"must name rows; the labels of {ids[int(np.argmax(other))]!r:.80} have different features.", name="ids"
        )


def labels_of(batches: tuple[RowBatch, ...], places: IntArray) -> tuple[FloatArray, IntArray, tuple[str, ...]] | None:
    """Return the labels of the rows in those places of all: targets, the place in ``places`` of each, annotators; or None."""
    if all(batch.labels is None for batch in batches):
        return None
    rank = np.full(sum(len(batch.y) for batch in batches), -1, dtype=np.int64)
    rank[places] = np.arange(len(places))
    y, of_row, names, begin = [np.empty(0)], [np.empty(0, dtype=np.int64)], [], 0
    for batch in batches:
        if batch.labels is not None:
            where = rank[begin + batch.labels.of_row]
            y.append(batch.labels.y[where >= 0])
            of_row.append(where[where >= 0])
            names += [name for name, one in zip(batch.labels.annotators, where.tolist(), strict=True) if one >= 0]
        begin += len(batch.y)
    return np.concatenate(y), np.concatenate(of_row), tuple(names)
