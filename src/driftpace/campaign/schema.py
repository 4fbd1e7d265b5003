"""From the columns of a table to the rows of a campaign, by its definition; and from predictions back to the words of the table."""

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from driftpace.campaign.definition import Definition
from driftpace.campaign.records import MappedCategories
from driftpace.errors import DataError
from driftpace.losses import loss_spec
from driftpace.tracker.inputs import LARGEST, InputRows
from driftpace.typing import BoolArray, FloatArray

if TYPE_CHECKING:
    from driftpace.tables.columns import Column

Columns = Mapping[str, "Column"]
SHOWN = 5
"""So many of the words are named; the log is no place for a column of free text."""
LONGEST = 80
"""Characters of each."""

Unlisted = Mapping[str, Sequence[str | None]]
"""For each column of words that has one for all others, what each row holds instead of a listed one; None where it is listed."""

_COMMA = re.compile(r"[+-]?[\d.]*\d,\d+")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LabelledRows:
    """Rows with a target; ``unlabelled`` counts those that have none yet, ``other_period_rows`` those drawn for another period.

    ``unlisted`` are the words in them that count as another one, by column.
    """

    rows: InputRows
    y: FloatArray
    ids: list[str] | None
    groups: list[Any] | None
    unlabelled: int
    other_period_rows: int
    unlisted: Unlisted


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Predicted:
    """What the model says of each row: a number, or one of the two classes as the definition calls them.

    ``score`` is the linear score and ``probability`` that of the second class, where the loss estimates it; None elsewhere.
    ``unknown_categories`` are the rows whose words count as another one.
    """

    values: list[Any]
    score: FloatArray
    probability: FloatArray | None
    unknown_categories: tuple[MappedCategories, ...] = ()


def labelled(
    definition: Definition,
    columns: Columns,
    *,
    period: int,
    names: Sequence[str] = (),
    known: tuple[str, ...] | None,
    owner: str,
) -> LabelledRows:
    """Return the rows that have a target. ``known`` are the features of earlier deliveries, as the model sees them.

    What tells rows apart is the column that the definition names, or the one that was written when rows were drawn. Rows that
    say they were drawn for another period are left out: their label may be long out of date. ``names`` are those that the
    campaign had before, when it was asked for this period.
    """
    from driftpace.tables.cells import without_marks
    from driftpace.tables.label_studio import ROW_FOR, ROW_ID, row_for

    if definition.target is None:
        raise DataError(f"{owner}: the campaign must know its target to read a table; it was defined without one.")
    target = without_marks(_column(columns, definition.target, owner), definition.classes or ())
    keep, other_period_rows = ~target.missing, 0
    if ROW_FOR in columns:
        made_for = columns[ROW_FOR]
        drawn_for = {row_for(name, period) for name in (definition.name, *names)}
        ours = np.array([str(one) in drawn_for for one in made_for.values], dtype=np.bool_)
        gone = keep & ~ours & ~made_for.missing
        keep, other_period_rows = keep & ~gone, int(gone.sum())
    y = _target(definition, target, keep, owner)
    rows = feature_rows(definition, columns, known=known, owner=owner, keep=keep)
    ids = None
    name = definition.id or (ROW_ID if ROW_ID in columns else None)
    if name is not None:
        ids = _words(_column(columns, name, owner), keep, name, owner)
    groups = None
    if definition.groups is not None and isinstance(definition.l2, tuple):
        groups = _words(_column(columns, definition.groups, owner), keep, definition.groups, owner)
    return LabelledRows(
        rows=rows,
        y=y,
        ids=ids,
        groups=groups,
        unlabelled=int(target.missing.sum()),
        other_period_rows=other_period_rows,
        unlisted=unlisted(definition, columns, known=known, owner=owner, keep=keep),
    )


def feature_rows(
    definition: Definition,
    columns: Columns,
    *,
    known: tuple[str, ...] | None,
    owner: str,
    keep: BoolArray | None = None,
) -> InputRows:
    """Return the features of the rows that are kept, words as columns of 0 and 1."""
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
        raise DataError(f"{owner}: no column may be called {twice!r}, which stands for a word of another; rename it.")
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
    """Return the words of the rows that are kept, in each column where any word may stand; None where it is one that is listed."""
    if not definition.unknown_categories:
        return {}
    found: dict[str, list[str | None]] = {}
    for name in _features(definition, columns, known, owner):
        if name in definition.unknown_categories:
            column = _column(columns, name, owner)
            values = column.values if keep is None else column.values[keep]
            written = [word_of(one, column.kind) for one in values]
            meant = meanings(written, definition.categories[name])
            found[name] = [word if meant[word] is None else None for word in written]
    return found


