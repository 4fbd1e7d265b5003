"""Each segment of a fleet is a tracker of its own, whatever the order of the rows and whoever does the work."""

import gc
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from driftpace import Fleet, LogisticLoss, SmoothedHinge, SoftmaxLoss, SquaredLoss, Tracker
from driftpace.errors import DataError, ParameterError, ProtocolError, StateFileError
from driftpace.fleet import FleetOrders
from driftpace.fleet import fleet as fleet_module
from driftpace.losses.linear import LinearLoss
from driftpace.records import Outcome
from tests.fleet.stores import STORES, Shop, new_fleet, run, same


def alike(one: Any, other: Any) -> bool:
    """Whether two cells of a ledger are the same up to rounding."""
    return bool(one == pytest.approx(other, rel=1e-6, nan_ok=True)) if isinstance(one, float) else one == other


def test_each_segment_is_as_a_tracker_of_its_own() -> None:
    fleet, shop = new_fleet(), Shop()
    trackers = {name: Tracker(SquaredLoss(), epsilon=0.1, rng=0) for name in STORES}
    for period in range(4):
        while (orders := fleet.ask()).samples:
            frame = shop.label(orders)
            for name, tracker in trackers.items():
                if period or frame.empty:
                    assert tracker.ask().samples == orders[name].samples
                tracker.ask()
                rows = frame[frame["store"] == name]
                tracker.tell(rows[["price", "size"]], rows["sales"], final=False)
            fleet.tell(frame, final=False)
        fleet.tell()
        for tracker in trackers.values():
            tracker.ask()
            tracker.tell()
        shop.next_period()
    for name, tracker in trackers.items():
        ours = fleet.segment(name)
        assert ours.coef == pytest.approx(
            tracker.coef, rel=1e-9
        )  # periods of a fleet are looked at by loops of their own
        assert ours.intercept == pytest.approx(tracker.intercept, rel=1e-9)
        theirs = tracker.history.columns()
        for column, cells in fleet.ledger[name].columns().items():
            if column not in ("seconds", "assumptions"):
                assert all(map(alike, cells, theirs[column])), column
        assert ours.columns == tracker.columns
        assert ours.ask().samples == tracker.ask().samples


def test_the_order_of_rows_of_different_segments_and_the_kind_of_frame_change_nothing() -> None:
    rng = np.random.default_rng(1)

    def mixed(frame: pd.DataFrame) -> pd.DataFrame:
        codes = rng.permutation(frame["store"].to_numpy())  # the rows of a segment keep their order
        places = {name: iter(np.flatnonzero(frame["store"].to_numpy() == name)) for name in STORES}
        return frame.iloc[[next(places[code]) for code in codes]]

    plain, shuffled, polar, arrow = (new_fleet() for _ in range(4))
    run(plain, Shop(), 2)
    run(shuffled, Shop(), 2, mixed)
    run(polar, Shop(), 2, pl.from_pandas)
    run(arrow, Shop(), 2, lambda frame: pl.from_pandas(frame).to_arrow())
    assert same(plain, shuffled)
    assert same(plain, polar)
    assert same(plain, arrow)


def test_an_engine_that_works_elsewhere_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    class Elsewhere:
        def map(self, function: Any, items: Any) -> list[Any]:
            send = [pickle.dumps((function, item)) for item in items]
            done = []
            for work in reversed(send):
                function, item = pickle.loads(work)
                done.append(pickle.loads(pickle.dumps(function(item))))
            return done[::-1]

    here, there = new_fleet(), new_fleet(executor=Elsewhere())
    monkeypatch.setattr(fleet_module, "is_light", lambda _: False)  # or squared losses are worked on here
    run(here, Shop(), 2)
    run(there, Shop(), 2)
    assert same(here, there)


