"""Read the columns of a table as rows of a campaign, by its definition."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from driftpace.campaign.definition import Definition
from driftpace.campaign.period_column import count_labels, period_source, read_labels, shown_day_order
from driftpace.errors import DataError, ParameterError
from driftpace.losses import LogLinkLoss
from driftpace.tables.categories import meanings, word_of
from driftpace.tables.cells import as_ids, as_numbers, numbers_each, repeated_marks, without_marks
from driftpace.tables.dates import parse_dates
from driftpace.tables.encoding import (
    LARGEST,
    CategoryColumn,
    EncodedColumn,
    EncodedRows,
    Encoding,
    NumberColumn,
    find_column,
    with_expansion,
)
from driftpace.tables.label_studio import ROW_FOR, ROW_ID, row_for
from driftpace.tables.learn import is_numeric, learn_encoding
from driftpace.tables.number_text import number_hint
from driftpace.tables.text_column import learn_text
from driftpace.tracker.inputs import is_frame
from driftpace.tracker.trained_until import TrainedUntil
from driftpace.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from driftpace.tables.columns import Column

Columns = Mapping[str, "Column"]

MOST_NAMED = 10
"""Classes that a message lists."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TableRows:
    """Rows with a target, those of ``keep``; ``unlabelled`` counts rows without one, ``other_period_rows`` those of another period.

    ``incomplete`` counts rows that are dropped because a feature is missing, ``without`` by column those without an id, a weight
    or an exposure. ``periods`` are those for which the rows were drawn, or to which they belong, where the table says so;
    ``other_periods`` counts the left out rows by their period. ``dayfirst`` is what the dates show that was not known.
    """

    rows: EncodedRows
    keep: BoolArray
    y: FloatArray
    ids: list[str] | None
    groups: list[Any] | None
    weights: FloatArray | None
    unlabelled: int
    other_period_rows: int
    incomplete: int
    periods: list[int] | None = None
    annotators: list[str] | None = None
    exposure: FloatArray | None = None
    other_periods: Mapping[str, int] = field(default_factory=dict)
    without: Mapping[str, int] = field(default_factory=dict)
    dayfirst: bool | None = None


def text_columns(definition: Definition, encoding: Encoding | None = None) -> list[str]:
    """Return the columns that are not parsed as numbers: ids, groups, classes and categories."""
    classes = None if definition.classes is None else definition.target
    period = None if definition.period is None or period_source(definition.period, ())[1] else definition.period
    named = (definition.segment, definition.id, definition.groups, definition.annotator, classes, period)
    categories = definition.categories if encoding is None else encoding.text_columns
    return [*categories, *definition.text, *(name for name in named if name is not None)]


def read_table(
    table: Any,
    *,
    owner: str,
    name: str = "table",
    definition: Definition | None = None,
    encoding: Encoding | None = None,
) -> Columns:
    """Return the columns of a table: a frame, a file, arrays by name, or columns that are already read."""
    from driftpace.tables import LOCAL_LIMITS, Column, read_columns

    if isinstance(table, Mapping) and all(isinstance(column, Column) for column in table.values()):
        return table
    try:
        if definition is None:
            return read_columns(table, owner=owner, limits=LOCAL_LIMITS)
        return read_columns(
            table,
            owner=owner,
            limits=LOCAL_LIMITS,
            as_text=text_columns(definition, encoding),
            target=definition.target,
            annotator=definition.annotator,
        )
    except ParameterError as error:
        raise error if error.name is None else error.renamed(name=name) from None


