"""``driftpace log`` describes every kind of entry, and prints the same records as the campaign in JSON and CSV."""

import csv
import io
import json
from pathlib import Path

from driftpace.campaign.log_text import describe_entry
from driftpace.campaign.serialization import entry_json
from driftpace.storage.base import Entry
from tests.cli.loop import Run, in_store, label, period


def test_log_tells_what_happened(two: Path, run: Run) -> None:
    run("override", "churn", "20", "--reason", "two people are ill", "--who", "anna")
    code, out, _ = run("log", "churn")
    entries = in_store(lambda store: store.entries("churn"))
    assert code == 0
    lines = out.splitlines()[1:]
    assert [int(line.split()[0]) for line in lines] == [entry.seq for entry in entries]
    assert "Order for period 2 set to 20 rows" in lines[-1]
    assert "“two people are ill”" in lines[-1]
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
    texts = {entry.kind: describe_entry(entry).text for entry in entries}
    wanted = ("created", "asked", "selected", "delivered", "closed", "fitted", "certified", "forgotten", "overridden")
    assert set(texts) == {*wanted, "approved", "imported"}
    assert [kind for kind, text in texts.items() if not text] == []
    assert texts["created"] == "Campaign created to predict “churned”"
    assert texts["delivered"].startswith("2 rows received for period 2 from “done.csv”; ")
    assert texts["delivered"].endswith(" unlabelled rows were skipped")
    assert texts["forgotten"] == "2 rows of period 2 withdrawn: “swapped”"
    assert texts["overridden"].startswith("Order for period 2 set to 3 rows instead of ")
    assert texts["overridden"].endswith(": “few”")
    assert texts["imported"] == f"{len(entries) - 1} entries of “churn” imported from “a.driftpace”"


def test_an_entry_of_a_later_version_is_shown_as_unknown() -> None:
    entry = Entry(kind="invented", at="2026-11-15T10:00:00Z", body={"period": 1})
    assert describe_entry(entry).text == "Entry of an unknown kind: “invented”"


def test_refused_deliveries_are_listed_beside_the_log(churn: Path, run: Run) -> None:
    assert run("log", "churn", "--refused")[1] == "No delivery was refused.\n"
    run("ask", "churn", "--key", "W1")
    entries = in_store(lambda store: store.entries("churn"))
    Path("empty.csv").write_text("customer,age\n")
    assert run("tell", "churn", "empty.csv", "--dry-run")[0] == 2
    assert run("log", "churn", "--refused")[1] == "No delivery was refused.\n"
    code, _, err = run("tell", "churn", "empty.csv", "--who", "anna")
    assert code == 2
    (record,) = json.loads(run("log", "churn", "--refused", "--format", "json")[1])
    assert (record["who"], record["source"]) == ("anna", "empty.csv")
    assert record["sentence"] in err
    out = run("log", "churn", "--refused")[1]
    assert "empty.csv" in out
    assert record["sentence"] in out
    assert "at,source,sentence,who" in run("log", "churn", "--refused", "--format", "csv")[1]
    assert in_store(lambda store: store.entries("churn")) == entries, "the log is as it was"
    assert "Refused    1 delivery since the last one that counted" in run("status", "churn")[1]
    period(run, "W1")
    assert "Refused" not in run("status", "churn")[1], "another delivery followed"


def test_no_text_in_csv_becomes_a_formula(two: Path, run: Run) -> None:
    run("override", "churn", "20", "--reason", "=HYPERLINK(1)", "--who", "=cmd()")
    rows = list(csv.DictReader(io.StringIO(run("log", "churn", "--format", "csv", "--last", "1")[1])))
    assert rows[0]["who"] == "'=cmd()"
    note = run("log", "churn", "--refused", "--format", "csv")
    assert note[0] == 0
    run("ask", "churn", "--key", "@SUM(A1)")
    for command in (["ledger", "churn"], ["list"], ["log", "churn"]):
        cells = [cell for row in csv.reader(io.StringIO(run(*command, "--format", "csv")[1])) for cell in row]
        assert cells
        assert not [cell for cell in cells if cell.startswith(("=", "@", "+"))]
