"""Asking says how many rows and why, ends with a code that a script understands, and says the same again."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.serialization import order_json
from driftpace.storage import open_store
from tests.cli.loop import INIT, Run, content, period


def as_campaign(name: str = "churn") -> Any:
    store = open_store("driftpace.db", create=False)
    try:
        return order_json(Campaign.open(name, storage=store).ask())
    finally:
        store.close()


def test_the_first_order_says_how_many_and_why(churn: Path, run: Run) -> None:
    code, out, err = run("ask", "churn", "--key", "2026-W46")
    order = as_campaign()
    assert (code, err) == (0, "")
    first, *lines = out.splitlines()
    assert first == f"churn: Label {order['missing']} rows for period 1 (2026-W46)."
    fields = {line[:10].strip(): line[11:] for line in lines}
    assert fields["Reason"][1:] == order["reason"][1:]
    assert fields["Range"].startswith(f"at least {order['interval'][0]} rows")
    assert fields["Cost"].startswith("11 EUR for the missing rows; 500 EUR left")
    assert fields["Accuracy"].startswith("not guaranteed: not enough data yet")
    assert fields["Warning"].startswith("budget: ")


def test_asking_again_says_the_same_and_writes_nothing(churn: Path, run: Run) -> None:
    first = run("ask", "churn", "--key", "2026-W46")
    before = content()
    assert run("ask", "churn", "--key", "2026-W46") == first
    assert run("ask", "churn") == first
    assert content() == before


def test_json_is_what_the_service_sends(churn: Path, run: Run) -> None:
    for words in (("--key", "W1"), ("--key", "W1"), ()):  # written, and then read off the store
        code, out, err = run("ask", "churn", *words, "--format", "json")
        assert (code, err) == (0, "")
        assert json.loads(out) == as_campaign()
        assert out.count("\n") == 1


def test_a_quick_look_finds_what_the_campaign_finds_whatever_was_decided(churn: Path, run: Run) -> None:
    period(run, "W1")
    run("ask", "churn", "--key", "W2")
    for decided in (("override", "churn", "17", "--reason", "holidays"), ("approve", "churn")):
        run(*decided)
        code, out, _ = run("ask", "churn", "--format", "json")
        expected = as_campaign()
        assert json.loads(out) == expected
        assert code == expected["code"]
    assert json.loads(out)["plan"] is not None


def test_a_dry_run_opens_nothing(churn: Path, run: Run) -> None:
    before = content()
    code, out, err = run("ask", "churn", "--key", "W1", "--dry-run")
    assert (code, err) == (0, "Nothing was written.\n")
    assert out.startswith("churn: Label ")
    assert content() == before


def test_the_name_of_a_period_comes_back_when_it_is_over(churn: Path, run: Run) -> None:
    period(run, "W1")
    code, out, _ = run("ask", "churn", "--key", "W1", "--format", "json")
    order = json.loads(out)
    assert order["closed"]
    assert order["code"] == code
    assert run("ask", "churn", "--key", "W1")[1].startswith("churn: Period 1 (W1) is closed")


def test_a_period_that_still_misses_rows_keeps_the_next_one_waiting(churn: Path, run: Run) -> None:
    run("ask", "churn", "--key", "W1")
    code, out, err = run("ask", "churn", "--key", "W2")
    assert (code, out) == (2, "")
    assert err.startswith("driftpace: period 1 (W1) is still open and 12 of its 12 rows are missing;")


def test_nothing_to_label_ends_with_ten(churn: Path, run: Run) -> None:
    run("ask", "churn", "--key", "W1")
    run("override", "churn", "0", "--reason", "nobody is here")
    code, out, _ = run("ask", "churn", "--key", "W1")
    assert code == 10
    assert out.startswith("churn: No rows to label for period 1 (W1).")


def test_no_money_ends_with_twenty(folder: Path, run: Run) -> None:
    assert run(*INIT, "--budget", "60", "--horizon", "3", "--per-sample", "1", "--fixed", "1")[0] == 0
    for key in ("W1", "W2", "W3"):
        period(run, key)
    code, out, _ = run("ask", "churn", "--format", "json")
    order = json.loads(out)
    assert (order["outcome"], order["missing"]) == ("budget", 0)
    assert code == order["code"] == 20
    assert run("ask", "churn")[1].startswith("churn: The budget cannot pay for the rows that period 4 needs.")


def test_an_assumption_that_fails_ends_with_thirty(folder: Path, run: Run) -> None:
    assert run("init", "twins", "--target", "y", "--features", "a,b", "--epsilon", "0.5", "--seed", "1")[0] == 0
    run("ask", "twins")
    pairs = np.random.default_rng(0).normal(size=(40, 2))
    Path("labelled.csv").write_text("a,b,y\n" + "".join(f"{a},{2 * a},{a + e}\n" for a, e in pairs))
    assert run("tell", "twins", "labelled.csv", "--close")[0] == 0
    code, out, _ = run("ask", "twins", "--format", "json")
    failed = [one["name"] for one in json.loads(out)["assumptions"] if one["verdict"] == "fail"]
    assert (code, bool(failed)) == (30, True)
    assert any(line.startswith(f"Failed     {failed[0]}: ") for line in run("ask", "twins")[1].splitlines())


def test_a_pool_that_is_small_limits_the_order(churn: Path, run: Run) -> None:
    order = json.loads(run("ask", "churn", "--pool", "5", "--format", "json")[1])
    assert order["samples"] == 5


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("ask", "chrun"), "there is no campaign 'chrun' in sqlite:///{folder}/driftpace.db; did you mean 'churn'?"),
        (("ask", "prices"), "there is no campaign 'prices' in sqlite:///{folder}/driftpace.db; there is churn."),
        (("ask", "churn", "--key", " "), "--key must be a name such as 2026-W46; got an empty text."),
        (("ask", "churn", "--pool", "-1"), "--pool must be a whole number of at least 0; got -1."),
        (("ask", "churn", "--pool", "few"), "--pool must be a whole number; got 'few'."),
        (("ask",), "Missing argument 'NAME'."),
        (
            ("ask", "churn", "--storage", "none.db"),
            "there is no store at {folder}/none.db; `driftpace init` creates one.",
        ),
        (("ask", "churn", "--storage", "."), "the store at {folder} must be a file; it is a folder."),
        (("ask", "churn", "--storage", "pool.csv"), "the file at sqlite:///{folder}/pool.csv is not a store"),
        (("ask", "churn", "--storage", "mysql://a:secret@b/c"), "--storage must be a path, sqlite:///path, "),
        (
            ("ask", "churn", "--storage", "postgresql://a:b@secret@127.0.0.1:1/c"),
            "--storage must write an @ in the password as %40",
        ),
    ],
)
def test_refusals(churn: Path, run: Run, arguments: tuple[str, ...], sentence: str) -> None:
    before = content()
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("driftpace: " + sentence.format(folder=churn.resolve()))
    assert err.count("\n") == 1
    assert "secret" not in err
    assert content() == before
    assert not Path("none.db").exists()


def test_the_store_may_be_named_by_the_environment(churn: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("elsewhere").mkdir()
    monkeypatch.setenv("DRIFTPACE_STORAGE", str(churn / "driftpace.db"))
    monkeypatch.chdir("elsewhere")
    assert run("ask", "churn")[0] == 0
    assert run("ask", "churn", "--storage", f"sqlite:///{churn}/driftpace.db")[0] == 0
