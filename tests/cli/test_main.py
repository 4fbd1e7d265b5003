"""Whatever goes wrong, the command ends with a code and at most one sentence; machines that read it may stop reading."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from driftpace.cli import main
from driftpace.cli.app import COMMANDS, load
from tests.cli.loop import Run


def command(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "driftpace", *words], capture_output=True, text=True, check=False, **more
    )


@pytest.mark.parametrize("name", list(COMMANDS))
def test_the_line_of_a_command_is_the_first_line_of_its_help(name: str, run: Run) -> None:
    loaded = load(name)
    assert loaded.name == name
    assert (loaded.help or "").split("\n")[0] == COMMANDS[name].summary
    code, out, err = run(name, "--help")
    assert (code, err) == (0, "")
    assert f"driftpace {name}" in out
    if name != "token":
        assert "Example: driftpace" in out


def test_every_command_is_listed(run: Run) -> None:
    out = run("--help")[1]
    assert all(re.search(rf"^│ {name} ", out, re.MULTILINE) for name in COMMANDS)
    assert "driftpace init NAME" in out


def test_an_unknown_command(run: Run) -> None:
    assert run("akd") == (2, "", "driftpace: No such command 'akd'. Did you mean 'ask'?\n")


def test_a_reader_that_stops_reading_is_no_error(churn: Path) -> None:
    line = f"{sys.executable} -m driftpace log churn --format csv | true; echo ${{PIPESTATUS[0]}} >&2"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    assert done.stderr.strip() in ("0", "141")


def test_a_package_that_is_missing_is_named(churn: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        return lambda *_, **__: exec(f"import {name}")

    monkeypatch.setattr("driftpace.cli.stores.opened_to_read", missing("no_such_package"))
    assert run("list") == (2, "", 'driftpace: this needs no_such_package: pip install "driftpace[all]".\n')
    monkeypatch.setattr("driftpace.cli.stores.opened_to_read", missing("driftpace.no_such_module"))
    assert run("list")[2].startswith("driftpace: internal error: ModuleNotFoundError")


def shell(line: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of bash in which driftpace is the command."""
    command = f'driftpace() {{ {sys.executable} -m driftpace "$@"; }}; {line}'
    return subprocess.run(["bash", "-c", command], capture_output=True, check=False)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("driftpace list >&-", 0),
        ("driftpace ask churn --dry-run 2>&-", 0),
        ("driftpace list <&- >&- 2>&-", 0),
        ("driftpace nope >&- 2>&-", 2),
        ("driftpace tell churn - <&-", 2),
        ("driftpace init new <&-", 2),
        ("driftpace list > /dev/full", 2),
        ("driftpace log churn --format json > /dev/full", 2),
        ("driftpace nope 2> /dev/full", 2),
    ],
)
def test_streams_that_are_closed_or_full(churn: Path, line: str, code: int) -> None:
    done = shell(line)
    assert done.returncode == code, done.stderr
    assert b"should not have happened" not in done.stderr
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") <= 1


@pytest.mark.parametrize(
    "words", ["ask $'ch\\xfcrn'", "ask churn --key $'\\xff'", "ask churn --who $'\\xff'", "list --search $'\\xff'"]
)
def test_words_that_are_no_text(churn: Path, words: str) -> None:
    done = shell(f"driftpace {words}")
    assert b"should not have happened" not in done.stderr
    assert b"append(" not in done.stderr
    assert done.returncode in (0, 2)


def test_nothing_is_coloured_where_there_is_no_terminal(churn: Path) -> None:
    for words in (("list",), ("ask", "churn"), ("log", "churn")):
        assert "\x1b" not in command(*words).stdout


@pytest.mark.parametrize("no_colour", [True, False])
def test_a_terminal_gets_tables(churn: Path, no_colour: bool) -> None:
    import pty

    shown = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **({"NO_COLOR": "1"} if no_colour else {})}
    out = b""
    for words in (("list",), ("ask", "churn")):
        ours, theirs = pty.openpty()
        process = subprocess.Popen([sys.executable, "-m", "driftpace", *words], stdout=theirs, stderr=theirs, env=shown)
        os.close(theirs)
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:
                break
            if not piece:
                break
            out += piece
        process.wait()
        os.close(ours)
    text = out.decode()
    assert "───" in text
    assert "churn: Label 12 rows for period 1." in re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert bool(re.search(r"\x1b\[[0-9;]*3[0-9]m", text)) is not no_colour


def test_an_old_terminal_gets_question_marks_instead_of_a_failure(churn: Path, run: Run) -> None:
    run("ask", "churn", "--key", "Zürich–1")
    done = command("ask", "churn", env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "period 1 (Z?rich?1)" in done.stdout


def test_interrupted(churn: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("driftpace.cli.stores.opened_to_read", stop)
    assert run("list") == (130, "", "driftpace: interrupted.\n")
    assert signal.SIGINT + 128 == 130


def test_interrupted_while_the_command_is_imported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupt:
        def find_spec(self, *_: object) -> None:
            raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "driftpace.cli.app")
    monkeypatch.setattr(sys, "meta_path", [Interrupt(), *sys.meta_path])
    assert main(["list"]) == 130
    assert capsys.readouterr().err == "driftpace: interrupted.\n"


def test_what_should_not_happen_is_a_sentence_too(churn: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.delenv("DRIFTPACE_TRACEBACK", raising=False)
    monkeypatch.setattr("driftpace.cli.stores.opened_to_read", fail)
    sentence = "driftpace: internal error: ZeroDivisionError: by zero; set DRIFTPACE_TRACEBACK=1 for the traceback.\n"
    assert run("list") == (2, "", sentence)
    monkeypatch.setenv("DRIFTPACE_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        main(["list"])


HEAVY = ("numba", "scipy", "sqlalchemy", "pandas", "polars", "pyarrow", "plotly", "fastapi", "httpx", "rich")


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["log", "churn"],
        ["status", "churn"],
        ["ask", "churn"],
        ["ask", "churn", "--format", "json"],
        ["init", "--help"],
    ],
)
def test_looking_loads_nothing_heavy(churn: Path, run: Run, words: list[str]) -> None:
    run("ask", "churn")
    heavy = HEAVY if words[-1] != "--help" else HEAVY[:-1]
    code = (
        f"import sys; from driftpace.cli import main; main({words}); "
        f"print([n for n in {heavy} if n in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


def test_a_folder_that_cannot_be_written_is_a_sentence(churn: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied", "churn.html")

    monkeypatch.setattr("driftpace.storage.atomic_file.os.replace", refuse)
    assert run("report", "churn") == (2, "", "driftpace: Permission denied (churn.html).\n")
