"""Rows that were delivered before and came again with another label or other cells: they are not counted, and named."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat

import numpy as np

from driftpace.campaign.definition import Definition
from driftpace.campaign.packing import PackedRows, unpack_rows
from driftpace.campaign.records import Contradictions
from driftpace.storage.base import Entry
from driftpace.tracker.method import TellEvent
from driftpace.typing import FloatArray

SHOWN = 3
"""Cells that are named."""


def find_contradictions(
    definition: Definition, again: PackedRows, entries: Sequence[Entry], stored: Mapping[int, bytes]
) -> Contradictions | None:
    """Return what rows that came again contradict; None where all are as they were counted.

    Parameters
    ----------
    definition : Definition
        Says what classes are called, and whether cells may be named.
    again : PackedRows
        Rows whose ids were delivered before.
    entries : sequence of Entry
        The deliveries that count in their period.
    stored : mapping of int to bytes
        The rows of these deliveries.
    """
    before: dict[tuple[str, str | None], tuple[Entry, TellEvent, int]] = {}
    for entry in entries:
        if entry.seq in stored:
            packed = unpack_rows(stored[entry.seq])
            for place, label in enumerate(_labels(packed)):
                before[label] = (entry, packed.event, place)
                before.setdefault((label[0], None), (entry, packed.event, place))
    rows, examples, sources = 0, [], []
    for place, (row_id, name) in enumerate(_labels(again)):
        found = before.get((row_id, name)) or before.get((row_id, None))
        cell = None if found is None else next(_cells(definition, again.event, place, found[1], found[2]), None)
        if cell is not None and found is not None:
            rows += 1
            examples.append(f"row {row_id!r:.80} has {cell}")
            sources.append(found[0].body.get("source") or found[0].key or "")
    if rows == 0:
        return None
    shown = tuple(examples[:SHOWN]) if definition.keep_rows else ()
    return Contradictions(rows=rows, examples=shown, sources=tuple(dict.fromkeys(filter(None, sources))))


def joined_contradictions(found: Iterable[Contradictions | None]) -> Contradictions | None:
    """Return the contradictions of several periods as one; None where there are none."""
    parts = [part for part in found if part is not None]
    if not parts:
        return None
    return Contradictions(
        rows=sum(part.rows for part in parts),
        examples=tuple(example for part in parts for example in part.examples)[:SHOWN],
        sources=tuple(dict.fromkeys(source for part in parts for source in part.sources)),
    )


def _labels(packed: PackedRows) -> Iterator[tuple[str, str | None]]:
    return zip(packed.ids or (), packed.event.annotators or repeat(None), strict=False)


def _cells(definition: Definition, now: TellEvent, place: int, before: TellEvent, there: int) -> Iterator[str]:
    """Yield the cells of a row that differ, the target first."""
    if now.y[place] != before.y[there]:
        words = [_target(definition, float(y)) for y in (now.y[place], before.y[there])]
        yield f"{definition.target or 'the target'} {words[0]}, counted as {words[1]}"
    if now.X.shape[1] == before.X.shape[1]:
        for column in np.flatnonzero(_differ(now.X[place], before.X[there])).tolist():
            name = now.columns[column] if now.columns is not None else f"column {column + 1}"
            yield f"{name} {now.X[place, column]:.6g}, counted as {before.X[there, column]:.6g}"


def _differ(a: FloatArray, b: FloatArray) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    return np.asarray((a != b) & ~(np.isnan(a) & np.isnan(b)))


def _target(definition: Definition, y: float) -> str:
    classes = definition.classes
    if classes is None or len(classes) < 2:
        return f"{y:.6g}"
    code = max(int(y), 0)
    return repr(classes[code]) if y in (-1.0, code) and code < len(classes) else f"{y:.6g}"
