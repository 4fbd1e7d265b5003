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


OF_CHURN = "campaign_id = (SELECT id FROM driftpace_campaigns WHERE name = 'churn')"


@pytest.mark.parametrize(
    ("statement", "what", "sentence"),
    [
        (
            "UPDATE driftpace_campaigns SET summary = 'x' WHERE name = 'churn'",
            "churn",
            "its summary is not a JSON object",
        ),
        ("UPDATE driftpace_campaigns SET seq = 'x' WHERE name = 'churn'", "churn", "its seq is not a whole number"),
        (
            "UPDATE driftpace_checkpoints SET data = 'x' WHERE {of}",
            "churn",
            "the checkpoint of campaign 'churn' is damaged",
        ),
        (
            "UPDATE driftpace_entries SET body = 'x' WHERE seq = 3 AND {of}",
            "churn",
            "entry 3 is damaged in the store: its body",
        ),
        (
            "UPDATE driftpace_entries SET body = '[]' WHERE seq = 3 AND {of}",
            "churn",
            "entry 3 is damaged in the store: its body",
        ),
        (
            "UPDATE driftpace_entries SET kind = x'ff' WHERE seq = 3 AND {of}",
            "churn",
            "entry 3 is damaged in the store: its kind",
        ),
        (
            "UPDATE driftpace_entries SET key = x'ff' WHERE seq = 2 AND {of}",
            "churn",
            "entry 2 is damaged in the store: its key",
        ),
        (
            """UPDATE driftpace_entries SET body = replace(body, '"rows":', '"rows":1e999,"x":') WHERE seq = 3 AND {of}""",
            "churn",
            "breaks at entry 3",
        ),
        (
            "UPDATE driftpace_rows SET data = x'00' WHERE seq = 3 AND {of}",
            "churn",
            "The rows of entry 3 (selected) were changed",
        ),
        (
            "UPDATE driftpace_entries SET at = CAST(x'ff' AS TEXT) WHERE seq = 3 AND {of}",
            "driftpace_entries",
            "Row campaign 'churn', seq 3: at must be a text in UTF-8.",
        ),
        (
            "UPDATE driftpace_tokens SET scopes = 'x'",
            "tokens",
            "token 'ada' is damaged in the store: its scopes are not",
        ),
        (
            "UPDATE driftpace_campaigns SET name = x'ff' WHERE name = 'churn'",
            "driftpace_campaigns",
            "name must be a text.",
        ),
    ],
)
def test_a_damaged_value_is_named_and_other_campaigns_are_verified(
    churn: Path, run: Run, statement: str, what: str, sentence: str
) -> None:
    period(run, "W1")
    run("init", "other", *INIT[2:])
    run("token", "make", "ada", "--role", "read")
    change(statement.format(of=OF_CHURN))
    code, results = verdicts(run)
    assert code == 30
    assert results[what][0] == "fail"
    assert sentence in results[what][1]
    assert results["other"][0] == "pass"


@pytest.mark.parametrize("statement", ["UPDATE driftpace_meta SET version = 'x'", "DELETE FROM driftpace_meta"])
def test_a_store_of_unknown_version_is_refused(churn: Path, run: Run, statement: str) -> None:
    change(statement)
    code, out, err = run("doctor")
    assert (code, out) == (2, "")
    assert err.endswith("is damaged; restore a backup.\n")


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
