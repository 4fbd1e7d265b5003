"""Learn from a table, without labels, what each of its columns becomes."""

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from driftpace import validation
from driftpace.errors import DataError, ParameterError
from driftpace.tables.categories import category_words
from driftpace.tables.cells import are_codes, is_no_number, numbers_and_texts
from driftpace.tables.columns import Column
from driftpace.tables.dates import Dates, find_dates
from driftpace.tables.encoding import (
    MISSING,
    MISSING_POLICIES,
    NUMERIC_SHARE,
    OTHER,
    CategoryColumn,
    EncodedColumn,
    Encoding,
    MissingPolicy,
    NumberColumn,
    check_names,
    find_column,
    numeric_cells,
)
from driftpace.tables.limits import MAX_CATEGORIES, clip
from driftpace.tables.number_text import decimal_style, number_unit
from driftpace.typing import BoolArray

RARE = 0.01
"""A category, or missing cells, with a smaller share of the rows have no column of their own."""
ALIKE = 0.1
"""Missing cells share a column with those of an earlier column where the rows differ by less than this share of them."""
BUCKETS = 8
"""Columns that the categories beyond the most frequent ones are hashed into, where they have most of the rows."""
FEW_CATEGORIES, REPEATED = 50, 0.2
"""Text is used by default where it has at most so many distinct values, or they are a smaller share of the rows than this."""

