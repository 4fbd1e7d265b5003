"""Costs: exact prices in integer units, and errors for invalid price lists."""

import decimal
import math
import pickle
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from driftpace.errors import ParameterError
from driftpace.planning.costs import (
    Cost,
    CustomCost,
    LinearCost,
    Price,
    TieredCost,
    affordable,
    budget_units,
    in_money,
    price,
)
from driftpace.planning.tariff import MAX_UNITS
from driftpace.records import Money

PRICES = st.decimals(0, 50, places=3).map(lambda amount: amount.normalize())


@st.composite
def linear_costs(draw: st.DrawFn) -> LinearCost:
    return LinearCost(fixed=draw(PRICES), per_sample=draw(PRICES), minimum=draw(st.integers(0, 30)))


@st.composite
def tiered_costs(draw: st.DrawFn) -> TieredCost:
    starts = [1, *sorted(draw(st.sets(st.integers(2, 80), max_size=4)))]
    tiers = tuple((start, draw(PRICES)) for start in starts)
    return TieredCost(tiers=tiers, fixed=draw(PRICES), minimum=draw(st.integers(0, 30)))


def own_cost(cost: Cost) -> CustomCost:
    return CustomCost(lambda samples: price(cost, samples).amount, unit=cost.unit)


COSTS = st.one_of(linear_costs(), tiered_costs(), tiered_costs().map(own_cost))


def by_hand(cost: LinearCost | TieredCost, samples: int) -> Fraction:
    """The price of an order, one sample after the other."""
    if samples == 0:
        return Fraction(0)
    tiers = cost.tiers if isinstance(cost, TieredCost) else ((1, cost.per_sample),)
    total = Fraction(str(cost.fixed))
    for sample in range(1, max(samples, cost.minimum) + 1):
        total += next(Fraction(str(each)) for start, each in reversed(tiers) if start <= sample)
    return total


@given(cost=st.one_of(linear_costs(), tiered_costs()), samples=st.integers(0, 120))
def test_a_price_is_the_sum_over_its_samples(cost: LinearCost | TieredCost, samples: int) -> None:
    assert Fraction(price(cost, samples).amount) == by_hand(cost, samples)


@given(COSTS)
def test_nothing_is_free_and_more_never_costs_less(cost: Cost) -> None:
    units = cost.units(np.arange(120))
    assert units.dtype == np.int64
    assert units[0] == 0
    assert (np.diff(units) >= 0).all()
    assert [int(cost.units(count)) for count in range(120)] == units.tolist()


@given(COSTS)
def test_the_shape_of_what_is_asked_is_kept(cost: Cost) -> None:
    counts = np.array([[3, 0], [7, 100]])
    assert cost.units(counts).tolist() == [[int(cost.units(count)) for count in row] for row in counts]
    assert cost.units(np.array([], dtype=np.int64)).shape == cost.units([]).shape == (0,)
    assert cost.units(np.array([5], dtype=np.uint8)).dtype == np.int64


@given(cost=COSTS, budget=st.decimals(0, 3000, places=4), cap=st.integers(0, 90))
def test_affordable_is_what_a_scan_finds(cost: Cost, budget: Decimal, cap: int) -> None:
    most = max(samples for samples in range(cap + 1) if price(cost, samples).amount <= budget)
    assert affordable(cost, Money.of(budget), cap) == most


@given(cost=st.one_of(linear_costs(), tiered_costs()), budget=st.integers(0, 10**12))
def test_an_order_that_is_affordable_is_paid_and_one_more_is_not(cost: Cost, budget: int) -> None:
    most = affordable(cost, Money.of(budget))
    assert price(cost, most).amount <= budget
    assert most == 10**9 or price(cost, most + 1).amount > budget


@given(cost=linear_costs(), orders=st.lists(st.integers(0, 10**6), max_size=30))
def test_units_add_up_to_money(cost: LinearCost, orders: list[int]) -> None:
    units = int(cost.units(np.array(orders, dtype=np.int64)).sum())
    assert Fraction(in_money(cost, units).amount) == sum(Fraction(price(cost, order).amount) for order in orders)


def test_a_float_is_the_decimal_it_is_printed_as() -> None:
    cost = LinearCost(fixed=0.1, per_sample=0.2)
    assert cost.unit == Decimal("0.1")
    assert cost.units([0, 1, 3]).tolist() == [0, 3, 7]
    assert cost == LinearCost(fixed="0.10", per_sample=Decimal("0.2"))
    assert hash(cost) == hash(LinearCost(fixed="0.10", per_sample=Decimal("0.2")))