def map_categories(
    definition: Definition, unlisted: Unlisted, *, ids: Sequence[Any] | None = None, told: Collection[str] | None = None
) -> tuple[MappedCategories, ...]:
    """Return which rows hold a word that counts as another; only those whose id was ``told``, where rows have one.

    >>> definition = Definition.of({"name": "a", "epsilon": 1, "categories": {"city": ["Rome", "Milan"]},
    ...     "unknown_categories": {"city": "Milan"}})
    >>> [one.sentence for one in map_categories(definition, {"city": ["Bari", None, "Bari"]})]
    ['2 rows with an unknown city (Bari) count as Milan']
    """
    found = []
    for column, held in unlisted.items():
        if ids is not None and told is not None:
            held = [word for one, word in zip(ids, held, strict=True) if str(one) in told]
        words = [word for word in held if word is not None]
        if words:
            different = tuple(dict.fromkeys(words))
            shown = tuple(word.encode("utf-8", "replace").decode()[:LONGEST] for word in different[:SHOWN])
            found.append(
                MappedCategories(
                    column=column,
                    category=definition.unknown_categories[column],
                    rows=len(words),
                    distinct=len(different),
                    examples=shown,
                )
            )
    return tuple(found)


def invalid_rows(
    definition: Definition, columns: Columns, *, known: tuple[str, ...] | None, owner: str
) -> dict[str, BoolArray]:
    r"""Return why rows of a pool would be refused once they are labelled, and which those are; a lacking column is refused here.

    >>> from driftpace.tables import read_columns
    >>> definition = Definition.of({"name": "a", "target": "y", "features": ["x"], "epsilon": 0.1})
    >>> pool = read_columns(b"id,x\n1,5\n2,\n3,six\n")
    >>> {why: rows.tolist() for why, rows in invalid_rows(definition, pool, known=None, owner="ask").items()}
    {'without x': [False, True, False], 'with no number as x': [False, False, True]}
    """
    from driftpace.tables.cells import numbers_each, without_marks

    found: dict[str, BoolArray] = {}
    for name in _features(definition, columns, known, owner):
        column = _column(columns, name, owner)
        if name in definition.categories:
            levels = definition.categories[name]
            written = [word_of(one, column.kind) for one in column.values]
            meant = meanings(written, levels)
            refused = name not in definition.unknown_categories
            bad = np.array([refused and meant[word] is None for word in written], dtype=np.bool_)
            found[f"with another {name} than {listed(levels)}"] = bad & ~column.missing
        else:
            column = without_marks(column, ())
            with np.errstate(invalid="ignore"):
                bad = ~(np.abs(numbers_each(column)) <= LARGEST)
            found[f"with no number as {name}"] = bad & ~column.missing
        found[f"without {name}"] = column.missing
    if definition.groups is not None and isinstance(definition.l2, tuple):
        found[f"without {definition.groups}"] = _column(columns, definition.groups, owner).missing
    return {why: rows for why, rows in sorted(found.items(), reverse=True) if rows.any()}


def listed(words: Sequence[str]) -> str:
    """Return words in a row, in quotes where they would run into each other.

    >>> listed(["basic", "gold"]), listed(["Rome, Italy", ""])
    ('basic, gold', '"Rome, Italy", ""')
    """
    return ", ".join(
        f'"{word}"' if "," in word or '"' in word or word != word.strip() or not word else word for word in words
    )


def predicted(
    definition: Definition, scores: FloatArray, *, unknown_categories: tuple[MappedCategories, ...] = ()
) -> Predicted:
    """Return predictions in the words of the table."""
    spec = loss_spec(definition.loss)
    values = spec.predictions(scores).tolist()
    if spec.task == "classification":
        words: tuple[Any, Any] = definition.classes or (0, 1)
        values = [words[int(value > 0.0)] for value in values]
    return Predicted(
        values=values, score=scores, probability=spec.probabilities(scores), unknown_categories=unknown_categories
    )


def _features(definition: Definition, columns: Columns, known: tuple[str, ...] | None, owner: str) -> list[str]:
    if definition.features is not None:
        return list(definition.features)
    if known is not None:
        return list(dict.fromkeys(_origin(name, definition) for name in known))
    from driftpace.tables.label_studio import ROW_FOR, ROW_ID

    apart = (definition.target, definition.id, definition.groups, ROW_ID, ROW_FOR)
    found = [
        name
        for name, column in columns.items()
        if name not in apart and (column.kind in ("number", "flag") or name in definition.categories)
    ]
    if not found:
        raise DataError(
            f"{owner}: the table must have a numeric column besides the target; it has {', '.join(columns)}."
        )
    return found


def _origin(name: str, definition: Definition) -> str:
    """Return the column that a feature was made of: itself, or the one whose word it stands for."""
    for column, levels in definition.categories.items():
        if any(name == f"{column}={level}" for level in levels):
            return column
    return name


def _column(columns: Columns, name: str, owner: str) -> "Column":
    if name not in columns:
        near = get_close_matches(name, columns, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(columns) or 'none'}."
        raise DataError(f"{owner}: the table must have the column {name!r}; {hint}")
    return columns[name]


