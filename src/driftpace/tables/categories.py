"""Categories as texts, however a file writes them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from driftpace.tables.columns import Column


def category_words(column: Column) -> np.ndarray[Any, Any]:
    """Return the cells of a column as texts, None where missing."""
    if column.kind == "text":
        words = column.values.copy()
        words[column.missing] = None
        return words
    cells = [
        None if gone else word_of(value, column.kind)
        for value, gone in zip(column.values.tolist(), column.missing, strict=True)
    ]
    return np.array([None, *cells], dtype=object)[1:]


def meanings(written: Sequence[str], words: Sequence[str]) -> dict[str, str | None]:
    """Return which of ``words`` each distinct text in a file stands for; None where it is none of them.

    A text stands for itself, or else for the only one that is the same number or truth value: files write 1 as 1.0 where some
    values are missing, and true as True.
    """
    alike: dict[str, list[str]] = {}
    for candidate in words:
        alike.setdefault(_plainly(candidate), []).append(candidate)
    exact = frozenset(words)
    meaning_of: dict[str, str | None] = {}
    for word in dict.fromkeys(written):
        same = [word] if word in exact else alike.get(_plainly(word), [])
        meaning_of[word] = same[0] if len(same) == 1 else None
    return meaning_of


def _plainly(word: str) -> str:
    if word.lower() in ("true", "false"):
        return word.lower()
    try:
        return repr(float(word) + 0.0)
    except ValueError:
        return word


def word_of(value: Any, kind: str) -> str:
    """Return the text of a cell."""
    if kind == "flag":
        return "true" if value else "false"
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)