def frame_columns(
    X: Any,
    y: Any,
    ids: Sequence[Any] | None,
    *,
    definition: Definition,
    encoding: Encoding | None,
    owner: str,
    annotators: Sequence[Any] | None = None,
) -> Columns | None:
    """Return a frame that has texts or missing cells as a table, with its targets and ids; None where it needs no encoding."""
    if y is None or definition.target is None or not is_frame(X, owner):
        return None
    from driftpace.tables.columns import from_arrays, from_frame

    as_text = text_columns(definition, encoding)
    columns = from_frame(X, owner, as_text=as_text)
    if all(column.kind in ("number", "flag") and not column.missing.any() for column in columns.values()):
        return None
    more = {definition.target: np.asarray(y)}
    if ids is not None:
        more[definition.id or ROW_ID] = np.array([str(row_id) for row_id in ids], dtype=object)
    if annotators is not None and definition.annotator is not None:
        more[definition.annotator] = np.array([str(name) for name in annotators], dtype=object)
    rows = next(iter(columns.values())).values.size
    for name, values in more.items():
        if values.shape != (rows,):
            role = {definition.target: "y", definition.annotator: "annotators"}.get(name, "ids")
            raise DataError(
                f"must have one value for each of {rows:,} rows; got {values.size:,}.", owner=owner, name=role
            )
    return {**columns, **from_arrays(more, owner, as_text=as_text)}


def current_encoding(definition: Definition, learned: Encoding | None) -> Encoding | None:
    """Return the encoding of a campaign: the one in its definition, or the learned one; None where rows have to show it.

    Unknown categories that an amendment maps are mapped in both.
    """
    given = _given_columns(definition)
    if definition.model is not None:  # which knows what a missing number means
        given = {**{name: NumberColumn(name=name, fill=np.nan) for name in definition.features or ()}, **given}
    if definition.features is not None and all(name in given for name in definition.features):
        columns = tuple(given[name] for name in definition.features)
        encoding = Encoding(columns=columns, missing=definition.missing, dayfirst=definition.dayfirst)
        if definition.expand is None:
            return encoding
        return None if learned is None else replace(encoding, expansion=learned.expansion)
    if learned is None:
        return None
    columns = tuple(
        replace(column, unknown=_known_levels(definition, column)) if isinstance(column, CategoryColumn) else column
        for column in learned.columns
    )
    return replace(learned, columns=columns, dayfirst=definition.dayfirst)


def _known_levels(definition: Definition, column: CategoryColumn) -> tuple[str, ...]:
    """Return the categories that unknown ones count as; other rows may have shown other categories since they were mapped."""
    levels = definition.unknown_levels(column.name, column.unknown)
    return tuple(level for level in levels if level in column.levels) or column.unknown


def _given_columns(definition: Definition) -> dict[str, EncodedColumn]:
    """Return the columns that the definition describes completely."""
    given: dict[str, EncodedColumn] = {
        name: NumberColumn(name=name, fill=fill, indicator=name in definition.indicators)
        for name, fill in definition.fill.items()
    }
    for name, levels in definition.categories.items():
        given[name] = CategoryColumn(name=name, levels=levels, unknown=definition.unknown_levels(name, levels[:1]))
    return given


def encoding_for(
    definition: Definition,
    learned: Encoding | None,
    columns: Columns,
    *,
    owner: str,
    keep: BoolArray | None = None,
) -> Encoding:
    """Return the encoding of a campaign, learned from these rows where nothing has shown it before.

    Features that the definition names are one column each, unless it lists their categories: then the number of coefficients
    is known before the first rows.
    """
    known = current_encoding(definition, learned)
    if known is not None:
        return known
    encoding = _shown_encoding(definition, columns, keep, owner)
    return with_expansion(encoding, definition.expand, columns, keep=keep, owner=owner)


def _shown_encoding(definition: Definition, columns: Columns, keep: BoolArray | None, owner: str) -> Encoding:
    """Return the encoding that rows show."""
    given = _given_columns(definition)
    for name in definition.text:
        column = find_column(columns, name, owner)
        places = np.arange(column.missing.size) if keep is None else np.flatnonzero(keep)
        given[name] = learn_text(name, column, places, owner)
    if definition.features is not None:
        named = tuple(
            given[name] if name in given else _learn_number(definition, columns, name, keep, owner)
            for name in definition.features
        )
        return Encoding(columns=named, missing=definition.missing, dayfirst=definition.dayfirst)
    apart = [
        name
        for name in (
            definition.target,
            definition.segment,
            definition.id,
            definition.groups,
            definition.weight,
            definition.exposure,
            definition.annotator,
            ROW_ID,
            ROW_FOR,
        )
        if name is not None
    ]
    apart += [] if definition.period is None else [period_source(definition.period, columns)[0]]
    encoding = learn_encoding(
        columns, apart=apart, given=given, keep=keep, missing=definition.missing, owner=owner
    ).encoding
    if not encoding.columns:
        raise DataError(f"the table must have a column to predict from; it has {', '.join(columns)}.", owner=owner)
    return encoding


