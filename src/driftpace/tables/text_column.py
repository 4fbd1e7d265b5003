"""A column of texts as dense columns: hashed words, weighted by how rare they are in the first rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from driftpace.errors import DataError
from driftpace.tables.limits import clip
from driftpace.typing import FloatArray

if TYPE_CHECKING:
    from driftpace.tables.columns import Column
    from driftpace.tables.text import TextTerms
    from driftpace.typing import IntArray

TERMS = 2048
"""The columns that the words of a text are hashed to in tables, whose rows are stored with all their columns."""

_DIGITS = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class TextColumn:
    """A column of texts: one of numbers for each of so many hashes of words, each with its ``rarity``.

    A missing text is one without words.

    >>> TextColumn(name="mail", rarity=(1.0, 2.0)).names
    ('mail:0', 'mail:1')
    """

    name: str
    rarity: tuple[float, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the encoded columns."""
        return tuple(f"{self.name}:{place}" for place in range(len(self.rarity)))

    def encode(self, column: "Column", places: "IntArray", owner: str) -> FloatArray:
        """Return the texts of some rows as numbers, (rows, hashes)."""
        return np.asarray(self.terms(column, places, owner).toarray())

    def terms(self, column: "Column", places: "IntArray", owner: str) -> Any:
        """Return the texts of some rows as a sparse matrix, (rows, hashes)."""
        terms = _terms(len(self.rarity), np.array(self.rarity))
        return terms.transform(_texts(self.name, column, places, owner))


def learn_text(name: str, column: "Column", places: "IntArray", owner: str) -> TextColumn:
    """Return how a column of texts is encoded, by how rare words are in some rows."""
    fitted = _terms(TERMS, None).fit(_texts(name, column, places, owner))
    assert fitted.rarity is not None
    return TextColumn(name=name, rarity=tuple(float(f"{weight:.{_DIGITS}g}") for weight in fitted.rarity.tolist()))


def _terms(count: int, rarity: FloatArray | None) -> "TextTerms":
    from driftpace.tables.text import TextTerms  # slow to import, and not always needed

    return TextTerms(terms=count, ngrams=1, rarity=rarity)


def _texts(name: str, column: "Column", places: "IntArray", owner: str) -> Sequence[Any]:
    texts = [None if column.missing[place] else column.values[place] for place in places.tolist()]
    wrong = next((at for at, text in enumerate(texts) if text is not None and not isinstance(text, str)), None)
    if wrong is not None:
        raise DataError(
            f"column {name!r} must hold texts; row {int(places[wrong]) + 1:,} has {clip(str(texts[wrong]))!r}.",
            owner=owner,
        )
    return texts
