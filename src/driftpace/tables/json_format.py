"""JSON: one object on each line, an array of objects, or {"columns": {name: values}}."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from driftpace.errors import DataError
from driftpace.tables.columns import LARGEST_WHOLE, Column, from_objects
from driftpace.tables.csv_format import encoding, lines, number_text
from driftpace.tables.limits import TableLimits, check_size, clip

_LONG = 2**16
_LARGE = 2**20
_SPACE = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)", re.DOTALL)


class _TwinError(ValueError):
    """An object has two values of one name."""


def parse(text: str, what: str, where: str = "") -> Any:
    """Parse JSON text; NaN, as Python writes it, is missing, and infinity is refused.

    Millions of numbers take seconds, and the interpreter changes threads only where Python's own code runs: a long text is read
    with numbers made there, so that other requests do not wait for all of them.
    """
    with _json_errors(what, where):
        value = json.loads(text, **_hooks(text))
    _refuse_half_characters(text, what, where)
    return value


def parse_rows(text: str, what: str) -> Iterator[Any]:
    """Yield the values of a JSON array one by one, so that not all of them are in memory."""
    _refuse_half_characters(text, what)
    with _json_errors(what):
        decoder = json.JSONDecoder(**_hooks(text))
        at = _behind_space(text, 0) + 1
        if text[at - 1] != "[":
            raise json.JSONDecodeError("Expecting '['", text, at - 1)
        at = _behind_space(text, at)
        more = text[at : at + 1] != "]"
        while more:
            value, at = decoder.raw_decode(text, at)
            yield value
            at = _behind_space(text, at)
            more = text[at : at + 1] == ","
            if more:
                at = _behind_space(text, at + 1)
            elif text[at : at + 1] != "]":
                raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
        if _behind_space(text, at + 1) < len(text):
            raise json.JSONDecodeError("Extra data", text, _behind_space(text, at + 1))


def _behind_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return at if space is None else space.end()


def _hooks(text: str) -> dict[str, Any]:
    numbers: dict[str, Any] = {"parse_int": _whole, "parse_float": _real} if len(text) > _LONG else {}
    return {"object_pairs_hook": _object, "parse_constant": _constant, **numbers}


@contextmanager
def _json_errors(what: str, where: str = "") -> Iterator[None]:
    """Turn the errors of the parser into DataError."""
    try:
        yield
    except DataError:
        raise
    except RecursionError:
        raise DataError(f"{what} must hold rows of plain values; {where or 'it'} nests without end.") from None
    except _TwinError as error:
        raise DataError(
            f"{what} must have columns of different names; got {str(error)!r} twice in one object."
        ) from None
    except json.JSONDecodeError as error:
        place = where or f"line {error.lineno}"
        raise DataError(
            f"{what} must be JSON; {place}, column {error.colno}: {error.msg.removesuffix(' at')}."
        ) from None
    except ValueError as error:
        raise DataError(
            f"{what} must hold finite numbers of an ordinary length; {where or 'it'} does not: {error}."
        ) from None


def _refuse_half_characters(text: str, what: str, where: str = "") -> None:
    if _SURROGATE.search(text) and _has_half(text):
        raise DataError(f"{what} must hold text; {where or 'it'} has half a character, such as \\ud800.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        earlier: set[str] = set()
        raise _TwinError(clip(next(name for name, _ in pairs if name in earlier or earlier.add(name))))  # type: ignore[func-returns-value]
    return made


def _constant(token: str) -> None:
    if token != "NaN":
        raise ValueError(f"got {token}")


def _whole(digits: str) -> int:
    return int(digits)


def _real(digits: str) -> float:
    return float(digits)


def _has_half(text: str) -> bool:
    r"""Return whether JSON text has a lone surrogate, such as \ud800; each escape is read once.

    >>> [_has_half(text) for text in (r'"\ud83d\ude00"', r'"\ud83d\ud83d\ude00"', r'"\\ud83d"', r'"\ude00\ud83d"')]
    [False, True, False, True]
    """
    return any(escape[1] for escape in _ESCAPE.finditer(text))


def load_document(data: bytes, limits: TableLimits, what: str) -> Any:
    """Parse a JSON document, unless it holds more values than the cells allowed may need, or an object of too many names."""
    return parse(document_text(data, limits, what), what)


def document_text(data: bytes, limits: TableLimits, what: str) -> str:
    """Return the text of a JSON document of few enough values, and names in an object."""
    values = sum(data.count(mark) for mark in (b",", b"[", b"{"))
    if values > 2 * limits.cells + limits.columns:
        raise DataError(f"{what} must have at most {limits.cells:,} cells; it holds about {values:,} values.")
    try:
        text = data.decode(encoding(data))
    except UnicodeError:
        raise DataError(f"{what} must be text in UTF-8, or in UTF-16 with a byte order mark; it is neither.") from None
    if not text.strip():
        raise DataError(f"{what} must hold at least one row; it is empty.")
    if len(data) > _LARGE:
        from driftpace.tables.kernels import crowded_object

        plain = data if encoding(data).startswith("utf-8") else text.encode("utf-8", "surrogatepass")
        if crowded_object(np.frombuffer(plain, np.uint8), limits.columns) >= 0:
            raise DataError(f"{what} must have at most {limits.columns:,} columns; an object in it has more names.")
    return text


def table_of_document(document: Any, limits: TableLimits, what: str) -> dict[str, list[Any]]:
    """Return columns of values from an array of objects, or from {"columns": {...}}."""
    if isinstance(document, dict) and isinstance(document.get("columns"), dict):
        return _by_columns(document["columns"], limits, what)
    if isinstance(document, dict) and document and not any(isinstance(v, dict | list) for v in document.values()):
        document = [document]  # JSON lines of one row
    if not isinstance(document, list):
        raise DataError(
            f'{what} must be an array of objects or {{"columns": {{name: values}}}}; got {_kind_of(document)}.'
        )
    return gather(document, limits, what)


def _by_columns(columns: Mapping[str, Any], limits: TableLimits, what: str) -> dict[str, list[Any]]:
    for name, values in columns.items():
        if not isinstance(values, list):
            raise DataError(f"{what} must have an array for each column; {clip(name)!r} has {_kind_of(values)}.")
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        raise DataError(f"{what} must have columns of one length; got lengths {sorted(lengths)[:4]}.")
    rows = lengths.pop() if lengths else 0
    if not rows:
        raise DataError(f"{what} must hold at least one row; got none.")
    check_size(limits, rows, len(columns), what)
    return dict(columns)


def read_lines(data: bytes, limits: TableLimits, what: str) -> dict[str, list[Any]]:
    """Return columns of values from one JSON object on each line."""

    def rows() -> Iterable[Any]:
        for number, line in enumerate(lines(data, limits, what), start=1):
            if line.strip():
                yield parse(line, what, f"line {number:,}")

    return gather(rows(), limits, what)


def gather(rows: Iterable[Any], limits: TableLimits, what: str) -> dict[str, list[Any]]:
    """Return columns from rows by name: a name that a row does not have is missing there.

    >>> gather([{"a": 1}, {"b": 2}], TableLimits(), "read: it")
    {'a': [1, None], 'b': [None, 2]}
    """
    columns: dict[str, list[Any]] = {}
    count = 0
    for row in rows:
        if not isinstance(row, dict):
            raise DataError(f"{what} must hold objects, one for each row; row {count + 1:,} is {_kind_of(row)}.")
        for name, value in row.items():
            if (values := columns.get(name)) is None:
                columns[name] = values = []
                check_size(limits, count, len(columns), what)
            if len(values) < count:
                values.extend([None] * (count - len(values)))
            values.append(value)
        count += 1
        if count & 1023 == 0:
            check_size(limits, count, len(columns), what)
    if not count or not columns:
        raise DataError(f"{what} must hold at least one row with a value; got none.")
    check_size(limits, count, len(columns), what)
    for values in columns.values():
        values.extend([None] * (count - len(values)))
    return columns


def as_columns(table: Mapping[str, list[Any]], what: str, *, as_text: Collection[str]) -> dict[str, Column]:
    """Return values by column as columns of one kind each; whole numbers too large to be exact are texts."""
    columns = {}
    for name, values in table.items():
        if name in as_text:
            columns[name] = _as_texts(values)
            continue
        try:
            columns[name] = from_objects(values)
        except (OverflowError, ValueError):
            raise DataError(f"{what} must hold numbers below 1e308; column {clip(name)!r} has a larger one.") from None
        if columns[name].kind == "number" and _are_codes(columns[name], values):
            columns[name] = _as_texts(values)
    return columns


def _as_texts(values: list[Any]) -> Column:
    return from_objects([None if value is None else as_written(value) for value in values])


def _are_codes(column: Column, values: list[Any]) -> bool:
    there = column.values[~column.missing]
    if not there.size or np.abs(there).max() < LARGEST_WHOLE:
        return False
    whole = [value for value, gone in zip(values, column.missing, strict=True) if not gone]
    return all(type(value) is int for value in whole) and any(abs(value) > LARGEST_WHOLE for value in whole)


def as_written(value: Any) -> str:
    """Return a plain value as the text that stands for it.

    >>> as_written(17.0), as_written(2**60), as_written("007"), as_written(True), as_written([1])
    ('17', '1152921504606846976', '007', 'true', '[1]')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number_text(value)
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)


def _kind_of(value: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