@pytest.mark.parametrize(
    ("prices", "unit"),
    [((5, 1), "1"), (("5.0", "100"), "1"), (("1e3", "2"), "1"), ((0, "0.25"), "0.01"), (("0.5", "1e-9"), "1e-9")],
)
def test_the_unit_is_what_all_prices_are_made_of(prices: tuple[Price, Price], unit: str) -> None:
    assert LinearCost(fixed=prices[0], per_sample=prices[1]).unit == Decimal(unit)


def test_an_order_below_the_minimum_is_billed_as_the_minimum() -> None:
    cost = LinearCost(fixed=5, per_sample=2, minimum=10)
    assert cost.units([0, 1, 9, 10, 11]).tolist() == [0, 25, 25, 25, 27]
    assert affordable(cost, Money.of(24)) == 0
    assert affordable(cost, Money.of(25)) == 10


def test_graduated_prices_do_not_fall_at_the_border_of_a_tier() -> None:
    cost = TieredCost(tiers=((1, "2.00"), (101, "0")), currency="EUR")
    assert [str(price(cost, samples)) for samples in (99, 100, 101, 500)] == [
        "198 EUR",
        "200 EUR",
        "200 EUR",
        "200 EUR",
    ]
    assert affordable(cost, Money.of(200, "EUR")) == 10**9
    assert affordable(cost, Money.of(199, "EUR")) == 99


@pytest.mark.parametrize(
    "cost", [LinearCost(fixed=5, per_sample=0), LinearCost(per_sample=0), TieredCost(tiers=((1, 0),))]
)
def test_where_samples_are_free_the_cap_is_bought(cost: Cost) -> None:
    assert affordable(cost, Money.of(5), cap=77) == 77
    assert affordable(cost, Money.of(5)) == 10**9
    assert affordable(cost, Money.of(5), cap=0) == 0


def test_a_fixed_price_alone_must_be_paid() -> None:
    assert affordable(LinearCost(fixed=5, per_sample=0), Money.of(4)) == 0


def test_prices_bring_their_currency_with_them() -> None:
    cost = LinearCost(fixed=Money.of(5, "EUR"), per_sample=1)
    assert cost.currency == "EUR"
    assert str(price(cost, 1)) == "6 EUR"
    assert cost == LinearCost(fixed=5, currency="EUR")
    with pytest.raises(ParameterError, match=r"^LinearCost\(per_sample=\.\.\.\) must be in EUR; got 1 USD"):
        LinearCost(fixed=5, per_sample=Money.of(1, "USD"), currency="EUR")
    with pytest.raises(ParameterError, match=r"must be in EUR; got 1 USD"):
        LinearCost(fixed=Money.of(5, "EUR"), per_sample=Money.of(1, "USD"))


def test_a_budget_in_another_currency_is_rejected() -> None:
    cost = LinearCost(currency="EUR")
    with pytest.raises(ParameterError, match=r"^plan\(budget=\.\.\.\) must be in EUR; got 10 USD"):
        affordable(cost, Money.of(10, "USD"))
    assert affordable(cost, Money.of(10)) == 10
    assert affordable(LinearCost(), Money.of(10, "USD")) == 10


def test_a_budget_is_rounded_down_to_whole_units() -> None:
    assert budget_units(LinearCost(per_sample="0.25"), Money.of("10.009")) == 1000
    with pytest.raises(ParameterError, match=r"^plan\(budget=\.\.\.\) must be 0 or more; got -1"):
        budget_units(LinearCost(), Money.of(1) - Money.of(2))


@pytest.mark.parametrize("bad", [-1, math.nan, math.inf, "much", True, None, "0.1234567891"], ids=repr)
def test_prices_that_are_none_are_refused_by_name(bad: Price) -> None:
    with pytest.raises(ParameterError, match=r"^LinearCost\(fixed=\.\.\.\) must "):
        LinearCost(fixed=bad)
    with pytest.raises(ParameterError, match=r"^LinearCost\(per_sample=\.\.\.\) must "):
        LinearCost(per_sample=bad)
    with pytest.raises(ParameterError, match=r"^TieredCost\(tiers\[1\]=\.\.\.\) must "):
        TieredCost(tiers=((1, 1), (5, bad)))
    with pytest.raises(ParameterError, match=r"^TieredCost\(fixed=\.\.\.\) must "):
        TieredCost(tiers=((1, 1),), fixed=bad)


@pytest.mark.parametrize(
    "tiers", [(), ((2, 1),), ((0, 1),), ((1, 1), (1, 2)), ((1, 1), (9, 1), (5, 1)), ((1.5, 1),), 5, ((1,),)]
)
def test_tiers_that_do_not_rise_from_the_first_sample_are_rejected(tiers: tuple[tuple[int, Price], ...]) -> None:
    with pytest.raises(ParameterError, match=r"^TieredCost\(tiers=\.\.\.\) must "):
        TieredCost(tiers=tiers)


