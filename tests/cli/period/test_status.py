"""Status, list and log say where campaigns stand, quickly, and the same as the campaign itself says it."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.as_json import entry_json, head_json, status_json
from driftpace.cli.period.status import _slowly
from driftpace.cli.shared.glance import Glance
from driftpace.storage import open_store
from tests.cli.loop import INIT, Run, content, period


@pytest.fixture
def two(churn: Path, run: Run) -> Path:
    """A store with a campaign in its second period and one that was just begun."""
    period(run, "W1")
    run("ask", "churn", "--key", "W2")
    assert run("init", "Prices", "--target", "price", "--epsilon", "0.1")[0] == 0
    return churn


def in_store(read: Any) -> Any:
    store = open_store("driftpace.db", create=False)
    try:
        return read(store)
    finally:
        store.close()


def test_status_says_what_to_do_and_what_stands_behind_it(two: Path, run: Run) -> None:
    code, out, err = run("status", "churn")
    assert (code, err) == (0, "")
    status = in_store(lambda store: Campaign.open("churn", storage=store).status())
    first, *lines = out.splitlines()
    assert first == f"churn: {status.todo}"
    said = {line[:10].strip(): line[11:] for line in lines}
    assert said["Target"] == status.target
    assert said["Last"].startswith(f"period 1 (W1): {status.last.samples} rows came")
    assert said["So far"] == f"1 period closed, {status.rows} rows, for {status.spent}; {status.money_left} left"
    assert said["Changed"].startswith(f"{status.updated_at}, entry {status.entries}")


@pytest.mark.parametrize("name", ["churn", "Prices"])
def test_a_quick_look_says_what_the_campaign_says(
    two: Path, run: Run, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = run("status", name)[1]
    glance = Glance.at("driftpace.db")
    assert glance is not None
    found = glance.standing(name)
    glance.close()
    assert found is not None
    slow = _slowly(None, name)
    assert slow.head == found[0]
    monkeypatch.setattr(Glance, "at", classmethod(lambda cls, place: None))
    assert run("status", name)[1] == quick


def test_status_as_json_is_what_the_service_sends(two: Path, run: Run) -> None:
    for name in ("churn", "Prices"):
        code, out, err = run("status", name, "--format", "json")
        assert (code, err) == (0, "")
        assert json.loads(out) == in_store(
            lambda store, name=name: status_json(Campaign.open(name, storage=store).status())
        )


def test_list_has_a_line_for_each_with_what_it_waits_for(two: Path, run: Run) -> None:
    code, out, _ = run("list")
    heads = in_store(lambda store: store.heads())
    assert code == 0
    lines = out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == [head.name for head in heads] == ["Prices", "churn"]
    assert all(head.summary["todo"] in line for head, line in zip(heads, lines, strict=True))
    assert run("status")[1] == out
    assert run("list", "--search", "PRI")[1].splitlines()[1:] == lines[:1]
    assert len(run("list", "--limit", "1")[1].splitlines()) == 2
    assert run("list", "--search", "none")[1] == "No campaign has 'none' in its name.\n"


def test_list_for_machines(two: Path, run: Run) -> None:
    heads = in_store(lambda store: store.heads())
    assert json.loads(run("list", "--format", "json")[1]) == [head_json(head) for head in heads]
    rows = list(csv.DictReader(io.StringIO(run("list", "--format", "csv")[1])))
    assert [(row["name"], row["period"], row["missing"]) for row in rows] == [
        (head.name, str(head.summary["period"]), str(head.summary["missing"])) for head in heads
    ]
    assert json.loads(run("status", "--format", "json")[1]) == [head_json(head) for head in heads]


def test_an_empty_store_says_how_to_begin(two: Path, run: Run) -> None:
    open_store("empty.db").close()
    assert run("list", "--storage", "empty.db")[1] == "No campaigns yet: driftpace init NAME begins one.\n"
    assert run("list", "--storage", "empty.db", "--format", "json")[1] == "[]\n"
    code, _, err = run("status", "churn", "--storage", "empty.db")
    assert code == 2
    assert err.endswith("there are none yet: driftpace init churn begins one.\n")


def test_log_tells_what_happened(two: Path, run: Run) -> None:
    run("override", "churn", "20", "--reason", "two people are ill", "--who", "anna")
    code, out, _ = run("log", "churn")
    entries = in_store(lambda store: store.entries("churn"))
    assert code == 0
    lines = out.splitlines()[1:]
    assert [int(line.split()[0]) for line in lines] == [entry.seq for entry in entries]
    assert "period 2: 20 rows: two people are ill" in lines[-1]
    assert lines[-1].endswith("anna")
    assert run("log", "churn", "--last", "2")[1].splitlines()[1].split()[0] == str(len(entries) - 1)
    assert json.loads(run("log", "churn", "--format", "json")[1]) == [entry_json(entry) for entry in entries]
    rows = list(csv.DictReader(io.StringIO(run("log", "churn", "--format", "csv", "--last", "1")[1])))
    assert [(row["kind"], row["who"]) for row in rows] == [("overridden", "anna")]
    assert json.loads(rows[0]["more"])["reason"] == "two people are ill"


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


def test_a_glance_is_not_for_what_it_does_not_know(folder: Path, run: Run) -> None:
    import sqlite3

    assert run(*INIT)[0] == 0
    assert Glance.at("pool.csv") is None
    assert Glance.at("none.db") is None
    assert Glance.at("postgresql://nobody@127.0.0.1:1/none") is None
    with sqlite3.connect("other.db") as other:
        other.execute("CREATE TABLE things (a)")
    other.close()
    assert Glance.at("other.db") is None
    newer = sqlite3.connect("driftpace.db")
    newer.execute("UPDATE driftpace_meta SET version = 99")
    newer.commit()
    newer.close()
    assert Glance.at("driftpace.db") is None
    code, _, err = run("status", "churn")
    assert code == 2
    assert "upgrade driftpace" in err
