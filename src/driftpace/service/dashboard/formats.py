"""Numbers, money, times and periods as the pages show them."""

import math
from datetime import datetime
from decimal import Decimal

from driftpace.records import Money

NOTHING = "–"


def count(value: int) -> str:
    """Write a number of things, with narrow gaps a reader can count by; what no screen holds is rounded.

    >>> count(1520), count(3 * 10**15)
    ('1,520', '3e+15')
    """
    return f"{value:,}" if abs(value) < 10**12 else f"{float(value):.3g}"


def number(value: float | None) -> str:
    """Write a measured number with three digits that matter.

    >>> number(0.014287), number(51234.0), number(None), number(math.inf), number(0.05)
    ('0.0143', '51,234', '–', '–', '0.05')
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    return f"{value:,.0f}" if 1000.0 <= abs(value) < 1e9 else f"{value:.3g}"


def plural(value: int, one: str, many: str = "") -> str:
    """Write a count with its noun.

    >>> plural(1, "row"), plural(0, "row"), plural(2, "entry", "entries")
    ('1 row', '0 rows', '2 entries')
    """
    return f"{count(value)} {one if value == 1 else many or one + 's'}"


def money(value: Money | None) -> str:
    """Write an amount: cents where there are some, and its currency.

    >>> money(Money.of("439.5", "EUR")), money(Money.of(3000, "EUR")), money(Money.of("0.004")), money(None)
    ('439.50 EUR', '3,000 EUR', '0.004', '–')
    """
    if value is None:
        return NOTHING
    amount = value.amount.normalize()
    shown = f"{amount:,.2f}" if amount == amount.quantize(Decimal("0.01")) else f"{amount:,f}"
    return f"{shown.removesuffix('.00')} {value.currency}".rstrip()


def when(at: str) -> str:
    """Write a time in UTC as people say it.

    >>> when("2026-11-15T21:04:09.123Z"), when("yesterday")
    ('15 Nov 2026, 21:04 UTC', 'yesterday')
    """
    try:
        return datetime.fromisoformat(at).strftime("%-d %b %Y, %H:%M UTC")
    except ValueError:
        return at


def named(period: int, key: str | None) -> str:
    """Write the period that a row of the ledger is about.

    >>> named(3, "2026-W46"), named(3, None)
    ('2026-W46', '3')
    """
    return str(period) if key is None else key
