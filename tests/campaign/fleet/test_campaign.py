"""Fleet campaigns in the three stores: each order and delivery counts once, and a segment that fails is set aside alone."""

from typing import Any

import numpy as np
import pytest

from driftpace import Campaign, Fleet, FleetCampaign, SquaredLoss
from driftpace.errors import DriftpaceError, ParameterError, ProtocolError, UnknownCampaignError
from driftpace.storage import MemoryStore
from driftpace.storage.base import Store
from tests.campaign.fleet.shops import DEFINITION, SHOPS, Market, bits, create, work


def test_a_period_is_asked_for_delivered_and_closed_as_by_a_fleet(store: Store) -> None:
    """The campaign only keeps the fleet: the same rows lead a fleet without a store to the same bits."""
    campaign, market = create(store), Market()
    fleet = Fleet(SquaredLoss(), epsilon=0.1, segment="shop", target="sales", segments=sorted(SHOPS), rng=0)
    for key in ("a", "b"):
        order = campaign.ask(key=key)
        receipt = None
        while receipt is None or receipt.closed is None:
            asked = fleet.ask()
            assert {one.segment: one.samples for one in asked if one.samples} == order.segments.missing
            rows = market.rows(order.segments.missing)
            receipt = campaign.tell(rows)
            fleet.tell({name: values for name, values in rows.items() if name != "id"}, final=False)
            if receipt.closed is not None:
                fleet.ask()
                fleet.tell()
            order = receipt.order
        assert receipt.closed.not_met == 0
        assert receipt.closed.received == receipt.order.received
    assert [period.key for period in campaign.ledger()] == ["a", "b"]
    for name in SHOPS:
        np.testing.assert_array_equal(campaign.segment(name).coef, fleet.segment(name).coef)
        assert campaign.segment(name).history == fleet.segment(name).history


def test_a_job_that_runs_twice_asks_once(store: Store) -> None:
    create(store)
    first = FleetCampaign.open("shops", storage=store).ask(key="a")
    entries = len(store.entries("shops"))
    again = FleetCampaign.open("shops", storage=store).ask(key="a")
    assert (again.samples, again.segments.rows) == (first.samples, first.segments.rows)
    assert len(store.entries("shops")) == entries


def test_a_file_sent_twice_counts_once(store: Store) -> None:
    campaign, market = create(store), Market()
    rows = market.rows(campaign.ask(key="a").segments.missing)
    first = campaign.tell(rows, final=False)
    again = FleetCampaign.open("shops", storage=store).tell(rows, final=False)
    assert (first.rows, again.rows, again.duplicate) == (30, 0, campaign.log(kinds=("delivered",))[0].seq)
    assert again.order.received == 30
    named = campaign.tell(market.rows({"Oslo": 2}), final=False, delivery="monday.csv")
    assert named.rows == 2
    assert campaign.tell(market.rows({"Oslo": 2}), final=False, delivery="monday.csv").duplicate is not None


def test_rows_with_an_id_count_once_in_files_that_overlap(store: Store) -> None:
    campaign, market = create(store, id="id"), Market()
    rows = market.rows(campaign.ask().segments.missing)
    half = {name: values[:20] for name, values in rows.items()}
    assert campaign.tell(half, final=False).rows == 20
    receipt = campaign.tell(rows, final=False)
    assert (receipt.rows, receipt.repeated, receipt.order.received) == (10, 20, 30)


def test_rows_without_a_label_are_left_out_and_counted() -> None:
    campaign, market = create(MemoryStore()), Market()
    rows = market.rows(campaign.ask().segments.missing)
    rows["sales"][:7] = np.nan
    receipt = campaign.tell(rows)
    assert (receipt.rows, receipt.unlabelled, receipt.closed) == (23, 7, None)
    assert campaign.segments["Oslo"].received == 3


def test_a_segment_whose_rows_cannot_be_used_is_set_aside_and_the_others_go_on(store: Store) -> None:
    campaign, market = create(store), Market()
    rows = market.rows(campaign.ask().segments.missing)
    sales = [str(value) for value in rows["sales"]]
    sales[:10] = ["much"] * 10
    receipt = campaign.tell({**rows, "sales": sales}, final=True)
    assert list(receipt.rejected) == ["Oslo"]
    assert receipt.closed is not None
    assert (receipt.closed.set_aside, receipt.closed.without_rows, receipt.closed.received) == (1, 1, 20)
    reopened = FleetCampaign.open("shops", storage=store)
    assert reopened.segments.attention()[0].segment == "Oslo"
    assert "finite" in str(reopened.segments["Oslo"].problem)
    assert reopened.segments["Rome"].problem is None


