"""A store of every release is upgraded with a backup first, goes on, and can be verified; a copy is upgraded in a dry run."""

import gzip
import sqlite3
import stat
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from driftpace import Tracker
from driftpace.campaign import Campaign, handle, recomputation, upgrade
from driftpace.campaign.kept_states import pack_states
from driftpace.campaign.method_change import MethodChange, compare_methods
from driftpace.campaign.records import CheckVerdict
from driftpace.campaign.state import CampaignState, to_checkpoint
from driftpace.campaign.upgrade import change_method, method_number, upgrade_store
from driftpace.campaign.verification import rows_hashes, verify_campaign
from driftpace.errors import ProtocolError, StateFileError, StorageError
from driftpace.storage import MemoryStore, codec, open_store
from driftpace.storage.sql.schema import VERSION
from tests.reference import falsified
from tests.reference.periods import imported
from tests.storage.releases import cases


@pytest.fixture(params=cases.RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path, release: str) -> str:
    if request.param == "sqlite":
        return str(cases.unpacked(release, "store.db", tmp_path))
    address: str = request.getfixturevalue("postgres_url")
    text = gzip.decompress((cases.FOLDER / release / "store.sql.gz").read_bytes()).decode()
    plain = [line for line in text.splitlines() if not line.startswith(("\\", "CREATE SCHEMA", "COMMENT ON SCHEMA"))]
    with psycopg.connect(address) as connection:
        connection.execute("\n".join(plain).encode())
    return address


def test_an_older_store_is_refused_in_a_sentence_and_not_touched(tmp_path: Path, release: str) -> None:
    path = cases.unpacked(release, "store.db", tmp_path)
    before = path.read_bytes()
    with pytest.raises(StorageError, match="driftpace upgrade migrates it, with a backup first"):
        open_store(path)
    assert path.read_bytes() == before


def test_a_store_of_a_release_is_upgraded_and_goes_on(url: str, tmp_path: Path, release: str) -> None:
    older = cases.METHODS[release] != codec.METHOD
    planned = upgrade_store(url, dry_run=True)
    assert (planned.before, planned.after, planned.problems, planned.backup) == (1, VERSION, {}, None)
    with pytest.raises(StorageError, match="driftpace upgrade"):
        open_store(url)  # a dry run changes nothing
    done = upgrade_store(url, backup=tmp_path / "before.backup", who="Ada")
    assert (done.before, done.after, done.problems) == (1, VERSION, {})
    assert done.campaigns == cases.CAMPAIGNS
    assert done.backup is not None
    assert done.backup.version == 1
    store = open_store(url)
    for name in cases.CAMPAIGNS:
        log = store.entries(name)
        assert log[-1].kind == "upgraded"
        stored = [entry.seq for entry in log if store.rows(name, [entry.seq])]
        assert set(stored) <= set(rows_hashes(log))
        expected = CheckVerdict.WARN if older or name == "forgotten" else CheckVerdict.PASS
        assert verify_campaign(name, store).verdict is expected
        assert method_number(store, name) == cases.METHODS[release]
    assert done.older_method == (cases.CAMPAIGNS if older else ())
    assert [token.name for token in store.tokens()] == ["desk"]
    prices = Campaign.open("prices", storage=store)
    assert prices.status().order is not None
    if older:
        assert change_method(store, "prices", who="Ada") == cases.METHODS[release]
    prices.undo(delivery="3.1.csv", reason="after the upgrade")
    prices.tell(*cases.rows(4, 1, 3), ids=["4-0-3", "4-0-4", "more"], accept_others=True, final=True)
    cases.close_period(prices, 5)
    assert verify_campaign("prices", store).verdict is (CheckVerdict.WARN if older else CheckVerdict.PASS)
    store.close()
    again = upgrade_store(url)
    assert (again.before, again.campaigns, again.backup) == (VERSION, (), None)