def _learn_number(
    definition: Definition, columns: Columns, name: str, keep: BoolArray | None, owner: str
) -> NumberColumn:
    """Return how a numeric feature is encoded that the definition names: its missing cells are the mean."""
    numbers = _numbers(
        find_column(columns, name, owner, definition.dayfirst), keep, "feature", name, owner, missing_allowed=True
    )
    there = numbers[~np.isnan(numbers)]
    fill = float(f"{there.mean():.6g}") if there.size else 0.0
    return NumberColumn(name=name, fill=fill, indicator=name in definition.indicators)


def labelled(
    definition: Definition,
    columns: Columns,
    *,
    period: int,
    names: Sequence[str] = (),
    learned: Encoding | None = None,
    keys: Mapping[str, int] | None = None,
    owner: str,
) -> TableRows:
    """Return the rows that have a target. ``learned`` is the encoding that earlier rows have shown.

    Ids are taken from the id column of the definition, or from the one written when rows were drawn. Rows drawn for another
    campaign or a later period are left out, and so are rows without an id, a weight or an exposure. ``names`` are earlier names of
    the campaign in this period. ``keys`` are the known periods, where the definition has a column of periods.
    """
    if definition.target is None:
        raise DataError(
            "the campaign has no target column, so it cannot read labelled tables; define target.", owner=owner
        )
    target = without_marks(find_column(columns, definition.target, owner), definition.classes or ())
    keep, other_period_rows = ~target.missing, 0
    drawn_for = None
    other_periods: dict[str, int] = {}
    if ROW_FOR in columns:
        made_for = columns[ROW_FOR]
        marks = {row_for(name, one): one for name in (definition.name, *names) for one in range(1, period + 1)}
        drawn_for = np.array([marks.get(str(mark), 0) for mark in made_for.values], dtype=np.int64)
        drawn_for[made_for.missing] = period
        gone = keep & (drawn_for == 0)
        keep, other_period_rows = keep & ~gone, int(gone.sum())
    elif definition.period is not None and keys is not None:
        labels = read_labels(definition, columns, owner=owner)
        drawn_for = np.array([keys.get(label, 0) for label in labels], dtype=np.int64)
        gone = keep & (drawn_for == 0)
        keep, other_period_rows = keep & ~gone, int(gone.sum())
        other_periods = count_labels([labels[place] for place in np.flatnonzero(gone)])
    id_name = definition.id or (ROW_ID if ROW_ID in columns else None)
    keep, without = _with_roles(definition, columns, id_name, keep, owner)
    encoding = encoding_for(definition, learned, columns, owner=owner, keep=keep if keep.any() else None)
    incomplete = 0
    if definition.missing == "drop":
        gone = keep & encoding.incomplete(columns, keep=keep, owner=owner)
        keep, incomplete = keep & ~gone, int(gone.sum())
    _check_new(definition, columns, keep, owner)
    periods = None if drawn_for is None else drawn_for[keep].tolist()
    y = _target(definition, target, keep, owner)
    rows = encoding.encode(columns, keep=keep, owner=owner)
    ids = None
    if id_name is not None:
        ids = _words(find_column(columns, id_name, owner), keep)
    annotators = _annotators(definition, columns, keep, ids, owner)
    if id_name is not None and ids is not None:
        labelled_by = list(zip(ids, periods or [0] * len(ids), annotators or [""] * len(ids), strict=True))
        _check_unique(labelled_by, np.flatnonzero(keep), id_name, owner)
    groups = None
    if definition.groups is not None:
        groups = _groups(find_column(columns, definition.groups, owner), keep, ids, y)
    return TableRows(
        rows=rows,
        keep=keep,
        y=y,
        ids=ids,
        groups=groups,
        weights=_weights(definition, columns, keep, owner),
        unlabelled=int(target.missing.sum()),
        other_period_rows=other_period_rows,
        incomplete=incomplete,
        periods=periods,
        annotators=annotators,
        exposure=_exposure(definition, columns, keep, owner),
        other_periods=other_periods,
        without=without,
        dayfirst=shown_day_order(definition, encoding.sources, columns),
    )