@pytest.mark.parametrize("minimum", [-1, 1.5, True])
def test_a_minimum_that_is_no_number_of_samples_is_rejected(minimum: int) -> None:
    with pytest.raises(ParameterError, match=r"^LinearCost\(minimum=\.\.\.\) must be a whole number"):
        LinearCost(minimum=minimum)
    with pytest.raises(ParameterError, match=r"^TieredCost\(minimum=\.\.\.\) must be a whole number"):
        TieredCost(tiers=((1, 1),), minimum=minimum)


@pytest.mark.parametrize("samples", [[-1], [1.0], ["1"], [2**64 - 1], [True], [None]], ids=repr)
@pytest.mark.parametrize("cost", [LinearCost(), CustomCost(lambda samples: samples)], ids=["linear", "own"])
def test_counts_that_are_none_are_rejected(cost: Cost, samples: list[int]) -> None:
    with pytest.raises(ParameterError, match=r"^units\(samples=\.\.\.\) must be whole numbers of at least 0"):
        cost.units(samples)


DEAR = [
    LinearCost(per_sample="5000000000.000000001"),
    LinearCost(fixed=10**15, per_sample="1e-9"),
    TieredCost(tiers=((1, "1e-9"), (1000, 10**15))),
    TieredCost(tiers=((1, 10**15), (1000, "1e-9"), (10**12, 1))),
    LinearCost(per_sample=10**12, minimum=10**9),
    CustomCost(lambda samples: 1e14 * samples, unit=Decimal("1e-6")),
]


@pytest.mark.parametrize("cost", DEAR, ids=range(len(DEAR)))
def test_a_price_beyond_64_bits_is_refused_and_never_wraps_round(cost: Cost) -> None:
    with pytest.raises(ParameterError, match="64 bits"):
        cost.units([0, 10**9])
    assert cost.units([0, 0]).tolist() == [0, 0]
    budget = Money.of(1000)
    most = affordable(cost, budget)
    assert most < 10**9
    assert price(cost, most).amount <= 1000


