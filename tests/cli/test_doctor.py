"""The doctor finds a store whole when it is, and says what is wrong when it is not."""

import json
import sqlite3
from pathlib import Path

import pytest

from driftpace.service.auth import make_token
from driftpace.storage import open_store
from tests.cli.loop import INIT, Run, label, period


def verdicts(run: Run, *more: str) -> tuple[int, dict[str, tuple[str, str]]]:
    code, out, _ = run("doctor", *more, "--format", "json")
    return code, {one["what"]: (one["verdict"], one["sentence"]) for one in json.loads(out)}


def change(statement: str) -> None:
    connection = sqlite3.connect("driftpace.db")
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_store_that_is_whole(churn: Path, run: Run) -> None:
    period(run, "W1")
    code, results = verdicts(run)
    assert code == 0
    assert {verdict for verdict, _ in results.values()} == {"pass"}
    assert list(results) == ["store", "file", "churn"]
    assert "recomputed: identical" in results["churn"][1]
    code, out, _ = run("doctor", "churn")
    assert code == 0
    assert out.splitlines()[-1].startswith("pass    churn  ")


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("DELETE FROM driftpace_entries WHERE seq = 2", "The log has a gap: entry 2 is missing."),
        (
            "UPDATE driftpace_campaigns SET seq = seq; DELETE FROM driftpace_rows",
            "Rows that should be stored are missing: those of entry 3 (selected).",
        ),
        ("UPDATE driftpace_checkpoints SET data = x'00'", "the checkpoint of the campaign cannot be read"),
        ("UPDATE driftpace_checkpoints SET seq = 1", "entries, but the saved state is of entry 1."),
        (
            'UPDATE driftpace_entries SET body = replace(body, \'"reason":"why"\', \'"reason":"because"\')',
            "The hash chain breaks at entry 13 (overridden): it was changed since it was written",
        ),
    ],
)
def test_a_store_that_was_tampered_with(churn: Path, run: Run, statement: str, sentence: str) -> None:
    period(run, "W1")
    run("ask", "churn", "--key", "W2")
    run("override", "churn", "9", "--reason", "why")
    for part in statement.split(";"):
        change(part)
    code, results = verdicts(run)
    assert code == 30
    assert results["churn"][0] == "fail"
    assert sentence in results["churn"][1]


def test_rows_that_were_not_to_be_kept_are_no_failure(folder: Path, run: Run) -> None:
    assert run(*INIT, "--forget-rows")[0] == 0
    period(run, "W1")
    code, results = verdicts(run)
    assert (code, results["churn"][0]) == (0, "warn")
    run("ask", "churn", "--key", "W2", "--select", "pool.csv", "--out", "more.csv")
    label(Path("more.csv"), Path("done.csv"), only=1)
    run("tell", "churn", "done.csv", "--part")
    assert verdicts(run)[1]["churn"][0] == "warn"
    change("DELETE FROM driftpace_rows")
    code, results = verdicts(run)
    assert (code, results["churn"][0]) == (30, "fail")
    assert results["churn"][1].startswith("Rows of the open period are missing")


def test_nothing_there_yet_and_tokens_that_ran_out(folder: Path, run: Run) -> None:
    from datetime import UTC, datetime

    store = open_store("driftpace.db")
    make_token(store, "old", ["read"], 1.0, now=datetime(2020, 1, 1, tzinfo=UTC))
    store.close()
    code, results = verdicts(run)
    assert code == 0
    assert results["campaigns"][0] == "warn"
    assert results["tokens"] == ("warn", "Expired: old; remove with driftpace token remove.")


def test_no_store_is_refused(folder: Path, run: Run) -> None:
    code, out, err = run("doctor")
    assert (code, out) == (2, "")
    assert "there is no store at" in err
