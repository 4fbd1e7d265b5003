"""Numbers, money, times and periods as the pages show them."""

import math
import re
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from driftpace.errors import ParameterError
from driftpace.records import Money

NOTHING = "–"
_TURNS = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))


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


def money_of(text: str) -> str:
    """Write an amount that a summary holds as text.

    >>> money_of("1,037.5 EUR"), money_of("0"), money_of("much")
    ('1,037.50 EUR', '0', 'much')
    """
    amount, _, currency = text.partition(" ")
    try:
        return money(Money.of(amount.replace(",", ""), currency))
    except ParameterError:
        return text


def cents(sentence: str, currency: str) -> str:
    """Write the amounts in a sentence of the tracker as the page writes them everywhere else.

    >>> cents("3 periods and 1,037.5 EUR are left; the risk is 0.5", "EUR")
    '3 periods and 1,037.50 EUR are left; the risk is 0.5'
    """
    return re.sub(rf"(\d\.\d)(?= {re.escape(currency or 'of money')}(?!\w))", r"\g<1>0", sentence)


def numeral(value: object) -> str:
    """Write a number for a field that people type in.

    >>> numeral(7417.0), numeral("0.50"), numeral(100), numeral(1e-05)
    ('7417', '0.5', '100', '0.00001')
    """
    return f"{Decimal(str(value)).normalize():f}"


def by_number(tiers: Sequence[Sequence[Any]]) -> str:
    """Write prices that depend on the number of rows.

    >>> by_number([[1, 2.0], [50, 1]])
    '2 for a row, 1 from row 50 on'
    """
    (_, first), *later = tiers
    return ", ".join(
        [f"{numeral(first)} for a row", *(f"{numeral(price)} from row {start} on" for start, price in later)]
    )


def when(at: str) -> str:
    """Write a time in UTC as people say it.

    >>> when("2026-11-15T21:04:09.123Z"), when("yesterday")
    ('15 Nov 2026, 21:04 UTC', 'yesterday')
    """
    try:
        return datetime.fromisoformat(at).strftime("%-d %b %Y, %H:%M UTC")
    except ValueError:
        return at


def straight(text: str) -> str:
    """Return somebody's words without the marks that turn the direction of writing: they would turn what stands after them, too.

    >>> straight("\u202eevil\u2069 words")
    'evil words'
    """
    return text.translate(_TURNS)


def named(periods: Sequence[tuple[int, str | None]]) -> list[str]:
    """Write the periods of an axis, all in one way: by their keys where every one has one, else by their numbers.

    >>> named([(3, "2026-W46"), (4, "2026-W47")]), named([(3, "2026-W46"), (4, None)])
    (['2026-W46', '2026-W47'], ['3', '4'])
    """
    keys = [straight(key) for _, key in periods if key is not None]
    return keys if len(keys) == len(periods) else [str(period) for period, _ in periods]


def tabled(periods: Sequence[tuple[int, str | None]]) -> list[str]:
    """Write the same periods for a table, which has room for the keys of those that have one.

    >>> tabled([(3, "2026-W46"), (4, "2026-W47")]), tabled([(3, "2026-W46"), (4, None)])
    (['2026-W46', '2026-W47'], ['3 (2026-W46)', '4'])
    """
    names = named(periods)
    return [
        name if key is None or name == straight(key) else f"{name} ({straight(key)})"
        for name, (_, key) in zip(names, periods, strict=True)
    ]