def _check_new(definition: Definition, columns: Columns, keep: BoolArray, owner: str) -> None:
    """Refuse rows that the model of the campaign may have been trained on, by the dates of their periods."""
    given = None if definition.model is None else definition.model.get("trained_until")
    if given is None or definition.period is None or not keep.any():
        return
    until = TrainedUntil.of(given, owner=owner)
    name, unit = period_source(definition.period, columns)
    dates = parse_dates(find_column(columns, name, owner), name, owner=owner, dayfirst=definition.dayfirst).values
    early = np.flatnonzero(keep & until.early(dates)) if unit is not None else np.flatnonzero(keep)[:0]
    if len(early):
        raise DataError(
            f"column {name!r} must be after {given}, until when the model was trained; row {early[0] + 1:,} is from "
            f"{_shown_cell(columns[name], int(early[0]))}, and its score may be too good.",
            owner=owner,
        )


def _shown_cell(column: "Column", row: int) -> str:
    return "an unknown date" if column.missing[row] else f"{str(column.values[row])!r:.60}"


def _with_roles(
    definition: Definition, columns: Columns, id_name: str | None, keep: BoolArray, owner: str
) -> tuple[BoolArray, dict[str, int]]:
    """Return the kept rows that have an id, a weight and an exposure, and how many lack each.

    A column that is empty in all of them is refused, and so is an empty cell with ``missing="refuse"``. A row without a group is a
    group by itself; with ``missing="drop"`` it is left out.
    """
    roles = [id_name, definition.weight, definition.exposure]
    if definition.missing != "impute":
        roles.append(definition.groups)
    without: dict[str, int] = {}
    for name in roles:
        if name is None or not keep.any():
            continue
        column = find_column(columns, name, owner)
        gone = keep & _is_empty(column)
        if name == id_name and definition.annotator is None:
            gone |= keep & repeated_marks(column)
        if gone.any() and (definition.missing == "refuse" or gone[keep].all()):
            row = int(np.argmax(gone)) + 1
            raise DataError(f"column {name!r} must have a value in every row; row {row:,} has none.", owner=owner)
        if gone.any():
            keep, without[name] = keep & ~gone, int(gone.sum())
    return keep, without


def _is_empty(column: "Column") -> BoolArray:
    """Return which cells are missing, or hold blanks alone."""
    if column.kind != "text":
        return column.missing
    return column.missing | np.array([not str(value).strip() for value in column.values.tolist()], dtype=np.bool_)


def _groups(column: "Column", keep: BoolArray, ids: list[str] | None, y: FloatArray) -> list[str]:
    """Return the group of each kept row; one without is a group by itself, by its id or else by its place and target."""
    words, alone = _words(column, keep), _is_empty(column)[keep].tolist()
    marks = ids or [f"{place} {target!r}" for place, target in enumerate(y.tolist())]
    return [f"\x1f{mark}" if gone else word for word, gone, mark in zip(words, alone, marks, strict=True)]


def _annotators(
    definition: Definition, columns: Columns, keep: BoolArray, ids: list[str] | None, owner: str
) -> list[str] | None:
    """Return who labelled each kept row, "" where that is not said; None where the definition names no column of them."""
    if definition.annotator is None:
        return None
    if ids is None:
        raise DataError(
            f"the table must have a column that identifies rows beside {definition.annotator!r}; define id.",
            owner=owner,
        )
    column = find_column(columns, definition.annotator, owner)
    words = [word_of(value, column.kind) for value in column.values[keep]]
    return ["" if gone else word for word, gone in zip(as_ids(words), column.missing[keep], strict=True)]


