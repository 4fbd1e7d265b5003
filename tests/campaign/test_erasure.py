"""Erase rows of persons and of old periods: what is gone, what can be verified and changed afterwards, and forgeries."""

import json
import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lightgbm import LGBMRegressor
from sqlalchemy import Engine, event

from driftpace.campaign import Campaign
from driftpace.campaign.export_import import export_campaign, import_campaign
from driftpace.campaign.kept_states import pack_states
from driftpace.campaign.packing import PackedRows, erased_in, pack_rows, unpack_ids, unpack_rows, without
from driftpace.campaign.records import CheckVerdict
from driftpace.campaign.verification import verify_campaign
from driftpace.errors import DriftpaceError, ParameterError, ProtocolError, StateFileError
from driftpace.storage import MemoryStore, Store, open_store
from driftpace.tracker.method import TellEvent
from tests.reference import falsified
from tests.reference.periods import imported

WHY = "request of a person"
PERIODS = 5


def filled(store: Store, *, periods: int = PERIODS, clock: Callable[[], str] | None = None, **more: Any) -> Campaign:
    """Return a campaign with drawn and delivered rows in closed periods, a withdrawn delivery and late rows."""
    definition = {"name": "prices", "epsilon": 0.05, "seed": 0, **more}
    campaign = Campaign.create(definition, storage=store, clock=clock)
    rng = np.random.default_rng(19)
    for period in range(1, periods + 1):
        order = campaign.ask(key=f"P{period}")
        X = rng.standard_normal((max(order.missing, 4), 2))
        y = X @ np.array([1.0, -0.3 * period]) + 0.1 * rng.standard_normal(len(X))
        ids = [f"{period}-{place}" for place in range(len(X))]
        campaign.record_draw([*ids, f"{period}-late"])
        if period == 2:
            campaign.tell(X, y + 1.0, ids=ids, final=False, delivery="wrong.csv")
            campaign.undo(delivery="wrong.csv", reason="wrong week")
        campaign.tell(X, y, ids=ids, final=True, delivery=f"{period}.csv")
    if more.get("keep_rows", True):
        campaign.tell(X[:1], y[:1], ids=[f"{periods - 1}-late"], key=f"P{periods - 1}", delivery="late.csv")
    return campaign


def verdict(store: Store, name: str = "prices") -> tuple[CheckVerdict, str]:
    try:
        found = verify_campaign(name, store)
    except DriftpaceError as error:
        return CheckVerdict.FAIL, str(error)
    return found.verdict, found.sentence


def all_bytes(store: Store, name: str = "prices") -> bytes:
    """Return all stored ids of a campaign, and its log."""
    log = store.entries(name)
    rows = store.rows(name, [entry.seq for entry in log if entry.kind in ("delivered", "selected")])
    ids = [unpack_ids(data) if log[seq - 1].kind == "selected" else unpack_rows(data).ids for seq, data in rows.items()]
    return json.dumps([ids, [dict(entry.body) for entry in log]]).encode()


def test_the_rows_of_a_person_are_gone_and_the_log_is_whole() -> None:
    store = MemoryStore()
    campaign = filled(store)
    campaign.note_refusal("must be unique; got '2-1' twice.", "w46.csv")
    before, model = campaign.status(), campaign.predict([[1.0, 2.0]])
    planned = campaign.erase(["2-1", "3-0", "nobody"], reason=WHY, dry_run=True)
    assert b'"2-1"' in all_bytes(store)
    erasure = campaign.erase(["2-1", "3-0", "nobody"], reason=WHY, who="Ada")
    assert planned == erasure
    assert (erasure.rows, erasure.drawn, erasure.periods, erasure.missing) == (3, 2, (2, 3), ("nobody",))
    assert erasure.settled == 3
    assert b'"2-1"' not in all_bytes(store)
    assert b'"2-2"' in all_bytes(store)
    assert campaign.refusals() == []
    found, sentence = verdict(store)
    assert found is CheckVerdict.WARN
    assert "the rows of periods 4 to 5 lead to their certificates" in sentence
    after = campaign.status()
    assert replace(after, entries=0, updated_at="", lateness=None) == replace(
        before, entries=0, updated_at="", lateness=None
    )
    assert campaign.outstanding() == {5: 1}
    assert campaign.predict([[1.0, 2.0]]).tolist() == model.tolist()
    (entry,) = campaign.log(kinds=["erased"])
    assert (entry.body["who"], entry.body["reason"], entry.body["ids"]) == ("Ada", WHY, 2)
    entries = len(campaign.log())
    assert campaign.erase(["2-1"], reason=WHY).entry is None
    assert len(campaign.log()) == entries


