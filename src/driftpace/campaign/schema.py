"""Read the columns of a table as rows of a campaign, by its definition."""

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from driftpace.campaign.definition import Definition
from driftpace.campaign.records import MappedCategories
from driftpace.campaign.text import list_texts
from driftpace.errors import DataError, ParameterError
from driftpace.tracker.inputs import LARGEST, InputRows
from driftpace.typing import BoolArray, FloatArray

if TYPE_CHECKING:
    from driftpace.tables.columns import Column

Columns = Mapping[str, "Column"]
SHOWN = 5
"""Unknown categories named in messages and in the log, which must not hold a column of free text."""
LONGEST = 80
"""Characters of each of them."""

Unlisted = Mapping[str, Sequence[str | None]]
"""For each column with mapped categories, the unknown category of each row; None where it is listed."""

_COMMA = re.compile(r"[+-]?[\d.]*\d,\d+")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TableRows:
    """Rows with a target; ``unlabelled`` counts rows without one, ``other_period_rows`` those drawn for another period.

    ``unlisted`` are the unknown categories in them, by column. ``periods`` are those for which the rows were drawn, where the table
    says so.
    """

    rows: InputRows
    y: FloatArray
    ids: list[str] | None
    groups: list[Any] | None
    unlabelled: int
    other_period_rows: int
    unlisted: Unlisted
    periods: list[int] | None = None


def text_columns(definition: Definition) -> list[str]:
    """Return the columns that are not parsed as numbers: ids, groups, classes and categories."""
    classes = None if definition.classes is None else definition.target
    named = (definition.id, definition.groups, classes)
    return [*definition.categories, *(name for name in named if name is not None)]


def read_table(table: Any, *, owner: str, name: str = "table", definition: Definition | None = None) -> Columns:
    """Return the columns of a table: a frame, a file, arrays by name, or columns that are already read."""
    from driftpace.tables import LOCAL_LIMITS, Column, read_columns

    if isinstance(table, Mapping) and all(isinstance(column, Column) for column in table.values()):
        return table
    try:
        if definition is None:
            return read_columns(table, owner=owner, limits=LOCAL_LIMITS)
        as_text, target = text_columns(definition), definition.target
        return read_columns(table, owner=owner, limits=LOCAL_LIMITS, as_text=as_text, target=target)
    except ParameterError as error:
        raise error if error.name is None else error.renamed(name=name) from None


def labelled(
    definition: Definition,
    columns: Columns,
    *,
    period: int,
    names: Sequence[str] = (),
    known: tuple[str, ...] | None,
    owner: str,
) -> TableRows:
    """Return the rows that have a target. ``known`` are the features of earlier deliveries, as the model sees them.

    Ids are taken from the id column of the definition, or from the one written when rows were drawn. Rows drawn for another
    campaign or a later period are left out. ``names`` are earlier names of the campaign in this period.
    """
    from driftpace.tables.cells import without_marks
    from driftpace.tables.label_studio import ROW_FOR, ROW_ID, row_for

    if definition.target is None:
        raise DataError(
            "the campaign has no target column, so it cannot read labelled tables; define target.", owner=owner
        )
    target = without_marks(_column(columns, definition.target, owner), definition.classes or ())
    keep, other_period_rows = ~target.missing, 0
    periods = None
    if ROW_FOR in columns:
        made_for = columns[ROW_FOR]
        marks = {row_for(name, one): one for name in (definition.name, *names) for one in range(1, period + 1)}
        drawn_for = np.array([marks.get(str(mark), 0) for mark in made_for.values], dtype=np.int64)
        drawn_for[made_for.missing] = period
        gone = keep & (drawn_for == 0)
        keep, other_period_rows = keep & ~gone, int(gone.sum())
        periods = drawn_for[keep].tolist()
    y = _target(definition, target, keep, owner)
    rows = feature_rows(definition, columns, known=known, owner=owner, keep=keep)
    ids = None
    name = definition.id or (ROW_ID if ROW_ID in columns else None)
    if name is not None:
        ids = _words(_column(columns, name, owner), keep, name, owner)
    groups = None
    if definition.groups is not None:
        groups = _words(_column(columns, definition.groups, owner), keep, definition.groups, owner)
    return TableRows(
        rows=rows,
        y=y,
        ids=ids,
        groups=groups,
        unlabelled=int(target.missing.sum()),
        other_period_rows=other_period_rows,
        unlisted=unlisted(definition, columns, known=known, owner=owner, keep=keep),
        periods=periods,
    )


