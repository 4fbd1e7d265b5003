"""The walk in docs/commands.md is run, in an empty folder with a pool, and prints what the page says it prints."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.loop import Run, label

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def steps() -> list[tuple[str, str]]:
    """Return the commands of the page, each with what it prints; ``label FILE`` where somebody fills in a file."""
    found: list[tuple[str, str]] = []
    for block in re.finditer(r"```console\n(.*?)```|<!-- (label \S+) -->", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        if block[2]:
            found.append((block[2], ""))
            continue
        for part in re.split(r"^\$ ", block[1], flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            found.append((command, printed))
    return found


def test_the_walk(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    checker, code = doctest.OutputChecker(), 0
    for command, wanted in steps():
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
        assert checker.check_output(wanted, printed, FLAGS), f"$ {command}\n{printed}\nand the page says\n{wanted}"
    assert Path("churn.html").stat().st_size > 100_000


def test_every_command_is_on_the_page() -> None:
    from driftpace.cli.commands import COMMANDS

    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in COMMANDS if not re.search(rf"`{name}\b", text)] == []
    assert len(steps()) > 20
