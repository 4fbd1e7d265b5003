"""Campaigns of segments on the command line: one order file, one file of labels, the segments that matter."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.loop import Run

SHOPS = ("Oslo", "Rome", "a/b")
INIT = ("init", "shops", "--segment", "shop", "--target", "sales", "--epsilon", "0.2", "--seed", "1", "--id", "row")


@pytest.fixture
def shops(folder: Path, run: Run) -> Path:
    """The working directory, with a pool of three shops and a campaign of them."""
    rng = np.random.default_rng(0)
    with Path("shops.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["row", "shop", "price"])
        for place in range(240):
            writer.writerow([f"r{place}", SHOPS[place % 3], f"{rng.standard_normal():.3f}"])
    code, out, err = run(*INIT, "--table", "shops.csv")
    assert (code, err) == (0, "")
    assert "Segments   3 segments by shop\n" in out
    return folder


def fill(tasks: Path, out: str, *, words: str = "") -> str:
    """Fill in the target of drawn rows, for one shop in words."""
    rng = np.random.default_rng(1)
    with tasks.open() as file:
        rows = list(csv.DictReader(file))
    with Path(out).open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for row in rows:
            sales = f"{3 - float(row['price']) + rng.standard_normal():.4f}"
            writer.writerow({**row, "sales": "plenty" if row["shop"] == words else sales})
    return out


def test_a_period_of_all_segments(shops: Path, run: Run) -> None:
    ask = ("ask", "shops", "--key", "W1", "--select", "shops.csv")
    code, out, _ = run(*ask, "--out", "tasks.csv")
    assert code == 0
    assert out.startswith("shops: Label 30 rows of 3 segments for period 1 (W1).\n")
    assert "Written    tasks.csv, 30 rows; fill in the column 'sales'" in out
    assert run("ask", "shops", "--key", "W1")[1].startswith("shops: Label 30 rows of 3 segments")
    fill(Path("tasks.csv"), "labels.csv", words="Rome")
    code, out, _ = run("tell", "shops", "labels.csv", "--part")
    assert code == 0
    assert "Warning    Rome is set aside: column 'sales' must be a finite number" in out
    again = run("tell", "shops", "labels.csv", "--part")[1]
    assert "labels.csv was counted before (entry " in again
    status = run("status", "shops")[1]
    assert "Segments   3: 1 set aside" in status
    assert status.partition("why it matters\n")[2].startswith("Rome")
    closed = run("tell", "shops", "--close", "--format", "json")[1]
    assert json.loads(closed)["closed"]["set_aside"] == 1
    ledger = run("ledger", "shops")[1].splitlines()
    assert ledger[0].startswith("period  key  segments  samples  received  not met  without rows  set aside")
    period, key, segments, _, received, _, without, aside = ledger[1].split()
    assert (period, key, segments, received, without, aside) == ("1", "W1", "3", "20", "1", "1")
    assert run("doctor", "shops", "--format", "json")[0] == 0


def test_borrowing_and_targets_of_segments(folder: Path, run: Run) -> None:
    Path("targets.csv").write_text("shop,epsilon\nOslo,0.5\nRome,\n")
    code, out, err = run(*INIT, "--per-segment", "targets.csv", "--borrow", "start,drift")
    assert (code, err) == (0, "")
    assert "Segments   2 segments by shop\n" in out
    written = Path("shops.toml").read_text()
    assert '\nborrow = ["drift", "start"]\n' in written
    assert "\nepsilons = { Oslo = 0.5 }\n" in written
    status = run("status", "shops")[1]
    assert "Borrowing  drift, start\n" in status
    run("ask", "shops")
    rows = json.loads(run("status", "shops", "--format", "json")[1])["segments"]
    assert [row["segment"] for row in rows] == ["Oslo", "Rome"]
    assert [row["missing"] for row in rows] == [10, 10]
    Path("again.toml").write_text(written.replace('"shops"', '"again"'))
    assert run("init", "--file", "again.toml")[0] == 0
    assert json.loads(run("status", "again", "--format", "json")[1])["borrow"] == ["drift", "start"]


def test_segments_are_worked_on_in_processes(shops: Path, run: Run) -> None:
    """The same numbers as in this process, to the bit."""
    Path("other.db").write_bytes(Path("driftpace.db").read_bytes())
    states = []
    for place, more in (("driftpace.db", ()), ("other.db", ("--executor", "processes"))):
        at = ("--storage", place, *more)
        run("ask", "shops", "--key", "W1", "--select", "shops.csv", "--out", f"{place}.csv", *at)
        code, _, err = run("tell", "shops", fill(Path(f"{place}.csv"), f"{place}-labels.csv"), "--close", *at)
        assert (code, err) == (0, "")
        status = json.loads(run("status", "shops", "--format", "json", "--storage", place)[1])
        states.append([row["risk"] for row in status["segments"]])
        assert run("undo", "shops", "--period", "W1", "--reason", "more", *at)[0] == 0
    assert states[0] == states[1]
    code, _, err = run("ask", "shops", "--executor", "cloud")
    assert code == 2
    assert "--executor must be one of 'local', 'processes', 'dask', 'ray', 'spark'" in err
    assert "--address must be None unless executor is one of" in run("ask", "shops", "--address", "tcp://a:1")[2]


def test_one_budget_for_all_segments(shops: Path, run: Run) -> None:
    Path("shops.toml").unlink()
    Path("more.csv").write_text("shop,weight,per_sample\nOslo,2,0.50\nRome,,1\n")
    init = (*INIT[:1], "paid", *INIT[2:], "--table", "shops.csv", "--per-segment", "more.csv")
    refused = run(*init)
    assert refused[0] == 2
    assert "--per-segment must have weights and prices with --budget only" in refused[2]
    budget = ("--budget", "40", "--horizon", "4", "--per-sample", "0.25", "--order-price", "2", "--currency", "EUR")
    code, _, err = run(*init, *budget)
    assert (code, err) == (0, "")
    assert 'costs = { Oslo = { per_sample = "0.50" }, Rome = { per_sample = "1" } }' in Path("paid.toml").read_text()
    out = run("ask", "paid", "--key", "W1", "--select", "shops.csv", "--out", "tasks.csv")[1]
    assert "Cost       19.5 EUR for the missing rows; 40 EUR left before paying for them\n" in out
    assert "Share      The money pays for the orders of all segments" in out
    run("tell", "paid", fill(Path("tasks.csv"), "labels.csv"), "--part")
    assert (
        "Budget     0 EUR spent on closed periods, 19.5 EUR for rows of the open period; 20.5 EUR left"
        in run("status", "paid")[1]
    )
    run("tell", "paid", "--close")
    ledger = run("ledger", "paid")[1].splitlines()
    assert ledger[0].split()[-3:] == ["cost", "money", "left"]
    assert ledger[1].split()[-4:] == ["19.50", "EUR", "20.50", "EUR"]
    code, out, err = run("budget", "paid", "--add", "10", "--periods", "2", "--order-price", "0", "--reason", "more")
    assert (code, err) == (0, "")
    assert out.startswith("paid: 30.5 EUR left for period 2 and later; Ask how many rows")
    assert "10 added to the budget and 2 periods to its horizon" in run("log", "paid")[1]
    assert "Change of the budget undone" in run("undo", "paid", "--entry", last(run, "budgeted"), "--reason", "no")[1]
    assert json.loads(run("status", "paid", "--format", "json")[1])["money_left"]["amount"] == "20.50"
    assert run("doctor", "paid")[0] == 0
    out = run("budget", "shops", "--add", "30", "--periods", "3", "--currency", "EUR", "--reason", "start")[1]
    assert out.startswith("shops: 30 EUR left for period 1 and later")


def last(run: Run, kind: str) -> str:
    """Return the number of the last entry of a kind in the log."""
    log = json.loads(run("log", "paid", "--format", "json")[1])
    return str(max(entry["seq"] for entry in log if entry["kind"] == kind))


def test_a_fleet_moves_to_another_store_by_a_file(shops: Path, run: Run) -> None:
    run("ask", "shops", "--key", "W1", "--select", "shops.csv", "--out", "tasks.csv")
    run("tell", "shops", fill(Path("tasks.csv"), "labels.csv"), "--close")
    code, out, _ = run("export", "shops", "shops.driftpace")
    assert code == 0
    assert out.startswith("shops: exported to shops.driftpace, with ")
    assert run("import", "shops.driftpace", "--as", "copy", "--dry-run")[1].startswith("copy: would be imported into")
    code, out, _ = run("import", "shops.driftpace", "--as", "copy", "--storage", "other.db")
    assert out.startswith("copy: imported into sqlite:///")
    assert out.rstrip().endswith("Ask how many rows of each segment period 2 needs.")
    assert run("undo", "copy", "--period", "W1", "--reason", "more", "--storage", "other.db")[0] == 0
    assert run("ask", "copy", "--key", "W1", "--storage", "other.db")[1].startswith("copy: ")
    assert run("doctor", "copy", "--storage", "other.db")[0] == 0


def test_a_file_for_each_segment(shops: Path, run: Run) -> None:
    run("ask", "shops", "--key", "W1", "--select", "shops.csv", "--per-segment", "tasks")
    files = sorted(Path("tasks").iterdir())
    assert [file.name for file in files] == ["Oslo.csv", "Rome.csv", "a%2Fb.csv"]
    for file in files:
        assert run("tell", "shops", fill(file, f"done-{file.name}"), "--part")[0] == 0
    assert json.loads(run("status", "shops", "--format", "json")[1])["order"]["received"] == 30
    refused = run("ask", "shops", "--select", "shops.csv", "--per-segment", "tasks")
    assert refused[0] == 2
    assert "--per-segment must be a new or empty folder" in refused[2]


def test_rows_in_another_unit_are_named_and_can_be_accepted(shops: Path, run: Run) -> None:
    run("ask", "shops", "--key", "W1", "--select", "shops.csv", "--out", "tasks.csv")
    run("tell", "shops", fill(Path("tasks.csv"), "labels.csv"), "--close")
    run("ask", "shops", "--key", "W2", "--select", "shops.csv", "--out", "tasks2.csv")
    fill(Path("tasks2.csv"), "labels2.csv")
    with Path("labels2.csv").open() as file:
        rows = list(csv.DictReader(file))
    with Path("cents.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for row in rows:
            scale = 1000.0 if row["shop"] == "Oslo" else 1.0
            writer.writerow(
                {**row, "sales": str(scale * float(row["sales"])), "row": row["row"] if scale > 1.0 else ""}
            )
    out = run("tell", "shops", "cents.csv", "--part")[1]
    assert "Warning    Oslo is set aside: column 'sales' is about " in out
    assert "Left out   " in out
    assert " without row" in out
    out = run("tell", "shops", "cents.csv", "--part", "--accept", "Oslo")[1]
    assert "is set aside" not in out
    assert "set aside" not in run("status", "shops")[1]
    assert "numbers of “Oslo” accepted" in run("log", "shops")[1]


def test_the_order_of_each_segment_as_a_table(shops: Path, run: Run) -> None:
    code, out, _ = run("ask", "shops", "--out", "orders.csv")
    assert code == 0
    assert "Written    orders.csv, one line for each of 3 segments" in out
    with Path("orders.csv").open() as file:
        assert {row["segment"]: row["missing"] for row in csv.DictReader(file)} == dict.fromkeys(SHOPS, "10")


def test_status_in_json_has_every_segment(shops: Path, run: Run) -> None:
    run("ask", "shops", "--key", "W1")
    answer = json.loads(run("status", "shops", "--format", "json")[1])
    assert [row["segment"] for row in answer["segments"]] == list(SHOPS)
    assert (answer["totals"]["missing"], answer["order"]["key"], answer["stage"]) == (30, "W1", "labels")


def test_undo_ledger_log_and_predictions(shops: Path, run: Run) -> None:
    run("ask", "shops", "--key", "W1", "--select", "shops.csv", "--out", "tasks.csv")
    run("tell", "shops", fill(Path("tasks.csv"), "labels.csv"), "--close")
    assert "Ask how many rows of each segment period 2 needs." in run("list")[1]
    segment = json.loads(run("ledger", "shops", "--segment", "Rome", "--format", "json")[1])
    assert [row["samples"] for row in segment] == [10]
    log = run("log", "shops")[1]
    assert "saved" not in log
    assert "Campaign created to predict “sales” of each “shop”" in log
    code, out, _ = run("predict", "shops", "shops.csv")
    assert code == 0
    assert out.splitlines()[0] == "row,shop,price,sales_predicted"
    code, out, _ = run("undo", "shops", "--period", "W1", "--reason", "more labels")
    assert code == 0
    assert out.startswith("shops: Closing of a period undone; ")
    code, out, _ = run("undo", "shops", "--delivery", "labels.csv", "--reason", "wrong week")
    assert out.startswith("shops: Delivery of 30 rows undone; Label 30 rows of 3 segments for period 1 (W1).")
    assert run("doctor", "shops")[0] == 0


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (("plan", "shops"), "NAME must be a campaign of one model here; 'shops' follows segments"),
        (("override", "shops", "5", "--reason", "r"), "NAME must be a campaign of one model here"),
        (("ask", "shops", "--select", "shops.csv"), "--select must be used with --out, one file, or --per-segment"),
        (("ask", "shops", "--per-segment", "d"), "--per-segment must be used with --select"),
        (("ask", "shops", "--instead"), "--instead must be left out for 'shops', which follows segments"),
        (("tell", "shops", "shops.csv", "--balance"), "--balance must be left out for 'shops', which follows segments"),
        (("tell", "shops", "shops.csv"), "must have the column 'sales'"),
        (("undo", "shops", "--entry", "1", "--reason", "r"), "reaches back to the start of the period closed last"),
        (("ledger", "shops", "--segment", "Bari"), "--segment must be a segment of the fleet; got 'Bari'"),
        (
            ("init", "more", "--segment", "shop", "--target", "sales", "--epsilon", "1", "--splines", "all"),
            "--splines must be left out with segment",
        ),
        (
            ("init", "more", "--target", "sales", "--epsilon", "1", "--per-segment", "shops.csv"),
            "--per-segment must be used with --segment",
        ),
        (
            ("init", "more", "--segment", "shop", "--target", "sales", "--epsilon", "1", "--per-segment", "shops.csv"),
            "--per-segment: the table must have shop and some of epsilon, weight, per_sample, fixed as columns; got 'row'",
        ),
        (
            (
                "init",
                "more",
                "--segment",
                "shop",
                "--target",
                "sales",
                "--epsilon",
                "1",
                "--budget",
                "-5",
                "--horizon",
                "2",
            ),
            "--budget must be an amount of money",
        ),
        (("budget", "shops", "--add", "much", "--periods", "1", "--reason", "r"), "--add must be an amount of money"),
        (
            ("init", "more", "--segment", "shop", "--target", "sales", "--epsilon", "1", "--borrow", "levels"),
            "--borrow must be True, False, or some of 'drift'",
        ),
    ],
)
def test_what_is_for_one_model_is_refused(shops: Path, run: Run, command: tuple[str, ...], sentence: str) -> None:
    before = Path("driftpace.db").read_bytes()
    code, out, err = run(*command)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
    if command[0] not in ("tell", "init"):
        assert Path("driftpace.db").read_bytes() == before


def test_a_campaign_of_one_model_has_no_segments(churn: Path, run: Run) -> None:
    assert "--per-segment must be left out for 'churn'" in run("ask", "churn", "--per-segment", "d")[2]
    assert "--executor must be left out for 'churn'" in run("ask", "churn", "--executor", "processes")[2]
    assert "--address must be left out for 'churn'" in run("tell", "churn", "--close", "--address", "tcp://a:1")[2]
    assert "--segment must be left out for 'churn'" in run("ledger", "churn", "--segment", "a")[2]
