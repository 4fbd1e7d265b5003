"""Money: exact decimal amounts that carry their currency and refuse to be mixed."""

from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation

from driftpace.errors import ParameterError

LARGEST = Decimal(10) ** 15
"""Amounts beyond this are taken for a mistake; below it, every sum over a horizon of thousands of periods is exact."""

_FINEST_UNIT = Decimal("1e-9")
_EXACT = Context(prec=80)  # whatever the decimal context of the thread is, no amount is rounded


@dataclass(frozen=True, slots=True, order=False)
class Money:
    """An amount and its currency; amounts of different currencies are neither added nor compared.

    >>> Money.of(0.1, "EUR") + Money.of("0.2", "EUR")
    Money(amount=Decimal('0.3'), currency='EUR')
    >>> str(Money.of(1250, "EUR"))
    '1,250 EUR'
    """

    amount: Decimal
    currency: str = ""

    @classmethod
    def of(cls, amount: object, currency: str = "", *, owner: str = "Money", name: str = "amount") -> "Money":
        """Return money of a number, a numeral or money itself; a float means the decimal it is printed as."""
        if not isinstance(currency, str):
            raise ParameterError(
                f"must be a word such as 'EUR', or empty; got {currency!r}.",
                owner=owner,
                name="currency",
            )
        if isinstance(amount, Money):
            if amount.currency != currency and amount.currency and currency:
                raise ParameterError(f"must be in {currency}; got {amount}.", owner=owner, name=name)
            return amount if amount.currency else cls(amount.amount, currency)
        try:
            value = Decimal(str(amount)) if not isinstance(amount, bool) else None
        except InvalidOperation:
            value = None
        if value is None or not value.is_finite() or not 0 <= value <= LARGEST:
            raise ParameterError(
                f"must be an amount of money from 0 to {LARGEST:.0e}; got {amount!r}.",
                owner=owner,
                name=name,
            )
        if value != value.quantize(_FINEST_UNIT, context=_EXACT):
            raise ParameterError(f"must have at most 9 decimals; got {amount!r}.", owner=owner, name=name)
        return cls(value.copy_abs(), currency)

    def __add__(self, other: "Money") -> "Money":
        self._same(other)
        return Money(_EXACT.add(self.amount, other.amount), self.currency)

    def __sub__(self, other: "Money") -> "Money":
        self._same(other)
        return Money(_EXACT.subtract(self.amount, other.amount), self.currency)

    def __le__(self, other: "Money") -> bool:
        self._same(other)
        return self.amount <= other.amount

    def __lt__(self, other: "Money") -> bool:
        self._same(other)
        return self.amount < other.amount

    def _same(self, other: "Money") -> None:
        if not isinstance(other, Money) or other.currency != self.currency:
            raise ParameterError(
                f"must be the same in what is added or compared; got {self!s} and {other!s}.",
                owner="Money",
                name="currency",
            )

    def __float__(self) -> float:
        return float(self.amount)

    def __str__(self) -> str:
        shown = f"{self.amount.normalize(_EXACT):,f}"
        return f"{shown} {self.currency}".rstrip()