def _target(definition: Definition, column: "Column", keep: BoolArray, owner: str) -> FloatArray:
    values = column.values[keep]
    if definition.classes is not None:
        written = [word_of(one, column.kind) for one in values]
        meant = meanings(written, definition.classes)
        for place, word in zip(np.flatnonzero(keep), written, strict=True):
            if meant[word] is None:
                raise DataError(
                    f"{owner}: target {definition.target!r} must be {definition.classes[0]!r} or {definition.classes[1]!r}; "
                    f"row {place + 1} has {word!r:.80}."
                )
        return np.array([float(meant[word] == definition.classes[1]) for word in written])
    return _numbers(column, keep, "target", str(definition.target), owner)


def _numbers(column: "Column", keep: BoolArray, role: str, name: str, owner: str) -> FloatArray:
    """Return the numbers of the rows that are kept, whether their file has them as numbers or as text that is one."""
    from driftpace.tables.cells import as_numbers

    kept = column if keep.all() else _some(column, keep)
    found = as_numbers(kept)
    if found is None:
        raise DataError(f"{owner}: {role} {name!r} must be numbers; {_no_numbers(kept, keep, role, name)}.")
    if found.missing.any():
        row = int(np.flatnonzero(keep)[np.argmax(found.missing)]) + 1
        raise DataError(f"{owner}: {role} {name!r} must have a value in every row; row {row:,} has none.")
    wild = ~np.isfinite(found.values)
    if wild.any():
        row = int(np.flatnonzero(keep)[np.argmax(wild)]) + 1
        raise DataError(f"{owner}: {role} {name!r} must be finite; row {row:,} has {found.values[wild][0]!s}.")
    return np.asarray(found.values, dtype=np.float64)


def _some(column: "Column", keep: BoolArray) -> "Column":
    from driftpace.tables.columns import Column

    return Column(kind=column.kind, values=column.values[keep], missing=column.missing[keep])


def _no_numbers(kept: "Column", keep: BoolArray, role: str, name: str) -> str:
    """Return what there is instead of numbers: the first cell that is none, or words and where they are to be defined."""
    if kept.kind != "text":
        return f"it holds {'dates' if kept.kind == 'time' else 'several kinds of values'}"
    from driftpace.tables.cells import numbers_each

    none = np.isnan(numbers_each(kept)) & ~kept.missing
    if not none.all():
        place = int(np.argmax(none))
        return f"row {int(np.flatnonzero(keep)[place]) + 1:,} has {str(kept.values[place])!r:.80}"
    found = sorted({str(one) for one in kept.values})
    if any(_COMMA.fullmatch(word) for word in found):
        return f"it holds numbers with a decimal comma, such as {found[0]!r:.80}; write a point instead"
    if role == "feature":
        return f"it holds text; give its words in the definition: categories.{name} = {found[:6]}"
    two = f': classes = ["{found[0]}", "{found[1]}"] in the definition says so' if len(found) == 2 else ""
    return f"it holds text{two}"


def _level_words(
    column: "Column", keep: BoolArray, name: str, definition: Definition, owner: str
) -> "np.ndarray[Any, Any]":
    levels, other = definition.categories[name], definition.unknown_categories.get(name)
    written = [word_of(one, column.kind) for one in column.values[keep]]
    meant = meanings(written, levels)
    for word in meant:
        if meant[word] is None and other is None:
            command = f"driftpace amend {definition.name} --other {shlex.quote(f'{name}={levels[0]}')}"
            raise DataError(
                f"{owner}: column {name!r} must hold one of {listed(levels)}, as the definition says; got {word!r:.80}: leave "
                f"such rows out, or say which of these any other word counts as, for this campaign by amend (such as "
                f"{command} --reason ...), for a new one by unknown_categories.{name} in its definition."
            )
    return np.array([other if meant[word] is None else meant[word] for word in written], dtype=object)


def meanings(written: Sequence[str], words: Sequence[str]) -> dict[str, str | None]:
    """Return, for each different word as a file has it, which of ``words`` it stands for; None where it is none of them.

    It is itself, or else the only one that is the same number or truth: files write 1 as 1.0 where some are missing, and true as
    True.
    """
    found: dict[str, str | None] = {}
    for word in dict.fromkeys(written):
        alike = [word] if word in words else [one for one in words if _plainly(one) == _plainly(word)]
        found[word] = alike[0] if len(alike) == 1 else None
    return found


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
            f"{owner}: column {name!r} must have a value in every row; row {int(np.argmax(gone)) + 1:,} has none."
        )


def _words(column: "Column", keep: BoolArray, name: str, owner: str) -> list[str]:
    from driftpace.tables.cells import as_ids

    _refuse_missing(column, keep, name, owner)
    return as_ids([word_of(one, column.kind) for one in column.values[keep]])


def word_of(value: Any, kind: str) -> str:
    """Return the word that a cell is."""
    if kind == "flag":
        return "true" if value else "false"
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)
