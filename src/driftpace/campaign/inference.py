"""Infer a campaign's definition from a table: row id, classes of the target, features and their categories."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from driftpace.campaign.definition import Definition
from driftpace.campaign.period_column import UNDATED, column_labels, period_source, rows_by_period, time_order
from driftpace.campaign.schema import read_table
from driftpace.campaign.text import list_texts
from driftpace.errors import ParameterError
from driftpace.formatting import first_names, plural
from driftpace.losses import loss_names, loss_spec, parse_loss
from driftpace.tables.calendar import calendar_levels, calendar_names, calendar_source
from driftpace.tables.categories import meanings, word_of
from driftpace.tables.cells import as_numbers, numbers_each, without_marks
from driftpace.tables.csv_format import number_text
from driftpace.tables.dates import Dates, find_dates, parse_dates
from driftpace.tables.encoding import MISSING, CategoryColumn, EncodedColumn, Encoding, NumberColumn, find_column
from driftpace.tables.identity import find_ids, holds_text_ids, named_like_id, repeated_code
from driftpace.tables.leakage import find_leaks
from driftpace.tables.learn import is_numeric, learn_encoding
from driftpace.tables.targets import MOST_LABELS, describe_target
from driftpace.tables.text_column import TextColumn, learn_text

if TYPE_CHECKING:
    from driftpace.tables import Column

    Columns = Mapping[str, Column]

OWNER = "infer_definition"
MIN_CLASS_ROWS = 20
"""Two distinct numbers are taken for classes where this many rows have one; 0 and 1, or -1 and 1, always."""
SHOWN_CATEGORIES = 6
"""Categories of a column that notes list."""
MIN_COUNTED_ROWS = 20
"""Fewer numbers than this may be consecutive by chance."""
CONSTANT = "the same value in every row"
"""Why a column without differences is left out."""
MISSING_IDS = 0.05
"""An id may be missing in this share of the rows; they are left out of deliveries."""

_NO = frozenset(["no", "n", "false", "f", "nein", "non", "nee", "nej", "nie", "off", "negative", "never"])
_YES = frozenset(["yes", "y", "true", "t", "ja", "oui", "si", "sí", "da", "tak", "on", "positive"])
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
        ``exclude`` lists columns not to predict from, and ``calendar`` features to make of dates: month, weekday, hour, or such as
        ``date:month``.

    Returns
    -------
    Inference
        The definition, and notes on what was understood.

    Raises
    ------
    ParameterError
        If the target can be neither a number nor one of several classes, or a feature is unusable.

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


def _check_weights(column: "Column", name: str) -> None:
    """Refuse a column of weights that no delivery could use; missing cells may be filled in later."""
    numbers = numbers_each(column)
    bad = ~column.missing & ~((numbers >= 0.0) & np.isfinite(numbers))
    if bad.any():
        row = int(np.argmax(bad))
        got = f"{str(column.values[row])!r:.80}"
        raise _refuse("weight", f"must be numbers of 0 or more; row {row + 1:,} of {name!r} has {got}.")


def infer_settings(
    settings: Mapping[str, Any], columns: "Columns", *, source: str
) -> tuple[dict[str, Any], list[Note]]:
    """Return settings with what the columns of a table show filled in, and notes on it; nothing needs to be given."""
    values = dict(settings)
    notes: list[Note] = []
    if values.get("period") is not None:
        notes += _infer_period(values, columns)
    made, columns = _with_calendar(values, columns)
    exclude = values.pop("exclude", None) or []
    for parameter, names in (
        ("id", [values.get("id")]),
        ("segment", [values.get("segment")]),
        ("groups", [values.get("groups")]),
        ("weight", [values.get("weight")]),
        ("exposure", [values.get("exposure")]),
        ("features", values.get("features") or []),
        ("text", values.get("text") or []),
        ("exclude", exclude),
    ):
        for name in names:
            if name is not None and name not in columns:
                near = get_close_matches(name, columns, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(columns)}."
                raise _refuse(parameter, f"must be a column of {source}; got {name!r}: {hint}")
    if values.get("weight") is not None:
        _check_weights(columns[values["weight"]], values["weight"])
    if values.get("target") in exclude:
        raise _refuse("exclude", f"must not be the target; got {values['target']!r}.")
    if values.get("id") is None:
        row_id = find_row_id(columns, target=values.get("target"))
        if row_id is not None:
            values["id"] = row_id
            notes.append(Note("Row ID", row_id))
        else:
            notes += _id_notes(values, columns)
    notes += _infer_target(values, columns, source)
    notes += _infer_features(values, {name: columns[name] for name in columns if name not in exclude}, source, made)
    notes += _leak_notes(values, columns)
    return values, notes


def _infer_period(values: dict[str, Any], columns: "Columns") -> list[Note]:
    """Fill in whether the day comes first in the dates of the period, and return the periods of the table."""
    name, unit = period_source(values["period"], columns)
    if name not in columns:
        near = get_close_matches(name, columns, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(columns)}."
        raise _refuse(
            "period", f"must be a column of the table, or such as date:month; got {values['period']!r}: {hint}"
        )
    labels = column_labels(columns[name], name, unit, owner=OWNER, dayfirst=values.get("dayfirst"))
    if unit is not None and values.get("dayfirst") is None:
        values["dayfirst"] = parse_dates(columns[name], name, owner=OWNER).shown
    known = list(
        dict.fromkeys(
            labels[row]
            for row in time_order(columns[name], name, unit, owner=OWNER, dayfirst=values.get("dayfirst"))
            if labels[row] != UNDATED
        )
    )
    keys = f"; keys are such as {known[-1]}" if known else ""
    return [Note("Periods", f"by {values['period']}, {plural(len(known), 'period')} in the table{keys}")]


def _with_calendar(values: dict[str, Any], columns: "Columns") -> "tuple[list[str], Columns]":
    """Return the calendar features that are asked for, and the columns with them; their categories are all there are."""
    calendar = values.pop("calendar", None)
    if not calendar:
        return [], columns
    names = calendar_names(calendar, columns, dated=None, owner=OWNER)
    if values.get("dayfirst") is None:
        sources = {source[0] for name in names if (source := calendar_source(name, columns)) is not None}
        orders = [parse_dates(columns[source], source, owner=OWNER).shown for source in sorted(sources)]
        values["dayfirst"] = next((order for order in orders if order is not None), None)
    if values.get("features") is not None:
        values["features"] = [*values["features"], *(name for name in names if name not in values["features"])]
    levels = {name: list(words) for name in names if (words := calendar_levels(name)) is not None}
    values["categories"] = {**levels, **(values.get("categories") or {})}
    return names, {**columns, **{name: find_column(columns, name, OWNER, values.get("dayfirst")) for name in names}}


def _leak_notes(values: Mapping[str, Any], columns: "Columns") -> list[Note]:
    """Return warnings of features that may give the target away, where the table has labels."""
    target = values.get("target")
    if target is None or target not in columns:
        return []
    column = without_marks(columns[target], values.get("classes") or ())
    keep = ~column.missing
    if values.get("classes") is None:
        y = numbers_each(column)[keep]
    else:
        words = [word_of(value, column.kind) for value in column.values[keep]]
        y = np.unique(words, return_inverse=True)[1].astype(np.float64)
    several = len(values.get("classes") or ()) > 2
    leaks = find_leaks({**columns, target: column}, values["features"], target, y, keep, classes=several)
    return [Note("Warning", leak.sentence.removesuffix(".")) for leak in leaks]


def describe_task(definition: Definition) -> str:
    """Return what a campaign predicts, and how.

    >>> describe_task(Definition.of({"name": "a", "target": "y", "epsilon": 0.1}))
    'y (a number), by least squares'
    >>> describe_task(Definition.of({"name": "a", "target": "y", "classes": ["no", "yes"], "epsilon": 0.1}))
    'y (no, yes), by logistic regression'
    """
    spec = loss_spec(definition.loss)
    what = "a number" if spec.task == "regression" else list_texts(definition.classes or ("0", "1"))
    return f"{definition.target or 'the target'} ({what}), by {spec.description}"


def table_columns(table: Any) -> "Columns":
    """Return the columns of a table: of a file, a frame, arrays by name, or as they are."""
    return read_table(table, owner=OWNER)


def find_row_id(columns: "Columns", *, target: str | None = None) -> str | None:
    """Return the column that identifies rows: by its name, or because it numbers them; None where none does."""
    named = [name for name, column in columns.items() if named_like_id(name) or holds_text_ids(name, column)]
    counters = [name for name in columns if name not in named and _is_consecutive(columns[name])]
    return next((name for name in (*named, *counters) if name != target and _is_unique(columns[name])), None)


def _id_notes(values: Mapping[str, Any], columns: "Columns") -> list[Note]:
    """Return which columns look like ids where none is taken for one: they differ in every row, or repeat."""
    roles = [values.get(role) for role in ("target", "segment", "groups", "weight", "exposure")]
    others = {name: column for name, column in columns.items() if name not in (*roles, *(values.get("features") or ()))}
    rows = next(iter(columns.values())).missing.size if columns else 0
    texts = [name for name, column in others.items() if column.kind == "text" and _is_unique(column)]
    if texts and rows >= MIN_COUNTED_ROWS:
        return [
            Note("Row ID", f"none; {texts[0]} differs in every row: as id, it lets rows that are sent twice count once")
        ]
    for name, column in others.items():
        twin = repeated_code(column)
        if twin is not None and not isinstance(find_dates(column, name, dayfirst=values.get("dayfirst")), Dates):
            again = f"{str(column.values[twin])!r:.80} again in row {twin + 1:,}"
            return [Note("Row ID", f"none; {name} has {again}: it could be the id if each row had its own")]
    repeated = next(
        (
            name
            for name, column in others.items()
            if (named_like_id(name) or holds_text_ids(name, column)) and not column.missing.all()
        ),
        None,
    )
    if repeated is None:
        return []
    return [
        Note(
            "Row ID",
            f"none; {repeated} occurs in several rows: give it as id if it occurs once in a period, or as groups if its rows "
            "belong together",
        )
    ]


def _is_unique(column: "Column") -> bool:
    """Whether a column holds whole numbers or texts, hardly any missing and none twice."""
    values = column.values[~column.missing]
    whole = column.kind == "text" or (column.kind == "number" and bool(np.all(values == np.floor(values))))
    return whole and column.missing.mean() <= MISSING_IDS and len({str(value) for value in values}) == len(values)


def _is_consecutive(column: "Column") -> bool:
    """Whether numbers are consecutive in some order: then they number the rows."""
    if column.kind != "number" or column.missing.any() or column.values.size < MIN_COUNTED_ROWS:
        return False
    return bool(np.all(np.diff(np.sort(column.values)) == 1.0))


def _infer_target(values: dict[str, Any], columns: "Columns", source: str) -> list[Note]:
    """Fill in the classes of the target, or refuse a target that ``tell`` could never take."""
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
        return _count_notes(column, target) if values.get("loss") is None else []
    values["classes"] = classes
    hint = "; set loss to squared to predict them as numbers" if numeric else ""
    if len(classes) > 2:
        return [Note("Classes", f"{len(classes)} in {target}: {list_texts(classes)}{hint}")]
    return [
        Note(
            "Classes",
            f"{list_texts(classes[:1])} (negative) and {list_texts(classes[1:])} (positive) in {target}{hint}",
        )
    ]


def _count_notes(column: "Column", target: str) -> list[Note]:
    """Return that a target looks like counts, where it does."""
    numbers = as_numbers(column)
    if numbers is None or not describe_target(target, numbers.values[~numbers.missing]).counts:
        return []
    return [Note("Target", f"{target} looks like counts, and is predicted as a number; --loss poisson predicts counts")]


def _find_classes(column: "Column", target: str, source: str, *, loss: str | None) -> tuple[bool, list[str] | None]:
    """Return whether the target is numeric, and its classes; None where it holds numbers to predict."""
    regression = loss is not None and parse_loss(loss, "Campaign")[0].task == "regression"
    if column.kind == "flag":
        return True, None if regression else ["false", "true"]
    numbers = as_numbers(column)
    if numbers is None:
        return False, _text_classes(column, target, source, loss=loss)
    present = numbers.values[~numbers.missing]
    distinct = np.unique(present)
    binary = distinct.size == 2 and (present.size >= MIN_CLASS_ROWS or distinct.tolist() in ([0.0, 1.0], [-1.0, 1.0]))
    if binary and not regression:
        return True, [number_text(value) for value in distinct.tolist()]
    if loss is not None and not regression and (distinct.size > 2 or not set(distinct.tolist()) <= {-1.0, 0.0, 1.0}):
        raise _refuse(
            "loss",
            f"must be one of {', '.join(loss_names('regression'))} for a numeric target; {target!r} has {distinct.size:,} "
            f"distinct values in {source}.",
        )
    if loss in loss_names("multiclass"):
        if distinct.size < 2 or distinct.size > MOST_LABELS or np.any(distinct != np.trunc(distinct)):
            raise _refuse(
                "target",
                f"must hold 2 to {MOST_LABELS} texts or whole numbers for the loss {loss}; {target!r} holds {distinct.size:,} "
                f"distinct numbers in {source}.",
            )
        return True, [number_text(value) for value in distinct.tolist()]
    if loss is None and describe_target(target, present).classes:
        return True, [number_text(value) for value in distinct.tolist()]
    return True, None


def _text_classes(column: "Column", target: str, source: str, *, loss: str | None) -> list[str]:
    regression = loss in loss_names("regression")
    expected = f"must hold numbers or classes; {target!r} holds"
    texts = _texts(column)
    if column.kind == "time" or isinstance(find_dates(column, target), Dates):
        raise _refuse("target", f"{expected} dates in {source}.")
    classes = sorted(texts)
    not_numbers = np.isnan(numbers_each(column)) & ~column.missing
    mixed = int(not_numbers.sum()) < int((~column.missing).sum())
    if column.kind != "text" or (regression and len(classes) >= 2) or mixed:
        row = int(np.argmax(not_numbers)) + 1
        value = str(column.values[row - 1])
        raise _refuse("target", f"{expected} {value!r:.80} among numbers in {source}, row {row:,}.")
    if not 2 <= len(classes) <= MOST_LABELS:
        examples = list_texts(classes[:4]) + (", ..." if len(classes) > 4 else "")
        hint = "; pass all as classes" if len(classes) == 1 else f", and at most {MOST_LABELS} are possible"
        noun = "class" if len(classes) == 1 else "classes"
        raise _refuse("target", f"{expected} {len(classes):,} {noun} in {source} ({examples}){hint}.")
    if len(classes) > 2:
        if loss in loss_names("classification"):
            raise _refuse(
                "loss", f"must be softmax for the {len(classes)} classes of {target!r} in {source}; got {loss}."
            )
        return classes
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


def _infer_features(values: dict[str, Any], columns: "Columns", source: str, made: list[str]) -> list[Note]:
    """Fill in the features, their categories, and what missing cells count as; ``made`` are features made of dates."""
    explicit, texts = values.get("features"), list(values.get("text") or ())
    if explicit is not None and texts:
        explicit = [*explicit, *(name for name in texts if name not in explicit)]
    roles = {
        values[role]: role
        for role in ("target", "segment", "id", "groups", "weight", "exposure", "annotator")
        if values.get(role) is not None
    }
    if values.get("period") is not None:
        roles.setdefault(period_source(values["period"], columns)[0], "period")
    for name in explicit or ():
        if name in roles:
            raise _refuse("features", f"must not contain the {roles[name]} column; got {name!r}.")
    imputed = (values.get("missing") or "impute") == "impute"
    left_out, warnings = _redundant_columns(columns, {**roles, **dict.fromkeys(made, "feature")}, explicit, imputed)
    if explicit is None:
        others = [name for name in columns if name not in (*roles, *left_out)]
        order, sizes = None, list[int]()
        if values.get("period") is not None:
            order, sizes = rows_by_period(columns, values["period"], owner=OWNER, dayfirst=values.get("dayfirst"))
        keep = np.ones(next(iter(columns.values())).missing.size, dtype=np.bool_)
        ids = find_ids(columns, others, keep, order, sizes)
        left_out |= ids if len(ids) < len(others) else {}
        left_out = {name: reason for name, reason in left_out.items() if name not in texts}
    learned = learn_encoding(
        columns,
        explicit,
        apart=[*roles, *left_out],
        given={**_given_categories(values), **_given_texts(texts, columns)},
        missing=values.get("missing") or "impute",
        owner=OWNER,
    )
    encoding, constant = _without_constants(learned.encoding, columns, explicit or ())
    left_out |= constant
    if not encoding.columns:
        raise _refuse("table", f"must have a column to predict from; {source} has {', '.join(columns)}.")
    _fill_in(values, encoding)
    notes = [*warnings, Note("Features", first_names([_described(column) for column in encoding.columns]))]
    for column in encoding.columns:
        plain = isinstance(column, CategoryColumn) and column.names and len(column.levels) <= SHOWN_CATEGORIES
        unusual = isinstance(column, CategoryColumn) and (
            column.unknown != column.levels[:1] or MISSING in column.levels
        )
        if column.name in learned.notes and (not plain or unusual):
            topic = "Categories" if isinstance(column, CategoryColumn) else "Missing"
            notes.append(Note(topic, learned.notes[column.name].removesuffix(".")))
    reasons: dict[str, list[str]] = {}
    for name, reason in {**left_out, **learned.left_out}.items():
        reasons.setdefault(reason, []).append(name)
    if reasons:
        listed = "; ".join(f"{first_names(names)}: {reason}" for reason, names in reasons.items())
        notes.append(Note("Left out", listed))
    return notes


def _given_categories(values: Mapping[str, Any]) -> dict[str, CategoryColumn]:
    """Return the categories that are given and not inferred."""
    unknown = values.get("unknown_categories") or {}
    given = {}
    for name, levels in (values.get("categories") or {}).items():
        words = unknown.get(name, levels[0])
        mapped = (words,) if isinstance(words, str) else tuple(words)
        given[name] = CategoryColumn(name=name, levels=tuple(levels), unknown=mapped)
    return given


def _given_texts(names: list[str], columns: "Columns") -> dict[str, EncodedColumn]:
    """Return the columns of texts, as this table shows them."""
    return {name: learn_text(name, columns[name], np.arange(columns[name].missing.size), OWNER) for name in names}


def _fill_in(values: dict[str, Any], encoding: Encoding) -> None:
    """Write an encoding into the settings of a campaign."""
    categories, unknown, fill, indicators = {}, {}, {}, []
    for column in encoding.columns:
        if isinstance(column, CategoryColumn):
            categories[column.name] = list(column.levels)
            if column.unknown != column.levels[:1]:
                unknown[column.name] = column.unknown[0] if len(column.unknown) == 1 else list(column.unknown)
        elif isinstance(column, NumberColumn):
            fill[column.name] = column.fill
            indicators += [column.name] if column.indicator else []
    values["features"] = list(encoding.sources)
    settings = {"categories": categories, "unknown_categories": unknown, "fill": fill, "indicators": indicators}
    values |= {name: setting for name, setting in settings.items() if setting}


def _described(column: EncodedColumn) -> str:
    if isinstance(column, TextColumn):
        return f"{column.name} (words)"
    if not isinstance(column, CategoryColumn):
        return column.name
    shown = list_texts(column.levels[:SHOWN_CATEGORIES])
    more = len(column.levels) - SHOWN_CATEGORIES
    return f"{column.name} ({shown}{f' and {more} more' if more > 0 else ''})"


def _redundant_columns(
    columns: "Columns", roles: Mapping[str, str], explicit: list[str] | None, imputed: bool
) -> tuple[dict[str, str], list[Note]]:
    """Return columns that add nothing, with the reason; of those that were asked for, warnings.

    A column of one value adds something where its missing cells are ``imputed``: they may have a column of their own.
    """
    digests: dict[bytes, str] = {}
    left_out: dict[str, str] = {}
    warnings = []
    for name in explicit or columns:
        if name in roles or columns[name].missing.all():
            continue
        numeric = is_numeric(columns[name])
        reason = _redundant(as_numbers(columns[name]) if numeric else None, columns[name], digests, name)
        if reason is None or (reason == CONSTANT and imputed and columns[name].missing.any()):
            continue
        if explicit is None:
            left_out[name] = reason
        elif numeric or len(_texts(columns[name])) > 1:
            warnings.append(Note("Warning", f"{name} has {reason} and adds no information"))
        else:  # a category needs two values
            raise _refuse("features", f"must be numeric or categorical columns; {name!r} has {reason}.")
    return left_out, warnings


def _without_constants(
    encoding: Encoding, columns: "Columns", explicit: Sequence[str]
) -> tuple[Encoding, dict[str, str]]:
    """Return an encoding without columns of one value, but for ``explicit`` ones, and why they are left out."""
    idle = [one.name for one in encoding.columns if one.name not in explicit and _is_constant(one, columns)]
    constant = dict.fromkeys(idle, CONSTANT)
    return replace(encoding, columns=tuple(one for one in encoding.columns if one.name not in constant)), constant


def _is_constant(column: EncodedColumn, columns: "Columns") -> bool:
    """Whether a column has one value, and no column that says where it is missing."""
    if isinstance(column, CategoryColumn):
        return not column.names
    if not isinstance(column, NumberColumn) or column.indicator or column.name not in columns:
        return False
    there = numbers_each(columns[column.name])
    return np.unique(there[~np.isnan(there)]).size <= 1


def _texts(column: "Column") -> set[str]:
    return {str(value) for value in column.values[~column.missing]}


def _hashable(column: "Column") -> list[Any]:
    """Return the cells, as texts where they may be lists or objects."""
    cells: list[Any] = column.values.tolist()
    if column.kind != "other":
        return cells
    return [None if gone else repr(cell) for cell, gone in zip(cells, column.missing, strict=True)]


def _redundant(numbers: "Column | None", column: "Column", digests: dict[bytes, str], name: str) -> str | None:
    """Return why a column adds nothing to those before it: it is constant, or repeats one; None where it adds something."""
    if numbers is not None:
        present = numbers.values[~numbers.missing]
        codes, constant = numbers.values + 0.0, present.size > 0 and bool((present == present[0]).all())
    else:
        order: dict[Any, int] = {}
        codes = np.array([order.setdefault(cell, len(order)) for cell in _hashable(column)], dtype=np.float64)
        constant = len(order) - int(None in order) == 1
    if constant:
        return CONSTANT
    digest = hashlib.sha256(codes.tobytes()).digest() + bytes([numbers is None])
    twin = digests.setdefault(digest, name)
    return None if twin == name else f"the same values as {twin}"


def _refuse(parameter: str, problem: str) -> ParameterError:
    return ParameterError(problem, owner=OWNER, name=parameter)
