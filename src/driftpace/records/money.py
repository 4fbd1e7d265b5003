"""Exact decimal amounts of money with their currency."""

from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation

from driftpace.errors import ParameterError

LARGEST = Decimal(10) ** 15
"""Larger amounts are taken for a mistake; below it, every sum over a horizon of thousands of periods is exact."""

_FINEST_UNIT = Decimal("1e-9")
_EXACT = Context(prec=80)  # whatever the decimal context of the thread is, no amount is rounded


@dataclass(frozen=True, slots=True, order=False)
class Money:
    """An amount of money; amounts of different currencies cannot be added or compared.

    Parameters
    ----------
    amount : Decimal
        The amount.
    currency : str, default ""
        The currency, such as "EUR".

    Examples
    --------
    >>> Money.of(0.1, "EUR") + Money.of("0.2", "EUR")
    Money(amount=Decimal('0.3'), currency='EUR')
    >>> str(Money.of(1250, "EUR"))
    '1,250 EUR'
    """

    amount: Decimal
    currency: str = ""

    @classmethod
    def of(cls, amount: object, currency: str = "", *, owner: str = "Money", name: str = "amount") -> "Money":
        """Return an amount of money from a number, a string or an amount of money.

        Parameters
        ----------
        amount : object
            A number, a numeral or Money; a float means the decimal that it is printed as.
        currency : str, default ""
            The currency, such as "EUR".
        owner, name : str
            The callable and the parameter to name in an error.

        Raises
        ------
        ParameterError
            If it is not an amount from 0 to 1e15 with at most 9 decimals, or has another currency.
        """
        if not isinstance(currency, str):
            raise ParameterError(
                f"must be a string such as 'EUR', or empty; got {currency!r}.",
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
                f"must be the same on both sides; got {self!s} and {other!s}.",
                owner="Money",
                name="currency",
            )

    def __float__(self) -> float:
        return float(self.amount)

    def __str__(self) -> str:
        amount = f"{self.amount.normalize(_EXACT):,f}"
        return f"{amount} {self.currency}".rstrip()
