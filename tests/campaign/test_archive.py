"""Archive campaigns: they can be read, changes are refused in one sentence, lists leave them out, and they open as they were."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace.campaign import Campaign, FleetCampaign
from driftpace.campaign.export_import import export_campaign, import_campaign
from driftpace.campaign.fleet.verification import compare_with_log
from driftpace.campaign.records import CheckVerdict
from driftpace.campaign.upgrade import change_method
from driftpace.campaign.verification import verify_campaign
from driftpace.errors import ProtocolError
from driftpace.storage import MemoryStore, SqliteReader, Store, open_store

REFUSED = "campaign 'prices' is archived and can only be read; driftpace archive prices --undo opens it"


def begun(store: Store) -> Campaign:
    campaign = Campaign.create(
        {"name": "prices", "epsilon": 0.1, "seed": 0, "budget": {"total": 90, "horizon": 9}}, storage=store
    )
    campaign.ask(key="P1")
    campaign.tell(np.eye(3), [1.0, 2.0, 3.0], ids=["a", "b", "c"], final=True, delivery="1.csv")
    campaign.ask(key="P2")
    campaign.tell(np.eye(3)[:1], [1.0], ids=["d"], final=False, delivery="2.csv")
    return campaign


def test_an_archived_campaign_is_read_and_not_changed() -> None:
    store = MemoryStore()
    campaign = begun(store)
    before, order = campaign.status(), campaign.order()
    status = campaign.archive(reason="the shop closed", who="Ada")
    assert (status.archived, status.todo) == (True, "Archived: it can be read, and opened again.")
    assert campaign.status().archived
    assert campaign.archive(reason="again").entries == status.entries  # nothing is written
    entries = len(campaign.log())
    calls: list[Callable[[], Any]] = [
        lambda: campaign.tell(np.eye(3), [1.0, 2.0, 3.0]),
        lambda: campaign.tell("nonsense", [1.0]),
        lambda: campaign.tell(final=True),
        lambda: campaign.ask(key="P3"),
        lambda: campaign.override(7, reason="r"),
        lambda: campaign.approve(),
        lambda: campaign.forget(reason="r"),
        lambda: campaign.undo(delivery="1.csv", reason="r"),
        lambda: campaign.add_money(10, reason="r"),
        lambda: campaign.record_draw(["x"]),
        lambda: campaign.tell(final=True, dry_run=True),
    ]
    for call in calls:
        with pytest.raises(ProtocolError, match=REFUSED):
            call()
    assert len(campaign.log()) == entries
    assert campaign.ask(key="P1").closed
    assert campaign.ask() == campaign.order() == order
    assert campaign.tell(np.eye(3), [1.0, 2.0, 3.0], ids=["a", "b", "c"], delivery="1.csv").duplicate is not None
    assert campaign.predict(np.eye(3)).shape == (3,)
    assert len(campaign.ledger()) == 1
    assert campaign.plan(epsilon=0.1).samples is not None
    assert verify_campaign("prices", store).verdict is CheckVerdict.PASS
    opened = campaign.unarchive(reason="it opened again")
    assert (opened.todo, opened.order, opened.archived) == (before.todo, order, False)
    assert campaign.unarchive().entries == opened.entries
    campaign.tell(np.eye(3), [1.0, 2.0, 3.0], final=True)
    assert verify_campaign("prices", store).verdict is CheckVerdict.PASS
    with pytest.raises(Exception, match=r"is 'archived': use driftpace archive --undo"):
        campaign.undo(campaign.log(kinds=["archived"])[0].seq, reason="r")


def test_rows_of_an_archived_campaign_can_be_erased() -> None:
    store = MemoryStore()
    campaign = begun(store)
    campaign.archive()
    assert campaign.erase(["a"], reason="request of a person").rows == 1
    assert campaign.status().archived
    assert verify_campaign("prices", store).verdict is CheckVerdict.WARN
    campaign.unarchive()
    campaign.tell(np.eye(3), [1.0, 2.0, 3.0], final=True)
    assert verify_campaign("prices", store).verdict is CheckVerdict.WARN


def test_an_archived_campaign_is_exported_imported_and_found_again(tmp_path: Path) -> None:
    store = open_store(tmp_path / "labels.db")
    campaign = begun(store)
    campaign.archive(reason="over")
    export_campaign(campaign, tmp_path / "prices.dpc")
    Campaign.create({"name": "rents", "epsilon": 0.1, "description": '"archived":true'}, storage=store)
    assert [head.name for head in store.heads()] == ["prices", "rents"]
    assert [head.name for head in store.heads(archived=False)] == ["rents"]
    assert [head.name for head in store.heads(archived=True)] == ["prices"]
    assert (store.count(), store.count(archived=False), store.count(archived=True)) == (2, 1, 1)
    store.close()
    reader = SqliteReader.at(str(tmp_path / "labels.db"))
    assert reader is not None
    assert [head.name for head in reader.heads(archived=False)] == ["rents"]
    assert [head.name for head in reader.heads(archived=True)] == ["prices"]
    reader.close()
    again = import_campaign(tmp_path / "prices.dpc", storage=MemoryStore())
    assert again.status().archived
    assert verify_campaign("prices", again.store).verdict is CheckVerdict.PASS


def test_the_method_of_an_archived_campaign_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    begun(store).archive()
    monkeypatch.setattr("driftpace.campaign.upgrade.METHOD", 99)
    with pytest.raises(ProtocolError, match=REFUSED):
        change_method(store, "prices")


def test_a_fleet_is_archived_too() -> None:
    store = MemoryStore()
    definition = {"name": "shops", "segment": "shop", "target": "y", "features": ["x"], "epsilon": 0.1, "seed": 0}
    fleet = FleetCampaign.create(definition, storage=store, segments=["a", "b"])
    fleet.ask(key="P1")
    rows = {"shop": ["a"] * 9 + ["b"] * 9, "x": list(np.linspace(0, 1, 18)), "y": list(np.linspace(1, 2, 18))}
    fleet.tell(rows, final=True)
    status = fleet.archive(reason="over", who="Ada")
    assert (status.archived, fleet.status().todo) == (True, "Archived: it can be read, and opened again.")
    assert store.heads(archived=False) == []
    for call in (lambda: fleet.ask(key="P2"), lambda: fleet.add(["c"]), lambda: fleet.undo(period=1, reason="r")):
        with pytest.raises(ProtocolError, match="campaign 'shops' is archived and can only be read"):
            call()
    assert compare_with_log(fleet).problem is None
    assert not fleet.unarchive().archived
    assert fleet.undo(period=1, reason="r").kind == "closed"
    assert compare_with_log(fleet).problem is None