EMPTY = "no values"
"""Why an empty column is left out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LearnedEncoding:
    """An encoding, sentences by column that say what it does, and by column why others are left out."""

    encoding: Encoding
    notes: Mapping[str, str]
    left_out: Mapping[str, str]


def learn_encoding(
    columns: Mapping[str, Column],
    features: Sequence[str] | None = None,
    *,
    apart: Collection[str] = (),
    given: Mapping[str, EncodedColumn] | None = None,
    keep: BoolArray | None = None,
    missing: MissingPolicy = "impute",
    max_categories: int = MAX_CATEGORIES,
    owner: str = "learn_encoding",
) -> LearnedEncoding:
    r"""Learn what each column of a table becomes; no labels are used.

    Numbers are kept. Missing ones are filled with the mean, and where they are 1 % or more of the rows, a column
    ``age=missing`` says where. Texts become columns of 0 and 1, one for each of their most frequent categories but the first;
    rare ones, with under 1 % of the rows, and all beyond ``max_categories`` are pooled as ``city=other``, or hashed into
    ``city=other 1`` to ``city=other 8`` where they have more than half of the rows. A text column of which 95 % are numbers is
    numeric, and its other cells are missing.

    Parameters
    ----------
    columns : mapping of str to Column
        The table, as :func:`driftpace.tables.read_columns` returns it.
    features : sequence of str, optional
        Columns to use, all but empty ones. By default numbers, flags, and texts that repeat; dates, free text and ids are left
        out.
    apart : collection of str
        Columns that are never used by default, such as the target.
    given : mapping of str to NumberColumn or CategoryColumn, optional
        What some columns become, where that is known already.
    keep : array of bool, optional
        The rows to learn from; all by default.
    missing : {"impute", "drop", "refuse"}
        What to do with missing cells.
    max_categories : int
        The most categories of a column that get a column of their own.
    owner : str
        The function that error messages name.

    Returns
    -------
    LearnedEncoding

    Raises
    ------
    DataError, ParameterError

    Examples
    --------
    >>> from driftpace.tables import read_columns
    >>> table = read_columns({"age": [30, None, 50, 40], "city": ["Oslo", "Oslo", "Rome", None]})
    >>> learned = learn_encoding(table)
    >>> learned.encoding.names
    ('age', 'age=missing', 'city=Rome', 'city=missing')
    >>> print(*learned.notes.values(), sep="\n")
    age: 1 of 4 cells is missing; filled with the mean 40, and age=missing says where.
    city became 2 columns of 0 and 1, with 'Oslo' as the reference; 1 of 4 cells is missing, which city=missing says.
    """
    validation.choice(owner, MISSING_POLICIES, missing=missing)
    validation.count(owner, least=2, max_categories=max_categories)
    if isinstance(features, str):
        raise ParameterError(f"must be a list of names; got the text {features!r}.", owner=owner, name="features")
    names = [name for name in columns if name not in apart] if features is None else list(features)
    for name in names:
        find_column(columns, name, owner)
    learner = _Learner(
        columns=columns,
        keep=_complete(columns, names, keep, missing),
        named=features is not None,
        missing=missing,
        max_categories=max_categories,
        owner=owner,
    )
    for name in names:
        if given is not None and name in given:
            learner.specs.append(given[name])
        else:
            learner.learn(name)
    encoding = Encoding(columns=tuple(learner.specs), missing=missing)
    check_names(encoding.names, owner)
    return LearnedEncoding(encoding=encoding, notes=learner.notes, left_out=learner.left_out)


def is_numeric(column: Column, keep: BoolArray | None = None) -> bool:
    """Return whether a column holds numbers: 95 % of its cells, and no codes such as 007.

    >>> from driftpace.tables.cells import column_of
    >>> is_numeric(column_of(["4"] * 19 + ["five"])), is_numeric(column_of(["4", "five"])), is_numeric(column_of(["007"]))
    (True, False, False)
    """
    if column.kind in ("number", "flag"):
        return True
    if column.kind == "time":
        return False
    places = np.arange(column.missing.size) if keep is None else np.flatnonzero(keep)
    every, texts = numbers_and_texts(column)
    numbers = every[places]
    there = ~np.isnan(numbers)
    words = 0 if texts is None else sum(texts[place] is not None for place in places.tolist())
    if not there.any() or words > (1.0 - NUMERIC_SHARE) * (words + int(there.sum())):
        return False
    return not are_codes([str(value) for value in column.values[places[there]]], numbers[there])


def _are_dates(name: str, texts: list[str]) -> bool:
    """Whether texts are dates, or names of weeks, months and quarters: every period brings new ones."""
    cells = np.array([None, *texts], dtype=object)[1:]
    return isinstance(
        find_dates(Column(kind="text", values=cells, missing=np.zeros(cells.size, dtype=np.bool_)), name), Dates
    )


def _written_otherwise(texts: list[str]) -> str | None:
    """Return how numbers are written that cannot be read as such; None where the texts are not numbers."""
    if decimal_style(texts) is not None:
        return "numbers with decimal commas or separators of thousands; write them as 1234.5"
    unit = number_unit(text for text in texts if not is_no_number(text))
    return None if unit is None else f"numbers with {unit!r}; write them without it"


def _complete(
    columns: Mapping[str, Column], names: Sequence[str], keep: BoolArray | None, missing: MissingPolicy
) -> BoolArray:
    """Return the rows to learn from: with ``missing="drop"``, those with a value in every column that has any."""
    rows = next(iter(columns.values())).missing.size if columns else 0
    keep = np.ones(rows, dtype=np.bool_) if keep is None else keep
    whole = keep.copy()
    for name in names if missing == "drop" else ():
        if name in columns and not columns[name].missing[keep].all():
            whole &= ~columns[name].missing
    return whole if whole.any() else keep


@dataclass(kw_only=True, slots=True)
class _Learner:
    """Learns one column after the other; ``gone`` are the missing cells that an encoded column marks already."""

    columns: Mapping[str, Column]
    keep: BoolArray
    named: bool
    missing: MissingPolicy
    max_categories: int
    owner: str
    specs: list[EncodedColumn] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    gone: dict[str, BoolArray] = field(default_factory=dict)
    content: dict[bytes, str] = field(default_factory=dict)

    def learn(self, name: str) -> None:
        """Learn a column, or leave it out."""
        column = self.columns[name]
        numeric = is_numeric(column, self.keep)
        reason = self._unusable(name, column, numeric)
        if reason is None:
            (self._learn_numbers if numeric else self._learn_categories)(name, column)
        elif self.named and reason != EMPTY:
            raise DataError(f"feature {name!r} must be numbers or categories; it has {reason}.", owner=self.owner)
        else:
            self.left_out[name] = reason

    def _unusable(self, name: str, column: Column, numeric: bool) -> str | None:
        """Return why a column cannot be a feature, None where it can; one that the user named may be free text."""
        there = ~column.missing & self.keep
        if not there.any():
            return EMPTY
        if column.kind == "time":
            return "dates"
        if numeric:
            return None
        values = column.values[there].tolist()
        if column.kind == "other" and not all(isinstance(value, str | int | float) for value in values):
            return "values that are neither numbers nor texts"
        order: dict[str, int] = {}
        codes = [order.setdefault(str(value), len(order)) for value in values]
        if _are_dates(name, list(order)):
            return "dates"
        if self.named:
            return None
        if len(order) > FEW_CATEGORIES and (reason := _written_otherwise(list(order))) is not None:
            return reason
        if len(order) > max(FEW_CATEGORIES, REPEATED * len(values)) or len(order) > max(2, 0.5 * len(values)):
            return "free text or ids"
        digest = hashlib.sha256(there.tobytes() + np.array(codes, dtype=np.int64).tobytes()).digest()
        twin = self.content.setdefault(digest, name)
        return None if twin == name else f"the same categories as {twin}"

    def _marked(self, name: str, gone: BoolArray) -> tuple[bool, str]:
        """Return whether missing cells get a column of their own, and the column that marks them; "" where none does.

        They get none where they are rare, or where another column marks the same rows but for a few.
        """
        if self.missing != "impute" or gone.sum() < RARE * gone.size:
            return False, ""
        few = max(RARE * gone.size, ALIKE * gone.sum())
        twin = next((marker for marker, rows in self.gone.items() if (rows != gone).sum() < few), None)
        if twin is not None:
            return False, twin
        marker = f"{name}={MISSING}"
        self.gone[marker] = gone
        return True, marker

    def _learn_numbers(self, name: str, column: Column) -> None:
        places = np.flatnonzero(self.keep)
        numbers, texts = numeric_cells(column, places, name, self.owner)
        gone = np.isnan(numbers)
        fill = float(f"{numbers[~gone].mean():.6g}")
        own, marker = self._marked(name, gone)
        self.specs.append(NumberColumn(name=name, fill=fill, indicator=own))
        if not gone.any() or self.missing != "impute":
            return
        where = f", and {marker} says where" if marker else ""
        wrong = ""
        if texts is not None:
            at = next(index for index, text in enumerate(texts) if text is not None)
            wrong = f" or not a number (row {int(places[at]) + 1:,} has {clip(texts[at])!r})"
        self.notes[name] = f"{name}: {_cells(gone)} missing{wrong}; filled with the mean {fill:.6g}{where}."

    def _learn_categories(self, name: str, column: Column) -> None:
        words = category_words(column)[self.keep]
        counts = Counter(word for word in words.tolist() if word is not None)
        rows = words.size
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        common = [word for word in ranked if counts[word] >= RARE * rows][: self.max_categories] or ranked[:1]
        if len(ranked) == 2:
            common = ranked  # both sides of a question count, however rare one is
        rest = ranked[len(common) :]
        pooled = sum(counts[word] for word in rest)
        first = common[0]
        levels: tuple[str, ...] = (first, *sorted(common[1:]))
        unknown: tuple[str, ...] = (first,)
        sentence = ""
        if pooled > 0.5 * rows and len(rest) > BUCKETS:
            unknown = tuple(f"{OTHER} {bucket}" for bucket in range(1, BUCKETS + 1))
            sentence = (
                f"; beyond max_categories={self.max_categories}, {len(rest):,} values are hashed into {BUCKETS} columns"
            )
        elif pooled >= RARE * rows:
            unknown = (OTHER,)
            sentence = f"; {_values(rest)} {'is' if len(rest) == 1 else 'are'} {name}={OTHER}"
        elif rest:
            sentence = f"; {_values(rest)} count{'s' * (len(rest) == 1)} as {clip(first)!r} too"
        levels += tuple(level for level in unknown if level not in levels)
        gone = np.array([word is None for word in words.tolist()], dtype=np.bool_)
        if gone.any() and self.missing == "impute":
            own, marker = self._marked(name, gone)
            levels += (MISSING,) if own and MISSING not in levels else ()
            where = f", which {marker} says" if marker else ""
            filled = "" if own else f", and count{'s' * int(gone.sum() == 1)} as {clip(first)!r}"
            sentence += f"; {_cells(gone)} missing{filled}{where}"
        width = len(levels) - 1
        became = f"{name} became {width:,} column{'s' * (width != 1)} of 0 and 1, with {clip(first)!r} as the reference"
        self.specs.append(CategoryColumn(name=name, levels=levels, unknown=unknown))
        self.notes[name] = f"{became}{sentence}."


def _cells(gone: BoolArray) -> str:
    count = int(gone.sum())
    return f"{count:,} of {gone.size:,} cells {'is' if count == 1 else 'are'}"


def _values(words: Sequence[str]) -> str:
    return f"the rare value {clip(words[0])!r}" if len(words) == 1 else f"{len(words):,} rarer values"