def feature_rows(
    definition: Definition,
    columns: Columns,
    *,
    known: tuple[str, ...] | None,
    owner: str,
    keep: BoolArray | None = None,
) -> InputRows:
    """Return the features of the kept rows, categories as 0/1 columns."""
    names, values = [], []
    for name in _features(definition, columns, known, owner):
        column = _column(columns, name, owner)
        there = np.ones(column.missing.size, dtype=np.bool_) if keep is None else keep
        if name in definition.categories:
            _refuse_missing(column, there, name, owner)
            levels = definition.categories[name]
            words = _level_words(column, there, name, definition, owner)
            names += [f"{name}={level}" for level in levels[1:]]
            values += [(words == level).astype(np.float64) for level in levels[1:]]
        else:
            names.append(name)
            values.append(_numbers(column, there, "feature", name, owner))
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise DataError(f"column {twice!r} has the name of a category of another column; rename it.", owner=owner)
    size = len(values[0]) if values else 0
    return InputRows(X=np.column_stack([np.empty((size, 0)), *values]), columns=tuple(names))


def unlisted(
    definition: Definition,
    columns: Columns,
    *,
    known: tuple[str, ...] | None,
    owner: str,
    keep: BoolArray | None = None,
) -> dict[str, list[str | None]]:
    """Return the unknown categories of the kept rows for each column that maps them; None where a category is listed."""
    if not definition.unknown_categories:
        return {}
    unknown_words: dict[str, list[str | None]] = {}
    for name in _features(definition, columns, known, owner):
        if name in definition.unknown_categories:
            column = _column(columns, name, owner)
            values = column.values if keep is None else column.values[keep]
            written = [word_of(value, column.kind) for value in values]
            meant = meanings(written, definition.categories[name])
            unknown_words[name] = [word if meant[word] is None else None for word in written]
    return unknown_words


def map_categories(
    definition: Definition,
    unlisted: Unlisted,
    *,
    ids: Sequence[Any] | None = None,
    delivered: Collection[str] | None = None,
) -> tuple[MappedCategories, ...]:
    """Return how many rows have unknown categories; with ids, only rows whose id is in ``delivered``.

    >>> definition = Definition.of({"name": "a", "epsilon": 1, "categories": {"city": ["Rome", "Milan"]},
    ...     "unknown_categories": {"city": "Milan"}})
    >>> [mapped.sentence for mapped in map_categories(definition, {"city": ["Bari", None, "Bari"]})]
    ['2 rows with an unknown city (Bari) count as Milan']
    """
    mapped = []
    for column, held in unlisted.items():
        if ids is not None and delivered is not None:
            held = [word for row_id, word in zip(ids, held, strict=True) if str(row_id) in delivered]
        words = [word for word in held if word is not None]
        if words:
            different = tuple(dict.fromkeys(words))
            examples = tuple(word.encode("utf-8", "replace").decode()[:LONGEST] for word in different[:SHOWN])
            mapped.append(
                MappedCategories(
                    column=column,
                    category=definition.unknown_categories[column],
                    rows=len(words),
                    distinct=len(different),
                    examples=examples,
                )
            )
    return tuple(mapped)