def test_segments_appear_with_their_rows_or_before(store: Store) -> None:
    campaign, market = create(store, segments=()), Market()
    assert campaign.ask(key="a").samples == 0
    assert campaign.status().todo == "Deliver rows of the first segments for period 1 (a)."
    assert campaign.add(["Rome", "Oslo", "Rome"]) == 2
    assert campaign.add(["Rome"]) == 0
    assert campaign.ask(key="a").segments.missing == {"Oslo": 10, "Rome": 10}
    receipt = campaign.tell(market.rows({"Oslo": 10, "Rome": 10, "Turin": 4}), final=False)
    assert receipt.added == ("Turin",)
    assert campaign.segments["Turin"].received == 4


def test_a_new_key_waits_for_the_rows_of_the_open_period() -> None:
    campaign, market = create(MemoryStore()), Market()
    order = campaign.ask(key="a")
    with pytest.raises(ProtocolError, match=r"period 1 \(a\) is still open and 30 of its 30 rows are missing"):
        campaign.ask(key="b")
    campaign.tell(market.rows(order.segments.missing), final=True)
    assert campaign.ask(key="b").period == 2
    past = campaign.ask(key="a")
    assert (past.closed, past.received) == (True, 30)


def test_late_rows_are_absorbed_into_their_period(store: Store) -> None:
    campaign, market = create(store, delay=2), Market()
    missing = campaign.ask(key="a").segments.missing
    campaign.tell(market.rows({"Oslo": missing["Oslo"], "Rome": missing["Rome"]}), final=True)
    campaign.ask(key="b")
    before = campaign.segments["Turin"]
    receipt = campaign.tell(market.rows({"Turin": 10}), key="a")
    assert (receipt.rows, receipt.late, receipt.order.closed) == (10, 1, True)
    after = FleetCampaign.open("shops", storage=store).segments["Turin"]
    assert (before.rows, after.rows) == (0, 10)
    assert campaign.status().order is not None
    assert bits(FleetCampaign.open("shops", storage=store)) == bits(campaign)


def test_late_rows_need_a_delay() -> None:
    campaign, market = create(MemoryStore()), Market()
    work(campaign, market, "a")
    with pytest.raises(ProtocolError, match="closed already; late rows need a delay"):
        campaign.tell(market.rows({"Oslo": 1}), key="a")
    with pytest.raises(ProtocolError, match="no period with the key 'z'"):
        campaign.tell(market.rows({"Oslo": 1}), key="z")


def test_rows_are_deleted_when_they_are_not_kept() -> None:
    store = MemoryStore()
    campaign, market = create(store, keep_rows=False), Market()
    work(campaign, market, "a")
    delivered = [entry.seq for entry in campaign.log(kinds=("delivered",))]
    assert delivered
    assert store.rows("shops", delivered) == {}
    assert work(campaign, market, "b").closed is not None
    with pytest.raises(ProtocolError, match="undo"):
        campaign.undo(period=2, reason="late")


def test_predictions_are_those_of_the_model_of_each_segment() -> None:
    campaign, market = create(MemoryStore()), Market()
    with pytest.raises(ProtocolError, match="closed period"):
        campaign.predict_table({"shop": ["Oslo"], "price": [0.0]})
    work(campaign, market, "a")
    shops, price = ["Rome", "Oslo", "Rome", "Turin"], [0.0, 1.0, 2.0, 3.0]
    values = campaign.predict_table({"shop": shops, "price": price}).values
    expected = [float(campaign.segment(shop).predict(np.array([[x]]))[0]) for shop, x in zip(shops, price, strict=True)]
    assert values == expected
    with pytest.raises(ProtocolError, match="'Bari' has no model yet"):
        campaign.predict_table({"shop": ["Bari"], "price": [0.0]})


def test_two_classes_by_their_names() -> None:
    campaign = create(MemoryStore(), classes=["no", "yes"], epsilon=0.2)
    rng = np.random.default_rng(0)
    order = campaign.ask()
    shops = [name for name, count in order.segments.missing.items() for _ in range(4 * count)]
    x = rng.standard_normal(len(shops))
    bought = np.where(x + rng.logistic(size=len(shops)) > 0, "yes", "no")
    receipt = campaign.tell({"shop": shops, "price": x, "sales": bought}, final=True)
    assert receipt.rejected == {}
    assert campaign.predict_table({"shop": ["Oslo", "Oslo"], "price": [-4.0, 4.0]}).values == ["no", "yes"]


