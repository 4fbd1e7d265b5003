"""The current model says what it makes of rows, beside the rows themselves."""

import csv
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.storage import open_store
from driftpace.tables import read_columns
from tests.cli.loop import Run, content, period


@pytest.fixture
def fitted(churn: Path, run: Run) -> Path:
    period(run, "W1")
    return churn


def test_predictions_are_the_models(fitted: Path, run: Run) -> None:
    before = content()
    code, out, err = run("predict", "churn", "pool.csv", "--out", "predictions.csv")
    assert (code, err) == (0, "")
    assert (
        out
        == "churn: 600 rows predicted by the model of period 1, written to predictions.csv, column churned_predicted.\n"
    )
    with Path("predictions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    store = open_store("driftpace.db")
    predicted = Campaign.open("churn", storage=store).predict_table(read_columns("pool.csv"))
    store.close()
    assert list(rows[0]) == ["customer_id", "age", "visits", "plan", "churned_predicted", "churned_probability"]
    assert [row["churned_predicted"] for row in rows] == predicted.values
    assert predicted.probability is not None
    assert np.allclose([float(row["churned_probability"]) for row in rows], predicted.probability)
    assert content() == before
    assert list(csv.DictReader(io.StringIO(run("predict", "churn", "pool.csv")[1]))) == rows
    answer = json.loads(run("predict", "churn", "pool.csv", "--format", "json")[1])
    assert [one["churned_predicted"] for one in answer] == predicted.values


def test_a_file_is_replaced_only_on_request(fitted: Path, run: Run) -> None:
    Path("predictions.csv").write_text("mine")
    code, _, err = run("predict", "churn", "pool.csv", "--out", "predictions.csv")
    assert (code, err) == (
        2,
        "driftpace: --out must be a new file unless --force is given; 'predictions.csv' exists.\n",
    )
    assert run("predict", "churn", "pool.csv", "--out", "predictions.csv", "--force")[0] == 0
    assert Path("predictions.csv").read_text() != "mine"


def test_a_dry_run_writes_nothing(fitted: Path, run: Run) -> None:
    before = sorted(os.listdir())
    code, out, err = run("predict", "churn", "pool.csv", "--out", "predictions.csv", "--dry-run")
    assert (code, err) == (0, "Nothing was written.\n")
    assert (
        out
        == "churn: 600 rows predicted by the model of period 1, would be written to predictions.csv, column churned_predicted.\n"
    )
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("none.csv",), "FILE must be an existing file; 'none.csv' does not exist."),
        (("short.csv",), "FILE: the table must have the column 'age'"),
        (("again.csv",), "FILE must not have a column 'churned_predicted': it is where the prediction goes."),
        (("pool.csv", "--out", "x.xlsx"), "--out must end in .csv"),
        (("pool.csv", "--out", "-"), "--out must end in .csv"),
        (("pool.csv", "--out", "no/x.csv"), "--out must be in an existing directory; got 'no/x.csv'."),
        (("pool.csv", "--out", "folder.csv", "--force"), "--out must be a file; 'folder.csv' is a directory."),
    ],
)
def test_refusals(fitted: Path, run: Run, words: tuple[str, ...], sentence: str) -> None:
    Path("short.csv").write_text("visits,plan\n1,gold\n")
    Path("again.csv").write_text("age,visits,plan,churned_predicted\n1,1,gold,no\n")
    Path("folder.csv").mkdir()
    code, out, err = run("predict", "churn", *words)
    assert (code, out) == (2, "")
    assert err.startswith(f"driftpace: {sentence}")
    assert run("predict", "churn", *words, "--dry-run") == (code, out, err)


def test_there_must_be_a_model(churn: Path, run: Run) -> None:
    code, out, err = run("predict", "churn", "pool.csv")
    assert (code, out) == (2, "")
    assert err == "driftpace: there is no model yet because no period is closed; run ask and tell first.\n"


def test_columns_that_the_model_does_not_know_come_back_as_they_were(fitted: Path, run: Run) -> None:
    lines = ["customer_id,age,visits,plan,postcode,account,ratio,limit"]
    lines += ["007,41,5,gold,01234,12345678901234567890,0.50,inf", "008,41.50,5,basic,10115,12345678901234567891,2,7"]
    Path("rows.csv").write_text("\n".join(lines))
    first, second = csv.DictReader(io.StringIO(run("predict", "churn", "rows.csv")[1]))
    assert (first["customer_id"], first["postcode"], first["account"]) == ("007", "01234", "12345678901234567890")
    assert (second["age"], second["account"]) == ("41.5", "12345678901234567891")
    predicted = json.loads(run("predict", "churn", "rows.csv", "--format", "json")[1])
    assert [row["ratio"] for row in predicted] == [0.5, 2]
    assert [row["limit"] for row in predicted] == [None, 7]
    run("predict", "churn", "rows.csv", "--out", "predictions.jsonl")
    assert [
        json.loads(line, parse_constant=pytest.fail) for line in Path("predictions.jsonl").read_text().splitlines()
    ] == predicted