def invalid_rows(
    definition: Definition, columns: Columns, *, known: tuple[str, ...] | None, owner: str
) -> dict[str, BoolArray]:
    r"""Return which rows of a pool could not be delivered once labelled, by reason; a missing column raises DataError.

    >>> from driftpace.tables import read_columns
    >>> definition = Definition.of({"name": "a", "target": "y", "features": ["x"], "epsilon": 0.1})
    >>> pool = read_columns(b"id,x\n1,5\n2,\n3,six\n")
    >>> {why: rows.tolist() for why, rows in invalid_rows(definition, pool, known=None, owner="ask").items()}
    {'without x': [False, True, False], 'with a non-numeric x': [False, False, True]}
    """
    from driftpace.tables.cells import numbers_each, without_marks

    invalid: dict[str, BoolArray] = {}
    for name in _features(definition, columns, known, owner):
        column = _column(columns, name, owner)
        if name in definition.categories:
            levels = definition.categories[name]
            written = [word_of(value, column.kind) for value in column.values]
            meant = meanings(written, levels)
            refused = name not in definition.unknown_categories
            bad = np.array([refused and meant[word] is None for word in written], dtype=np.bool_)
            invalid[f"with an unknown {name} (not {list_texts(levels)})"] = bad & ~column.missing
        else:
            column = without_marks(column, ())
            with np.errstate(invalid="ignore"):
                bad = ~(np.abs(numbers_each(column)) <= LARGEST)
            invalid[f"with a non-numeric {name}"] = bad & ~column.missing
        invalid[f"without {name}"] = column.missing
    if definition.groups is not None:
        invalid[f"without {definition.groups}"] = _column(columns, definition.groups, owner).missing
    return {why: rows for why, rows in sorted(invalid.items(), reverse=True) if rows.any()}


def _features(definition: Definition, columns: Columns, known: tuple[str, ...] | None, owner: str) -> list[str]:
    if definition.features is not None:
        return list(definition.features)
    if known is not None:
        return list(dict.fromkeys(_origin(name, definition) for name in known))
    from driftpace.tables.label_studio import ROW_FOR, ROW_ID

    apart = (definition.target, definition.id, definition.groups, ROW_ID, ROW_FOR)
    names = [
        name
        for name, column in columns.items()
        if name not in apart and (column.kind in ("number", "flag") or name in definition.categories)
    ]
    if not names:
        raise DataError(
            f"the table must have a numeric column besides the target; it has {', '.join(columns)}.", owner=owner
        )
    return names


def _origin(name: str, definition: Definition) -> str:
    """Return the column that a feature was made from."""
    for column, levels in definition.categories.items():
        if any(name == f"{column}={level}" for level in levels):
            return column
    return name


def _column(columns: Columns, name: str, owner: str) -> "Column":
    if name not in columns:
        near = get_close_matches(name, columns, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(columns) or 'none'}."
        raise DataError(f"the table must have the column {name!r}; {hint}", owner=owner)
    return columns[name]


def _target(definition: Definition, column: "Column", keep: BoolArray, owner: str) -> FloatArray:
    values = column.values[keep]
    if definition.classes is not None:
        written = [word_of(value, column.kind) for value in values]
        meant = meanings(written, definition.classes)
        for place, word in zip(np.flatnonzero(keep), written, strict=True):
            if meant[word] is None:
                raise DataError(
                    f"target {definition.target!r} must be {definition.classes[0]!r} or {definition.classes[1]!r}; "
                    f"row {place + 1} has {word!r:.80}.",
                    owner=owner,
                )
        return np.array([float(meant[word] == definition.classes[1]) for word in written])
    return _numbers(column, keep, "target", str(definition.target), owner)