def _weights(definition: Definition, columns: Columns, keep: BoolArray, owner: str) -> FloatArray | None:
    """Return the weights of the kept rows; None where the definition names no column of them."""
    name = definition.weight
    if name is None:
        return None
    weights = _numbers(find_column(columns, name, owner), keep, "weight", name, owner)
    if (weights < 0.0).any():
        row = int(np.flatnonzero(keep)[np.argmax(weights < 0.0)]) + 1
        raise DataError(
            f"weight {name!r} must not be negative; row {row:,} has {weights[weights < 0.0][0]:g}.", owner=owner
        )
    return weights


def _exposure(definition: Definition, columns: Columns, keep: BoolArray, owner: str) -> FloatArray | None:
    """Return the exposures of the kept rows; None where the definition names no column of them."""
    name = definition.exposure
    if name is None:
        return None
    exposure = _numbers(find_column(columns, name, owner), keep, "exposure", name, owner)
    if (exposure <= 0.0).any():
        row = int(np.flatnonzero(keep)[np.argmax(exposure <= 0.0)]) + 1
        got = exposure[exposure <= 0.0][0]
        raise DataError(f"exposure {name!r} must be above zero; row {row:,} has {got:g}.", owner=owner)
    return exposure


def invalid_rows(
    definition: Definition, columns: Columns, *, learned: Encoding | None = None, key: str | None = None, owner: str
) -> dict[str, BoolArray]:
    r"""Return which rows of a pool could not be delivered once labelled, by reason; a missing column raises DataError.

    >>> from driftpace.tables import read_columns
    >>> definition = Definition.of({"name": "a", "target": "y", "features": ["x"], "epsilon": 0.1, "missing": "drop"})
    >>> pool = read_columns(b"id,x\n1,5\n2,\n3,inf\n")
    >>> {why: rows.tolist() for why, rows in invalid_rows(definition, pool, owner="ask").items()}
    {'without x': [False, True, False], 'with an infinite x': [False, False, True]}
    """
    invalid: dict[str, BoolArray] = {}
    encoding = current_encoding(definition, learned)
    names = definition.features or () if encoding is None else encoding.sources
    for name in names:
        column = find_column(columns, name, owner, definition.dayfirst)
        gone = column.missing
        apart = name in definition.categories or name in definition.text
        if not apart and (encoding is None or name not in encoding.text_columns):
            numbers = numbers_each(column)
            gone = np.isnan(numbers)
            with np.errstate(invalid="ignore"):
                invalid[f"with an infinite {name}"] = np.abs(numbers) > LARGEST
        if definition.missing != "impute":
            invalid[f"without {name}"] = gone
    if definition.groups is not None and definition.missing != "impute":
        invalid[f"without {definition.groups}"] = find_column(columns, definition.groups, owner).missing
    if definition.id is not None and definition.id in columns:
        column = columns[definition.id]
        invalid[f"without {definition.id}"] = _is_empty(column) | repeated_marks(column)
    if definition.period is not None and key is not None:
        labels = read_labels(definition, columns, owner=owner)
        invalid["of another period"] = np.array([label != key for label in labels], dtype=np.bool_)
    return {why: rows for why, rows in sorted(invalid.items(), reverse=True) if rows.any()}


def _target(definition: Definition, column: "Column", keep: BoolArray, owner: str) -> FloatArray:
    values = column.values[keep]
    if definition.classes is not None:
        written = [word_of(value, column.kind) for value in values]
        meant = meanings(written, definition.classes)
        for place, word in zip(np.flatnonzero(keep), written, strict=True):
            if meant[word] is None:
                raise DataError(
                    f"target {definition.target!r} must be {_one_of(definition.classes)}; row {place + 1} has {word!r:.80}"
                    f"{_class_hint(definition)}.",
                    owner=owner,
                )
        codes = {name: float(code) for code, name in enumerate(definition.classes)}
        return np.array([codes[meant[word] or ""] for word in written])
    numbers = _numbers(column, keep, "target", str(definition.target), owner)
    loss = definition.make_loss()
    if isinstance(loss, LogLinkLoss) and not (allowed := loss.allows(numbers)).all():
        row = int(np.flatnonzero(keep)[np.argmin(allowed)]) + 1
        raise DataError(
            f"target {definition.target!r} must be {loss.allowed} for {type(loss).__name__}; row {row:,} has "
            f"{numbers[~allowed][0]:g}.",
            owner=owner,
        )
    return numbers