def test_the_campaign_goes_on_as_an_undisturbed_one() -> None:
    disturbed, whole = filled(MemoryStore()), filled(MemoryStore())
    disturbed.erase(["2-1"], reason=WHY)
    rng = np.random.default_rng(3)
    for key in ("P6", "P7"):
        order = whole.ask(key=key)
        assert disturbed.ask(key=key) == order
        X = rng.standard_normal((max(order.missing, 4), 2))
        reports = [one.tell(X, X[:, 0], final=True).report for one in (disturbed, whole)]
        one, other = (replace(report, seconds=0.0) for report in reports if report is not None)
        assert one == other
    late = [one.tell([[1.0, 2.0]], [0.5], ids=["x"], key="P4", accept_others=True) for one in (disturbed, whole)]
    assert late[0].revision == late[1].revision
    undone = [one.undo(delivery="late.csv", reason="wrong") for one in (disturbed, whole)]
    assert undone[0].revision == undone[1].revision
    assert np.array_equal(disturbed.tracker().coef, whole.tracker().coef)
    assert verdict(disturbed.store)[0] is CheckVerdict.WARN
    assert verdict(whole.store)[0] is CheckVerdict.PASS


def test_what_would_need_erased_rows_is_refused_in_a_sentence() -> None:
    store = MemoryStore()
    campaign = filled(store)
    campaign.erase(["2-1"], reason=WHY)
    entries = len(campaign.log())
    refused: list[tuple[Callable[[], object], str]] = [
        (
            lambda: campaign.undo(delivery="1.csv", reason=WHY),
            "period 1 cannot be absorbed again: rows of period 2 were",
        ),
        (
            lambda: campaign.undo(delivery="2.csv", reason=WHY),
            "period 2 cannot be absorbed again: rows of period 2 were",
        ),
        (
            lambda: campaign.tell([[1.0, 2.0]], [0.5], ids=["x"], key="P2", accept_others=True),
            "period 2 is closed, and cannot be absorbed again with late rows: rows of period 2 were erased",
        ),
        (lambda: campaign.undo(campaign.log(kinds=["erased"])[0].seq, reason=WHY), "what was erased is gone"),
        (lambda: list(campaign.replay()), r"delivered rows of which 1 were erased"),
    ]
    for call, sentence in refused:
        with pytest.raises(DriftpaceError, match=sentence):
            call()
    assert len(campaign.log()) == entries
    order = campaign.ask(key="P6")
    receipt = campaign.tell(
        [[1.0, 2.0], [2.0, 1.0]], [0.5, 0.1], ids=["2-late", "6-1"], accept_others=True, final=False
    )
    assert (receipt.other_period_rows, receipt.rows, receipt.late) == (1, 1, ())
    assert order.received == 0
    assert 2 not in campaign.outstanding()


def test_an_undo_of_an_undo_does_not_bring_erased_rows_back() -> None:
    campaign = filled(MemoryStore())
    campaign.ask(key="P6")
    campaign.tell([[1.0, 2.0], [2.0, 1.0]], [0.5, 0.1], ids=["ada", "bob"], delivery="6.csv", final=False)
    with pytest.raises(
        ProtocolError, match=r"rows delivered in period 6 \(P6\), which is open, cannot be erased: close it"
    ):
        campaign.erase(["ada"], reason=WHY)
    undone = campaign.undo(delivery="6.csv", reason="without Ada", refund=True)
    erasure = campaign.erase(["ada"], reason=WHY)
    assert (erasure.rows, erasure.settled) == (1, 0)
    with pytest.raises(ProtocolError, match=r"rows of entry \d+ were erased; deliver the others again"):
        campaign.undo(undone.entry, reason="again")
    campaign.tell([[2.0, 1.0]], [0.1], ids=["bob"], delivery="6b.csv", final=True)
    campaign.undo(delivery="1.csv", reason="nothing of a closed period was erased")
    assert verdict(campaign.store)[0] is CheckVerdict.WARN