def test_an_upgrade_that_was_interrupted_after_the_tables_is_finished(
    tmp_path: Path, release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = cases.unpacked(release, "store.db", tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(upgrade, "note_rows", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            upgrade_store(path)
    store = open_store(path)
    assert "run driftpace upgrade" in verify_campaign("prices", store).sentence
    store.close()
    assert upgrade_store(path).campaigns == cases.CAMPAIGNS


def test_the_backup_of_an_upgrade_is_of_the_older_version(tmp_path: Path, release: str) -> None:
    path = cases.unpacked(release, "store.db", tmp_path)
    done = upgrade_store(path)
    assert done.backup is not None
    assert done.backup.path == tmp_path / "store.db-v1.backup"
    done = upgrade_store(done.backup.path, backup=tmp_path / "again")
    assert (done.before, done.problems) == (1, {})


def test_a_saved_state_and_an_exported_campaign_of_a_release_are_read(tmp_path: Path, release: str) -> None:
    tracker = Tracker.load(cases.unpacked(release, "tracker.json", tmp_path))
    tracker.ask()
    tracker.tell(*cases.rows(3, 0, 30))
    store = MemoryStore()
    campaign = imported(cases.FOLDER / release / "prices.dpc", storage=store)
    assert verify_campaign("prices", store).verdict is not CheckVerdict.FAIL
    assert method_number(store, "prices") == cases.METHODS[release]
    change_method(store, "prices")
    campaign.tell(*cases.rows(4, 1, 3), ids=["4-0-3", "4-0-4", "more"], accept_others=True)


@pytest.fixture
def newer_method(monkeypatch: pytest.MonkeyPatch) -> int:
    """The method of a later version, as far as numbers go."""
    newer = codec.METHOD + 1
    for module in (codec, handle, upgrade, recomputation):
        monkeypatch.setattr(module, "METHOD", newer)
    monkeypatch.setattr("driftpace.tracker.codec.METHOD", newer)
    return newer


def test_a_campaign_goes_on_where_a_newer_method_answers_alike(request: pytest.FixtureRequest) -> None:
    store = MemoryStore()
    cases.fill(store)
    older = codec.METHOD
    newer: int = request.getfixturevalue("newer_method")  # only the number is another
    assert not any(change.differs for change in compare_methods(store, "prices"))
    assert Campaign.open("prices", storage=store).status().order is not None
    assert method_number(store, "prices") == older  # reading changes nothing
    Campaign.open("prices", storage=store).tell(*cases.rows(4, 1, 3), final=False, accept_others=True)
    (noted,) = store.entries("prices", kinds=("upgraded",))
    assert (noted.body["from"], noted.body["method"], noted.body["alike"]) == (older, newer, True)
    assert method_number(store, "prices") == newer
    assert verify_campaign("prices", store).verdict is CheckVerdict.PASS
    with pytest.raises(ProtocolError, match=f"orders of method {older} and this driftpace has method {newer}"):
        Campaign.open("forgotten", storage=store).tell(final=True)  # its rows were not kept: the answers are unknown


def test_a_campaign_keeps_its_method_until_it_is_changed_over(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoryStore()
    cases.fill(store)
    older = codec.METHOD
    newer: int = request.getfixturevalue("newer_method")
    monkeypatch.setattr(MethodChange, "differs", property(lambda change: change.period == 2))
    with pytest.raises(ProtocolError, match="which answers differently; driftpace upgrade --campaign prices shows"):
        Campaign.open("prices", storage=store).tell(*cases.rows(4, 1, 3), final=False, accept_others=True)
    assert [change.period for change in compare_methods(store, "prices") if change.differs] == [2]
    assert change_method(store, "prices", dry_run=True) == older
    assert method_number(store, "prices") == older
    assert change_method(store, "prices", who="Ada") == older
    assert method_number(store, "prices") == newer
    assert change_method(store, "prices") is None
    Campaign.open("prices", storage=store).tell(*cases.rows(4, 1, 3), final=False, accept_others=True)
    found = verify_campaign("prices", store)
    assert found.verdict is CheckVerdict.WARN
    (changed,) = store.entries("prices", kinds=("upgraded",))
    assert (
        f"entries 1 to {changed.seq} cannot be recomputed, because they are of another method; the other entries are identical"
        in found.sentence
    )


def test_periods_after_a_change_of_the_method_are_recomputed(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    store = open_store(tmp_path / "labels.db")
    cases.fill(store)
    request.getfixturevalue("newer_method")
    change_method(store, "prices")
    campaign = Campaign.open("prices", storage=store)
    campaign.tell(*cases.rows(4, 1, 3), final=True, accept_others=True)
    assert verify_campaign("prices", store).verdict is CheckVerdict.WARN
    store.close()
    with closing(sqlite3.connect(tmp_path / "labels.db")) as connection, connection:
        connection.execute(
            "UPDATE driftpace_entries SET body = json_set(body, '$.report.fields.risk_bound', 0.001) WHERE kind = 'certified' "
            "AND key = '4' AND campaign_id = (SELECT id FROM driftpace_campaigns WHERE name = 'prices')"
        )
    falsified.rebuild_chain(tmp_path / "labels.db")
    store = open_store(tmp_path / "labels.db")
    found = verify_campaign("prices", store)
    store.close()
    assert found.verdict is CheckVerdict.FAIL
    assert "(certified) differs in 'report'" in found.sentence


def test_a_state_kept_at_a_change_of_the_method_is_compared(request: pytest.FixtureRequest) -> None:
    store = MemoryStore()
    cases.fill(store)
    request.getfixturevalue("newer_method")
    change_method(store, "prices")
    store._campaigns["prices"].rows[len(store.entries("prices"))] = pack_states(to_checkpoint(_other_state()))
    with pytest.raises(StateFileError, match=r"the state that entry \d+ \(upgraded\) keeps was changed"):
        verify_campaign("prices", store)


def _other_state() -> CampaignState:
    store = MemoryStore()
    other = Campaign.create({"name": "prices", "target": "y", "epsilon": 0.1}, storage=store)
    return other._handle.load()


def test_a_method_that_would_have_ordered_other_rows_differs() -> None:
    same = MethodChange(period=1, asked=9, asked_now=9, risk_bound=0.1, risk_bound_now=0.1 + 1e-9)
    assert not same.differs
    assert replace(same, asked_now=10).differs
    assert replace(same, risk_bound_now=0.11).differs


@pytest.mark.parametrize(("mode", "after"), [(0o644, 0o600), (0o600, 0o600), (0o664, 0o660), (0o400, 0o400)])
def test_an_upgrade_takes_permissions_from_others(tmp_path: Path, release: str, mode: int, after: int) -> None:
    path = cases.unpacked(release, "store.db", tmp_path)
    path.chmod(mode)
    upgrade_store(path, dry_run=True)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    done = upgrade_store(path)
    assert stat.S_IMODE(path.stat().st_mode) == after
    assert done.backup is not None
    assert stat.S_IMODE(done.backup.path.stat().st_mode) == 0o600
