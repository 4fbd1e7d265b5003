"""A table with a row for each segment: what differs for it from the definition of the campaign."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from driftpace import validation
from driftpace.errors import DataError
from driftpace.tables.categories import word_of
from driftpace.tables.columns import Column
from driftpace.tables.encoding import find_column

NUMBERS = ("epsilon", "weight")
PRICES = ("per_sample", "fixed")


def segment_settings(columns: Mapping[str, Column], segment: str, *, owner: str) -> dict[str, Any]:
    """Return the segments of a table, and the settings of a definition that it has: targets, weights and prices.

    A cell without a value leaves the segment as the definition says.

    Parameters
    ----------
    columns : mapping of str to Column
        The column of segments, and some of ``epsilon``, ``weight``, ``per_sample`` and ``fixed``.
    segment : str
        The name of the column of segments.
    owner : str
        What errors name.

    Returns
    -------
    dict
        ``segments``, and ``epsilons``, ``weights`` and ``costs`` where the table has them.

    Examples
    --------
    >>> from driftpace.tables.columns import from_arrays
    >>> columns = from_arrays({"shop": ["Oslo", "Rome"], "epsilon": [0.1, None]}, "example")
    >>> segment_settings(columns, "shop", owner="example")
    {'segments': ['Oslo', 'Rome'], 'epsilons': {'Oslo': 0.1}}
    """
    unknown = next((name for name in columns if name not in (segment, *NUMBERS, *PRICES)), None)
    if unknown is not None:
        allowed = ", ".join((*NUMBERS, *PRICES))
        raise DataError(
            f"the table must have {segment} and some of {allowed} as columns; got {unknown!r}.", owner=owner
        )
    names = _names(find_column(columns, segment, owner), segment, owner)
    found: dict[str, Any] = {"segments": names}
    for name, setting in (("epsilon", "epsilons"), ("weight", "weights")):
        if name in columns:
            found[setting] = _numbers(names, columns[name], name, owner)
    prices = {name: _prices(names, columns[name]) for name in PRICES if name in columns}
    costs = {
        name: {price: held[name] for price, held in prices.items() if name in held}
        for name in names
        if any(name in held for held in prices.values())
    }
    return found | ({"costs": costs} if prices else {})


def _names(column: Column, segment: str, owner: str) -> list[str]:
    if column.missing.any():
        row = int(np.argmax(column.missing)) + 1
        raise DataError(f"column {segment!r} must name a segment in every row; row {row:,} has none.", owner=owner)
    names = [word_of(value, column.kind) for value in column.values]
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise DataError(f"column {segment!r} must name each segment once; got {twice!r:.80} again.", owner=owner)
    return names


def _numbers(names: list[str], column: Column, name: str, owner: str) -> dict[str, float]:
    if column.kind != "number":
        shown = next((value for value, gone in zip(column.values, column.missing, strict=True) if not gone), "none")
        raise DataError(f"column {name!r} must hold numbers; got {shown!r:.80}.", owner=owner)
    values = {one: float(value) for one, value in zip(names, column.values, strict=True) if np.isfinite(value)}
    for value in values.values():
        validation.positive(owner, **{name: value})
    return values


def _prices(names: list[str], column: Column) -> dict[str, str]:
    given = zip(names, column.values, column.missing, strict=True)
    return {one: word_of(value, column.kind) for one, value, gone in given if not gone}
