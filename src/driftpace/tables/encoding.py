"""Encode columns with missing cells and categories as finite numbers, in the same way in every period.

An :class:`Encoding` is learned once, without labels, by :func:`driftpace.tables.learn_encoding`, and then fixed, so that the
coefficients of a model keep their meaning. Each row is encoded by itself.
"""

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal

import numpy as np

from driftpace.errors import DataError
from driftpace.tables.calendar import calendar_column
from driftpace.tables.categories import category_words, meanings
from driftpace.tables.cell_counts import FilledCells, MappedCategories
from driftpace.tables.cells import flags_and_texts, numbers_and_texts
from driftpace.tables.columns import Column
from driftpace.tables.expansion import Expansion, ExpansionRequest, learn_expansion
from driftpace.tables.limits import clip
from driftpace.tables.number_text import number_hint
from driftpace.tables.text_column import TextColumn
from driftpace.typing import BoolArray, FloatArray, IntArray

MissingPolicy = Literal["impute", "drop", "refuse"]
MISSING_POLICIES: tuple[MissingPolicy, ...] = ("impute", "drop", "refuse")
MISSING, OTHER = "missing", "other"
"""The categories of missing cells, and of rare or unknown categories."""
LARGEST = 1e75
"""Beyond this a fourth power overflows, and the estimates of the constants need fourth powers."""
NUMERIC_SHARE = 0.95
"""A column is numeric where at least this share of its cells are numbers; the others are missing."""
SHOWN = 5
"""Unknown categories named in messages and in the log, which must not hold a column of free text."""
LONGEST = 80
"""Characters of each of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NumberColumn:
    """A numeric column: missing cells are ``fill``, and 1 in a column of their own where ``indicator`` is set."""

    name: str
    fill: float
    indicator: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the encoded columns."""
        return (self.name, f"{self.name}={MISSING}") if self.indicator else (self.name,)