def test_drawn_ids_of_the_open_period_can_be_erased_and_others_are_drawn() -> None:
    store = MemoryStore()
    campaign = Campaign.create(
        {"name": "prices", "features": ["x"], "target": "y", "epsilon": 0.1, "seed": 0}, storage=store
    )
    campaign.ask()
    pool = {"id": [f"c{place}" for place in range(50)], "x": list(range(50))}
    first = campaign.sample(pool)
    gone = first.ids[0]
    erasure = campaign.erase([gone], reason=WHY)
    assert (erasure.rows, erasure.drawn, erasure.settled) == (0, 1, 0)
    assert gone not in campaign.drawn()
    second = campaign.sample(pool)
    assert second.new == 1
    assert verdict(store)[0] is CheckVerdict.PASS


def test_old_periods_lose_all_rows() -> None:
    store = MemoryStore()
    campaign = filled(store)
    erasure = campaign.erase(before="P3", reason="kept for three periods")
    assert erasure.periods == (1, 2)
    assert erasure.settled == 2
    log = campaign.log()
    assert all(log[seq - 1].body["period"] >= 3 for seq in store.rows("prices", range(1, len(log))) if seq < len(log))
    found, sentence = verdict(store)
    assert found is CheckVerdict.WARN
    assert "the rows of periods 3 to 5 lead to their certificates" in sentence
    assert campaign.erase(before=3, reason="again").entry is None
    assert campaign.erase(before=4, reason="a period later").periods == (3,)
    assert verdict(store)[0] is CheckVerdict.WARN


def test_periods_that_were_closed_long_ago_lose_all_rows() -> None:
    days = iter(range(1, 1000))
    store = MemoryStore()
    campaign = filled(store, clock=lambda: f"2026-{1 + (day := next(days)) // 28:02d}-{1 + day % 28:02d}T10:00:00.000Z")
    closings = [entry.at for entry in campaign.log(kinds=["closed"])]
    assert campaign.erase(older_than=10_000, reason=WHY).entry is None
    erasure = campaign.erase(older_than=16, reason=WHY)
    assert 1 <= len(erasure.periods) < PERIODS
    (entry,) = campaign.log(kinds=["erased"])
    age = [(np.datetime64(entry.at[:10]) - np.datetime64(at[:10])).astype(int) for at in closings]
    assert erasure.periods == tuple(period for period, days_old in enumerate(age, start=1) if days_old > 16)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "must be given alone, or before, or older_than; got none of them"),
        ({"ids": ["a"], "before": 2}, "got 2 of them"),
        ({"ids": "ada"}, "must be a list of ids; got 'ada'"),
        ({"ids": []}, "must be a list of ids; got"),
        ({"before": "P9"}, "must be the key of a period, or a number from 1 to 6; got 'P9'"),
        ({"before": 7}, "must be the key of a period, or a number from 1 to 6; got 7"),
        ({"before": 1.5}, "must be the number or the key of a period; got 1.5"),
        ({"older_than": -1}, "older_than"),
        ({"ids": ["a"], "reason": " "}, "must give a reason for the log"),
    ],
)
def test_bad_arguments_are_refused(given: dict[str, Any], sentence: str) -> None:
    campaign = filled(MemoryStore())
    entries = len(campaign.log())
    with pytest.raises(ParameterError, match=sentence):
        campaign.erase(**{"reason": WHY, **given})
    assert len(campaign.log()) == entries


def test_where_rows_are_not_kept_there_is_nothing_to_erase() -> None:
    store = MemoryStore()
    campaign = filled(store, keep_rows=False)
    assert campaign.erase(["1-0", "3-1"], reason=WHY).missing == ("1-0", "3-1")
    assert campaign.erase(["2-1"], reason=WHY).settled == 0  # of the delivery that was undone
    assert verdict(store)[0] is CheckVerdict.WARN


