"""The price of money at which a budget is just spent: cutting planes in one dimension."""

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


class Priced(Protocol):
    """What a price of money leads to: the least of gaps and priced money, and the cost of what has it."""

    @property
    def price(self) -> float:
        """The price of money."""
        ...

    @property
    def value(self) -> float:
        """The least of gaps and priced money."""
        ...

    @property
    def cost(self) -> float:
        """What that costs."""
        ...


AnyField = TypeVar("AnyField", bound=Priced)
AnyFieldOut = TypeVar("AnyFieldOut", bound=Priced, covariant=True)


class Programme(Protocol[AnyFieldOut]):
    """Anything that can be looked at under a price of money: one problem, or many that share a budget."""

    def field(self, price: float) -> AnyFieldOut:
        """Return what a price leads to."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Dual(Generic[AnyField]):
    """The best lower bound found, the price it was found at, and all fields that were looked at."""

    lower: float
    price: float
    fields: tuple[AnyField, ...]


def ascend(
    programme: Programme[AnyField], budget: float, *, guess: float | None, accuracy: float, most: int = 16
) -> Dual[AnyField]:
    """Return the largest value - price * budget over prices, which is a lower bound on what the budget can reach.

    It is concave in the price, with slope (cost - budget): two prices, one at which too much is spent and one at which too
    little is, give two lines above it, and where they meet is the next price.
    """
    fields: list[AnyField] = []
    below: AnyField | None = None  # a price at which too much is spent
    above: AnyField | None = None
    price, factor = (1e-2 / budget, 16.0) if guess is None else (guess, 1.06)
    while len(fields) < most:
        field = programme.field(price)
        fields.append(field)
        if field.cost > budget:
            below = field
        else:
            above = field
        if below is None or above is None:
            price, factor = (price * factor if above is None else price / factor), factor**2
            if not 1e-15 / budget < price < 1e300:
                break
            continue
        rise, fall = below.cost - budget, above.cost - budget
        at_below, at_above = below.value - below.price * budget, above.value - above.price * budget
        meet = (at_above - at_below + rise * below.price - fall * above.price) / (rise - fall)
        top = at_below + rise * (meet - below.price)
        best = max(each.value - each.price * budget for each in fields)
        if top - best <= accuracy * abs(top) or not below.price < meet < above.price:
            break
        price = meet
    highest = max(fields, key=lambda each: each.value - each.price * budget)
    return Dual(highest.value - highest.price * budget, highest.price, tuple(fields))
