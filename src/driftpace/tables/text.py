"""Texts as sparse columns, without a network: hashed words and pairs of words, weighted by how rare they are.

A term is a column by its hash, so that new words need no new column and the same text has the same columns for ever. How rare a
term is (TF-IDF) is learned once, from the first texts shown.
"""

import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from driftpace import validation
from driftpace.errors import DataError, StateFileError
from driftpace.storage.codec import decode, encode
from driftpace.typing import FloatArray

_WORD = re.compile(r"\w\w+")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TextTerms:
    """Turn texts into sparse rows of unit length: TF-IDF of hashed n-grams of words.

    Parameters
    ----------
    terms : int, default 32_768
        The number of columns. Terms that share one cannot be told from each other, which is harmless while there are few.
    ngrams : int, default 2
        The most words of a term.
    rarity : ndarray of shape (terms,), optional
        The weight of each term, as :meth:`fit` learns it; by default all weigh alike.

    Examples
    --------
    >>> texts = ["the delivery was late", "the delivery was quick", "a quick reply"]
    >>> terms = TextTerms(terms=64).fit(texts)
    >>> terms.transform(["the quick delivery", ""]).shape
    (2, 64)
    """

    terms: int = 32_768
    ngrams: int = 2
    rarity: FloatArray | None = None

    def __post_init__(self) -> None:
        validation.count("TextTerms", least=16, terms=self.terms)
        validation.count("TextTerms", least=1, at_most=5, ngrams=self.ngrams)

    def fit(self, texts: Iterable[Any]) -> Self:
        """Return the same columns with weights by how rare terms are in these texts: 1 + log((1 + n)/(1 + texts with it))."""
        counts = self._counts(texts)
        documents = np.bincount(counts.indices, minlength=self.terms)
        return replace(self, rarity=1.0 + np.log((1.0 + counts.shape[0]) / (1.0 + documents)))

    def transform(self, texts: Iterable[Any]) -> Any:
        """Return texts as a sparse matrix (CSR) of shape (texts, terms); a missing or empty text is a row of zeros."""
        counts = self._counts(texts)
        counts.data = 1.0 + np.log(counts.data)
        if self.rarity is not None:
            counts.data *= self.rarity[counts.indices]
        squares = np.asarray(counts.multiply(counts).sum(axis=1)).ravel()
        counts.data /= np.repeat(np.sqrt(np.maximum(squares, 1e-300)), np.diff(counts.indptr))
        return counts

    def _counts(self, texts: Iterable[Any]) -> Any:
        from scipy import sparse  # slow to import, and not always needed

        if isinstance(texts, str):
            raise DataError("must be a sequence of texts; got a single one.", owner="TextTerms", name="texts")
        columns: list[int] = []
        ends = [0]
        for place, text in enumerate(texts):
            if not isinstance(text, str) and not _is_missing(text):
                raise DataError(f"must be texts; got {text!r:.40} in row {place}.", owner="TextTerms", name="texts")
            words = _WORD.findall(text.lower()) if isinstance(text, str) else []
            for size in range(1, self.ngrams + 1):
                grams = (" ".join(words[start : start + size]) for start in range(len(words) - size + 1))
                columns.extend(zlib.crc32(gram.encode(errors="surrogatepass")) % self.terms for gram in grams)
            ends.append(len(columns))
        matrix = sparse.csr_matrix(
            (np.ones(len(columns)), np.array(columns, dtype=np.int64), np.array(ends, dtype=np.int64)),
            shape=(len(ends) - 1, self.terms),
        )
        matrix.sum_duplicates()
        return matrix

    def to_values(self) -> dict[str, Any]:
        """Encode the columns as JSON values."""
        return {"terms": self.terms, "ngrams": self.ngrams, "rarity": encode(self.rarity)}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Decode columns."""
        try:
            return cls(terms=values["terms"], ngrams=values["ngrams"], rarity=decode(values["rarity"]))
        except (KeyError, TypeError) as error:
            raise StateFileError(f"the state does not have the shape this version reads: {error}") from error


def _is_missing(text: Any) -> bool:
    """Whether a cell is None, NaN or the NA of pandas."""
    try:
        return text is None or bool(text != text)
    except (TypeError, ValueError):  # pandas' NA is neither equal nor unequal to itself, an array is both
        return not hasattr(text, "__len__")
