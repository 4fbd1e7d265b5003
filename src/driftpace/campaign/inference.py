"""Infer a campaign's definition from a table: row id, classes of the target, features and their categories."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from driftpace.campaign.definition import Definition
from driftpace.campaign.schema import meanings, read_table, word_of
from driftpace.campaign.text import list_texts
from driftpace.errors import ParameterError
from driftpace.losses import loss_names, loss_spec
from driftpace.tables.limits import MAX_CATEGORIES

if TYPE_CHECKING:
    from driftpace.tables import Column

    Columns = Mapping[str, Column]

OWNER = "infer_definition"
MIN_CLASS_ROWS = 20
"""Two distinct numbers are taken for classes where this many rows have one; 0 and 1, or -1 and 1, always."""
MIN_COUNTED_ROWS = 20
"""Fewer numbers than this may be consecutive by chance."""

_NO = frozenset(["no", "n", "false", "f", "nein", "non", "nee", "nej", "nie", "off", "negative", "never"])
_YES = frozenset(["yes", "y", "true", "t", "ja", "oui", "si", "sí", "da", "tak", "on", "positive"])
_DATE = re.compile(
    r"\d{4}-?(W|Q)\d{1,2}|\d{4}[-/.]\d{1,2}([-/.]\d{1,2}([T ].*)?)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{2}|\d{4})( .*)?"
)
_DIGITS = re.compile(r"\d+")


class Note(NamedTuple):
    """Something that was inferred: what it is about, and a sentence."""

    topic: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Inference:
    """An inferred definition, and notes that say what was understood."""

    definition: Definition
    notes: tuple[Note, ...]


def infer_definition(table: Any, *, source: str = "the table", **settings: Any) -> Inference:
    """Infer a campaign's definition from a table, such as the pool of rows to label.

    Parameters
    ----------
    table : path, frame, mapping of arrays, or columns as :mod:`driftpace.tables` reads them
        Rows like those that will be labelled; the target may be missing.
    source : str
        A name of the table, for messages.
    **settings
        Settings of a :class:`~driftpace.campaign.Definition`: ``name``, ``target`` and one of ``epsilon`` and ``tolerance``
        are required, and whatever else is given is not inferred.

    Returns
    -------
    Inference
        The definition, and notes on what was understood.

    Raises
    ------
    ParameterError
        If the target can be neither a number nor one of two classes, or a feature is unusable.

    Examples
    --------
    >>> rows = {"city": ["Oslo", "Rome"] * 10, "area": list(range(20)), "sold": ["no", "yes", "yes", "no"] * 5}
    >>> inference = infer_definition(rows, name="sales", target="sold", epsilon=0.02)
    >>> inference.definition.classes, dict(inference.definition.categories)
    (('no', 'yes'), {'city': ('Oslo', 'Rome')})
    >>> inference.notes[0]
    Note(topic='Row ID', text='area')
    """
    values, notes = infer_settings(settings, table_columns(table), source=source)
    return Inference(definition=Definition.of(values), notes=tuple(notes))


def infer_settings(
    settings: Mapping[str, Any], columns: "Columns", *, source: str
) -> tuple[dict[str, Any], list[Note]]:
    """Return settings with what the columns of a table show filled in, and notes on it; nothing needs to be given."""
    values = dict(settings)
    notes: list[Note] = []
    for parameter, names in (("id", [values.get("id")]), ("features", values.get("features") or [])):
        for name in names:
            if name is not None and name not in columns:
                near = get_close_matches(name, columns, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(columns)}."
                raise _refuse(parameter, f"must be a column of {source}; got {name!r}: {hint}")
    if values.get("id") is None:
        row_id = find_row_id(columns, target=values.get("target"))
        if row_id is not None:
            values["id"] = row_id
            notes.append(Note("Row ID", row_id))
    notes += _infer_target(values, columns, source)
    notes += _infer_features(values, columns, source)
    return values, notes


def describe_task(definition: Definition) -> str:
    """Return what a campaign predicts, and how.

    >>> describe_task(Definition.of({"name": "a", "target": "y", "epsilon": 0.1}))
    'y (a number), by least squares'
    >>> describe_task(Definition.of({"name": "a", "target": "y", "classes": ["no", "yes"], "epsilon": 0.1}))
    'y (no, yes), by logistic regression'
    """
    spec = loss_spec(definition.loss)
    binary = spec.task == "classification"
    what = list_texts(definition.classes or ("0", "1")) if binary else "a number"
    return f"{definition.target or 'the target'} ({what}), by {spec.description}"


def table_columns(table: Any) -> "Columns":
    """Return the columns of a table: of a file, a frame, arrays by name, or as they are."""
    return read_table(table, owner=OWNER)


def find_row_id(columns: "Columns", *, target: str | None = None) -> str | None:
    """Return the column that identifies rows: by its name, or because it numbers them; None where none does."""
    named = [name for name in columns if _is_id_name(name)]
    counters = [name for name in columns if name not in named and _is_consecutive(columns[name])]
    return next((name for name in (*named, *counters) if name != target and _is_unique(columns[name])), None)


def _is_id_name(name: str) -> bool:
    plain = name.lower().replace("-", "_")
    return plain in ("id", "uuid", "key", "driftpace_id") or plain.endswith("_id")


def _is_unique(column: "Column") -> bool:
    """Whether a column holds whole numbers or texts, none missing and none twice."""
    values = column.values[~column.missing]
    whole = column.kind == "text" or (column.kind == "number" and bool(np.all(values == np.floor(values))))
    return whole and not column.missing.any() and len({str(value) for value in values}) == len(values)


def _is_consecutive(column: "Column") -> bool:
    """Whether numbers are consecutive in some order: then they number the rows."""
    if column.kind != "number" or column.missing.any() or column.values.size < MIN_COUNTED_ROWS:
        return False
    return bool(np.all(np.diff(np.sort(column.values)) == 1.0))


def _infer_target(values: dict[str, Any], columns: "Columns", source: str) -> list[Note]:
    """Fill in the classes of the target, or refuse a target that ``tell`` could never take."""
    from driftpace.tables.cells import without_marks

    target, classes = values.get("target"), values.get("classes")
    if target is None:
        return []
    if target not in columns:
        if values.get("features") is None:
            _refuse_typo(target, columns, source)
        return [Note("Target", f"{target} is not a column of {source}; labellers will add it")]
    column = without_marks(columns[target], classes or ())  # NA in the target is a label that is not given yet
    if column.missing.all():
        return []
    if classes is not None:
        _check_classes(column, classes, target, source)
        return []
    numeric, classes = _find_classes(column, target, source, loss=values.get("loss"))
    if classes is None:
        return []
    values["classes"] = classes
    hint = "; set loss to squared to predict them as numbers" if numeric else ""
    return [
        Note(
            "Classes",
            f"{list_texts(classes[:1])} (negative) and {list_texts(classes[1:])} (positive) in {target}{hint}",
        )
    ]


def _find_classes(column: "Column", target: str, source: str, *, loss: str | None) -> tuple[bool, list[str] | None]:
    """Return whether the target is numeric, and its two classes; None where it holds numbers to predict."""
    from driftpace.tables.cells import as_numbers
    from driftpace.tables.csv_format import number_text

    regression = loss in loss_names("regression")
    if column.kind == "flag":
        return True, None if regression else ["false", "true"]
    numbers = as_numbers(column)
    if numbers is None:
        return False, _text_classes(column, target, source, regression=regression)
    present = numbers.values[~numbers.missing]
    distinct = np.unique(present)
    binary = distinct.size == 2 and (present.size >= MIN_CLASS_ROWS or distinct.tolist() in ([0.0, 1.0], [-1.0, 1.0]))
    if binary and not regression:
        return True, [number_text(value) for value in distinct.tolist()]
    if loss in loss_names("classification") and (distinct.size > 2 or not set(distinct.tolist()) <= {-1.0, 0.0, 1.0}):
        raise _refuse(
            "loss",
            f"must be {' or '.join(loss_names('regression'))} for a numeric target; {target!r} has {distinct.size:,} "
            f"distinct values in {source}.",
        )
    return True, None


def _text_classes(column: "Column", target: str, source: str, *, regression: bool) -> list[str]:
    from driftpace.tables.cells import numbers_each

    expected = f"must hold numbers or two classes; {target!r} holds"
    texts = _texts(column)
    if column.kind == "time" or are_dates(texts):
        raise _refuse("target", f"{expected} dates in {source}.")
    classes = sorted(texts)
    not_numbers = np.isnan(numbers_each(column)) & ~column.missing
    mixed = int(not_numbers.sum()) < int((~column.missing).sum())
    if column.kind != "text" or (regression and len(classes) == 2) or mixed:
        row = int(np.argmax(not_numbers)) + 1
        value = str(column.values[row - 1])
        raise _refuse("target", f"{expected} {value!r:.80} among numbers in {source}, row {row:,}.")
    if len(classes) != 2:
        examples = list_texts(classes[:4]) + (", ..." if len(classes) > 4 else "")
        hint = "; pass both as classes" if len(classes) == 1 else ""
        noun = "class" if len(classes) == 1 else "classes"
        raise _refuse("target", f"{expected} {len(classes):,} {noun} in {source} ({examples}){hint}.")
    first, second = (name.lower() for name in classes)
    reverse = (second in _NO and first not in _NO) or (first in _YES and second not in _YES)
    return classes[::-1] if reverse else classes


def _refuse_typo(target: str, columns: "Columns", source: str) -> None:
    """Refuse a target that is nearly the name of a column: as a feature, that column would give the target away."""
    lowered = {name.lower(): name for name in columns}
    near = get_close_matches(target.lower(), lowered, n=1, cutoff=0.8)
    if near and (near[0] == target.lower() or _DIGITS.sub("", near[0]) != _DIGITS.sub("", target.lower())):
        raise _refuse(
            "target",
            f"must be a column of {source}, or a name unlike any of them; got {target!r}: did you mean "
            f"{lowered[near[0]]!r}? If not, list the features explicitly.",
        )


def _check_classes(column: "Column", classes: list[str], target: str, source: str) -> None:
    classified = meanings([word_of(value, column.kind) for value in column.values[~column.missing]], classes)
    other = next((text for text, meaning in classified.items() if meaning is None), None)
    if other is not None:
        raise _refuse(
            "classes",
            f"must be the classes of {target!r} in {source}; got {list_texts(classes)}, but it has {other!r:.80}.",
        )


@dataclass(slots=True)
class _Features:
    """The usable columns, the categories of those that hold text, and why the others are left out."""

    names: list[str] = field(default_factory=list)
    categories: dict[str, list[str]] = field(default_factory=dict)
    left_out: dict[str, list[str]] = field(default_factory=dict)
    warnings: list[Note] = field(default_factory=list)


def _infer_features(values: dict[str, Any], columns: "Columns", source: str) -> list[Note]:
    """Fill in the features and their categories."""
    features = _choose_features(values, columns)
    if not features.names:
        raise _refuse("table", f"must have a column to predict from; {source} has {', '.join(columns)}.")
    values["features"] = features.names
    if features.categories:
        values["categories"] = features.categories
    categories = features.categories
    descriptions = [
        f"{name} ({list_texts(categories[name])})" if name in categories else name for name in features.names
    ]
    notes = [*features.warnings, Note("Features", ", ".join(descriptions))]
    gaps = [f"{name} in {int(columns[name].missing.sum()):,}" for name in features.names if columns[name].missing.any()]
    if gaps:
        rows = next(iter(columns.values())).missing.size
        notes.append(Note("Missing", f"{', '.join(gaps)} of {rows:,} rows; rows with missing values cannot be used"))
    if features.left_out:
        reasons = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in features.left_out.items())
        notes.append(Note("Left out", reasons))
    return notes


def _choose_features(values: Mapping[str, Any], columns: "Columns") -> _Features:
    """Sort the columns into usable ones and others; a column that was asked for is used or refused, never left out."""
    chosen, explicit = _Features(), values.get("features")
    digests: dict[bytes, str] = {}
    for name in explicit or columns:
        role = next((role for role in ("target", "id", "groups") if values.get(role) == name), None)
        if role is not None:
            if explicit is not None:
                raise _refuse("features", f"must not contain the {role} column; got {name!r}.")
            continue
        column = columns[name]
        numbers, categories = _as_feature(column, explicit=explicit is not None)
        reason = _unusable(column, numbers, categories)
        redundant = None if reason else _redundant(numbers, column, digests, name)
        if redundant is not None and categories is not None and len(categories) < 2:
            reason = redundant  # a category needs two values
        if reason is not None and explicit is not None:
            raise _refuse("features", f"must be numeric or categorical columns; {name!r} has {reason}.")
        if reason is not None or (redundant is not None and explicit is None):
            chosen.left_out.setdefault(reason or redundant or "", []).append(name)
            continue
        if redundant is not None:
            chosen.warnings.append(Note("Warning", f"{name} has {redundant} and adds no information"))
        chosen.names.append(name)
        if numbers is None and categories is not None:
            chosen.categories[name] = categories
    return chosen


def _as_feature(column: "Column", *, explicit: bool) -> "tuple[Column | None, list[str] | None]":
    """Return a column as numbers, or its categories; neither where it is unusable. Codes are numbers only on request."""
    from driftpace.tables.cells import as_numbers

    if column.kind in ("number", "flag"):
        return column, None
    numbers = as_numbers(column) if explicit else None
    if numbers is not None or column.kind != "text":
        return numbers, None
    return None, sorted(_texts(column))


def _unusable(column: "Column", numbers: "Column | None", categories: list[str] | None) -> str | None:
    """Return why a column cannot be a feature, None where it can."""
    if column.kind == "time" or (column.kind == "text" and are_dates(_texts(column))):
        return "dates"
    if numbers is not None:
        return None
    if not categories:
        return "values of mixed types" if categories is None else "no values"
    return f"more than {MAX_CATEGORIES} categories" if len(categories) > MAX_CATEGORIES else None


def _texts(column: "Column") -> set[str]:
    return {str(value) for value in column.values[~column.missing]}


def are_dates(texts: "list[str] | set[str]") -> bool:
    """Whether texts are dates, or names of weeks, months and quarters: every period brings new ones.

    >>> are_dates(["2026-11-16", "2026-11-23"]), are_dates(["16.11.2026"]), are_dates(["2026-W46"]), are_dates(["gold"])
    (True, True, True, False)
    """
    return bool(texts) and all(_DATE.fullmatch(text) for text in texts)


def _redundant(numbers: "Column | None", column: "Column", digests: dict[bytes, str], name: str) -> str | None:
    """Return why a column adds nothing to those before it: it is constant, or repeats one; None where it adds something."""
    if numbers is not None:
        present = numbers.values[~numbers.missing]
        codes, constant = numbers.values + 0.0, present.size > 0 and bool((present == present[0]).all())
    else:
        order: dict[Any, int] = {}
        codes = np.array([order.setdefault(cell, len(order)) for cell in column.values.tolist()], dtype=np.float64)
        constant = len(order) - int(None in order) == 1
    if constant:
        return "the same value in every row"
    digest = hashlib.sha256(codes.tobytes()).digest() + bytes([numbers is None])
    twin = digests.setdefault(digest, name)
    return None if twin == name else f"the same values as {twin}"


def _refuse(parameter: str, problem: str) -> ParameterError:
    return ParameterError(problem, owner=OWNER, name=parameter)
