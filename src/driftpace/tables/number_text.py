"""Numbers written with decimal commas, separators of thousands or a unit, where a file shows what they are."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from driftpace.tables.cells import is_no_number
from driftpace.tables.columns import Column
from driftpace.typing import FloatArray

Style = Literal["comma", "point", "either"]
"""What separates decimals; either where ``1,234`` may be 1234 or 1.234."""

_DECIMAL_COMMA = re.compile(r"[+-]?\d+(?:,\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_POINTS = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+,\d+", re.ASCII)
_COMMAS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?", re.ASCII)
_PLAIN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_SPACES = re.compile(r"[+-]?[1-9]\d{0,2}(?:[ \u00a0\u202f'\u2019]\d{3})+(?=$|[.,])", re.ASCII)
_UNIT = re.compile(r"[+-]?([$€£¥]?)\s?[+-]?[\d.,]*\d(\s?[%$€£¥]|\s[^\W\d_]{1,5}|)")
_NUMBERS = re.compile(r"[+-]?\d+(?:[.,]\d+)*", re.ASCII)
_SPACE = re.compile(r"[ \u00a0\u202f'\u2019]")


def decimal_style(cells: Sequence[str]) -> Style | None:
    """Return what separates the decimals of cells that are all numbers; None where one is none, or where none has a separator.

    >>> [decimal_style(cells) for cells in (["31,7", "2"], ["1.234,5", "7"], ["1,234.50", "7.5"], ["1,234", "7"], ["1,2,3"])]
    ['comma', 'comma', 'point', 'either', None]
    >>> decimal_style(["1 234,5"]), decimal_style(["1 234.5", "NA"]), decimal_style(["Rome, 4"])
    ('comma', 'point', None)
    """
    comma = point = True
    separated = False
    for cell in set(cells):
        if is_no_number(cell):
            continue
        written = cell.strip()
        text = _without_spaces(written)
        comma = comma and (_DECIMAL_COMMA.fullmatch(text) or _POINTS.fullmatch(text)) is not None
        point = point and (_COMMAS.fullmatch(text) or _PLAIN.fullmatch(text)) is not None
        if not (comma or point):
            return None
        separated = separated or "," in text or text != written
    if not separated:
        return None
    return "either" if comma and point else "comma" if comma else "point"


def read_separated(cells: Sequence[str], style: Style) -> Column:
    """Return cells as numbers, missing where they are none.

    >>> read_separated(["1.234,5", "7", "NA"], "comma").values.tolist(), read_separated(["1,234.5"], "point").values.tolist()
    ([1234.5, 7.0, nan], [1234.5])
    """
    separator, decimal = (".", ",") if style == "comma" else (",", ".")
    numbers = {
        cell: np.nan
        if is_no_number(cell)
        else float(_without_spaces(cell.strip()).replace(separator, "").replace(decimal, "."))
        for cell in set(cells)
    }
    values = np.array([numbers[cell] for cell in cells], dtype=np.float64)
    return Column(kind="number", values=values, missing=np.isnan(values))


def readable_styles(styles: Mapping[str, Style], *, points: bool, between_columns: str) -> dict[str, Style]:
    """Return how each column of a file is read; columns that cannot be read for certain are left out.

    Parameters
    ----------
    styles : mapping of str to str
        What :func:`decimal_style` says of each column of text.
    points : bool
        Whether other columns have numbers with a decimal point.
    between_columns : str
        The separator of columns. Where it is a comma, ``"1,2"`` may also be a list, so that only thousands are read; elsewhere
        ``1,234`` has a decimal comma unless the file shows otherwise.

    Examples
    --------
    >>> readable_styles({"a": "comma", "b": "either"}, points=False, between_columns=";")
    {'a': 'comma', 'b': 'comma'}
    >>> readable_styles({"a": "comma", "b": "either"}, points=False, between_columns=",")
    {}
    >>> readable_styles({"a": "either"}, points=True, between_columns=",")
    {'a': 'point'}
    >>> readable_styles({"a": "point", "b": "comma"}, points=False, between_columns=";")
    {'a': 'point'}
    """
    found = set(styles.values()) | ({"point"} if points else set())
    if "comma" in found and (between_columns == "," or "point" in found):
        readable: set[Style] = {"point"}
    elif between_columns == ",":
        readable = {"point", "either"} if "point" in found else set()
    else:
        readable = {"point"} if "point" in found else {"comma", "either"}
    as_point = "point" in found
    return {name: "point" if as_point else "comma" for name, style in styles.items() if style in readable}


def number_hint(text: object) -> str:
    """Return how to write a number that has a decimal comma, separators of thousands or a unit; "" for another text.

    >>> number_hint("1,234"), number_hint("$5"), number_hint("Rome")
    ('; write numbers as 1234.5, without separators of thousands', "; write numbers without '$'", '')
    >>> number_hint("13,19")
    '; write numbers with a decimal point, such as 13.19'
    """
    if not isinstance(text, str):
        return ""
    style = decimal_style([text])
    if style == "comma" and "." not in text:
        return f"; write numbers with a decimal point, such as {float(read_separated([text], style).values[0])!r}"
    if style is not None:
        return "; write numbers as 1234.5, without separators of thousands"
    unit = number_unit([text])
    return "" if unit is None else f"; write numbers without {unit!r}"


def number_unit(texts: Iterable[str]) -> str | None:
    """Return the unit that is written beside every one of some numbers; None where not all are numbers with the same.

    >>> number_unit(["1.5 kg", "-2 kg"]), number_unit(["$12", "$-3.50"]), number_unit(["4%", "5 %"])
    ('kg', '$', '%')
    >>> number_unit(["R12", "R13"]), number_unit(["1", "2"]), number_unit(["1 kg", "2 m"])
    (None, None, None)
    """
    matches = [_UNIT.fullmatch(text.strip()) for text in texts]
    units = {match and (match[1], match[2].strip()) for match in matches}
    before, after = (units.pop() or ("", "")) if len(units) == 1 else ("", "")
    return None if before and after else before or after or None


def numbers_in_texts(texts: Sequence[str]) -> FloatArray | None:
    """Return the number that each text contains, such as 1.5 of ``EUR 1.50``; None where one has none or several.

    >>> numbers_in_texts(["EUR 1.50", "EUR -2"]).tolist(), numbers_in_texts(["0,59", "1,5"]).tolist()
    ([1.5, -2.0], [0.59, 1.5])
    >>> numbers_in_texts(["2 of 3"]), numbers_in_texts(["red"])
    (None, None)
    """
    found = [_NUMBERS.findall(text) for text in texts]
    if any(len(numbers) != 1 for numbers in found):
        return None
    written = [numbers[0] for numbers in found]
    style = decimal_style(written)
    values = (
        read_separated(written, style).values
        if style is not None
        else [float(text) for text in written if _PLAIN.fullmatch(text)]
    )
    return np.asarray(values, dtype=np.float64) if len(values) == len(written) else None


def _without_spaces(text: str) -> str:
    return _SPACE.sub("", text) if _SPACES.match(text) else text
