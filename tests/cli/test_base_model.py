"""A campaign of a pre-trained model, at the command line."""

import json
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.ensemble import RandomForestRegressor

from tests.cli.loop import Run, content


def table(rows: int, rng: np.random.Generator, *, extra: float = 0.0) -> pd.DataFrame:
    X = pd.DataFrame(rng.uniform(-2.0, 2.0, (rows, 3)), columns=["area", "rooms", "age"])
    X["price"] = np.sin(2.0 * X.area) + extra * np.cos(3.0 * X.rooms) + 0.3 * rng.standard_normal(rows)
    return X


@pytest.fixture
def flats(folder: Path, rng: np.random.Generator) -> Path:
    """A folder with a model, and tables whose target has something that the model does not know."""
    rows = table(1000, rng)
    model = lightgbm.LGBMRegressor(n_estimators=20, verbose=-1, n_jobs=1).fit(
        rows[["area", "rooms", "age"]], rows.price
    )
    model.booster_.save_model(folder / "model.txt")
    for week in range(4):
        table(150, rng, extra=1.0).to_csv(folder / f"w{week}.csv", index=False)
    return folder


def test_a_model_is_followed_and_trained_again(flats: Path, run: Run) -> None:
    code, out, err = run("init", "flats", "--model", "model.txt", "--target", "price", "--epsilon", "0.05")
    assert (code, err) == (0, "")
    assert "of 3 columns; the store has it now" in out
    assert run("predict", "flats", "w0.csv", "--out", "before.csv")[0] == 0
    for week in range(3):
        run("ask", "flats", "--key", f"w{week}")
        run("tell", "flats", f"w{week}.csv")
    status = run("status", "flats")[1]
    assert "Base       3 periods old; training it again would gain 0." in status
    assert "run driftpace retrain" in run("ask", "flats", "--key", "w3")[1]
    assert "gain of training" in run("ledger", "flats")[1]
    advice = json.loads(run("status", "flats", "--format", "json")[1])["last"]["retrain"]
    assert advice["due"] is True
    assert advice["lower"] > advice["threshold"]
    before = content()
    assert run("retrain", "flats", "--reason", "a trial", "--dry-run")[2] == "Nothing was written.\n"
    assert content() == before
    code, out, _ = run("retrain", "flats", "--reason", "the alarm", "--who", "Ada")
    assert (code, out.splitlines()[0]) == (0, "flats: the base was trained again.")
    assert "trained again since the last period" in run("status", "flats")[1]
    assert "Base trained again on 450 rows before period 4" in run("log", "flats")[1]
    run("tell", "flats", "w3.csv")
    assert run("doctor")[0] == 0
    entries = json.loads(run("log", "flats", "--format", "json")[1])
    number = next(entry["seq"] for entry in entries if entry["kind"] == "retrained")
    assert run("undo", "flats", "--entry", str(number), "--reason", "not yet")[0] == 0
    assert run("doctor")[0] == 0


def test_a_budget_of_a_followed_model_is_planned(flats: Path, run: Run) -> None:
    run("init", "flats", "--model", "model.txt", "--target", "price", "--epsilon", "0.05")
    for week in range(3):
        run("ask", "flats", "--key", f"w{week}")
        run("tell", "flats", f"w{week}.csv", "--close")
    code, out, err = run("plan", "flats", "--budget", "300", "--horizon", "4")
    assert err == ""
    assert code in (0, 10, 20)
    assert "period" in out


def test_taking_back_rows_that_trained_the_base_is_said(flats: Path, run: Run) -> None:
    run("init", "flats", "--model", "model.txt", "--target", "price", "--epsilon", "0.05")
    for week in range(3):
        run("ask", "flats", "--key", f"w{week}")
        run("tell", "flats", f"w{week}.csv", "--close")
    given = ("undo", "flats", "--delivery", "w2.csv", "--reason", "another city", "--dry-run")
    assert "the base was trained on these rows" not in run(*given)[1]
    run("retrain", "flats", "--reason", "the alarm")
    entries = json.loads(run("log", "flats", "--format", "json")[1])
    number = next(entry["seq"] for entry in entries if entry["kind"] == "retrained")
    assert f"the base was trained on these rows too, by entry {number} of the log" in run(*given)[1]
    assert json.loads(run(*given, "--format", "json")[1])["trained"] == number
    run("undo", "flats", "--entry", str(number), "--reason", "not yet")
    assert "the base was trained on these rows" not in run(*given)[1]


def test_a_model_of_scikit_learn_is_followed_from_its_file(flats: Path, run: Run, rng: np.random.Generator) -> None:
    rows = table(400, rng)
    forest = RandomForestRegressor(5, max_depth=4, random_state=0).fit(rows[["area", "rooms", "age"]], rows.price)
    skops.io.dump(forest, flats / "forest.skops")
    given = ("--target", "price", "--epsilon", "0.05", "--period", "sold:month", "--trained-until", "31.01.2026")
    code, _, err = run("init", "flats", "--model", "forest.skops", *given)
    assert (code, err) == (0, "")
    assert 'trained_until = "31.01.2026"' in (flats / "flats.toml").read_text()
    run("ask", "flats", "--key", "2026-02")
    table(40, rng).assign(sold="2026-01-31").to_csv(flats / "early.csv", index=False)
    table(40, rng).assign(sold="2026-02-01").to_csv(flats / "later.csv", index=False)
    run("ask", "flats", "--key", "2026-02")
    assert run("tell", "flats", "later.csv")[0] == 0
    run("remove", "flats", "--yes")
    assert run("init", "--file", "flats.toml", "--model", "forest.skops")[0] == 0
    run("ask", "flats", "--key", "2026-01")
    code, _, err = run("tell", "flats", "early.csv")
    assert code == 2
    assert "must be after 31.01.2026, until when the model was trained; row 1" in err


def test_refusals_change_nothing(flats: Path, run: Run) -> None:
    given = ("--target", "price", "--epsilon", "0.05")
    (flats / "note.txt").write_text("hello")
    table(5, np.random.default_rng(0)).to_csv(flats / "pool.csv")
    run("init", "plain", *given)
    before = content()
    for options, wrong in {
        ("--model", "note.txt"): "--model must be a model",
        ("--model", "none.txt"): "--model must be a file that can be read",
        (
            "--model",
            "model.txt",
            "--features",
            "area,rooms",
        ): "--features must be the columns of the model; got no 'age'",
        ("--model", "model.txt", "--classes", "a,b"): "--classes must be left out with a model of regression",
        ("--model", "model.txt", "--forget-rows"): "must be true with a model",
        ("--model", "model.txt", "--trained-until", "2026-01"): "must go with a period of dates",
        ("--trained-until", "2026-01"): "--trained-until must be left out without --model",
        ("--model", "model.txt", "--table", "pool.csv"): "--table must be left out with --model",
    }.items():
        code, _, err = run("init", "flats", *given, *options)
        assert code == 2
        assert wrong in err
    assert content() == before
    assert "requires a campaign of a model" in run("retrain", "plain", "--reason", "r")[2]


def test_a_configuration_file_goes_with_its_model(flats: Path, run: Run) -> None:
    run("init", "flats", "--model", "model.txt", "--target", "price", "--epsilon", "0.05")
    run("remove", "flats", "--yes")
    assert "--model must be given with a definition that has a model" in run("init", "--file", "flats.toml")[2]
    assert run("init", "--file", "flats.toml", "--model", "model.txt")[0] == 0
