import pickle
from dataclasses import replace

from driftpace.records import Money, Plan

PLAN = Plan(
    first_period=3,
    samples=(10, 0, 5),
    costs=(Money.of("1.10", "EUR"), Money.of(0, "EUR"), Money.of("2.20", "EUR")),
    risks=(0.1, 0.25, 0.05),
    gaps=(0.0, 0.15, 0.0),
    epsilon=0.1,
    budget=Money.of("3.30", "EUR"),
    goal="largest gap",
    value=0.15,
    lower=0.12,
    method="exact",
    reason="an example",
)


def test_what_is_spent_and_left_is_exact() -> None:
    assert PLAN.spent == Money.of("3.30", "EUR")
    assert PLAN.left == Money.of(0, "EUR")
    assert str(replace(PLAN, budget=Money.of(3, "EUR")).left) == "-0.3 EUR"


def test_the_proven_gap_is_a_share_of_the_value() -> None:
    assert abs(PLAN.proven_gap - 0.2) < 1e-15
    assert replace(PLAN, lower=0.15).proven_gap == 0.0
    assert replace(PLAN, value=0.0, lower=0.0).proven_gap == 0.0
    assert replace(PLAN, lower=0.0).proven_gap == 1.0


def test_it_holds_where_no_period_has_a_gap() -> None:
    assert not PLAN.holds
    assert replace(PLAN, gaps=(0.0, 0.0, 0.0)).holds


def test_horizon_and_the_epsilon_it_holds() -> None:
    assert PLAN.horizon == 3
    assert PLAN.largest_risk == 0.25


def test_it_survives_pickling_and_can_be_compared() -> None:
    assert pickle.loads(pickle.dumps(PLAN)) == PLAN
    assert hash(PLAN) == hash(replace(PLAN))
    assert replace(PLAN, samples=(10, 0, 6)) != PLAN
