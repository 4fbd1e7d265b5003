"""The same commands work where a team keeps its campaigns, in a PostgreSQL server, and show no password."""

import json
from pathlib import Path

import pytest

from tests.cli.loop import INIT, Run, period
from tests.reference.postgres import PASSWORD


def test_the_loop_on_a_server(folder: Path, run: Run, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRIFTPACE_STORAGE", postgres_url)
    answers = [run(*INIT)]
    period(run, "W1")
    answers += [
        run(*words)
        for words in (
            ("ask", "churn", "--key", "W2"),
            ("status", "churn"),
            ("list",),
            ("log", "churn", "--last", "3"),
            ("doctor",),
            ("export", "churn", "churn.driftpace"),
            ("import", "churn.driftpace", "--as", "copy"),
            ("list", "--search", "COP"),
        )
    ]
    assert {code for code, _, _ in answers} <= {0, 30}
    assert [err for _, _, err in answers] == [""] * len(answers)
    assert json.loads(run("status", "copy", "--format", "json")[1])["period"] == 2
    answers.append(run("status", "chrun"))
    assert answers[-1][0] == 2
    assert PASSWORD in postgres_url
    assert not any(PASSWORD in out + err for _, out, err in answers)
    assert not Path("driftpace.db").exists()


def test_a_dry_run_makes_no_tables(folder: Path, run: Run, postgres_url: str) -> None:
    there = ("--storage", postgres_url)
    for words in (INIT, ("token", "make", "nightly")):
        code, out, err = run(*words, "--dry-run", *there)
        assert (code, err) == (0, "Nothing was written.\n")
        assert PASSWORD not in out
    code, _, err = run("list", *there)
    assert code == 2
    assert "there is no store at postgresql://" in err
    assert run(*INIT, *there)[0] == 0
    Path("churn.toml").unlink()
    would, does = (run(*INIT, *more, *there) for more in (("--dry-run",), ()))
    assert would == does
    assert would[2].endswith("'churn' exists: choose another, or delete it with driftpace remove churn.\n")


def test_a_server_that_is_not_there(folder: Path, run: Run) -> None:
    code, out, err = run("list", "--storage", "postgresql://anna:secret@127.0.0.1:1/none")
    assert (code, out) == (2, "")
    assert err.startswith("driftpace: the server of the store at postgresql://anna@127.0.0.1:1/none cannot be reached")
    code, out, _ = run(*INIT, "--dry-run", "--storage", "postgresql://anna:secret@127.0.0.1:1/none")
    assert code == 2
    assert "secret" not in out + err