def test_the_same_name_again() -> None:
    store = MemoryStore()
    create(store)
    with pytest.raises(ParameterError, match="a campaign named 'shops' exists"):
        create(store)
    assert FleetCampaign.create(DEFINITION, storage=store, load_if_exists=True).segments.missing == {}
    with pytest.raises(ParameterError, match=r"follows segments: open it with FleetCampaign\.open"):
        Campaign.open("shops", storage=store)
    Campaign.create({"name": "one", "target": "y", "epsilon": 0.1}, storage=store)
    with pytest.raises(ParameterError, match=r"has none: open it with Campaign\.open"):
        FleetCampaign.open("one", storage=store)
    with pytest.raises(UnknownCampaignError):
        FleetCampaign.open("other", storage=store)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"segment": None}, "Campaign(segment=...) must name the column of segments; got None."),
        ({"segment": "sales"}, "must be another column than the target"),
        ({"features": ["shop"]}, "must name each column once; got 'shop' twice"),
        ({"target": None}, "Campaign(target=...) must be given with segment; got None."),
        ({"text": ["note"]}, "Campaign(text=...) must be left out with segment"),
        ({"splines": True}, "Campaign(splines=...) must be left out with segment"),
        ({"period": "date:month"}, "Campaign(period=...) must be left out with segment"),
        ({"annotator": "who", "id": "id"}, "Campaign(annotator=...) must be left out with segment"),
        ({"l2": [0.1, 1.0]}, "Campaign(l2=...) must be left out with segment"),
        ({"classes": ["a", "b", "c"]}, "must be left out with the loss 'softmax'"),
        ({"epsilon": None}, "epsilon"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(values: dict[str, Any], sentence: str) -> None:
    store = MemoryStore()
    with pytest.raises(DriftpaceError) as error:
        FleetCampaign.create({**DEFINITION, **values}, storage=store)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)
    assert store.count() == 0


def test_a_campaign_of_one_model_has_no_segments() -> None:
    with pytest.raises(ParameterError, match=r"must be left out, or given to FleetCampaign\.create; got 'shop'"):
        Campaign.create(DEFINITION, storage=MemoryStore())


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"price": [1.0], "sales": [2.0]}, "must have the column 'shop'"),
        ({"shop": ["Oslo"], "price": [1.0]}, "must have the column 'sales'"),
        ({"shop": [None, None], "price": [1.0, 2.0], "sales": [1.0, 2.0]}, "must name a segment in every row; row 1"),
        ({"shop": ["Oslo"], "sales": [2.0]}, "must have a column to predict from"),
    ],
)
def test_a_table_that_cannot_be_used_changes_nothing(table: dict[str, Any], sentence: str) -> None:
    store = MemoryStore()
    campaign = create(store)
    campaign.ask()
    entries = len(store.entries("shops"))
    with pytest.raises(DriftpaceError) as error:
        campaign.tell(table)
    assert sentence in str(error.value)
    assert len(store.entries("shops")) == entries


def test_tell_needs_an_open_period() -> None:
    campaign = create(MemoryStore())
    with pytest.raises(ProtocolError, match=r"call ask\(\) for period 1"):
        campaign.tell(Market().rows({"Oslo": 3}))
    with pytest.raises(ProtocolError, match=r"call ask\(\) for period 1"):
        campaign.tell(final=True)


def test_a_dry_run_writes_nothing() -> None:
    store = MemoryStore()
    campaign, market = create(store), Market()
    assert campaign.ask(dry_run=True).missing == 30
    assert campaign.status().order is None
    campaign.ask()
    entries = len(store.entries("shops"))
    assert campaign.tell(market.rows({"Oslo": 10}), dry_run=True).rows == 10
    assert len(store.entries("shops")) == entries


def test_another_writer_is_not_overwritten(store: Store) -> None:
    """Two open campaigns take turns: each reads what the other has written, in every chunk."""
    one, market = create(store), Market()
    other = FleetCampaign.open("shops", storage=store)
    order = one.ask(key="a")
    other.tell(market.rows({"Oslo": order.segments.missing["Oslo"]}), final=False)
    one.tell(market.rows({"Rome": order.segments.missing["Rome"]}), final=False)
    assert {row.segment: row.received for row in other.segments} == {"Oslo": 10, "Rome": 10, "Turin": 0}
    assert bits(one) == bits(other)


def test_a_fleet_that_lost_a_race_reads_again(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    one, market = create(store), Market()
    one.ask()
    other = FleetCampaign.open("shops", storage=store)
    append = store.append
    raced: list[int] = []

    def late(name: str, after: int, change: Any) -> int:
        if not raced:
            raced.append(after)
            other.tell(market.rows({"Rome": 10}), final=False)
        return append(name, after, change)

    monkeypatch.setattr(store, "append", late)
    receipt = one.tell(market.rows({"Oslo": 10}), final=False)
    assert (receipt.rows, receipt.order.received) == (10, 20)
    assert bits(one) == bits(other)