def test_a_base_model_is_not_trained_again_on_erased_rows() -> None:
    store = MemoryStore()
    rng = np.random.default_rng(7)
    model = LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1).fit(rng.normal(size=(300, 2)), rng.normal(size=300))
    definition = {"name": "prices", "target": "y", "features": ["a", "b"], "epsilon": 0.1, "seed": 0}
    campaign = Campaign.create(definition, storage=store, model=model)
    for period in (1, 2, 3):
        campaign.ask()
        X = rng.normal(size=(60, 2))
        campaign.tell(X, X[:, 0], ids=[f"{period}-{place}" for place in range(60)], final=True)
    assert [part.period for part in campaign._handle.load().state.rows] == [1, 2, 3]
    campaign.erase(["1-5"], reason=WHY)
    assert [part.period for part in campaign._handle.load().state.rows] == [2, 3]
    first, *_ = campaign.log(kinds=["erased"])
    campaign.tell([[0.1, 0.2]], [0.3], ids=["late"], key="3", accept_others=True)  # absorbed from a state without them
    assert [part.period for part in campaign._handle.load().state.rows] == [2, 3]
    assert verdict(store)[0] is CheckVerdict.WARN
    campaign.erase(["2-5"], reason=WHY)
    assert [part.period for part in campaign._handle.load().state.rows] == [3]
    assert store.rows("prices", [first.seq]) == {}  # the state that it kept had rows of period 2
    assert verdict(store)[0] is CheckVerdict.WARN


# ---- forgeries


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "labels.db"
    store = open_store(path)
    filled(store)
    store.close()
    return path


def rows_edited(path: Path, seq: int, edit: Callable[[bytes], bytes]) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        (data,) = connection.execute("SELECT data FROM driftpace_rows WHERE seq = ?", (seq,)).fetchone()
        connection.execute("UPDATE driftpace_rows SET data = ? WHERE seq = ?", (edit(data), seq))


