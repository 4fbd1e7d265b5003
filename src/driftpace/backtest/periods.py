"""Group rows by period, from a column of numbers, dates or texts."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from driftpace.errors import DataError
from driftpace.tables.columns import Kind
from driftpace.typing import IntArray

FEWEST_ROWS = 5
"""The least number of rows of a period: fewer cannot be split into training and test rows."""


def group_by_period(
    name: str, kind: Kind, values: np.ndarray[Any, Any], *, owner: str, notes: list[str]
) -> tuple[tuple[str, ...], tuple[IntArray, ...]]:
    """Return the label of each period in order, and the rows of each.

    >>> weeks = np.array(["week 10", "week 9"] * 5, dtype=object)
    >>> group_by_period("week", "text", weeks, owner="read_table", notes=[])[0]
    ('week 9', 'week 10')
    """
    if kind == "other":
        raise DataError(f"period {name!r} must be numbers, dates or texts; it is of another type.", owner=owner)
    if kind in ("number", "flag") and np.isinf(values).any():
        raise DataError(f"period {name!r} must be finite; got {values[np.isinf(values)][0]:g}.", owner=owner)
    distinct, codes = np.unique(values.astype(np.str_) if kind == "text" else values, return_inverse=True)
    rows, count = values.size, distinct.size
    if count == 1:
        raise DataError(
            f"period {name!r} must have at least two distinct values; got only {_labels(kind, distinct)[0]}.",
            owner=owner,
        )
    if count > rows / FEWEST_ROWS:
        raise DataError(
            f"period {name!r} must have at least {FEWEST_ROWS} rows for each value; "
            f"got {count:,} values in {rows:,} rows: make a coarser column, such as the month or the year.",
            owner=owner,
        )
    labels = _labels(kind, distinct)
    order = sorted(range(count), key=_text_order(labels)) if kind == "text" else range(count)
    sizes = np.bincount(codes, minlength=count)
    for code in order:
        if sizes[code] < FEWEST_ROWS:
            raise DataError(
                f"every period must have at least {FEWEST_ROWS} rows; {name} {labels[code]} has {sizes[code]}: "
                "leave it out or join it to another.",
                owner=owner,
            )
    if kind == "text":
        ordered = [labels[code] for code in order]
        listed = ordered if count <= 6 else [*ordered[:3], "...", *ordered[-2:]]
        notes.append(f"Periods are texts, in this order: {', '.join(listed)}.")
    groups = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    return tuple(labels[code] for code in order), tuple(groups[code] for code in order)


def _labels(kind: Kind, distinct: np.ndarray[Any, Any]) -> list[str]:
    if kind == "number":
        return [f"{value:.0f}" if value == np.trunc(value) else repr(value) for value in distinct.tolist()]
    if kind == "flag":
        return [str(bool(value)) for value in distinct]
    if kind == "time":
        for unit in ("datetime64[D]", "datetime64[s]"):  # days where all are days, else down to the second
            if ((coarse := distinct.astype(unit)) == distinct).all():
                return [str(moment) for moment in coarse]
    return [str(value) for value in distinct]


def _text_order(labels: list[str]) -> Callable[[int], Any]:
    """Return a sort key: by value where all texts are numbers, otherwise natural order (digits compared as numbers)."""
    try:
        numbers = [float(label) for label in labels]
    except ValueError:
        numbers = [np.nan]
    if np.isfinite(numbers).all():
        return lambda code: (numbers[code], labels[code])
    runs = [re.split(r"(\d+)", label) for label in labels]  # text and digits by turns
    return lambda code: ([int(run) if at % 2 else run for at, run in enumerate(runs[code])], labels[code])