def test_the_largest_price_that_fits_is_exact() -> None:
    cost = LinearCost(fixed=3, per_sample=(MAX_UNITS - 3) // 10**9)
    top = int(cost.units(10**9))
    assert top == 3 + 10**9 * ((MAX_UNITS - 3) // 10**9) <= MAX_UNITS
    assert top + top > 0


def test_a_budget_beyond_exact_floats_is_rejected() -> None:
    with pytest.raises(ParameterError, match=r"^plan\(budget=\.\.\.\) must be at most 9007199254740992 times the unit"):
        budget_units(LinearCost(per_sample="1e-9"), Money.of(10**15))


def test_custom_prices_are_asked_for_once_and_only_where_needed() -> None:
    asked: list[int] = []

    def waves(samples: int) -> int:
        asked.append(samples)
        return 100 * -(-samples // 50)

    cost = CustomCost(waves, currency="EUR")
    assert asked == [0]
    assert cost.units([50, 51, 50]).tolist() == [10000, 20000, 10000]
    assert asked == [0, 50, 51]
    assert affordable(cost, Money.of(1000, "EUR")) == 500
    assert len(asked) == len(set(asked)) < 40


@example(0.1, 3)
@example(0.07, 100)
@given(each=st.integers(1, 10**6).map(lambda units: units / 100), samples=st.integers(0, 10**6))
def test_the_noise_of_floats_is_no_price(each: float, samples: int) -> None:
    cost = CustomCost(lambda count: each * count)
    assert int(cost.units(samples)) == round(100 * each) * samples


@given(st.decimals(0, 10**6, places=6))
def test_custom_prices_are_rounded_up_to_the_unit(amount: Decimal) -> None:
    cost = CustomCost(lambda samples: amount if samples else 0)
    assert int(cost.units(1)) == math.ceil(Fraction(amount) * 100)


@pytest.mark.parametrize(
    "answer", [-1, -0.01, math.nan, math.inf, "much", None, True, Decimal("NaN"), [3], np.float64("nan")], ids=repr
)
def test_custom_prices_that_are_none_are_refused_where_they_are_met(answer: Price) -> None:
    cost = CustomCost(lambda samples: answer if samples >= 7 else samples)
    assert cost.units([0, 6]).tolist() == [0, 600]
    with pytest.raises(
        ParameterError, match=r"^CustomCost\(function=\.\.\.\) must return a finite amount .* for 7 samples\.$"
    ):
        cost.units([7])
    assert cost.units([0, 6]).tolist() == [0, 600]


@pytest.mark.parametrize("order", [[4, 9], [9, 4], [2, 9, 4], [12, 4, 9]], ids=str)
def test_custom_prices_that_fall_are_refused_with_the_place(order: list[int]) -> None:
    prices = {0: 0.0, 2: 1.0, 4: 5.0, 9: 4.5, 12: 8.0}
    cost = CustomCost(prices.__getitem__, currency="EUR")
    with pytest.raises(ParameterError) as refusal:
        cost.units(order)
    assert str(refusal.value) == (
        "CustomCost(function=...) must not decrease with the number of samples; got 5 EUR for 4 samples and 4.5 EUR for 9."
    )


def test_a_refused_price_is_not_remembered() -> None:
    answers = iter([0, 5, 3, 6])
    cost = CustomCost(lambda samples: next(answers))
    assert cost.units([1]).tolist() == [500]
    with pytest.raises(ParameterError):
        cost.units([2])
    assert cost.units([2]).tolist() == [600]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: CustomCost(lambda samples: 5 + samples), "must be 0 for 0 samples; got 5."),
        (lambda: CustomCost(5), "CustomCost(function=...) must be a function of the samples; got 5."),  # type: ignore[arg-type]
        (lambda: CustomCost(lambda samples: samples, unit=Decimal(0)), "CustomCost(unit=...) must be positive"),
        (
            lambda: CustomCost(lambda samples: samples, unit=Decimal("NaN")),
            "CustomCost(unit=...) must be an amount of money",
        ),
        (
            lambda: CustomCost(lambda samples: samples, currency=3),  # type: ignore[arg-type]
            "CustomCost(currency=...) must be a string",
        ),
    ],
    ids=["paid for nothing", "no function", "no unit", "NaN unit", "no currency"],
)
def test_invalid_costs_are_rejected(make: Callable[[], Cost], sentence: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        make()
    assert sentence in str(refusal.value)


@pytest.mark.parametrize("answer", [Decimal("1e999999"), 10**30, 1e300], ids=["decimal", "int", "float"])
def test_custom_prices_beyond_64_bits_are_above_every_budget(answer: Price) -> None:
    cost = CustomCost(lambda samples: answer if samples > 3 else samples)
    with pytest.raises(ParameterError, match=r"^CustomCost\(function=\.\.\.\) must cost at most .* for 4 samples\.$"):
        cost.units([4])
    assert affordable(cost, Money.of(10**6)) == 3


def test_the_decimal_context_of_the_caller_rounds_nothing() -> None:
    with decimal.localcontext(prec=2):
        cost = TieredCost(tiers=((1, "1234.567"), (11, "0.001")), fixed="0.25")
        assert cost.unit == Decimal("0.001")
        assert cost.units([1, 11]).tolist() == [1234817, 12345921]
        assert str(price(cost, 11)) == "12,345.921"
        assert budget_units(cost, Money.of("12345.921")) == 12345921
        assert CustomCost(lambda samples: 1234.567 * samples).units([3]).tolist() == [370371]


def test_custom_prices_may_be_money() -> None:
    cost = CustomCost(lambda samples: Money.of(2 * samples, "EUR"), currency="EUR")
    assert str(price(cost, 3)) == "6 EUR"
    with pytest.raises(ParameterError, match=r"^CustomCost\(function=\.\.\.\) must be in USD; got 0 EUR"):
        CustomCost(lambda samples: Money.of(2 * samples, "EUR"), currency="USD")


def doubled(samples: int) -> int:
    return 2 * samples


@pytest.mark.parametrize(
    "cost",
    [LinearCost(fixed=0.5, currency="EUR"), TieredCost(tiers=((1, 2), (10, "1.5")), minimum=3), CustomCost(doubled)],
    ids=["linear", "tiered", "own"],
)
def test_costs_are_values(cost: Cost) -> None:
    cost.units([1, 2])
    again = pickle.loads(pickle.dumps(cost))
    assert again == cost
    assert hash(again) == hash(cost)
    assert again.units([0, 1, 20]).tolist() == cost.units([0, 1, 20]).tolist()
    assert isinstance(cost, Cost)
    assert cost != LinearCost(fixed=0.5)


def test_a_list_of_tiers_is_kept_as_a_value() -> None:
    assert TieredCost(tiers=[[1, "2.00"], [5, 1]]) == TieredCost(tiers=((1, 2), (5, "1.0")))  # type: ignore[arg-type]
    assert hash(TieredCost(tiers=[[1, 2]])) == hash(TieredCost(tiers=((1, 2),)))  # type: ignore[arg-type]


def test_a_price_is_asked_for_a_number_of_samples() -> None:
    with pytest.raises(ParameterError, match=r"^price\(samples=\.\.\.\) must be a whole number of at least 0; got -1"):
        price(LinearCost(), -1)
    with pytest.raises(ParameterError, match=r"^affordable\(cap=\.\.\.\) must be a whole number of at least 0; got -1"):
        affordable(LinearCost(), Money.of(1), cap=-1)
