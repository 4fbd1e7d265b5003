"""Rows in another unit are set aside by name and the others go on; large changes that are real are absorbed in small steps."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from driftpace import Budget, Fleet, LinearCost, SquaredLoss
from driftpace.errors import ParameterError
from driftpace.fleet import magnitudes, segments
from driftpace.tracker.method import TellEvent
from driftpace.typing import FloatArray

NAMES = tuple(f"s{place:02d}" for place in range(12))
ODD = "s07"


class Stores:
    """Stores with levels of their own, whose rows depend on nothing but their name and the number of earlier rows."""

    def __init__(self, names: tuple[str, ...] = NAMES, *, seed: int = 0) -> None:
        self.rngs = {name: np.random.default_rng([seed, place]) for place, name in enumerate(names)}
        self.level = {name: 5.0 + rng.standard_normal() for name, rng in self.rngs.items()}

    def label(self, orders: Any) -> pd.DataFrame:
        return pd.concat([self.rows(one.segment, one.samples) for one in orders])

    def rows(self, name: str, count: int) -> pd.DataFrame:
        price, size, noise = self.rngs[name].standard_normal((count, 3)).T
        sales = self.level[name] + price - size + noise
        return pd.DataFrame({"store": name, "price": price, "size": size, "sales": sales})


def fleet_of(**options: Any) -> Fleet:
    given: dict[str, Any] = {"epsilon": 0.1, "segments": NAMES, "borrow": False} | options
    return Fleet(SquaredLoss(), segment="store", target="sales", rng=0, **given)


def full_period(fleet: Fleet, stores: Stores) -> None:
    while (orders := fleet.ask()).samples:
        fleet.tell(stores.label(orders), final=False)
    fleet.tell()


def broken(rows: pd.DataFrame, column: str, how: str) -> pd.DataFrame:
    wrong = rows["store"] == ODD
    made = {"thousands": rows[column] * 1000.0, "constant": rows[column] * 0.0 + 1e9, "thousandths": rows[column] / 1e3}
    return rows.assign(**{column: rows[column].where(~wrong, made[how])})


@pytest.mark.parametrize("options", [{}, {"borrow": True}, {"epsilon": None, "tolerance": 0.1}])
@pytest.mark.parametrize("how", ["thousands", "constant"])
def test_a_segment_in_another_unit_is_named_and_the_others_are_as_without_its_rows(
    how: str, options: dict[str, Any]
) -> None:
    with_rows, without = fleet_of(**options), fleet_of(**options)
    for fleet in (with_rows, without):
        full_period(fleet, Stores())
    rows = Stores(seed=1).label(with_rows.ask())
    without.ask()
    assert (rows["store"] == ODD).any()
    told = with_rows.tell(broken(rows, "sales", how))
    without.tell(rows[rows["store"] != ODD])
    assert list(told.rejected) == [ODD]
    assert told.rejected[ODD].startswith("column 'sales' is about ")
    assert "rows and was at most " in told.rejected[ODD]
    assert with_rows.set_aside[ODD] == told.rejected[ODD]
    for name in NAMES:
        assert with_rows.model(name) == pytest.approx(without.model(name), rel=0, abs=0)
    again, other = with_rows.ask(), without.ask()
    assert [one.samples for one in again] == [one.samples for one in other]
    assert again[ODD].samples < 100


def test_correct_rows_are_taken_while_the_period_is_open_and_so_are_those_that_are_accepted() -> None:
    corrected, accepted = fleet_of(), fleet_of()
    for fleet in (corrected, accepted):
        full_period(fleet, Stores())
        rows = Stores(seed=1).label(fleet.ask())
        wrong = broken(rows, "sales", "thousands")
        fleet.tell(wrong, final=False)
        own = rows[rows["store"] == ODD]
        if fleet is corrected:
            told = fleet.tell(own, final=False)
        else:
            told = fleet.tell(wrong[wrong["store"] == ODD], final=False, accept=[ODD])
        assert (told.rows, told.rejected) == (len(own), {})
        assert fleet.ask()[ODD].problem is None
    assert corrected.ask()[ODD].samples < 100
    accepted.tell()
    assert accepted.tell(accepted_rows(accepted), final=False).rejected == {}


def accepted_rows(fleet: Fleet) -> pd.DataFrame:
    """Rows as large as those that were accepted."""
    fleet.ask()
    rows = Stores(seed=2).rows(ODD, 6)
    return rows.assign(sales=1000.0 * rows["sales"])


@pytest.mark.parametrize("column", ["sales", "size"])
def test_a_first_period_is_compared_with_other_segments(column: str) -> None:
    fleet = fleet_of()
    told = fleet.tell(broken(Stores().label(fleet.ask()), column, "thousands"), final=False)
    assert list(told.rejected) == [ODD]
    assert f"column {column!r} is about " in told.rejected[ODD]
    assert "in most other segments" in told.rejected[ODD]
    few = fleet_of(segments=NAMES[7:10])
    told = few.tell(broken(Stores().label(few.ask()), column, "thousands"), final=False)
    assert told.rejected == {}


@pytest.mark.parametrize("how", ["thousands", "thousandths"])
def test_a_feature_in_another_unit_and_a_smaller_unit_are_found_too(how: str) -> None:
    fleet = fleet_of()
    full_period(fleet, Stores())
    stores = Stores(seed=1)
    rows = pd.concat([stores.rows(name, 8) for name in NAMES])
    fleet.ask()
    column = "size" if how == "thousands" else "sales"
    if how == "thousandths":
        rows["sales"] = rows["sales"].abs() + 0.1
    told = fleet.tell(broken(rows, column, how), final=False)
    assert list(told.rejected) == [ODD]
    assert f"column {column!r} is " in told.rejected[ODD]


def test_late_rows_are_compared_too() -> None:
    fleet = fleet_of(delay=2)
    full_period(fleet, Stores())
    full_period(fleet, Stores(seed=1))
    rows = broken(Stores(seed=2).rows(ODD, 6), "sales", "thousands")
    assert "another unit?" in fleet.tell(rows, period=1).rejected[ODD]
    assert fleet.tell(rows, period=1, accept=True).rejected == {}


def test_what_was_seen_is_saved(tmp_path: Path) -> None:
    fleet = fleet_of()
    full_period(fleet, Stores())
    fleet.save(tmp_path / "fleet.json")
    again = Fleet.load(tmp_path / "fleet.json")
    rows = broken(Stores(seed=1).label(fleet.ask()), "sales", "thousands")
    again.ask()
    assert again.tell(rows).rejected == fleet.tell(rows).rejected != {}


@pytest.mark.parametrize("kind", ["normal", "zero", "heavy", "counts"])
def test_segments_as_they_are_raise_no_alarm(kind: str) -> None:
    """Levels that jump by ten deviations, noise without a variance and counts that are mostly 0: no alarm in 6,000 deliveries."""
    rng = np.random.default_rng(3)
    names = [f"s{place}" for place in range(300)]
    level = dict.fromkeys(names, 0.0 if kind == "zero" else 5.0)
    seen: dict[str, magnitudes.Magnitudes] = {}
    for period in range(20):
        events = {}
        for name in names:
            count = 12 if period == 0 else int(rng.integers(1, 12))
            level[name] += rng.standard_normal() * (10.0 if rng.random() < 0.05 else 0.1)
            X = rng.standard_normal((count, 2))
            noise = rng.standard_t(2, count) if kind == "heavy" else rng.standard_normal(count)
            y = level[name] + X @ [1.0, -1.0] + noise
            if kind == "counts":
                X, y = np.maximum(X - 1.5, 0.0).round(), np.maximum((y - 6.0).round(), 0.0)
            events[name] = TellEvent(X=X, y=y, columns=("a", "b"), groups=None, weights=None)
        new = magnitudes.magnitudes_of(events)
        fleet = magnitudes.FleetMagnitudes(tuple(seen.values()).__iter__)
        for name in names:
            assert magnitudes.doubt(events[name], new[name], seen.get(name), fleet, ("a", "b", "y")) is None
        seen = {name: new[name] if name not in seen else seen[name].with_more(new[name]) for name in names}


def run_with_jump(growth: int, monkeypatch: pytest.MonkeyPatch, budget: Budget | None) -> tuple[Fleet, list[Any]]:
    """A fleet in whose third period the level of one segment jumps by a hundred deviations, and the orders of that period."""
    monkeypatch.setattr(segments, "GROWTH", growth)
    fleet, stores = fleet_of(budget=budget), Stores()
    full_period(fleet, stores)
    full_period(fleet, stores)
    stores.level[ODD] += 100.0
    orders = []
    for _ in range(3):
        orders.append(fleet.ask())
        told = fleet.tell(stores.label(orders[-1]), final=False)
        assert told.rejected == {}
    return fleet, [*orders, fleet.ask()]


def test_a_real_jump_is_absorbed_in_small_steps_and_named_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet, orders = run_with_jump(segments.GROWTH, monkeypatch, None)
    assert orders[1][ODD].status == "drift"
    assert "are a surprise, after which " in orders[1][ODD].reason
    assert sum(order[ODD].samples for order in orders) < 200
    fleet.tell()
    assert fleet.ledger[ODD][-1].status == "drift"
    assert fleet.ledger[ODD][-1].outcome.promised
    _, at_once = run_with_jump(10**6, monkeypatch, None)
    assert sum(order[ODD].samples for order in at_once) > 4 * sum(order[ODD].samples for order in orders)


def test_a_jump_takes_no_money_that_others_need(monkeypatch: pytest.MonkeyPatch) -> None:
    def others(orders: list[Any]) -> int:
        return sum(one.samples for order in orders for one in order if one.segment != ODD)

    budget = Budget(total=600, horizon=6, cost=LinearCost(per_sample="1"))
    _, calm = run_with_jump(segments.GROWTH, monkeypatch, budget)
    _, at_once = run_with_jump(10**6, monkeypatch, budget)
    assert not calm[1].share.enough
    assert others(calm) > 1.2 * others(at_once)


def test_a_segment_with_much_noise_gets_no_more_than_it_needs_and_shares_stay_alike() -> None:
    stores = Stores()
    noise = np.random.default_rng(9)

    def label(orders: Any) -> pd.DataFrame:
        rows = stores.label(orders)
        extra = np.where(rows["store"] == ODD, 4.0, 0.0) * noise.standard_normal(len(rows))
        return rows.assign(sales=rows["sales"] + extra)

    fleet = fleet_of(budget=Budget(total=500, horizon=3, cost=LinearCost(per_sample="1")))
    while (orders := fleet.ask()).samples:
        fleet.tell(label(orders), final=False)
    fleet.tell()
    orders = fleet.ask()
    assert orders.share is not None
    assert not orders.share.enough
    gaps = {one.segment: one.risk / one.epsilon for one in orders if one.outcome.value == "budget"}
    assert len(gaps) > 6
    assert max(gaps.values()) <= orders.share.value * (1.0 + 1e-9)
    assert gaps[ODD] > 0.95 * orders.share.value  # rows are whole, and it has many of them


@pytest.mark.parametrize("accept", ["s07", 1, [3]])
def test_what_is_accepted_must_be_segments(accept: Any) -> None:
    fleet = fleet_of()
    with pytest.raises(ParameterError, match=r"Fleet\.tell\(accept=\.\.\.\) must be True, False, or names of segments"):
        fleet.tell({"store": ["s01"], "price": [1.0], "size": [1.0], "sales": [1.0]}, accept=accept)


def test_a_control_without_the_check_asks_for_far_more_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}
    for accept in (False, True):
        fleet = fleet_of()
        full_period(fleet, Stores())
        fleet.tell(broken(Stores(seed=1).label(fleet.ask()), "sales", "thousands"), final=False, accept=accept)
        monkeypatch.setattr(segments, "GROWTH", 10**6)
        asked[accept] = fleet.ask()[ODD].samples
    assert asked[True] > 100 * asked[False]


def test_how_large_the_numbers_of_all_are_is_found_once_for_each_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """New segments are compared with all others, so that anything else would take time quadratic in segments."""
    rng = np.random.default_rng(4)
    every = [
        magnitudes.Magnitudes(rows=9, largest=rng.lognormal(size=3), spread=np.ones(3), smallest=np.full(3, 0.1))
        for _ in range(9)
    ]
    taken: list[int] = []
    logs = magnitudes.FleetMagnitudes._logs

    def counted(self: magnitudes.FleetMagnitudes, column: int) -> FloatArray | None:
        taken.append(column)
        return logs(self, column)

    monkeypatch.setattr(magnitudes.FleetMagnitudes, "_logs", counted)
    fleet = magnitudes.FleetMagnitudes(lambda: every)
    limits = [(fleet.usual(column), fleet.limit(column)) for _ in range(5) for column in range(3)]
    assert limits[:3] * 5 == limits
    assert len(set(limits)) == 3
    assert sorted(taken) == [0, 0, 1, 1, 2, 2]
