import decimal
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.errors import ParameterError
from driftpace.records import Money

CENTS = st.integers(0, 10**15).map(lambda cents: Decimal(cents) / 100)


@given(st.lists(CENTS, min_size=1, max_size=40))
def test_a_sum_is_exact(amounts: list[Decimal]) -> None:
    total = Money.of(0, "EUR")
    for amount in amounts:
        total += Money.of(amount, "EUR")
    assert Fraction(total.amount) == sum(Fraction(amount) for amount in amounts)


@given(st.integers(0, 10**14), st.integers(0, 4))
def test_a_float_is_the_decimal_it_is_printed_as(digits: int, decimals: int) -> None:
    printed = Decimal(digits).scaleb(-decimals)
    assert Money.of(float(printed)).amount == printed
    assert Money.of(np.float64(printed)).amount == printed


def test_the_decimal_context_of_the_caller_rounds_nothing() -> None:
    with decimal.localcontext(prec=3):
        total = Money.of("1000000.01") + Money.of("0.10")
        left = total - Money.of("1000000")
        assert (str(total), str(left), str(Money.of("123456.789"))) == ("1,000,000.11", "0.11", "123,456.789")


@pytest.mark.parametrize(
    ("amount", "displayed"),
    [
        (1250, "1,250 EUR"),
        ("1E+3", "1,000 EUR"),
        ("0.10", "0.1 EUR"),
        (-0.0, "0 EUR"),
        ("0.000000001", "0.000000001 EUR"),
        (10**15, "1,000,000,000,000,000 EUR"),
    ],
)
def test_money_is_shown_plainly(amount: object, displayed: str) -> None:
    assert str(Money.of(amount, "EUR")) == displayed


@pytest.mark.parametrize(
    "amount",
    [
        -1,
        "-0.01",
        "NaN",
        "sNaN",
        "inf",
        float("nan"),
        float("inf"),
        10**15 + 1,
        "ten",
        "",
        None,
        True,
        [5],
        1j,
        "5 EUR",
    ],
    ids=repr,
)
def test_invalid_amounts_are_refused(amount: object) -> None:
    with pytest.raises(
        ParameterError, match=r"^plan\(budget=\.\.\.\) must be an amount of money from 0 to 1e\+15; got "
    ):
        Money.of(amount, owner="plan", name="budget")


@pytest.mark.parametrize(
    "amount", ["0.0000000001", "1e-10", "1." + 90 * "0" + "1", 1 / 3], ids=["ten", "e", "long", "third"]
)
def test_more_than_nine_decimals_are_refused(amount: object) -> None:
    with pytest.raises(ParameterError, match="must have at most 9 decimals"):
        Money.of(amount)


def test_trailing_zeros_are_not_decimals() -> None:
    assert Money.of("1.000000000000") == Money.of(1)
    assert hash(Money.of("1.000000000000")) == hash(Money.of(1))


def test_currencies_are_not_mixed() -> None:
    euros, dollars = Money.of(1, "EUR"), Money.of(1, "USD")
    for mixed in (
        lambda: euros + dollars,
        lambda: euros - dollars,
        lambda: euros < dollars,
        lambda: euros >= dollars,
        lambda: euros + Money.of(1),
    ):
        with pytest.raises(ParameterError, match=r"^Money\(currency=\.\.\.\) must be the same"):
            mixed()
    assert euros != dollars
    with pytest.raises(ParameterError, match=r"must be in USD; got 1 EUR"):
        Money.of(euros, "USD")
    with pytest.raises(ParameterError, match=r"^Money\(currency=\.\.\.\) must be a string"):
        Money.of(1, 5)  # type: ignore[arg-type]


def test_money_without_a_currency_takes_the_one_it_is_given() -> None:
    assert Money.of(Money.of(3), "EUR") == Money.of(3, "EUR")
    assert Money.of(Money.of(3, "EUR")) == Money.of(3, "EUR")


def test_order() -> None:
    small, large = Money.of("0.29", "EUR"), Money.of(0.3, "EUR")
    assert small < large
    assert large > small
    assert small <= Money.of("0.290", "EUR") <= large
    assert not large <= small
    assert float(large) == 0.3


def test_what_is_left_may_be_a_debt() -> None:
    assert str(Money.of(3) - Money.of(5)) == "-2"


def test_it_survives_pickling() -> None:
    money = Money.of("1.50", "EUR")
    assert pickle.loads(pickle.dumps(money)) == money