@pytest.mark.parametrize(("loss", "sent"), [(SquaredLoss(), False), (LogisticLoss(l2=0.1), True)])
def test_segments_are_sent_only_where_work_takes_longer_than_sending(loss: LinearLoss, sent: bool) -> None:
    class Counting:
        items = 0

        def map(self, function: Any, items: Any) -> list[Any]:
            self.items += len(items)
            return [function(item) for item in items]

    counting = Counting()
    fleet = Fleet(loss, epsilon=0.1, segment="store", target="sales", segments=STORES, executor=counting, rng=0)
    shop = Shop()

    def labelled(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(sales=(frame["sales"] > 0.0).astype(float)) if sent else frame

    for _ in range(2):
        counting.items = 0
        run(fleet, shop, 1, labelled)
        assert (counting.items > 0) is sent


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_is_paused_and_left_as_it_was(enabled: bool) -> None:
    seen: list[bool] = []
    fleet = Fleet(
        SquaredLoss(),
        epsilon=0.1,
        segment="store",
        target="sales",
        segments=STORES,
        progress=lambda *_: seen.append(gc.isenabled()),
    )
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        fleet.ask()
        assert gc.isenabled() is enabled
        with pytest.raises(DataError):
            fleet.tell({"store": ["Oslo"]})
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()
    assert seen
    assert not any(seen)


def test_asking_again_changes_nothing_until_rows_are_told() -> None:
    fleet, shop = new_fleet(), Shop()
    run(fleet, shop, 1)
    orders = fleet.ask()
    assert fleet.ask() == orders
    assert orders.period == 2
    assert orders.samples == sum(order.samples for order in orders)
    some = shop.rows("Rome", 3)
    fleet.tell(some, final=False)
    assert fleet.period == 2
    assert fleet.ask()["Oslo"] == orders["Oslo"]
    frame = orders.to_frame("pandas")
    assert frame["segment"].tolist() == list(STORES)
    assert frame["samples"].sum() == orders.samples


def test_a_segment_whose_rows_cannot_be_used_is_named_and_the_others_go_on() -> None:
    fleet, shop, other, twin = new_fleet(), Shop(), new_fleet(), Shop()
    run(fleet, shop, 2)
    run(other, twin, 2)
    orders = fleet.ask()
    frame = shop.label(orders)
    frame.loc[frame["store"] == "Rome", "sales"] = np.nan
    delivery = fleet.tell(frame)
    assert list(delivery.rejected) == ["Rome"]
    assert delivery.rejected["Rome"].startswith("column 'sales' must be a finite number; row ")
    assert delivery.rows == (frame["store"] != "Rome").sum()
    assert delivery.closed
    assert fleet.period == 4
    assert dict(fleet.set_aside) == delivery.rejected
    assert [fleet.ledger[name][-1].samples > 0 for name in STORES] == [True, False, True]
    ledger = fleet.ledger.to_frame("pandas")
    assert ledger.loc[ledger["problem"].notna(), ["segment", "period"]].values.tolist() == [["Rome", 3]]
    other.ask()
    other.tell(frame[frame["store"] != "Rome"])
    for name in STORES:
        assert (fleet.segment(name).coef == other.segment(name).coef).all()
    run(fleet, shop, 1)
    assert fleet.ledger["Rome"][-1].outcome is Outcome.MET
    assert not fleet.set_aside


@pytest.mark.parametrize("cell", [np.inf, "n/a?", 1e80])
def test_features_that_cannot_be_numbers_set_only_their_segment_aside(cell: Any) -> None:
    names = [f"s{number}" for number in range(25)]
    fleet, shop = new_fleet(segments=names), Shop(names)
    frame = shop.label(fleet.ask()).astype({"price": object}).reset_index(drop=True)
    bad = frame.index[frame["store"] == "s7"]
    frame.loc[bad, "price"] = cell
    delivery = fleet.tell(frame, final=False)
    assert list(delivery.rejected) == ["s7"]
    assert "price" in delivery.rejected["s7"]
    assert delivery.rows == len(frame) - len(bad)
    again = fleet.tell(shop.rows("s7", 10), final=False)
    assert not again.rejected
    assert not fleet.set_aside


def test_rows_that_overflow_the_fit_are_withdrawn() -> None:
    fleet, shop = new_fleet(), Shop()
    run(fleet, shop, 1)
    frame = shop.label(fleet.ask()).reset_index(drop=True)
    frame.loc[frame["store"] == "Turin", "sales"] = 1e74
    delivery = fleet.tell(frame)
    assert fleet.period == 3
    assert set(delivery.rejected) <= {"Turin"}
    assert [fleet.ledger[name][-1].samples > 0 for name in ("Oslo", "Rome")] == [True, True]


def test_segments_without_rows_close_without_rows() -> None:
    names = [f"s{number}" for number in range(8)]
    fleet, shop = new_fleet(segments=names), Shop(names)
    orders = fleet.ask()
    fleet.tell(shop.label(FleetOrders(period=1, orders=orders.orders[:3])))
    assert fleet.period == 2
    assert [len(fleet.ledger[name]) for name in names] == [1] * 8
    assert [fleet.ledger[name][0].samples > 0 for name in names] == [True] * 3 + [False] * 5
    orders = fleet.ask()
    assert all(
        orders[name].samples == 9 for name in names[3:]
    )  # three rows for each coefficient, which others have shown


def test_a_segment_appears_with_its_first_rows() -> None:
    fleet, shop = new_fleet(segments=None), Shop()
    assert fleet.ask().orders == ()
    first = fleet.tell(pd.concat(pd.DataFrame(shop.rows(name, 40)) for name in STORES[:2]))
    assert first.added == ("Oslo", "Rome")
    second = fleet.tell(shop.rows("Turin", 40))
    assert second.added == ("Turin",)
    assert len(fleet.ledger["Turin"]) == 1
    assert fleet.ledger.to_frame("pandas").query("segment == 'Turin'")["period"].tolist() == [2]
    assert fleet.segment("Turin").period == 2
    assert fleet.period == 3


def test_a_delivery_that_was_told_before_changes_nothing(tmp_path: Path) -> None:
    fleet, shop = new_fleet(), Shop()
    frame = shop.label(fleet.ask())
    assert fleet.tell(frame, key="june").closed
    fleet.save(tmp_path / "fleet.json")
    loaded = Fleet.load(tmp_path / "fleet.json")
    for one in (fleet, loaded):
        again = one.tell(frame, key="june")
        assert again.repeated
        assert again.rows == 0
        assert one.period == 2
    assert same(fleet, loaded)


def test_late_rows_are_added_to_their_period() -> None:
    fleet, shop = new_fleet(delay=2), Shop()
    run(fleet, shop, 3)
    trackers = {name: fleet.segment(name) for name in STORES}
    late = shop.rows("Rome", 6)
    delivery = fleet.tell(late, period=2)
    assert delivery.rows == 6
    assert fleet.period == 4
    rows = pd.DataFrame(late)
    trackers["Rome"].tell_late(2, rows[["price", "size"]], rows["sales"])
    for name, tracker in trackers.items():
        assert (fleet.segment(name).coef == tracker.coef).all()
    assert fleet.ledger["Rome"][1].samples == trackers["Rome"].history[1].samples
    fleet.tell({**shop.rows("Rome", 20), "store": ["Lima"] * 20})
    assert "did not exist" in fleet.tell({**late, "store": ["Lima"] * 6}, period=2).rejected["Lima"]
    with pytest.raises(ProtocolError, match="closed period; got 9"):
        fleet.tell(late, period=9)
    with pytest.raises(ProtocolError, match="delay="):
        new_fleet().tell(late, period=1)


@pytest.mark.parametrize("options", [{}, {"delay": 1, "epsilons": {"Rome": 0.3}, "missing": "drop"}])
def test_a_fleet_that_is_saved_goes_on_with_the_same_bits(tmp_path: Path, options: dict[str, Any]) -> None:
    fleet, shop = new_fleet(**options), Shop()
    run(fleet, shop, 2)
    fleet.ask()
    fleet.tell(shop.rows("Oslo", 4), final=False)
    fleet.save(tmp_path / "fleet.json")
    loaded = Fleet.load(tmp_path / "fleet.json")
    assert loaded.segments == fleet.segments
    assert loaded.ask() == fleet.ask()
    frame = shop.label(fleet.ask())
    for one in (fleet, loaded):
        one.tell(frame)
    assert same(fleet, loaded)
    first, second = tmp_path / "first", tmp_path / "second"
    fleet.save(first)
    loaded.save(second)
    assert first.read_bytes() == second.read_bytes()


def test_other_states_are_refused(tmp_path: Path) -> None:
    Tracker(SquaredLoss(), epsilon=0.1, rng=0).save(tmp_path / "tracker.json")
    with pytest.raises(StateFileError, match="not that of a fleet"):
        Fleet.load(tmp_path / "tracker.json")


def test_targets_of_their_own() -> None:
    fleet, shop = new_fleet(epsilons={"Rome": 0.4}), Shop()
    run(fleet, shop, 3)
    orders = fleet.ask()
    assert orders["Rome"].epsilon == 0.4
    assert orders["Oslo"].epsilon == 0.1
    assert sum(one.samples for one in fleet.ledger["Rome"]) < sum(one.samples for one in fleet.ledger["Oslo"])


def test_classes_weights_groups_and_categories() -> None:
    rng = np.random.default_rng(0)
    names = np.repeat(["a", "b"], 120)
    x = rng.standard_normal(240)
    frame = pl.DataFrame(
        {
            "city": names,
            "x": x,
            "kind": rng.choice(["red", "blue"], 240),
            "bought": np.sign(x + rng.logistic(size=240)),
            "w": rng.uniform(0.5, 2.0, 240),
            "person": rng.integers(0, 40, 240),
            "note": [f"row {row}" for row in range(240)],
        }
    )
    fleet = Fleet(
        LogisticLoss(l2=0.01),
        epsilon=0.05,
        segment="city",
        target="bought",
        weight="w",
        groups="person",
        features=["x", "kind"],
    )
    fleet.fit_pool(frame)
    assert fleet.segments == ("a", "b")
    assert fleet.columns == ("x", "kind=red")
    assert fleet.tell(frame).rows == 240
    assert fleet.ledger["a"][0].effective_samples is not None
    tracker = Tracker(LogisticLoss(l2=0.01), epsilon=0.05, features=2, rng=0)
    tracker.ask()
    mine = frame.filter(pl.col("city") == "a")
    X = np.column_stack([mine["x"].to_numpy(), mine["kind"].to_numpy() == "red"]).astype(float)
    tracker.tell(X, mine["bought"].to_numpy(), sample_weight=mine["w"].to_numpy(), groups=mine["person"].to_numpy())
    assert fleet.segment("a").coef == pytest.approx(tracker.coef, rel=1e-12)


def test_frames_that_are_no_deliveries_change_nothing() -> None:
    fleet, shop = new_fleet(), Shop()
    run(fleet, shop, 1)
    before = fleet.ask()
    rows = shop.rows("Rome", 5)
    for change, match in (
        ({"store": [None] * 5}, "must have a segment in every row"),
        ({"sales": None}, "must have the column 'sales'"),
        ({"store": None}, "must have the column 'store'"),
        ({"size": None}, "must have the column 'size'"),
    ):
        frame = {name: cells for name, cells in (rows | change).items() if cells is not None}
        with pytest.raises(DataError, match=match):
            fleet.tell(frame)
    with pytest.raises(DataError, match="must be given with period= and key="):
        fleet.tell(key="june")
    assert fleet.ask() == before
    assert fleet.period == 2


def test_rows_without_a_segment_are_left_out_and_counted() -> None:
    fleet, shop = new_fleet(), Shop()
    rows = shop.label(fleet.ask())
    rows["store"] = [None, *rows["store"][1:]]
    told = fleet.tell(rows, final=False)
    assert (told.rows, told.without) == (len(rows) - 1, {"store": 1})
    strict = new_fleet(missing="refuse")
    with pytest.raises(DataError, match="must have a segment in every row; column 'store' has none in row 1"):
        strict.tell(rows)


def test_a_reason_names_the_row_of_the_table_and_the_value() -> None:
    fleet, shop = new_fleet(), Shop()
    rows = shop.label(fleet.ask()).astype({"sales": object})
    rows["store"] = [None, *rows["store"][1:]]
    place = int(np.flatnonzero(rows["store"] == "Rome")[4])
    rows.iloc[place, rows.columns.get_loc("sales")] = "abc"
    told = fleet.tell(rows, final=False)
    assert told.rejected == {"Rome": f"column 'sales' must be a finite number; row {place + 1} has 'abc'."}


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"epsilon": -1.0}, r"Fleet\(epsilon=...\) must be positive"),
        ({"epsilon": None}, r"Fleet\(epsilon=...\) must be given"),
        ({"rule": 1}, r"Fleet\(options=...\) must be a parameter of a fleet"),
        ({"segments": "Oslo"}, "must be different names"),
        ({"features": "price"}, "must be a list of names"),
        ({"weight": "sales"}, "must be a column with no other use; got 'sales'"),
        ({"target": 3}, r"Fleet\(target=...\) must be the name of a column"),
        ({"executor": 3}, r"or have a method map"),
        ({"epsilons": {"Rome": 0.0}}, r"Fleet\(epsilons=...\) must be positive"),
        ({"epsilon": None, "tolerance": 0.1, "epsilons": {"Rome": 0.2}}, "must be None without epsilon"),
        ({"missing": "guess"}, r"Fleet\(missing=...\)"),
    ],
)
def test_parameters_that_are_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        new_fleet(**options)