def _one_of(classes: Sequence[str]) -> str:
    """Return the classes in words, the first ones where there are many."""
    named = [repr(name) for name in classes]
    if len(named) > MOST_NAMED:
        return f"one of the {len(named)} classes {', '.join(named[:MOST_NAMED])}, ..."
    return f"{', '.join(named[:-1])} or {named[-1]}"


def _class_hint(definition: Definition) -> str:
    """Return how to add a class, where that is possible."""
    if definition.task != "multiclass":
        return ""
    return ": correct it, or add the class with amend (new_classes, --new-class)"


def _numbers(
    column: "Column", keep: BoolArray | None, role: str, name: str, owner: str, *, missing_allowed: bool = False
) -> FloatArray:
    """Return the numbers of the kept rows, stored as numbers or as numeric text."""
    places = np.arange(column.missing.size) if keep is None else np.flatnonzero(keep)
    kept = replace(column, values=column.values[places], missing=column.missing[places], written=None)
    if missing_allowed and (is_numeric(kept) or kept.missing.all()):
        return numbers_each(kept)
    numbers = as_numbers(kept)
    if numbers is None:
        raise DataError(f"{role} {name!r} must be numeric; {_not_numeric(kept, places, role, name)}.", owner=owner)
    if numbers.missing.any() and not missing_allowed:
        row = int(places[np.argmax(numbers.missing)]) + 1
        raise DataError(f"{role} {name!r} must have a value in every row; row {row:,} has none.", owner=owner)
    wild = np.isinf(numbers.values)
    if wild.any():
        row = int(places[np.argmax(wild)]) + 1
        raise DataError(f"{role} {name!r} must be finite; row {row:,} has {numbers.values[wild][0]!s}.", owner=owner)
    return np.asarray(numbers.values, dtype=np.float64)


def _not_numeric(kept: "Column", places: IntArray, role: str, name: str) -> str:
    """Return what a column holds instead of numbers, and how to define it."""
    if kept.kind == "time":
        return "it holds dates"
    none = np.isnan(numbers_each(kept)) & ~kept.missing
    if kept.kind != "text" or not none.all():
        place = int(np.argmax(none))
        return f"row {int(places[place]) + 1:,} has {str(kept.values[place])!r:.80}{number_hint(kept.values[place])}"
    cells = [str(value) for value in kept.values]
    for text, row in zip(cells, places, strict=True):
        if hint := number_hint(text):
            return f"row {int(row) + 1:,} has {text!r:.80}{hint}"
    texts = sorted(set(cells))
    if role == "feature":
        return f"it holds text; list its categories in the definition: categories.{name} = {texts[:6]}"
    if 2 <= len(texts) <= MOST_NAMED:
        return f"it holds text; set classes = [{', '.join(json.dumps(text) for text in texts)}] in the definition"
    return f"it holds text, such as {cells[0]!r:.80} in row {int(places[0]) + 1:,}"


def _words(column: "Column", keep: BoolArray) -> list[str]:
    """Return the texts of the kept cells as ids, "" where one is missing."""
    return as_ids(["" if gone else word_of(value, column.kind) for value, gone in _cells(column, np.flatnonzero(keep))])


def _check_unique(marks: Sequence[tuple[str, int, str]], places: IntArray, name: str, owner: str) -> None:
    """Refuse two rows with one id in one period by one annotator, by their rows."""
    first: dict[tuple[str, int, str], int] = {}
    for place, mark in zip(places.tolist(), marks, strict=True):
        earlier = first.setdefault(mark, place)
        if earlier != place:
            by = f" by {mark[2]!r:.80}" if mark[2] else ""
            raise DataError(
                f"column {name!r} must have another id in each row; rows {earlier + 1:,} and {place + 1:,} both have "
                f"{mark[0]!r:.80}{by}: keep one of them.",
                owner=owner,
            )


def _cells(column: "Column", places: IntArray) -> Iterable[tuple[Any, bool]]:
    return zip(column.values[places], column.missing[places].tolist(), strict=True)
