"""A seal that is kept elsewhere tells a store that was cut or rewritten."""

import json
import shutil
import sqlite3
from pathlib import Path

from tests.cli.loop import Run, period


def checks(run: Run, *more: str) -> tuple[int, dict[str, list[str]]]:
    code, out, _ = run("doctor", *more, "--format", "json")
    found: dict[str, list[str]] = {}
    for one in json.loads(out):
        found.setdefault(one["what"], []).append(f"{one['verdict']}: {one['sentence']}")
    return code, found


def test_a_seal_is_written_and_compared(churn: Path, run: Run) -> None:
    period(run, "W1")
    code, out, _ = run("seal", "a.seal", "--dry-run")
    assert (code, out) == (0, "Seal of 1 campaign: would be written to a.seal.\n")
    assert not Path("a.seal").exists()
    code, out, _ = run("seal", "a.seal", "--format", "json")
    assert code == 0
    seal = json.loads(Path("a.seal").read_text())
    assert json.loads(out)["campaigns"] == seal["campaigns"]
    period(run, "W2")
    code, found = checks(run, "--seal", "a.seal")
    assert code == 0
    assert found["seal"] == [f"pass: 1 campaign as sealed at {seal['at']}."]


def test_a_write_ahead_log_that_was_cut_is_named(churn: Path, run: Run) -> None:
    """What SQLite takes for a crash before the last commits: the store is whole, and lacks what was acknowledged."""
    period(run, "W1")
    holder = sqlite3.connect("driftpace.db")  # keeps the log from being moved into the file
    holder.execute("SELECT * FROM driftpace_meta").fetchall()
    run("ask", "churn", "--key", "W2")
    run("override", "churn", "9", "--reason", "why")
    assert run("seal", "a.seal")[0] == 0
    wal = Path("driftpace.db-wal").read_bytes()
    copy = Path("copy")
    copy.mkdir()
    shutil.copy("driftpace.db", copy / "driftpace.db")
    holder.close()
    (copy / "driftpace.db-wal").write_bytes(wal[: len(wal) // 2])
    code, found = checks(run, "--storage", "copy/driftpace.db")
    assert code == 0  # nothing in the store tells
    assert found["churn"][0].startswith("pass")
    code, found = checks(run, "--storage", "copy/driftpace.db", "--seal", "a.seal")
    assert code == 30
    assert "entries and its seal" in found["churn"][1]
    assert "were lost, as when the -wal file beside the store was cut" in found["churn"][1]


def test_signed_seals(churn: Path, run: Run) -> None:
    Path("secret").write_bytes(b"a secret that is long enough")
    Path("other").write_bytes(b"another one that is long enough")
    code, out, _ = run("seal", "a.seal", "--key", "secret", "--campaign", "churn")
    assert (code, out) == (0, "Seal of 1 campaign, signed: written to a.seal.\n")
    assert checks(run, "--seal", "a.seal", "--key", "secret")[0] == 0
    code, found = checks(run, "--seal", "a.seal")
    assert (code, found["seal"][0]) == (0, "warn: It is signed; give --key FILE to check the signature.")
    code, found = checks(run, "--seal", "a.seal", "--key", "other")
    assert code == 30
    assert found["seal"][0].startswith("fail: the signature of the seal does not fit the key")
    code, _, err = run("doctor", "--key", "secret")
    assert (code, "--key must be given together with --seal" in err) == (2, True)
    assert run("seal", "-")[0] == 2
    code, _, err = run("seal", "b.seal", "--campaign", "churm")
    assert (code, "did you mean 'churn'?" in err) == (2, True)


def test_a_dropped_column_is_no_whole_store(churn: Path, run: Run) -> None:
    connection = sqlite3.connect("driftpace.db")
    connection.execute("ALTER TABLE driftpace_refusals DROP COLUMN sentence")
    connection.commit()
    connection.close()
    code, _, err = run("doctor")
    assert code == 2
    assert "it has no column sentence in driftpace_refusals; restore a backup" in err