def test_losses_of_several_scores_and_unknown_segments_are_refused() -> None:
    with pytest.raises(ParameterError, match="must be a LinearLoss"):
        Fleet(SoftmaxLoss(), epsilon=0.1, segment="a", target="b")
    fleet = new_fleet()
    with pytest.raises(ParameterError, match="must be a segment of the fleet; got 'Lima'"):
        fleet.segment("Lima")
    with pytest.raises(ParameterError, match=r"Fleet.ask\(name=...\) must be a segment"):
        fleet.ask(pool={"Lima": 3})
    with pytest.raises(ParameterError, match="must be a text"):
        fleet.tell({}, key=3)  # type: ignore[arg-type]


def test_a_pool_of_its_own() -> None:
    fleet = new_fleet()
    orders = fleet.ask(pool={"Rome": 4})
    assert [order.samples for order in orders] == [10, 4, 10]
    with pytest.raises(ProtocolError, match="must be the same"):
        fleet.ask(pool=7)
    assert fleet.ask(pool={"Rome": 4}) == orders
    assert repr(fleet) == "Fleet(SquaredLoss, epsilon=0.1, period=1, segments=3)"
    assert "Rome" in fleet
    assert fleet.encoding is None
    assert Fleet(SmoothedHinge(), tolerance=0.1, segment="a", target="b").period == 1
