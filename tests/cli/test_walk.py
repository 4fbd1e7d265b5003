"""The walk in docs/commands.md is run, in an empty folder with a pool, and prints what the page says it prints."""

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.loop import Run, label
from tests.reference.walks import DOCS, check, steps

PAGE = "commands.md"


def test_the_walk(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    code = 0
    for command, wanted in steps(PAGE):
        match shlex.split(command):
            case ["driftpace", *words]:
                code, printed, err = run(*words)
                assert err == "", f"$ {command}\n{err}"
            case ["head", "-n", count, file]:
                printed = "".join(Path(file).read_text().splitlines(keepends=True)[: int(count)])
            case ["echo", "$?"]:
                printed = f"{code}\n"
            case ["label", file]:
                assert label(Path(file), Path(file)) > 0
                printed = ""
            case _:
                raise AssertionError(f"the page runs {command!r}, which this test does not know")
        check(command, printed, wanted)
    assert Path("churn.html").stat().st_size > 100_000


def test_every_command_is_on_the_page() -> None:
    from driftpace.cli.app import COMMANDS

    text = (DOCS / PAGE).read_text(encoding="utf-8")
    assert [name for name in COMMANDS if not re.search(rf"`{name}\b", text)] == []
    assert len(steps(PAGE)) > 20