def delivery(path: Path, name: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT seq FROM driftpace_entries WHERE key = ?", (name,)).fetchone()[0])


def checked(path: Path) -> tuple[CheckVerdict, str]:
    store = open_store(path, create=False)
    try:
        return verdict(store)
    finally:
        store.close()


def test_rows_erased_without_an_entry_are_found(place: Path) -> None:
    """The control: the same bytes that an erasure writes, without its entry."""
    seq = delivery(place, "3.csv")
    rows_edited(place, seq, lambda data: without(data, {"3-1"})[0])
    found, sentence = checked(place)
    assert found is CheckVerdict.FAIL
    assert (
        sentence == f"Rows of entry {seq} (delivered) are missing, and no entry of the log says that they were erased."
    )


def test_rows_dropped_without_an_entry_are_found(place: Path) -> None:
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.execute("DELETE FROM driftpace_rows WHERE seq = ?", (delivery(place, "3.csv"),))
    found, sentence = checked(place)
    assert found is CheckVerdict.FAIL
    assert "Rows that should be stored are missing" in sentence


@pytest.fixture
def erased(place: Path) -> Path:
    store = open_store(place, create=False)
    campaign = Campaign.open("prices", storage=store)
    campaign.erase(["3-1"], reason=WHY)
    campaign.ask(key="P6")
    campaign.tell(np.eye(2), [1.0, 0.0], ids=["6-0", "6-1"], final=True)
    store.close()
    assert checked(place)[0] is CheckVerdict.WARN
    return place


def test_more_rows_than_were_logged_are_found(erased: Path) -> None:
    rows_edited(erased, delivery(erased, "3.csv"), lambda data: without(data, {"3-2"})[0])
    assert checked(erased)[0] is CheckVerdict.FAIL


def test_rows_that_are_stored_again_are_found(place: Path) -> None:
    seq = delivery(place, "3.csv")
    with closing(sqlite3.connect(place)) as connection:
        (data,) = connection.execute("SELECT data FROM driftpace_rows WHERE seq = ?", (seq,)).fetchone()
    store = open_store(place, create=False)
    Campaign.open("prices", storage=store).erase(["3-1"], reason=WHY)
    store.close()
    rows_edited(place, seq, lambda _: data)
    found, sentence = checked(place)
    assert found is CheckVerdict.FAIL
    assert "are stored, but the log says that they were erased" in sentence


@pytest.mark.parametrize("period", [1, 2, 4, 5, 6])
def test_a_falsified_certificate_is_found_in_every_period_with_all_rows(erased: Path, period: int) -> None:
    """An erasure switches nothing off but its own period: before it, after it, and between the two."""
    kind, path = (
        ("revised", "$.reports[0].fields.risk_bound") if period == 4 else ("certified", "$.report.fields.risk_bound")
    )
    kind, path = ("revised", "$.reports[1].fields.risk_bound") if period == 5 else (kind, path)
    key = "" if kind == "revised" else f"AND key = '{period}'"
    with closing(sqlite3.connect(erased)) as connection, connection:
        edited = connection.execute(
            f"UPDATE driftpace_entries SET body = json_set(body, '{path}', 0.0001) WHERE kind = '{kind}' {key}"
        )
        assert edited.rowcount == 1
    falsified.rebuild_chain(erased)
    found, sentence = checked(erased)
    assert found is CheckVerdict.FAIL, sentence


def test_a_certificate_of_an_erased_period_is_known_by_the_chain_alone(erased: Path) -> None:
    """The limit, as the documentation says it: only a seal tells what a rebuilt chain hides of these periods."""
    with closing(sqlite3.connect(erased)) as connection, connection:
        connection.execute(
            "UPDATE driftpace_entries SET body = json_set(body, '$.report.fields.risk_bound', 0.0001) WHERE key = '3' "
            "AND kind = 'certified'"
        )
    assert checked(erased)[0] is CheckVerdict.FAIL
    falsified.rebuild_chain(erased)
    assert checked(erased)[0] is CheckVerdict.WARN


def test_a_state_that_an_erasure_keeps_cannot_be_exchanged(erased: Path) -> None:
    with closing(sqlite3.connect(erased)) as connection:
        (seq,) = connection.execute("SELECT seq FROM driftpace_entries WHERE kind = 'erased'").fetchone()
        (checkpoint,) = connection.execute("SELECT data FROM driftpace_checkpoints").fetchone()
    rows_edited(erased, seq, lambda _: pack_states(checkpoint, checkpoint))
    found, sentence = checked(erased)
    assert found is CheckVerdict.FAIL
    assert "was changed" in sentence


# ---- files


@pytest.mark.parametrize("lasting", ["labels.db", "labels.db-wal"])
def test_no_file_of_a_store_has_what_was_erased(tmp_path: Path, lasting: str) -> None:
    """Ids are searched as they are packed, and rows of a table without compression as the bytes of their numbers."""
    path = tmp_path / "labels.db"
    store = open_store(path)
    campaign = filled(store)
    secret = pack_rows(PackedRows(event=TellEvent(X=np.ones((1, 2)), y=np.ones(1)), ids=("person-4711",))).data
    campaign.ask(key="P6")
    campaign.tell(np.ones((1, 2)), np.ones(1), ids=["person-4711"], final=True)
    seq = campaign.log(kinds=["delivered"])[-1].seq
    data = store.rows("prices", [seq])[seq]
    assert any(data in file.read_bytes() for file in tmp_path.iterdir())  # small rows lie in one page
    assert secret != data
    erasure = campaign.erase(["person-4711"], reason=WHY)
    assert erasure.purged
    file = tmp_path / lasting
    assert not file.exists() or data not in file.read_bytes()
    store.close()


def test_a_reader_that_holds_the_write_ahead_log_is_reported(tmp_path: Path) -> None:
    store = open_store(tmp_path / "labels.db", wait=0.1)
    campaign = filled(store)
    with closing(sqlite3.connect(tmp_path / "labels.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM driftpace_rows").fetchone()
        assert not campaign.erase(["1-0"], reason=WHY).purged
    assert store.purge()
    store.close()


def test_export_and_import_keep_what_is_left(tmp_path: Path) -> None:
    campaign = filled(MemoryStore())
    campaign.erase(["2-1"], reason=WHY)
    export_campaign(campaign, tmp_path / "prices.dpc")
    for name in ("prices", "rents"):
        store = MemoryStore()
        again = imported(tmp_path / "prices.dpc", storage=store, name=name)
        found, sentence = verdict(store, name)
        assert found is CheckVerdict.WARN, sentence
        assert "lead to their certificates" in sentence
        again.tell([[1.0, 2.0]], [0.5], ids=["x"], key="P4", accept_others=True)
        with pytest.raises(ProtocolError, match="rows of period 2 were erased"):
            again.undo(delivery="1.csv", reason=WHY)
        assert verdict(store, name)[0] is CheckVerdict.WARN


def test_an_import_of_rows_that_were_erased_without_an_entry_is_refused(tmp_path: Path) -> None:
    store = MemoryStore()
    campaign = filled(store)
    seq = next(entry.seq for entry in campaign.log() if entry.key == "2.csv")
    store._campaigns["prices"].rows[seq] = without(store.rows("prices", [seq])[seq], {"2-1"})[0]
    export_campaign(campaign, tmp_path / "prices.dpc")
    with pytest.raises(StateFileError, match=rf"was edited: Rows of entry {seq} \(delivered\) are missing"):
        import_campaign(tmp_path / "prices.dpc", storage=MemoryStore())


# ---- any order of events, and kills


@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_any_erasures_leave_a_log_that_is_verified_and_moves(data: st.DataObject) -> None:
    store = MemoryStore()
    campaign = filled(store, periods=4)
    ids = [f"{period}-{place}" for period in range(1, 5) for place in (0, 1, 2, 3, "late")]
    for step in range(data.draw(st.integers(1, 4))):
        match data.draw(st.sampled_from(["erase", "before", "late", "undo", "period"])):
            case "erase":
                campaign.erase(data.draw(st.lists(st.sampled_from(ids), min_size=1, max_size=3)), reason=WHY)
            case "before":
                campaign.erase(before=data.draw(st.integers(1, 3)), reason=WHY)
            case "late" | "undo" as what:
                key = f"P{data.draw(st.integers(1, 4))}"
                with suppress(ProtocolError, ParameterError):
                    if what == "late":
                        campaign.tell([[1.0, step]], [0.5], ids=[f"x{step}"], key=key, accept_others=True)
                    else:
                        campaign.undo(delivery=f"{key[1:]}.csv", reason=WHY)
            case "period":
                campaign.ask()
                campaign.tell(np.eye(2), [1.0, 0.0], final=True)
        found, sentence = verdict(store)
        assert found is not CheckVerdict.FAIL, sentence
    moved = imported(_exported(campaign), storage=MemoryStore())
    found, sentence = verdict(moved.store)
    assert found is not CheckVerdict.FAIL, sentence
    for one in moved.log(kinds=["erased"]):
        for seq, leaves in one.body["erased"].items():
            rows = moved.store.rows("prices", [int(seq)])
            assert not rows or leaves.items() <= erased_in(rows[int(seq)]).items()


def _exported(campaign: Campaign) -> Path:
    import tempfile

    path = Path(tempfile.mkdtemp()) / "prices.dpc"
    export_campaign(campaign, path)
    return path


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_kill_between_any_two_statements_erases_all_or_nothing(tmp_path: Path) -> None:
    path, whole, finished, statement = tmp_path / "labels.db", set[bool](), False, 0
    store = open_store(path)
    filled(store)
    store.close()
    backup = path.read_bytes()
    while not finished:
        statement += 1
        for file in tmp_path.iterdir():
            file.unlink()
        path.write_bytes(backup)
        pid = os.fork()
        if pid == 0:
            _erase_and_die(path, statement)
        finished = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        store = open_store(path, create=False)
        noted = bool(store.entries("prices", kinds=("erased",)))
        assert noted is (b'"2-1"' not in all_bytes(store))
        found, sentence = verdict(store)
        assert found is (CheckVerdict.WARN if noted else CheckVerdict.PASS), sentence
        whole.add(not noted)
        Campaign.open("prices", storage=store).erase(["2-1"], reason=WHY)
        assert b'"2-1"' not in all_bytes(store)
        store.close()
    assert whole == {True, False}
    assert statement > 5


def _erase_and_die(path: Path, statement: int) -> None:
    left = [statement]

    @event.listens_for(Engine, "before_cursor_execute")
    def count(*_: object) -> None:
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        Campaign.open("prices", storage=open_store(path, create=False)).erase(["2-1"], reason=WHY)
        os._exit(0)
    finally:
        os._exit(1)
