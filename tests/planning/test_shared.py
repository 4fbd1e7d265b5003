"""One budget over segments whose needs are known, against every division of the money, linear programmes, and simple rules."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, linprog

from driftpace.adaptive.kernels import fewest_rows, mean_risk
from driftpace.errors import ParameterError
from driftpace.planning import Demand, LinearCost, SharedBudget, share_budget
from driftpace.planning.kernels.shared import left_after, rows_to_leave
from driftpace.typing import FloatArray


def a_demand(rng: np.random.Generator, *, fixed: int = 0, **given: object) -> Demand:
    blocks = np.array([1.0, float(rng.integers(1, 6))])
    return Demand(
        blocks=blocks,
        shares=rng.dirichlet(np.ones(3), 2),
        variances=10 ** rng.uniform(-2.5, 0.0, (2, 3)),
        noise=float(10 ** rng.uniform(-1.0, 0.5)),
        epsilon=float(10 ** rng.uniform(-1.5, -0.5)),
        cost=LinearCost(fixed=fixed, per_sample=int(rng.integers(1, 4))),
        **given,  # type: ignore[arg-type]
    )


def risk_by_rule(blocks: FloatArray, shares: FloatArray, variances: FloatArray, noise: float, rows: float) -> float:
    """Return half the root of x = sum d w m(x) with 1/m = 1/t + rows/(noise + (1 + 1/d) x): the harmonic rule as it is written."""
    each, more = blocks[:, None] * shares, 1.0 + 1.0 / blocks.sum()

    def beyond(x: float) -> float:
        return float((each / (1.0 / variances + rows / (noise + more * x))).sum()) / x - 1.0

    most = float((each * variances).sum())
    return 0.5 * (most if rows == 0 else float(brentq(beyond, 1e-12 * most, most, xtol=1e-300, rtol=1e-12)))


def risk_after(demand: Demand, rows: int) -> float:
    return risk_by_rule(demand.blocks, demand.shares, demand.variances, demand.noise, float(demand.kept + rows))


def gap(demand: Demand, rows: int) -> float:
    return max(risk_after(demand, rows) - (demand.epsilon if demand.goal is None else demand.goal), 0.0)


def price(demand: Demand, rows: int) -> int:
    billed = demand.cost.units([demand.gathered + rows, demand.gathered])
    return int(billed[0] - billed[1])


def full_price(demands: dict[str, Demand]) -> int:
    return int(share_budget(demands, budget=10**9).spent.amount)


def best_division(demands: dict[str, Demand], budget: int, weights: dict[str, float]) -> tuple[float, float]:
    """Return the least weighted mean gap and the least largest relative risk over every division of the money."""
    total = sum(weights.values())
    options = []
    for name, demand in demands.items():
        most = next(rows for rows in itertools.count() if gap(demand, rows) == 0.0)
        options.append(
            [
                (
                    price(demand, rows),
                    weights[name] / total * gap(demand, rows),
                    risk_after(demand, rows) / demand.epsilon,
                )
                for rows in range(most + 1)
            ]
        )
    best, largest = math.inf, math.inf
    for chosen in itertools.product(*options):
        if sum(one[0] for one in chosen) <= budget:
            best = min(best, sum(one[1] for one in chosen))
            largest = min(largest, max(one[2] for one in chosen))
    return best, largest


@given(
    seed=st.integers(0, 10_000),
    rows=st.integers(1, 100_000),
    noise=st.floats(1e-3, 1e3),
)
@settings(max_examples=150, deadline=None)
def test_rows_and_risks_are_those_of_the_sizing(seed: int, rows: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    blocks = rng.integers(1, 12, 2).astype(float)
    shares, variances = rng.dirichlet(np.ones(4), 2), 10 ** rng.uniform(-4.0, 6.0, (2, 4))
    squares, each, size = (blocks[:, None] * shares * variances).ravel(), variances.ravel(), blocks.sum()
    risk = risk_by_rule(blocks, shares, variances, noise, float(rows))
    assert 0.5 * left_after(squares, each, noise, size, float(rows)) == pytest.approx(risk, rel=1e-8)
    assert mean_risk(blocks, shares, variances, noise, float(rows)) == pytest.approx(risk, rel=1e-8)
    assert rows_to_leave(squares, each, noise, size, 2.0 * risk) == pytest.approx(rows, rel=1e-6)
    target = risk * rng.uniform(0.5, 1.0)
    wanted = fewest_rows(blocks, shares, variances, noise, target, 10**9)
    assert wanted == pytest.approx(rows_to_leave(squares, each, noise, size, 2.0 * target), abs=1.0 + 1e-9 * wanted)
    assert risk_by_rule(blocks, shares, variances, noise, float(wanted)) <= target * (1.0 + 1e-8)
    assert wanted == 1 or risk_by_rule(blocks, shares, variances, noise, wanted - 1.0) > target * (1.0 - 1e-8)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_the_risk_is_convex_in_the_rows(seed: int) -> None:
    demand = a_demand(np.random.default_rng(seed))
    squares = (demand.blocks[:, None] * demand.shares * demand.variances).ravel()
    risks = np.array(
        [
            left_after(squares, demand.variances.ravel(), demand.noise, demand.blocks.sum(), rows)
            for rows in np.arange(0.0, 120.0, 3.0)
        ]
    )
    assert (np.diff(risks) < 0.0).all()
    assert (np.diff(risks, 2) > -1e-12 * risks[0]).all()


@pytest.mark.parametrize("seed", range(12))
def test_small_fleets_get_the_best_of_all_divisions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    demands = {
        f"s{number}": a_demand(rng, fixed=int(rng.integers(0, 6)) * (seed % 2), goal=float(rng.uniform(0.02, 0.1)))
        for number in range(3)
    }
    weights = {name: float(rng.uniform(0.5, 3.0)) for name in demands}
    budget = int(rng.uniform(0.2, 0.8) * full_price(demands))
    best, largest = best_division(demands, budget, weights)
    level = share_budget(demands, budget=budget)
    assert level.lower <= largest * (1.0 + 1e-9)
    assert max(risk_after(demands[name], rows) / demands[name].epsilon for name, rows in level.rows.items()) == (
        pytest.approx(largest, rel=1e-6)
    )
    weighted = share_budget(demands, budget=budget, weights=weights)
    assert weighted.value == pytest.approx(best, rel=1e-9)
    assert weighted.lower <= best * (1.0 + 1e-9)
    for shared in (level, weighted):
        assert (
            sum(price(demands[name], rows) for name, rows in shared.rows.items()) == int(shared.spent.amount) <= budget
        )


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_the_bound_is_that_of_the_linear_programme(share: float) -> None:
    rng = np.random.default_rng(5)
    demands = {f"s{number}": a_demand(rng, fixed=int(rng.integers(0, 9))) for number in range(30)}
    weights = {name: float(rng.uniform(0.5, 3.0)) for name in demands}
    budget, total = int(share * full_price(demands)), sum(weights.values())
    values, prices, owners = [], [], []
    for place, (name, demand) in enumerate(demands.items()):
        for rows in itertools.count():
            values.append(weights[name] / total * gap(demand, rows))
            prices.append(price(demand, rows))
            owners.append(place)
            if gap(demand, rows) == 0.0:
                break
    one_each = np.zeros((30, len(values)))
    one_each[owners, np.arange(len(values))] = 1.0
    relaxed = float(
        linprog(values, A_ub=[prices], b_ub=[budget], A_eq=one_each, b_eq=np.ones(30), method="highs").fun or 0.0
    )
    shared = share_budget(demands, budget=budget, weights=weights)
    assert shared.value >= relaxed * (1.0 - 1e-9)
    assert shared.proven_gap < 0.01
    assert relaxed * (1.0 - 1e-6) <= shared.lower <= shared.value
    equal = {name: affordable(demand, budget / 30) for name, demand in demands.items()}
    assert sum(weights[name] / total * gap(demands[name], rows) for name, rows in equal.items()) > 1.05 * shared.value


def affordable(demand: Demand, money: float) -> int:
    rows = max(
        (int(money) - int(demand.cost.units([1])[0])) // int(demand.cost.units([2])[0] - demand.cost.units([1])[0]) + 1,
        0,
    )
    return rows


def test_a_level_is_the_same_for_all_and_no_lower_one_is_affordable() -> None:
    rng = np.random.default_rng(7)
    demands = {f"s{number}": a_demand(rng, fixed=int(rng.integers(0, 9))) for number in range(200)}
    need = full_price(demands)
    shared = share_budget(demands, budget=need // 2)
    assert not shared.enough
    assert shared.lower < shared.value < shared.lower * (1.0 + 1e-8)
    for name, rows in shared.rows.items():
        demand = demands[name]
        assert risk_after(demand, rows) <= shared.value * demand.epsilon * (1.0 + 1e-9)
        if rows:  # one row fewer leaves more than the level
            assert risk_after(demand, rows - 1) > shared.lower * demand.epsilon * (1.0 - 1e-9)
    richer = share_budget(demands, budget=need * 3 // 4)
    assert richer.value < shared.value
    full = share_budget(demands, budget=need)
    assert full.enough
    assert full.rows == full.wanted == shared.wanted
    assert int(full.spent.amount) == need
    assert not share_budget(demands, budget=need - 1).enough


def test_rows_that_a_segment_has_are_paid_and_fixed_prices_are_paid_once() -> None:
    rng = np.random.default_rng(3)
    new = a_demand(rng, fixed=40, goal=0.01)
    begun = Demand(**{name: getattr(new, name) for name in new.__dataclass_fields__} | {"gathered": 5})
    wanted = share_budget({"new": new}, budget=10**6).wanted["new"]
    assert int(share_budget({"new": new}, budget=10**6).spent.amount) == price(new, wanted)
    assert int(share_budget({"begun": begun}, budget=10**6).spent.amount) == price(new, wanted) - 40
    both = share_budget({"new": new, "other": new}, budget=10**6, order_price=100)
    assert int(both.spent.amount) == 2 * price(new, wanted) + 100


def test_bounds_on_rows_are_kept() -> None:
    rng = np.random.default_rng(4)
    plain = a_demand(rng, goal=0.01)
    fields = {name: getattr(plain, name) for name in plain.__dataclass_fields__}
    wanted = share_budget({"a": plain}, budget=10**6).wanted["a"]
    assert share_budget({"a": Demand(**fields | {"most": 3})}, budget=10**6).rows["a"] == 3
    assert share_budget({"a": Demand(**fields | {"least": wanted + 5})}, budget=10**6).rows["a"] == wanted + 5
    assert share_budget({"a": Demand(**fields | {"kept": 4})}, budget=10**6).rows["a"] == wanted - 4
    unknown = Demand(**fields | {"goal": math.inf, "least": 12, "most": 12})
    shared = share_budget({"a": unknown, "b": unknown}, budget=int(plain.cost.units([12])[0]))
    assert shared.rows == {"a": 12, "b": 0}
    assert shared.value == math.inf


@pytest.mark.parametrize("fixed", [0, 30])
def test_later_periods_keep_their_share(fixed: int) -> None:
    rng = np.random.default_rng(9)
    demands = {f"s{number}": a_demand(rng, fixed=fixed, steps=10 ** rng.uniform(-3.5, -2.0, 2)) for number in range(50)}
    one = share_budget(demands, budget=10**7)
    many = share_budget(demands, budget=10**7, periods=6)
    assert one.rows == many.rows
    assert one.later.amount == 0
    total = int((many.spent + many.later).amount)
    assert share_budget(demands, budget=total, periods=6).enough
    short = share_budget(demands, budget=total // 2, periods=6)
    assert not short.enough
    assert short.spent.amount + short.later.amount <= total // 2
    assert 0 < short.later.amount < many.later.amount
    assert sum(short.rows.values()) < sum(many.rows.values())


@pytest.mark.parametrize("kind", ["level", "weighted"])
def test_many_segments(kind: str) -> None:
    rng = np.random.default_rng(11)
    some = [a_demand(rng, fixed=2) for _ in range(400)]
    demands = {f"s{number}": some[number % 400] for number in range(20_000)}
    shared = share_budget(demands, budget=full_price(demands) // 2, weights=None if kind == "level" else {"s1": 2.0})
    assert isinstance(shared, SharedBudget)
    assert shared.proven_gap < 0.001


def test_mistakes_are_named() -> None:
    demand = a_demand(np.random.default_rng(0))
    for given_, match in (
        ({"demands": {}}, "must map names to one or more demands"),
        ({"demands": {"a": 3}}, "must contain demands; got 3 for 'a'"),
        ({"budget": -3}, "share_budget\\(budget=...\\) must be an amount of money"),
        ({"periods": 0}, "share_budget\\(periods=...\\)"),
        ({"weights": {"a": 0.0}}, "share_budget\\(weights=...\\) must be positive"),
        ({"order_price": "x"}, "share_budget\\(order_price=...\\)"),
    ):
        with pytest.raises(ParameterError, match=match):
            share_budget(**({"demands": {"a": demand}, "budget": 10} | given_))  # type: ignore[arg-type]
