"""Damaged files on the command line: one sentence, no traceback, and the store as it was; the same file mended is taken."""

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.loop import Run, label

_DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "blank": lambda data: b" \n\n",
    "names alone": lambda data: data.splitlines(keepends=True)[0],
    "cut in a row": lambda data: data[:-12],
    "cut gzip": lambda data: gzip.compress(data)[:-9],
    "Latin-1": lambda data: data.decode().replace("gold", "dorée", 1).encode("latin-1"),
    "NUL": lambda data: data.replace(b"gold", b"go\0ld", 1),
    "column twice": lambda data: data.replace(b"visits", b"age", 1),
    "column renamed": lambda data: data.replace(b"visits", b"Visits", 1),
    "no target": lambda data: data.replace(b"churned", b"left", 1),
    "another class": lambda data: data.replace(b"yes", b"perhaps", 1),
    "open quote": lambda data: data.replace(b"gold", b'"gold', 1),
    "one cell more": lambda data: data.replace(b"gold", b"gold,", 1),
    "row twice": lambda data: data + data.splitlines(keepends=True)[-1],
    "no ids": lambda data: re.sub(rb"(?m)^\d+", b"", data),
    "named Parquet": lambda data: b"PAR1" + data,
    "named Arrow": lambda data: b"ARROW1" + data,
    "zip archive": lambda data: b"PK\x03\x04" + data,
}


@pytest.mark.parametrize("damage", _DAMAGES)
def test_damaged_files_are_refused_in_one_sentence_and_change_nothing(damage: str, churn: Path, run: Run) -> None:
    assert run("ask", "churn", "--key", "W1", "--select", "pool.csv", "--out", "tasks.csv")[0] == 0
    label(churn / "tasks.csv", churn / "done.csv")
    whole = (churn / "done.csv").read_bytes()
    (churn / "wrong.csv").write_bytes(_DAMAGES[damage](whole))
    before = run("log", "churn", "--format", "json")[1], run("status", "churn", "--format", "json")[1]
    for more in ((), ("--dry-run",), ("--part",)):
        status, _, said = run("tell", "churn", "wrong.csv", *more)
        assert status == 2, said
        assert said.count("\n") == 1
        assert "Traceback" not in said
    assert (run("log", "churn", "--format", "json")[1], run("status", "churn", "--format", "json")[1]) == before
    assert run("check", "wrong.csv")[0] in (0, 2)
    assert run("tell", "churn", "done.csv")[0] == 0
