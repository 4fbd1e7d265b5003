"""A person may put a number in the place of the order, agree with it, or take rows back; the log has the reason."""

import json
from pathlib import Path

import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.serialization import order_json
from driftpace.storage import open_store
from tests.cli.loop import Run, content, label


@pytest.fixture
def asked(churn: Path, run: Run) -> Path:
    run("ask", "churn", "--key", "W1", "--select", "pool.csv", "--out", "tasks.csv")
    return churn


def test_an_override_stands_until_it_is_approved_away(asked: Path, run: Run) -> None:
    code, out, err = run("override", "churn", "40", "--reason", "half the team is on holiday", "--who", "anna")
    assert (code, err) == (0, "")
    assert out.startswith("churn: Label 40 rows for period 1 (W1).\n")
    assert "Overridden 40 rows instead of 12 by anna: half the team is on holiday" in out
    assert run("ask", "churn")[1] == out
    code, out, _ = run("approve", "churn", "--who", "ben")
    assert code == 0
    assert out.startswith("churn: Label 12 rows for period 1 (W1).\n")
    assert "Approved   12 rows by ben" in out


def test_rows_are_taken_back(asked: Path, run: Run) -> None:
    label(Path("tasks.csv"), Path("done.csv"))
    run("tell", "churn", "done.csv", "--part")
    code, out, _ = run("forget", "churn", "--reason", "swapped labels")
    assert code == 0
    assert out.startswith("churn: 12 rows discarded. Label 12 rows for period 1 (W1).\n")
    assert "12 rows of period 1 withdrawn: “swapped labels”" in run("log", "churn")[1]
    again = run("forget", "churn", "--reason", "swapped labels")[1]
    assert again.startswith("churn: No rows discarded. Label 12 rows for period 1 (W1).\n")


@pytest.mark.parametrize(
    "words", [("override", "churn", "3", "--reason", "r"), ("approve", "churn"), ("forget", "churn", "--reason", "r")]
)
def test_json_and_dry_runs(asked: Path, run: Run, words: tuple[str, ...]) -> None:
    label(Path("tasks.csv"), Path("done.csv"))
    run("tell", "churn", "done.csv", "--part")
    before = content()
    code, dry, err = run(*words, "--dry-run", "--format", "json", "--who", "w")
    assert (code, err) == (0, "Nothing was written.\n")
    assert content() == before
    code, out, _ = run(*words, "--format", "json", "--who", "w")
    store = open_store("driftpace.db", create=False)
    assert json.loads(out) == order_json(Campaign.open("churn", storage=store).ask())
    store.close()
    decided = [json.loads(text)[name] for text in (dry, out) for name in ("overridden", "approved")]
    for one in decided:
        if one:
            one["at"] = ""
    assert decided[:2] == decided[2:]
    assert content() != before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("override", "churn", "3"), "Missing option '--reason'."),
        (("override", "churn", "3", "--reason", " "), "--reason must give a reason for the log; got an empty text."),
        (("override", "churn", "-3", "--reason", "r"), "a number must not be negative here; got -3."),
        (("override", "churn", "--reason", "r", "--", "-3"), "ROWS must be at least 0; got -3."),
        (("override", "churn", "1e3", "--reason", "r"), "ROWS must be a whole number; got '1e3'."),
        (("override", "churn", "9" * 30, "--reason", "r"), f"ROWS must be at most 1,000,000,000; got {'9' * 30}."),
        (("override", "churn", "few", "--reason", "r"), "ROWS must be a whole number; got 'few'."),
        (("forget", "churn", "--reason", ""), "--reason must give a reason for the log; got an empty text."),
        (("forget", "chrun", "--reason", "r"), "there is no campaign 'chrun'"),
    ],
)
def test_refusals(asked: Path, run: Run, words: tuple[str, ...], sentence: str) -> None:
    before = content()
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith(f"driftpace: {sentence}")
    assert content() == before


@pytest.mark.parametrize(
    "words", [("override", "churn", "3", "--reason", "r"), ("approve", "churn"), ("forget", "churn", "--reason", "r")]
)
def test_there_must_be_an_order(churn: Path, run: Run, words: tuple[str, ...]) -> None:
    code, _, err = run(*words)
    assert (code, err) == (
        2,
        f"driftpace: {words[0]} needs an open period: run driftpace ask NAME first, for period 1.\n",
    )
