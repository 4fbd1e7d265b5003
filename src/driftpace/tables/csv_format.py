"""CSV files in UTF-8, or in UTF-16 with a byte order mark; lines are of limited length."""

import csv
import io
import re
from collections.abc import Collection, Iterator

from driftpace.errors import DataError
from driftpace.tables.cells import column_of, text_column
from driftpace.tables.columns import Column
from driftpace.tables.limits import LONGEST_LINE, TableLimits, check_size, check_unique_names
from driftpace.tables.number_text import Style, decimal_style, read_separated, readable_styles

_SEPARATORS = (",", ";", "\t", "|")
_QUOTED = re.compile('"[^"]*"')
_SEPARATOR_LINE = re.compile(r' *"?sep=([,;\t|])"?[ \r\n]*')
_LINES_PER_ROW = 4  # empty lines and cells of several lines are well
_WIDE = 4  # columns from which lines of text seldom have a separator for each column
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def encoding(data: bytes) -> str:
    """Return the encoding by the byte order mark, UTF-8 without one."""
    return "utf-16" if data[:2] in _UTF_16 else "utf-8-sig"


def lines(data: bytes, limits: TableLimits, what: str) -> Iterator[str]:
    """Yield lines with their ends; DataError where one is too long or not text, or where there are too many."""
    with io.TextIOWrapper(io.BytesIO(data), encoding=encoding(data), newline="") as text:
        number = 0
        try:
            while line := text.readline(LONGEST_LINE + 1):
                number += 1
                if number > _LINES_PER_ROW * limits.rows + 1_000:
                    raise DataError(f"{what} must have at most {limits.rows:,} rows; got {number:,} or more lines.")
                if len(line) > LONGEST_LINE:
                    raise DataError(
                        f"{what} must have lines of at most {LONGEST_LINE:,} characters; line {number:,} is longer."
                    )
                if "\0" in line:
                    raise DataError(f"{what} must be a text file; line {number:,} holds a NUL.")
                yield line
        except UnicodeError:
            raise DataError(
                f"{what} must be text in UTF-8, or in UTF-16 with a byte order mark; {_bad_line(data)}."
            ) from None


def _bad_line(data: bytes) -> str:
    """Return the first line that is not UTF-8."""
    if encoding(data) != "utf-8-sig":
        return "it is neither"
    for number, line in enumerate(io.BytesIO(data), start=1):
        try:
            line.decode()
        except UnicodeError:
            return f"line {number:,} is neither: save the file as UTF-8"
    return "it is neither"


def read_csv_cells(data: bytes, limits: TableLimits, what: str) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns, and the cells of each as text.

    The separator is the comma, semicolon, tab or bar that the first line has most of outside quotes; a tab in a .tsv file; or what
    a first line such as ``sep=;`` says, as spreadsheets write it. Empty lines are left out.
    """
    return _read_cells(data, limits, what)[1:]


def _read_cells(data: bytes, limits: TableLimits, what: str) -> tuple[str, list[str], list[list[str]]]:
    """Return the separator, the names and the cells."""
    source = _NumberedLines(lines(data, limits, what))
    first = source.first_line()
    named = _SEPARATOR_LINE.fullmatch(first)
    if named:
        first = source.first_line()
    tabs = what.lower().endswith((".tsv", ".tsv.gz"))
    separator = named[1] if named else "\t" if tabs else max(_SEPARATORS, key=_QUOTED.sub("", first).count)
    reader = csv.reader(source.from_line(first), delimiter=separator, strict=True)
    rows = 0
    try:
        header = [name.strip() for name in next(reader, [])]
        check_size(limits, 0, len(header), what)
        source.taken()
        columns: list[list[str]] = [[] for _ in header]
        for row in reader:
            taken = source.taken()
            if not row or (len(row) == 1 != len(header) and not row[0].strip()):
                continue
            if len(row) != len(header):
                raise DataError(
                    f"{what} must have {len(header)} cells on every line; line {source.begins} has {len(row)}."
                )
            if len(taken) > 1 and len(row) >= _WIDE and all(line.count(separator) == len(row) - 1 for line in taken):
                raise DataError(
                    f"{what} must have every quote closed in its own cell; the one on line {source.begins} takes in "
                    f"{len(taken) - 1} lines with {len(row)} cells each."
                )
            rows += 1
            if rows & 1023 == 0:
                check_size(limits, rows, len(header), what)
            for cells, cell in zip(columns, row, strict=True):
                cells.append(cell)
    except csv.Error as error:
        source.taken()
        raise DataError(f"{what} must be a CSV file; line {source.begins}: {error}.") from None
    if not rows:
        raise DataError(f"{what} must have a line of names and at least one row; got {_got(header)}.")
    check_size(limits, rows, len(header), what)
    check_unique_names(header, what)
    return separator, header, columns


class _NumberedLines:
    """Lines that remember where the current row begins: a row takes several lines where a cell does."""

    def __init__(self, source: Iterator[str]) -> None:
        self._source = source
        self._number = 0
        self._lines: list[str] = []
        self.begins = 1

    def first_line(self) -> str:
        """Return the next line that is not blank; empty at the end."""
        for line in self._source:
            self._number += 1
            if line.strip():
                return line
        return ""

    def from_line(self, first: str) -> Iterator[str]:
        """Yield that line and the remaining ones."""
        self._lines = [first]
        yield first
        for line in self._source:
            self._number += 1
            self._lines.append(line)
            yield line

    def taken(self) -> list[str]:
        """Return the lines since the last call, and set ``begins`` to the number of the first."""
        taken, self._lines = self._lines, []
        self.begins = self._number - len(taken) + 1
        return taken


def _got(header: list[str]) -> str:
    return "the names alone" if header else "nothing"


def read_csv(
    data: bytes, limits: TableLimits, what: str, *, as_text: Collection[str], exact: bool
) -> dict[str, Column]:
    """Return the columns of a CSV file; those named in ``as_text`` stay as they are written, missing where empty.

    Numbers with separators of thousands are numbers, and those with decimal commas where the separator of columns is no comma;
    columns stay text where the file does not show which of them a comma is.
    """
    separator, header, columns = _read_cells(data, limits, what)
    typed, points = {}, False
    separated: dict[str, tuple[Style, list[str]]] = {}
    for name, cells in zip(header, columns, strict=True):
        typed[name] = text_column(cells) if name in as_text else column_of(cells, exact=exact)
        if name not in as_text:
            points = points or (typed[name].kind == "number" and "." in "".join(cells))
            if typed[name].kind == "text" and (style := decimal_style(cells)) is not None:
                separated[name] = (style, list(cells))
        cells.clear()
    styles = {name: style for name, (style, _) in separated.items()}
    readable = readable_styles(styles, points=points, between_columns=separator)
    return typed | {name: read_separated(separated[name][1], style) for name, style in readable.items()}


def number_text(number: float) -> str:
    """Return the shortest text that reads back to the same number, without a point where it is whole.

    >>> number_text(17.0), number_text(0.1)
    ('17', '0.1')
    """
    if isinstance(number, int) or (number.is_integer() and abs(number) < 2.0**53):
        return str(int(number))
    return repr(number)
