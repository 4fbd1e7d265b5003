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
        (("export", "shops", "x.gz"), "NAME must be a campaign of one model here"),
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
    assert "--segment must be left out for 'churn'" in run("ledger", "churn", "--segment", "a")[2]
