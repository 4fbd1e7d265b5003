"""The log tells what happened, in words that every kind of entry has, and the same as the campaign for machines."""

import csv
import io
import json
from pathlib import Path

from driftpace.campaign.serialization import entry_json
from driftpace.campaign.text import describe_entry
from tests.cli.loop import Run, in_store, label, period


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
    assert json.loads(rows[0]["body"])["reason"] == "two people are ill"


def test_every_kind_of_entry_has_words(churn: Path, run: Run) -> None:
    period(run, "W1")
    run("ask", "churn", "--key", "W2", "--select", "pool.csv", "--out", "tasks.csv")
    label(Path("tasks.csv"), Path("done.csv"), only=2)
    run("tell", "churn", "done.csv", "--part")
    run("forget", "churn", "--reason", "swapped")
    run("override", "churn", "3", "--reason", "few")
    run("approve", "churn")
    run("export", "churn", "a.driftpace")
    run("import", "a.driftpace", "--as", "copy")
    entries = in_store(lambda store: store.entries("copy"))
    words = {entry.kind: describe_entry(entry.kind, entry.body, entry.key) for entry in entries}
    wanted = ("created", "asked", "selected", "delivered", "closed", "fitted", "certified", "forgotten", "overridden")
    assert set(words) == {*wanted, "approved", "imported"}
    assert [kind for kind, text in words.items() if not text] == []
    assert words["created"] == "predicts churned"
    assert words["delivered"].startswith("period 2: 2 rows from done.csv; ")
    assert words["delivered"].endswith(" without a label")
    assert words["forgotten"] == "period 2: 2 rows discarded: swapped"
    assert words["overridden"] == "period 2: 3 rows: few"
    assert words["imported"] == f"{len(entries) - 1} entries of churn from a.driftpace"


def test_an_entry_of_a_later_version_is_shown_without_words() -> None:
    assert describe_entry("invented", {"period": 1}, None) == ""
