"""Segments learn from each other, each part by name: the same bits everywhere, after saving, with late and repeated rows."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from driftpace import Fleet
from driftpace.errors import ParameterError
from driftpace.fleet import borrowing, fleet_model
from driftpace.fleet import fleet as fleet_module
from driftpace.fleet.borrowing import PARTS
from tests.fleet.stores import Shop, new_fleet, run

NAMES = tuple(f"s{number:02d}" for number in range(9))


class Alike(Shop):
    """Stores with almost the same slopes, whose levels move together."""

    def __init__(self, names: Any = NAMES, *, seed: int = 0, slopes: float = 0.1, together: float = 0.5) -> None:
        super().__init__(names, seed=seed)
        self.together = together
        common = self.rng.standard_normal(3)
        for coef in self.coef.values():
            coef[1:] = common[1:] + slopes * self.rng.standard_normal(2)

    def next_period(self) -> None:
        step = self.together * self.rng.standard_normal()
        for coef in self.coef.values():
            coef[0] += step


def a_fleet(**options: Any) -> Fleet:
    return new_fleet(**({"segments": NAMES} | options))


def numbers(fleet: Fleet) -> tuple[Any, ...]:
    models = [fleet.model(name) for name in fleet.segments]
    return (
        fleet.ledger.columns(),
        [None if model is None else model.tolist() for model in models],
        fleet.ask().columns(),
    )


@pytest.mark.parametrize("borrow", ["drift", ("speed",), 3, None, {"drift"}])
def test_other_parts_are_refused(borrow: Any) -> None:
    with pytest.raises(ParameterError, match=r"borrow=\.\.\.\) must be True, False, or some of 'drift', 'start'"):
        a_fleet(borrow=borrow)


@pytest.mark.parametrize("part", PARTS)
def test_each_part_alone_changes_the_orders_of_a_fleet_that_is_alike(part: str) -> None:
    def joined(fleet: Fleet) -> Any:
        shop = Alike((*NAMES, "new"))
        run(fleet, shop, 3)
        fleet.add(["new"])
        run(fleet, shop, 1)
        return numbers(fleet)

    assert joined(a_fleet(borrow=(part,))) != joined(a_fleet(borrow=False))


def test_false_and_no_part_and_few_segments_are_trackers_of_their_own() -> None:
    found = []
    for borrow in (False, ()):
        fleet = a_fleet(borrow=borrow)
        run(fleet, Alike(), 3)
        found.append(numbers(fleet))
    assert found[0] == found[1]
    few = [a_fleet(segments=NAMES[:5], borrow=borrow) for borrow in (True, False)]
    for fleet in few:
        run(fleet, Alike(NAMES[:5]), 3)
    assert numbers(few[0]) == numbers(few[1])


def test_engines_and_chunks_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    class Elsewhere:
        def map(self, function: Any, items: Any) -> list[Any]:
            send = [pickle.dumps((function, item)) for item in items]
            done = []
            for work in reversed(send):
                function, item = pickle.loads(work)
                done.append(pickle.loads(pickle.dumps(function(item))))
            return done[::-1]

    def followed(**options: Any) -> Any:
        fleet, shop = a_fleet(**options), Alike((*NAMES, "new"))
        run(fleet, shop, 2)
        fleet.add(["new"])
        run(fleet, shop, 2)
        return numbers(fleet)

    here = followed()
    monkeypatch.setattr(fleet_module, "CHUNK", 2)
    assert followed() == here
    monkeypatch.setattr(fleet_module, "is_light", lambda _: False)  # or squared losses are worked on here
    assert followed(executor=Elsewhere()) == here


def test_a_saved_fleet_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    fleet, shop, twin = a_fleet(delay=1), Alike(), Alike()
    run(fleet, shop, 3)
    other = a_fleet(delay=1)
    run(other, twin, 3)
    other.ask()
    other.save(tmp_path / "fleet.json")
    again = Fleet.load(tmp_path / "fleet.json")
    assert again.borrow == PARTS
    for one, rows in ((fleet, shop), (again, twin)):
        frame = rows.label(one.ask())
        one.tell(frame, final=False)
    again.save(tmp_path / "open.json")
    again = Fleet.load(tmp_path / "open.json")
    for one, rows in ((fleet, shop), (again, twin)):
        run(one, rows, 2)
    assert numbers(fleet) == numbers(again)


def test_a_delivery_that_is_repeated_changes_nothing() -> None:
    fleet, shop = a_fleet(), Alike()
    run(fleet, shop, 2)
    frame = shop.label(fleet.ask())
    fleet.tell(frame, key="week 3")
    before = numbers(fleet)
    assert fleet.tell(frame, key="week 3").repeated
    assert numbers(fleet) == before


def test_late_rows_are_absorbed_with_what_was_lent_then() -> None:
    """The drift of a segment is learned from those of other folds, so its own late rows change nothing of what it is lent."""
    in_time, late = (a_fleet(delay=2, borrow=("drift",)) for _ in range(2))
    for fleet in (in_time, late):
        run(fleet, Alike(), 3)
        fleet.ask()
    shop = Alike(seed=1)
    frame = pd.concat(pd.DataFrame(shop.rows(name, 12)) for name in NAMES)
    kept = frame[(frame["store"] != "s04") | (np.arange(len(frame)) % 2 == 0)]
    rest = frame[(frame["store"] == "s04") & (np.arange(len(frame)) % 2 == 1)]
    in_time.tell(pd.concat([kept, rest]))
    late.tell(kept)
    late.tell(rest, period=4)
    assert late.model("s04") == pytest.approx(in_time.model("s04"), rel=1e-9)
    default = a_fleet(delay=2, borrow=False)
    run(default, Alike(), 3)
    default.ask()
    default.tell(pd.concat([kept, rest]))
    assert late.model("s04") != pytest.approx(default.model("s04"), rel=1e-6)


def test_late_rows_of_a_segment_leave_the_others_as_they_are() -> None:
    fleet, shop = a_fleet(delay=1), Alike()
    run(fleet, shop, 3)
    before = {name: fleet.model(name) for name in NAMES}
    fleet.tell(pd.DataFrame(shop.rows("s04", 10)), period=3)
    changed = {name for name in NAMES if (fleet.model(name) != before[name]).any()}  # type: ignore[union-attr]
    assert changed == {"s04"}


def test_rows_that_cannot_be_used_are_set_aside_and_the_others_go_on() -> None:
    fleet, shop = a_fleet(), Alike()
    run(fleet, shop, 2)
    frame = shop.label(fleet.ask())
    frame.loc[frame["store"] == "s02", "sales"] = np.nan
    delivery = fleet.tell(frame)
    assert list(delivery.rejected) == ["s02"]
    assert fleet.ledger["s02"][-1].samples == 0
    run(fleet, shop, 1)
    assert all(np.isfinite(fleet.model(name)).all() for name in NAMES)  # type: ignore[arg-type]


def test_new_segments_have_the_model_of_the_others_before_their_first_rows_and_need_fewer() -> None:
    new = tuple(f"new{number}" for number in range(8))
    fleet, shop = a_fleet(), Alike((*NAMES, *new), together=0.0)
    run(fleet, shop, 3)
    fleet.add(new)
    fleet.ask()
    fleet.tell()
    slopes = np.mean([shop.coef[name][1:] for name in NAMES], axis=0)
    for name in new:
        model = fleet.model(name)
        assert model is not None
        assert model[:-1] == pytest.approx(slopes, abs=0.15)
    run(fleet, shop, 1)
    first = np.mean([fleet.ledger[name][0].samples for name in NAMES])
    assert np.mean([fleet.ledger[name][-1].samples for name in new]) < 0.75 * first


def test_levels_move_with_the_others_without_rows_of_their_own() -> None:
    errors: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(3):
        for borrow, found in errors.items():
            fleet, shop = a_fleet(borrow=borrow), Alike(together=1.0, seed=seed)
            run(fleet, shop, 4)
            fleet.ask()
            fleet.tell(pd.concat(pd.DataFrame(shop.rows(name, 30)) for name in NAMES[3:]))
            for name in NAMES[:3]:
                model = fleet.model(name)
                assert model is not None
                found.append(float(model[-1] - shop.coef[name][0]))
    assert np.square(errors[True]).mean() < 0.25 * np.square(errors[False]).mean()


def test_an_odd_segment_is_freed_and_the_ledger_says_so() -> None:
    names = tuple(f"s{number:02d}" for number in range(24))
    fleet, shop = a_fleet(segments=names, epsilon=0.05, borrow=("drift",)), Alike(names, together=0.0)
    for _ in range(10):
        run(fleet, shop, 1)
        shop.coef["s05"] += np.array([0.7, 0.7, -0.7])
    ledger = fleet.ledger.to_frame("pandas")
    freed = ledger.groupby("segment")["freed"].mean()
    assert freed["s05"] > 0.2
    assert freed.drop("s05").mean() < 0.05
    assert fleet.ask()["s05"].freed is (fleet.period in fleet._segments["s05"].freed)


@pytest.mark.statistical
def test_new_segments_keep_their_promise_and_would_not_without_the_scatter(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control takes all segments for equal: no variance about the model of the fleet, and nothing else is believed."""
    old = tuple(f"old{number:02d}" for number in range(20))
    new = tuple(f"new{number:02d}" for number in range(40))
    every = (*old, *new)

    def risk_and_labels(**options: Any) -> tuple[float, float]:
        fleet, shop = a_fleet(segments=old, epsilon=0.05, **options), Alike(every, seed=5, slopes=0.2, together=0.0)
        for name in every:
            shop.coef[name][0] *= 0.3
        run(fleet, shop, 2)
        fleet.add(new)
        run(fleet, shop, 1)
        models = {name: fleet.model(name) for name in new}
        excess = [
            0.5 * float(np.square(np.roll(model, 1) - shop.coef[name]).sum())
            for name, model in models.items()
            if model is not None
        ]
        return float(np.mean(excess)) / 0.05, float(np.mean([fleet.ledger[name][0].samples for name in new]))

    risk, labels = risk_and_labels()
    _, alone = risk_and_labels(borrow=False)
    assert risk < 1.0
    assert labels < 0.9 * alone
    monkeypatch.setattr(fleet_model, "GRID", 1e-9 * fleet_model.GRID)
    monkeypatch.setattr(fleet_model, "KEPT", 0.0)
    monkeypatch.setattr(fleet_model, "FEW", 0.0)
    broken, fewer = risk_and_labels(borrow=("start",))
    assert fewer < labels
    assert broken > 1.0


def test_the_kinds_of_parts_have_an_order() -> None:
    assert a_fleet(borrow=("common", "drift")).borrow == ("drift", "common")
    assert a_fleet().borrow == borrowing.PARTS
    assert a_fleet(borrow=False).borrow == ()