@dataclass(frozen=True, kw_only=True, slots=True)
class CategoryColumn:
    """A categorical column: a column of 0 and 1 for each of ``levels`` but the first, the reference category.

    Other categories count as the one in ``unknown``; where it lists several, each category counts as the one that its hash
    selects. Missing cells are the category ``missing`` where it is listed, and the reference category elsewhere.
    """

    name: str
    levels: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the encoded columns."""
        return tuple(f"{self.name}={level}" for level in self.levels[1:])

    def category_of(self, word: str) -> str:
        """Return the category that an unlisted one counts as.

        >>> CategoryColumn(name="city", levels=("Oslo", "other"), unknown=("other",)).category_of("Rome")
        'other'
        """
        return self.unknown[zlib.crc32(word.encode("utf-8", "surrogatepass")) % len(self.unknown)]


EncodedColumn = NumberColumn | CategoryColumn | TextColumn


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class EncodedRows:
    """Encoded rows: ``X`` has a column for each of ``names``, all finite.

    ``filled`` marks the missing cells of each column that has some, and ``texts`` holds those of them that are not numbers.
    ``unknown`` holds the unlisted categories of each column that has some; None elsewhere.
    """

    X: FloatArray
    names: tuple[str, ...]
    encoding: "Encoding"
    filled: Mapping[str, BoolArray]
    texts: Mapping[str, np.ndarray[Any, Any]]
    unknown: Mapping[str, np.ndarray[Any, Any]]

    def take(self, places: IntArray | Sequence[int]) -> "EncodedRows":
        """Return the rows in those places."""
        index = np.asarray(places, dtype=np.int64)
        return EncodedRows(
            X=np.ascontiguousarray(self.X[index]),
            names=self.names,
            encoding=self.encoding,
            filled={name: cells[index] for name, cells in self.filled.items()},
            texts={name: cells[index] for name, cells in self.texts.items()},
            unknown={name: cells[index] for name, cells in self.unknown.items()},
        )

    def filled_cells(self) -> tuple[FilledCells, ...]:
        """Return the missing cells by column."""
        counted = []
        for column in self.encoding.columns:
            count = int(self.filled[column.name].sum()) if column.name in self.filled else 0
            if count:
                words = [] if column.name not in self.texts else _present(self.texts[column.name])
                counted.append(
                    FilledCells(
                        column=column.name,
                        cells=count,
                        value=_fill_text(column),
                        not_numbers=len(words),
                        example=_shown(words[0]) if words else "",
                    )
                )
        return tuple(counted)

    def mapped_categories(self) -> tuple[MappedCategories, ...]:
        """Return the unlisted categories by column."""
        mapped = []
        for column in self.encoding.columns:
            words = _present(self.unknown[column.name]) if column.name in self.unknown else []
            if words and isinstance(column, CategoryColumn):
                different = list(dict.fromkeys(words))
                mapped.append(
                    MappedCategories(
                        column=column.name,
                        category=column.unknown[0] if len(column.unknown) == 1 else f"{OTHER}, by their hash",
                        rows=len(words),
                        distinct=len(different),
                        examples=tuple(_shown(word) for word in different[:SHOWN]),
                    )
                )
        return tuple(mapped)


@dataclass(frozen=True, kw_only=True, slots=True)
class Encoding:
    """What each column of a table becomes.

    Parameters
    ----------
    columns : tuple of NumberColumn, CategoryColumn or TextColumn
        The source columns in order.
    missing : {"impute", "drop", "refuse"}
        Whether missing cells are filled, their rows are left out, or the table is refused.
    dayfirst : bool, optional
        Whether 03/04/2010 is 3 April in features made of dates; by default the other dates of a table decide.
    expansion : Expansion, optional
        Spline terms and products of the encoded columns, which come after these.

    Examples
    --------
    >>> from driftpace.tables import read_columns
    >>> encoding = Encoding(columns=(
    ...     NumberColumn(name="age", fill=40.0, indicator=True),
    ...     CategoryColumn(name="city", levels=("Oslo", "Rome"), unknown=("Oslo",)),
    ... ))
    >>> rows = encoding.encode(read_columns({"age": [30, None], "city": ["Rome", "Bari"]}))
    >>> rows.names, rows.X.tolist()
    (('age', 'age=missing', 'city=Rome'), [[30.0, 0.0, 1.0], [40.0, 1.0, 0.0]])
    >>> rows.mapped_categories()[0].sentence
    '1 row with an unlisted city (Bari) counts as Oslo'
    """

    columns: tuple[EncodedColumn, ...]
    missing: MissingPolicy = "impute"
    dayfirst: bool | None = None
    expansion: Expansion | None = None

    @property
    def plain_names(self) -> tuple[str, ...]:
        """The names of the encoded columns, without those that are expanded."""
        return tuple(name for column in self.columns for name in column.names)

    @property
    def numeric(self) -> tuple[str, ...]:
        """The names of the columns of numbers."""
        return tuple(column.name for column in self.columns if isinstance(column, NumberColumn))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the encoded columns."""
        return self.plain_names + (() if self.expansion is None else self.expansion.names)

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the source columns."""
        return tuple(column.name for column in self.columns)

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The columns to be read as text, so that the categories 7 and 007 differ."""
        return tuple(column.name for column in self.columns if not isinstance(column, NumberColumn))

    def incomplete(
        self,
        columns: Mapping[str, Column],
        *,
        keep: BoolArray | None = None,
        owner: str = "Encoding",
        numbers: IntArray | None = None,
    ) -> BoolArray:
        """Return which of the kept rows have a missing cell; DataError where a column is not numeric any more."""
        gone = np.zeros(next(iter(columns.values())).missing.size, dtype=np.bool_)
        places = np.arange(gone.size) if keep is None else np.flatnonzero(keep)
        for spec in self.columns:
            column = find_column(columns, spec.name, owner, self.dayfirst)
            if isinstance(spec, NumberColumn):
                gone[places] |= np.isnan(numeric_cells(column, places, spec.name, owner, numbers)[0])
            else:
                gone[places] |= column.missing[places]
        return gone

    def encode(
        self,
        columns: Mapping[str, Column],
        *,
        keep: BoolArray | None = None,
        owner: str = "Encoding",
        numbers: IntArray | None = None,
    ) -> EncodedRows:
        """Encode the rows of a table.

        Parameters
        ----------
        columns : mapping of str to Column
            The table; other columns than those of the encoding are ignored.
        keep : array of bool, optional
            The rows to encode; all by default.
        owner : str
            The function that error messages name.
        numbers : array of int, optional
            The numbers by which error messages name the rows; by default from 1.

        Returns
        -------
        EncodedRows

        Raises
        ------
        DataError
            If a column is absent, is not numeric where it was, has an infinite number, or has a missing cell with
            ``missing="refuse"``.
        """
        parts: list[FloatArray] = []
        filled: dict[str, BoolArray] = {}
        texts: dict[str, np.ndarray[Any, Any]] = {}
        unknown: dict[str, np.ndarray[Any, Any]] = {}
        rows = next(iter(columns.values())).missing.size if columns else 0
        places = np.arange(rows) if keep is None else np.flatnonzero(keep)
        for spec in self.columns:
            column = find_column(columns, spec.name, owner, self.dayfirst)
            if isinstance(spec, NumberColumn):
                cells, words = numeric_cells(column, places, spec.name, owner, numbers)
                gone = np.isnan(cells)
                parts.append(np.where(gone, spec.fill, cells))
                if spec.indicator:
                    parts.append(gone.astype(np.float64))
                if words is not None:
                    texts[spec.name] = words
            elif isinstance(spec, TextColumn):
                gone = column.missing[places]
                parts.append(spec.encode(column, places, owner))
            else:
                gone = column.missing[places]
                codes, unlisted = _category_codes(spec, column, places)
                parts += [(codes == place).astype(np.float64) for place in range(1, len(spec.levels))]
                if unlisted is not None:
                    unknown[spec.name] = unlisted
            if gone.any():
                if self.missing == "refuse":
                    row = _number(int(places[np.argmax(gone)]), numbers)
                    raise DataError(
                        f'column {spec.name!r} must have a value in every row with missing="refuse"; row {row:,} has none.',
                        owner=owner,
                    )
                filled[spec.name] = gone
        check_names(self.names, owner)
        X = np.ascontiguousarray(np.column_stack([np.empty((places.size, 0)), *parts]))
        if self.expansion is not None:
            X = self.expansion.expand(X, self.plain_names)
        return EncodedRows(X=X, names=self.names, encoding=self, filled=filled, texts=texts, unknown=unknown)

    def to_values(self) -> dict[str, Any]:
        """Return plain values that :meth:`of` reads, such as JSON holds."""
        columns = [
            {"name": column.name, "fill": column.fill, "indicator": column.indicator}
            if isinstance(column, NumberColumn)
            else {"name": column.name, "rarity": list(column.rarity)}
            if isinstance(column, TextColumn)
            else {"name": column.name, "levels": list(column.levels), "unknown": list(column.unknown)}
            for column in self.columns
        ]
        order: dict[str, Any] = {} if self.dayfirst is None else {"dayfirst": self.dayfirst}
        if self.expansion is not None:
            order["expansion"] = self.expansion.to_values()
        return {"missing": self.missing, "columns": columns, **order}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Encoding":
        """Return the encoding of plain values."""
        columns = tuple(
            NumberColumn(name=item["name"], fill=float(item["fill"]), indicator=bool(item["indicator"]))
            if "fill" in item
            else TextColumn(name=item["name"], rarity=tuple(float(weight) for weight in item["rarity"]))
            if "rarity" in item
            else CategoryColumn(name=item["name"], levels=tuple(item["levels"]), unknown=tuple(item["unknown"]))
            for item in values["columns"]
        )
        made = values.get("expansion")
        expansion = None if made is None else Expansion.of(made)
        return cls(columns=columns, missing=values["missing"], dayfirst=values.get("dayfirst"), expansion=expansion)


