"""Numbers, shares and amounts of money as text for people."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

NOT_MEASURED = "–"
_BIDI_CONTROLS = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def no_formula(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula: a text that begins like one gets an apostrophe.

    >>> no_formula("=1+1"), no_formula("half"), no_formula(-1.5)
    ("'=1+1", 'half', -1.5)
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def count(value: float) -> str:
    """Write a number of things.

    >>> count(1519.6), count(0.0), count(math.nan), count(math.inf)
    ('1,520', '0', '–', '∞')
    """
    if math.isnan(value):
        return NOT_MEASURED
    return ("∞" if value > 0 else "−∞") if math.isinf(value) else f"{value:,.0f}"


def number(value: float) -> str:
    """Write a measured number with three digits that matter.

    >>> number(0.014287), number(12.3), number(0.0), number(1e-7), number(51234.0), number(2.3e16)
    ('0.0143', '12.3', '0', '1e-07', '51,234', '2.3e+16')
    """
    if not math.isfinite(value) or 1000.0 <= abs(value) < 1e7:
        return count(value)
    return f"{value:.3g}"


def loss(value: float) -> str:
    """Write a loss: one digit more, since losses are compared with each other.

    >>> loss(0.10028), loss(math.nan)
    ('0.1003', '–')
    """
    return f"{value:.4g}" if math.isfinite(value) and abs(value) < 1000.0 else number(value)


def ratio(value: float) -> str:
    """Write how many times one number is another.

    >>> ratio(0.4567), ratio(2.3e16)
    ('0.46', '2.3e+16')
    """
    return f"{value:.2f}" if math.isfinite(value) and abs(value) < 1000.0 else number(value)


def span(values: Iterable[float]) -> str:
    """Write the least and the most of what was measured.

    >>> span([1026, 880]), span([7.0, math.nan]), span([])
    ('880 to 1,026', '7', '–')
    """
    found = [value for value in values if not math.isnan(value)]
    if not found:
        return NOT_MEASURED
    least, most = count(min(found)), count(max(found))
    return least if least == most else f"{least} to {most}"


def share(value: float) -> str:
    """Write a fraction in per cent, never rounding something down to nothing.

    >>> share(0.18), share(0.0036), share(1.0), share(0.9996), share(0.0)
    ('18 %', '0.4 %', '100 %', 'nearly 100 %', '0 %')
    """
    if math.isnan(value):
        return NOT_MEASURED
    percent = 100.0 * value
    if 0.0 < percent < 0.05:
        return "under 0.1 %"
    if 99.5 <= percent < 100.0:
        return "nearly 100 %"
    return f"{percent:.1f} %" if percent < 1.0 and percent > 0.0 else f"{percent:.0f} %"


def money(value: float, currency: str) -> str:
    """Write an amount: a sign goes in front, a word behind.

    >>> money(3040.0, "€"), money(3040.0, "EUR"), money(12.5, ""), money(-5.0, "$")
    ('€3,040', '3,040 EUR', '12.50', '−$5.00')
    """
    if math.isnan(value):
        return NOT_MEASURED
    amount = count(abs(value)) if abs(value) >= 100.0 or value == 0.0 else f"{abs(value):,.2f}"
    sign = "−" if value < 0.0 else ""
    currency = currency.strip()
    if not currency:
        return f"{sign}{amount}"
    return f"{sign}{amount} {currency}" if currency[-1].isalnum() else f"{sign}{currency}{amount}"


def plural(value: float, one: str, many: str = "") -> str:
    """Write a count with its noun.

    >>> plural(1, "run"), plural(1520, "label"), plural(0, "entry", "entries")
    ('1 run', '1,520 labels', '0 entries')
    """
    return f"{count(value)} {one if round(value) == 1 else many or one + 's'}" if math.isfinite(value) else count(value)


def first_names(names: Sequence[str], most: int = 20) -> str:
    """Return the first of many names as text.

    >>> first_names(["age", "city"]), first_names(["a", "b", "c", "d"], most=2)
    ('age, city', 'a, b, and 2 more')
    """
    shown = ", ".join(names[:most])
    return f"{shown}, and {len(names) - most:,} more" if len(names) > most else shown


def rows_and_labels(rows: int, more_labels: int) -> str:
    """Return rows, and labels of rows that had one before, as text.

    >>> rows_and_labels(12, 0), rows_and_labels(12, 3), rows_and_labels(0, 1)
    ('12 rows', '12 rows and 3 more labels', '1 more label')
    """
    labels = f"{more_labels:,} more label{'s' if more_labels != 1 else ''}"
    if not more_labels:
        return plural(rows, "row")
    return f"{plural(rows, 'row')} and {labels}" if rows else labels


def known_number(value: float) -> str:
    """Write a number with three digits, "unknown" where it is not finite.

    >>> known_number(0.0787941764), known_number(math.inf)
    ('0.0788', 'unknown')
    """
    return f"{value:.3g}" if math.isfinite(value) else "unknown"


def strip_bidi(text: str) -> str:
    """Remove bidirectional control characters, which would also reorder the text after them.

    >>> strip_bidi("\u202eevil\u2069 words")
    'evil words'
    """
    return text.translate(_BIDI_CONTROLS)
