"""Formats of numbers, money, times and periods."""

import math
import re
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from driftpace.errors import ParameterError
from driftpace.formatting import strip_bidi
from driftpace.records import Money

MISSING = "–"


def count(value: int) -> str:
    """Format a count with thousands separators; huge ones are rounded.

    >>> count(1520), count(3 * 10**15)
    ('1,520', '3e+15')
    """
    return f"{value:,}" if abs(value) < 10**12 else f"{float(value):.3g}"


def number(value: float | None) -> str:
    """Format a measured number with three significant digits.

    >>> number(0.014287), number(51234.0), number(None), number(math.inf), number(0.05)
    ('0.0143', '51,234', '–', '–', '0.05')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    return f"{value:,.0f}" if 1000.0 <= abs(value) < 1e9 else f"{value:.3g}"


def plural(value: int, singular: str, plural: str = "") -> str:
    """Format a count with its noun.

    >>> plural(1, "row"), plural(0, "row"), plural(2, "entry", "entries")
    ('1 row', '0 rows', '2 entries')
    """
    return f"{count(value)} {singular if value == 1 else plural or singular + 's'}"


def money(value: Money | None) -> str:
    """Format an amount with its currency, with cents unless they are zero.

    >>> money(Money.of("439.5", "EUR")), money(Money.of(3000, "EUR")), money(Money.of("0.004")), money(None)
    ('439.50 EUR', '3,000 EUR', '0.004', '–')
    """
    if value is None:
        return MISSING
    amount = value.amount.normalize()
    shown = f"{amount:,.2f}" if amount == amount.quantize(Decimal("0.01")) else f"{amount:,f}"
    return f"{shown.removesuffix('.00')} {value.currency}".rstrip()


def money_of(text: str) -> str:
    """Format an amount that a summary has as text.

    >>> money_of("1,037.5 EUR"), money_of("0"), money_of("much")
    ('1,037.50 EUR', '0', 'much')
    """
    amount, _, currency = text.partition(" ")
    try:
        return money(Money.of(amount.replace(",", ""), currency))
    except ParameterError:
        return text


def cents(sentence: str, currency: str) -> str:
    """Give the amounts in a sentence of the tracker two decimals, as everywhere else on the page.

    >>> cents("3 periods and 1,037.5 EUR are left; the risk is 0.5", "EUR")
    '3 periods and 1,037.50 EUR are left; the risk is 0.5'
    """
    return re.sub(rf"(\d\.\d)(?= {re.escape(currency or 'of money')}(?!\w))", r"\g<1>0", sentence)


def numeral(value: object) -> str:
    """Format a number for an input field.

    >>> numeral(7417.0), numeral("0.50"), numeral(100), numeral(1e-05)
    ('7417', '0.5', '100', '0.00001')
    """
    return f"{Decimal(str(value)).normalize():f}"


def tier_text(tiers: Sequence[Sequence[Any]]) -> str:
    """Format tiered prices.

    >>> tier_text([[1, 2.0], [50, 1]])
    '2 per row, 1 from row 50'
    """
    (_, first), *later = tiers
    return ", ".join([f"{numeral(first)} per row", *(f"{numeral(price)} from row {start}" for start, price in later)])


def when(at: str) -> str:
    """Format a time in UTC.

    >>> when("2026-11-15T21:04:09.123Z"), when("yesterday")
    ('15 Nov 2026, 21:04 UTC', 'yesterday')
    """
    try:
        return datetime.fromisoformat(at).strftime("%-d %b %Y, %H:%M UTC")
    except ValueError:
        return at


def period_labels(periods: Sequence[tuple[int, str | None]]) -> list[str]:
    """Return the axis labels of periods: their keys if all have one, else their numbers.

    >>> period_labels([(3, "2026-W46"), (4, "2026-W47")]), period_labels([(3, "2026-W46"), (4, None)])
    (['2026-W46', '2026-W47'], ['3', '4'])
    """
    keys = [strip_bidi(key) for _, key in periods if key is not None]
    return keys if len(keys) == len(periods) else [str(period) for period, _ in periods]


def period_cells(periods: Sequence[tuple[int, str | None]]) -> list[str]:
    """Return the table cells of periods, with the key of each that has one.

    >>> period_cells([(3, "2026-W46"), (4, "2026-W47")]), period_cells([(3, "2026-W46"), (4, None)])
    (['2026-W46', '2026-W47'], ['3 (2026-W46)', '4'])
    """
    names = period_labels(periods)
    return [
        name if key is None or name == strip_bidi(key) else f"{name} ({strip_bidi(key)})"
        for name, (_, key) in zip(names, periods, strict=True)
    ]