def with_expansion(
    encoding: Encoding,
    request: ExpansionRequest | None,
    columns: Mapping[str, Column],
    *,
    keep: BoolArray | None = None,
    owner: str,
) -> Encoding:
    """Return the encoding with the expanded columns that rows show; as it is where none are requested, or it has them."""
    if request is None or encoding.expansion is not None:
        return encoding
    rows = encoding.encode(columns, keep=keep, owner=owner)
    expansion = learn_expansion(request, rows.X, rows.names, numeric=encoding.numeric, owner=owner)
    return replace(encoding, expansion=expansion)


def find_column(columns: Mapping[str, Column], name: str, owner: str, dayfirst: bool | None = None) -> Column:
    """Return the column of that name, or the calendar feature such as ``date:month``; raise DataError where there is neither."""
    if name not in columns:
        made = calendar_column(name, columns, owner=owner, dayfirst=dayfirst, settings=False)
        if made is not None:
            return made
        near = [one for one in columns if one.lower() == name.lower()] or get_close_matches(name, columns, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(columns) or 'none'}."
        raise DataError(f"the table must have the column {name!r}; {hint}", owner=owner)
    return columns[name]


def check_names(names: Sequence[str], owner: str) -> None:
    """Refuse encoded columns of one name."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"column {twice!r} has the name of a category of another column; rename it.", owner=owner)


def numeric_cells(
    column: Column, places: IntArray, name: str, owner: str, rows: IntArray | None = None
) -> tuple[FloatArray, np.ndarray[Any, Any] | None]:
    """Return numbers, NaN where missing, and the cells that hold other texts; DataError where these are many.

    ``rows`` are the numbers by which it names rows.
    """
    every, words = numbers_and_texts(column)
    if words is not None and column.kind == "text":
        every, words = flags_and_texts(every, words)
    numbers = every[places]
    with np.errstate(invalid="ignore"):
        wild = np.abs(numbers) > LARGEST
    if wild.any():
        at = int(np.argmax(wild))
        row = _number(int(places[at]), rows)
        raise DataError(
            f"column {name!r} must be finite and below {LARGEST:g} in size; row {row:,} has {numbers[at]:g}.",
            owner=owner,
        )
    if words is None:
        return numbers, None
    texts = np.array([None, *words], dtype=object)[1:][places]
    count = sum(text is not None for text in texts.tolist())
    if too_many_texts(
        count, int((~column.missing[places]).sum()), [text for text in texts.tolist() if text is not None]
    ):
        raise DataError(f"feature {name!r} must be numeric; {_describe(column, texts, places, rows)}.", owner=owner)
    return numbers, texts if count else None


def too_many_texts(count: int, cells: int, texts: Iterable[str] = ()) -> bool:
    """Return whether so many cells of a numeric column are no numbers that it holds something else.

    A few rows may by chance have more than 5 % of them: three standard errors and one more cell are allowed, up to a half, unless
    one of the ``texts`` is a number in another spelling, which the column would lose.

    >>> [too_many_texts(count, cells) for count, cells in ((1, 1), (1, 2), (6, 60), (12, 60), (70, 1000), (80, 1000))]
    [True, False, False, True, False, True]
    >>> too_many_texts(1, 2, ["24 kg"]), too_many_texts(1, 40, ["24 kg"])
    (True, False)
    """
    expected = (1.0 - NUMERIC_SHARE) * cells
    if count <= expected:
        return False
    chance = expected + 3.0 * math.sqrt(NUMERIC_SHARE * expected) + 1.0
    return count > min(chance, 0.5 * cells) or any(number_hint(text) for text in texts)


def _number(place: int, rows: IntArray | None) -> int:
    """Return the number of a row, from 1."""
    return place + 1 if rows is None else int(rows[place])


def _describe(column: Column, texts: np.ndarray[Any, Any], places: IntArray, rows: IntArray | None) -> str:
    if column.kind == "time":
        return "it holds dates"
    at = next(index for index, text in enumerate(texts) if text is not None)
    return f"row {_number(int(places[at]), rows):,} has {_shown(texts[at])!r}{number_hint(texts[at])}"


def _category_codes(
    spec: CategoryColumn, column: Column, places: IntArray
) -> tuple[IntArray, np.ndarray[Any, Any] | None]:
    """Return the place of the category of each row among the levels, and the unlisted categories."""
    words = category_words(column)[places]
    where = {level: place for place, level in enumerate(spec.levels)}
    meant = meanings([word for word in dict.fromkeys(words.tolist()) if word is not None], spec.levels)
    code_of = {word: where[spec.category_of(word) if level is None else level] for word, level in meant.items()}
    code_of[None] = where.get(MISSING, 0)  # type: ignore[index]
    codes = np.array([code_of[word] for word in words.tolist()], dtype=np.int64)
    strange = {word for word, level in meant.items() if level is None}
    if not strange:
        return codes, None
    return codes, np.array([None, *(word if word in strange else None for word in words.tolist())], dtype=object)[1:]


def _fill_text(column: EncodedColumn) -> str:
    if isinstance(column, NumberColumn):
        return MISSING if column.fill != column.fill else f"{column.fill:.6g}"
    if isinstance(column, TextColumn):
        return "a text without words"
    return MISSING if MISSING in column.levels else column.levels[0]


def _present(cells: np.ndarray[Any, Any]) -> list[str]:
    return [cell for cell in cells.tolist() if cell is not None]


def _shown(word: str) -> str:
    return clip(word, LONGEST)
