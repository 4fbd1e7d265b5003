"""Status says where campaigns stand, quickly, and the same as the campaign itself says it."""

import json
import sqlite3
from pathlib import Path

import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.serialization import status_json
from driftpace.campaign.status import StatusSnapshot
from driftpace.cli.status import _snapshot, status_lines
from driftpace.records import Verdict
from driftpace.storage.base import Head
from driftpace.storage.sqlite_reader import SqliteReader
from tests.cli.loop import INIT, Run, content, in_store
from tests.reference import audits


def test_status_says_what_to_do_and_what_stands_behind_it(two: Path, run: Run) -> None:
    code, out, err = run("status", "churn")
    assert (code, err) == (0, "")
    status = in_store(lambda store: Campaign.open("churn", storage=store).status())
    first, *lines = out.splitlines()
    assert first == f"churn: {status.todo}"
    fields = {line[:10].strip(): line[11:] for line in lines}
    assert fields["Target"] == status.target
    assert fields["Last"].startswith(f"period 1 (W1), with {status.last.samples} rows")
    assert fields["So far"] == f"1 period closed, {status.rows} rows, {status.spent} spent, {status.money_left} left"
    assert fields["Updated"].startswith(f"{status.updated_at}, log entry {status.entries}")


@pytest.mark.parametrize("name", ["churn", "Prices"])
def test_a_quick_look_says_what_the_campaign_says(
    two: Path, run: Run, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = run("status", name)[1]
    glance = SqliteReader.at("driftpace.db")
    assert glance is not None
    saved = glance.head_and_checkpoint(name)
    glance.close()
    assert saved is not None
    slow, lateness, _ = _snapshot(None, name)
    assert lateness is None
    assert slow.head == saved[0]
    monkeypatch.setattr(SqliteReader, "at", classmethod(lambda cls, place: None))
    assert run("status", name)[1] == quick


def test_status_as_json_is_what_the_service_sends(two: Path, run: Run) -> None:
    for name in ("churn", "Prices"):
        code, out, err = run("status", name, "--format", "json")
        assert (code, err) == (0, "")
        assert json.loads(out) == in_store(
            lambda store, name=name: status_json(Campaign.open(name, storage=store).status())
        )


def test_looking_changes_nothing(two: Path, run: Run) -> None:
    before = content()
    for words in (("status", "churn"), ("status",), ("list",), ("log", "churn"), ("doctor",), ("ask", "churn")):
        run(*words)
    assert content() == before


@pytest.mark.parametrize("words", [("status", "chrun"), ("log", "chrun"), ("doctor", "chrun")])
def test_a_name_that_is_not_there(two: Path, run: Run, words: tuple[str, ...]) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert "there is no campaign 'chrun' in sqlite:///" in err
    assert err.endswith("did you mean 'churn'?\n")


def _execute(statement: str) -> None:
    connection = sqlite3.connect("driftpace.db")
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_damaged_checkpoint_is_reported(two: Path, run: Run) -> None:
    _execute("UPDATE driftpace_checkpoints SET data = x'00'")
    for words in (("status", "churn"), ("ask", "churn"), ("status", "churn", "--format", "json")):
        code, out, err = run(*words)
        assert (code, out) == (2, "")
        assert "the checkpoint of the campaign cannot be read" in err


def test_a_store_of_a_newer_version_is_reported(churn: Path, run: Run) -> None:
    _execute("UPDATE driftpace_meta SET version = 99")
    code, _, err = run("status", "churn")
    assert code == 2
    assert "upgrade driftpace" in err


@pytest.mark.parametrize(
    ("verdict", "label"), [(Verdict.PASS, "Measured"), (Verdict.WARN, "Warning"), (Verdict.FAIL, "Failed")]
)
@pytest.mark.parametrize("asked", [False, True])
def test_status_says_once_what_was_promised_and_measured(verdict: Verdict, label: str, asked: bool) -> None:
    summary = {"description": "", "target": "excess loss at most 0.02", "period": 33, "rows": 900, "spent": None}
    head = Head(name="churn", seq=9, created_at="", updated_at="", summary=summary)
    order = audits.order(verdict) if asked else None
    snapshot = StatusSnapshot(head=head, order=order, last=audits.report(verdict), last_key="W32")
    lines = status_lines(snapshot)
    assert [name for name, text in lines if audits.WORDS in text] == [label]
    assert any(text.startswith("not met: the rows delivered") for _, text in lines)


def test_rows_of_closed_periods_without_a_label(churn: Path, run: Run) -> None:
    run("ask", "churn", "--key", "W1", "--select", "pool.csv", "--out", "tasks.csv")
    assert "Waiting" not in run("status", "churn")[1]
    assert run("tell", "churn", "--close")[0] == 0
    drawn = len(Path("tasks.csv").read_text().splitlines()) - 1
    waiting = f"{drawn} rows drawn for closed periods are without a label: {drawn} of period 1"
    assert waiting in run("status", "churn")[1]
    assert waiting in run("ask", "churn", "--key", "W2")[1]
    assert waiting in run("ask", "churn", "--key", "W2")[1]  # the same order again
    outstanding = json.loads(run("status", "churn", "--format", "json")[1])["lateness"]["outstanding"]
    assert outstanding == [{"period": 1, "rows": drawn}]


def test_a_campaign_whose_labels_may_be_late(folder: Path, run: Run) -> None:
    assert run(*INIT, "--delay", "2")[0] == 0
    assert "delay = 2" in Path("churn.toml").read_text()
    assert "Labels may arrive up to 2 periods late" in run("status", "churn")[1]
    assert run("ask", "churn", "--key", "W1")[0] == 0
    code, out, _ = run("ask", "churn", "--key", "W2")
    assert code == 0
    assert "Waiting" in out
