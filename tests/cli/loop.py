"""A folder with a pool of customers, a team that labels rows, and the command run in it: what the tests of campaigns stand on."""

import csv
import io
import json
import math
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace.cli import main
from driftpace.storage import open_store

INIT = (
    "init",
    "churn",
    "--target",
    "churned",
    "--classes",
    "no,yes",
    "--tolerance",
    "0.1",
    "--table",
    "pool.csv",
    "--seed",
    "1",
)
MONEY = ("--budget", "500", "--horizon", "12", "--per-sample", "0.5", "--fixed", "5", "--currency", "EUR")

Said = tuple[int, str, str]
"""How a command ended, what it printed, and what it printed beside it."""
Run = Callable[..., Said]


def write_pool(path: Path, rows: int = 600) -> None:
    """Write customers with an id, two numbers and a word."""
    rng = np.random.default_rng(7)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["customer_id", "age", "visits", "plan"])
        for place in range(rows):
            plan = "gold" if rng.random() < 0.4 else "basic"
            writer.writerow([1000 + place, int(rng.integers(18, 80)), int(rng.poisson(5)), plan])


def label(source: Path, done: Path, *, only: int | None = None) -> int:
    """Fill in the column churned, of the first so many rows; how many those are."""
    with source.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows[:only]:
        score = 0.06 * (float(row["age"]) - 45.0) - 0.5 * (float(row["visits"]) - 5.0) + 1.5 * (row["plan"] == "gold")
        chance = 1.0 / (1.0 + math.exp(-score))
        row["churned"] = "yes" if np.random.default_rng(int(row["customer_id"])).random() < chance else "no"
    with done.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return len(rows[:only])


def runner(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs the command in this process."""

    def run(*arguments: object) -> Said:
        capsys.readouterr()
        code = main([str(one) for one in arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def quiet_run(*arguments: object) -> Said:
    """Run the command in this process, without a test's capture of its output."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = main([str(argument) for argument in arguments])
    return code, out.getvalue(), err.getvalue()


def period(run: Run, key: str) -> None:
    """Ask, draw, label and tell until the period is closed."""
    for part in range(10):
        tasks, done = Path(f"tasks-{key}-{part}.csv"), Path(f"done-{key}-{part}.csv")
        run("ask", "churn", "--key", key, "--select", "pool.csv", "--out", tasks)
        if not tasks.exists():
            run("tell", "churn", "--close")
            return
        label(tasks, done)
        code, out, err = run("tell", "churn", done, "--format", "json")
        assert code == 0, err
        if json.loads(out)["report"] is not None:
            return
    raise AssertionError("the period did not close")


def content(path: str = "driftpace.db") -> list[Any]:
    """Return everything that a store holds, to see whether anything changed."""
    store = open_store(path, create=False)
    try:
        return [
            [
                (
                    head,
                    store.entries(head.name),
                    store.checkpoint(head.name),
                    store.rows(head.name, range(1, head.seq + 1)),
                )
                for head in store.heads()
            ],
            store.tokens(),
        ]
    finally:
        store.close()


def in_store(read: Any, path: str = "driftpace.db") -> Any:
    """Return what is read of a store."""
    store = open_store(path, create=False)
    try:
        return read(store)
    finally:
        store.close()
