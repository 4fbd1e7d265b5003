"""Whatever is typed, a command ends with a code it knows; what it refuses is one sentence, and machines get one JSON value."""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace.cli.app import COMMANDS, load
from tests.cli.loop import INIT, MONEY, Run, content, label, period, runner, write_pool

LINES = 250
SLOW = ("serve", "backtest", "demo", "plan", "report")
"""What works for seconds, or until it is stopped."""
CODES = (0, 2, 10, 20, 30)
NUMBERS = ("-1", "0", "1", "3.5", "nan", "-inf", "1e308", "9" * 25, "500", "12")
TEXTS = ("", "-", "--", "=1", "ü", "\udcff", "a\nb", "\x1b[31m", "x" * 3000, "5%", "no,yes", "age,visits", "EUR", "r")
NAMES = ("churn", "none", "a/b", "../x", "W1", "W2", "W3", "age", "churned", "nightly")
FILES = (
    "pool.csv",
    "tasks.csv",
    "done.csv",
    "empty.csv",
    ".",
    "/",
    "no/x.csv",
    "x.csv",
    "x.parquet",
    "old.driftpace",
    "churn.toml",
)
PLACES = ("driftpace.db", "none.db", "sqlite:///", "memory://", "postgresql://127.0.0.1:1/x", "http://127.0.0.1:1")
FORMS = ("table", "json", "csv", "xml", "label-studio")
WORDS = (*NUMBERS, *TEXTS, *NAMES, *FILES, *PLACES, *FORMS)


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    for name in COMMANDS:
        if name not in SLOW:
            command = load(name)
            inner = getattr(command, "commands", None)
            yield from (((name, one), each) for one, each in inner.items()) if inner else [((name,), command)]


def line(rng: np.random.Generator, name: tuple[str, ...], command: Any) -> list[str]:
    """Return a command with some of its options, and any words for their values."""
    words = list(name)
    for param in command.params:
        option = next((one for one in param.opts if one.startswith("--")), None)
        if option is None:
            if rng.random() < 0.9:
                words.append(
                    "churn" if param.name == "name" and rng.random() < 0.6 else WORDS[int(rng.integers(len(WORDS)))]
                )
        elif rng.random() < (0.9 if param.required else 0.2):
            words += [option] if param.is_flag else [option, WORDS[int(rng.integers(len(WORDS)))]]
    return words


@pytest.fixture
def busy(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", "x")
    write_pool(folder / "pool.csv", rows=200)
    Path("empty.csv").touch()
    assert run(*INIT, *MONEY)[0] == 0
    period(run, "W1")
    run("ask", "churn", "--key", "W2", "--select", "pool.csv", "--out", "tasks.csv")
    label(Path("tasks.csv"), Path("done.csv"))
    run("export", "churn", "old.driftpace")
    return folder


def test_any_words(busy: Path, capsys: pytest.CaptureFixture[str], rng: np.random.Generator) -> None:
    run, every = runner(capsys), list(commands())
    before = content()
    for _ in range(LINES):
        name, command = every[int(rng.integers(len(every)))]
        words = line(rng, name, command)
        code, out, err = run(*words)
        assert code in CODES, words
        assert "should not have happened" not in err, words
        if code == 2:
            assert (out, err.count("\n")) == ("", 1), words
        elif ("--format", "json") in pairwise(words):
            assert out.count("\n") == 1, words
            json.loads(out)
        after = content()
        if code == 2 or "--dry-run" in words:
            assert after == before, words
        if not after[0]:  # somebody removed it
            run("import", "old.driftpace")
            after = content()
        before = after