def _numbers(column: "Column", keep: BoolArray, role: str, name: str, owner: str) -> FloatArray:
    """Return the numbers of the kept rows, stored as numbers or as numeric text."""
    from driftpace.tables.cells import as_numbers

    kept = (
        column
        if keep.all()
        else replace(column, values=column.values[keep], missing=column.missing[keep], written=None)
    )
    numbers = as_numbers(kept)
    if numbers is None:
        raise DataError(f"{role} {name!r} must be numeric; {_not_numeric(kept, keep, role, name)}.", owner=owner)
    if numbers.missing.any():
        row = int(np.flatnonzero(keep)[np.argmax(numbers.missing)]) + 1
        raise DataError(f"{role} {name!r} must have a value in every row; row {row:,} has none.", owner=owner)
    wild = ~np.isfinite(numbers.values)
    if wild.any():
        row = int(np.flatnonzero(keep)[np.argmax(wild)]) + 1
        raise DataError(f"{role} {name!r} must be finite; row {row:,} has {numbers.values[wild][0]!s}.", owner=owner)
    return np.asarray(numbers.values, dtype=np.float64)


def _not_numeric(kept: "Column", keep: BoolArray, role: str, name: str) -> str:
    """Return what a column holds instead of numbers, and how to define it."""
    if kept.kind != "text":
        return f"it holds {'dates' if kept.kind == 'time' else 'mixed values'}"
    from driftpace.tables.cells import numbers_each

    none = np.isnan(numbers_each(kept)) & ~kept.missing
    if not none.all():
        place = int(np.argmax(none))
        return f"row {int(np.flatnonzero(keep)[place]) + 1:,} has {str(kept.values[place])!r:.80}"
    texts = sorted({str(value) for value in kept.values})
    if any(_COMMA.fullmatch(word) for word in texts):
        return f"it has numbers with a decimal comma, such as {texts[0]!r:.80}; use a point"
    if role == "feature":
        return f"it holds text; list its categories in the definition: categories.{name} = {texts[:6]}"
    two = f'; set classes = ["{texts[0]}", "{texts[1]}"] in the definition' if len(texts) == 2 else ""
    return f"it holds text{two}"


def _level_words(
    column: "Column", keep: BoolArray, name: str, definition: Definition, owner: str
) -> "np.ndarray[Any, Any]":
    levels, other = definition.categories[name], definition.unknown_categories.get(name)
    written = [word_of(value, column.kind) for value in column.values[keep]]
    meant = meanings(written, levels)
    for word in meant:
        if meant[word] is None and other is None:
            command = f"driftpace amend {definition.name} --unknown-category {shlex.quote(f'{name}={levels[0]}')}"
            raise DataError(
                f"column {name!r} must be one of {list_texts(levels)}; got {word!r:.80}. Remove such rows, or map unknown "
                f"categories: {command} --reason ..., or unknown_categories.{name} in the definition of a new campaign.",
                owner=owner,
            )
    return np.array([other if meant[word] is None else meant[word] for word in written], dtype=object)


def meanings(written: Sequence[str], words: Sequence[str]) -> dict[str, str | None]:
    """Return which of ``words`` each distinct text in a file stands for; None where it is none of them.

    A text stands for itself, or else for the only one that is the same number or truth value: files write 1 as 1.0 where some
    values are missing, and true as True.
    """
    meaning_of: dict[str, str | None] = {}
    for word in dict.fromkeys(written):
        alike = [word] if word in words else [candidate for candidate in words if _plainly(candidate) == _plainly(word)]
        meaning_of[word] = alike[0] if len(alike) == 1 else None
    return meaning_of


def _plainly(word: str) -> str:
    if word.lower() in ("true", "false"):
        return word.lower()
    try:
        return repr(float(word) + 0.0)
    except ValueError:
        return word


def _refuse_missing(column: "Column", keep: BoolArray, name: str, owner: str) -> None:
    gone = column.missing & keep
    if gone.any():
        raise DataError(
            f"column {name!r} must have a value in every row; row {int(np.argmax(gone)) + 1:,} has none.", owner=owner
        )


def _words(column: "Column", keep: BoolArray, name: str, owner: str) -> list[str]:
    from driftpace.tables.cells import as_ids

    _refuse_missing(column, keep, name, owner)
    return as_ids([word_of(value, column.kind) for value in column.values[keep]])


def word_of(value: Any, kind: str) -> str:
    """Return the text of a cell."""
    if kind == "flag":
        return "true" if value else "false"
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)
