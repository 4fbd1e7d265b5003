"""Money in a saved tracker: records that hold decimals as plain values and back, every decimal as the words it is printed as.

Everything else is written by :mod:`driftpace.storage`, whose forms these are, with one more:

=============  =====================================================================
decimal        {"!": "decimal", "is": "12.50"}
=============  =====================================================================
"""

from dataclasses import fields
from decimal import Decimal, InvalidOperation
from typing import Any

from driftpace import storage
from driftpace.errors import StateFileError
from driftpace.planning import Budget, LinearCost, TieredCost
from driftpace.records import Money, Plan, StepReport
from driftpace.tracker.state import Order

_KINDS = (Budget, LinearCost, Money, Order, Plan, StepReport, TieredCost)
_NAMES = {f"{kind.__module__}:{kind.__qualname__}": kind for kind in _KINDS}


def to_plain(value: Any) -> Any:
    """Return the plain form of a value, or raise NotPlainError.

    >>> to_plain(Money.of("12.50", "EUR"))["with"]
    {'amount': {'!': 'decimal', 'is': '12.50'}, 'currency': 'EUR'}
    """
    if isinstance(value, Decimal):
        return {"!": "decimal", "is": str(value)}
    if isinstance(value, tuple):
        return {"!": "tuple", "of": [to_plain(item) for item in value]}
    for name, kind in _NAMES.items():
        if type(value) is kind:
            held = {field.name: to_plain(getattr(value, field.name)) for field in fields(value) if field.init}
            return {"!": "record", "is": name, "with": held}
    return storage.to_plain(value)


def from_plain(plain: Any) -> Any:
    """Return the value a plain form stands for.

    >>> str(from_plain(to_plain(Money.of("12.50", "EUR"))))
    '12.5 EUR'
    """
    kind = plain.get("!") if isinstance(plain, dict) else None
    if kind == "decimal":
        return _decimal(plain["is"])
    if kind == "tuple":
        return tuple(from_plain(item) for item in plain["of"])
    if kind == "record" and plain["is"] in _NAMES:
        return _NAMES[plain["is"]](**{name: from_plain(item) for name, item in plain["with"].items()})
    return storage.from_plain(plain)


def _decimal(words: Any) -> Decimal:
    try:
        return Decimal(words)
    except (InvalidOperation, TypeError, ValueError):
        raise StateFileError(f"the state holds {words!r} where a decimal number is meant.") from None
