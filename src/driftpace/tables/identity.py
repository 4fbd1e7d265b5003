"""Columns that identify rows or only follow time: they predict nothing that lasts."""

import re
from collections.abc import Sequence

import numpy as np

from driftpace.tables.columns import Column
from driftpace.typing import BoolArray, FloatArray, IntArray

FEWEST_ROWS = 20
"""Fewer numbers than this may be consecutive or in order by chance."""
NAMED, NUMBERED, CLOCK = "named like an id", "numbers the rows", "follows time"

_ID_NAME = re.compile(r"(?:.*[^a-z])?(?:id|uuid|guid|key|index|rownum|row_?number)|unnamed: ?\d+|", re.IGNORECASE)


def named_like_id(name: str) -> bool:
    """Whether a column has the name of an id.

    >>> [named_like_id(name) for name in ("id", "customer_id", "plotID", "Unnamed: 0", "paid", "monkey")]
    [True, True, True, True, False, False]
    """
    plain = re.sub(r"([a-z])([A-Z])", r"\1_\2", name)
    return _ID_NAME.fullmatch(plain) is not None


def find_ids(columns: dict[str, Column], names: Sequence[str], keep: BoolArray) -> dict[str, str]:
    """Return the columns of whole numbers that identify rows, and why: by their name, or because they number the rows.

    >>> rows = np.arange(30)
    >>> table = {"nr": Column(kind="number", values=1.0 + rows, missing=rows < 0)}
    >>> find_ids(table, ["nr"], rows >= 0)
    {'nr': 'numbers the rows'}
    """
    found = {}
    for name in names:
        reason = _id_reason(name, columns[name], keep)
        if reason is not None:
            found[name] = reason
    return found


def _id_reason(name: str, column: Column, keep: BoolArray) -> str | None:
    if column.kind != "number":
        return None
    values = column.values[keep & ~column.missing]
    with np.errstate(invalid="ignore"):
        if not values.size or not np.isfinite(values).all() or np.any(values != np.trunc(values)):
            return None
    if named_like_id(name):
        return NAMED
    if values.size < FEWEST_ROWS or column.missing[keep].any():
        return None
    steps = np.diff(values)
    if np.all(steps > 0.0) or np.all(steps < 0.0) or np.all(np.diff(np.sort(values)) == 1.0):
        return NUMBERED
    return None


def follows_time(values: FloatArray, by_period: Sequence[IntArray]) -> bool:
    """Return whether a column never falls, or never rises, from period to period and row to row.

    Such a column, a year or a counter, has in every period values that it never had before.

    >>> years = np.repeat([2010.0, 2011.0, 2012.0], 10)
    >>> follows_time(years, np.split(np.arange(30), 3)), follows_time(years, np.split(np.arange(30)[::-1], 3))
    (True, True)
    """
    if values.size < FEWEST_ROWS:
        return False
    steps = np.diff(values[np.concatenate(list(by_period))])
    monotone = bool(np.all(steps >= 0.0) or np.all(steps <= 0.0))
    return monotone and int(np.count_nonzero(steps)) >= 2
