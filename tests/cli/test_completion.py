"""A shell completes commands, options and names: bash by its own function, zsh and fish by what they send and read."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.loop import Run

Complete = Callable[[str], list[str]]
RUN = "import sys; from driftpace.cli import main; sys.exit(main())"


def started(words: list[str], **variables: str) -> str:
    """Run the command under its own name, and return what it printed."""
    code = f"import sys; sys.argv = ['driftpace', *sys.argv[1:]]; {RUN}"
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
    )
    assert done.stderr == ""
    return done.stdout


def script(shell: str) -> str:
    return started(["--show-completion", shell], _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")


def in_bash(line: str) -> list[str]:
    """Complete with the function that the script defines, as bash does."""
    here = Path("bin")
    here.mkdir(exist_ok=True)
    command = here / "driftpace"
    command.write_text(f"#!{sys.executable}\n{RUN}\n")
    command.chmod(0o755)
    words = " ".join(f"'{word}'" for word in line.split(" "))
    asked = f"COMP_WORDS=({words}); COMP_CWORD={line.count(' ')}; _driftpace_completion driftpace"
    done = subprocess.run(
        ["bash", "-c", f"{script('bash')}\n{asked}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": f"{here.absolute()}:{os.environ['PATH']}"},
    )
    assert done.stderr == ""
    return done.stdout.split()


def in_zsh(line: str) -> list[str]:
    output = started([], _DRIFTPACE_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS=line)
    return re.findall(r'^(?:_arguments .*\(\()?"([^"]+)"', output, re.MULTILINE)


def in_fish(line: str) -> list[str]:
    variables = {"_DRIFTPACE_COMPLETE": "complete_fish", "_TYPER_COMPLETE_ARGS": line}
    output = started([], _TYPER_COMPLETE_FISH_ACTION="get-args", **variables)
    return [one.split("\t")[0] for one in output.splitlines() if one]


@pytest.mark.parametrize("complete", [in_bash, in_zsh, in_fish])
def test_names_and_words(churn: Path, run: Run, complete: Complete) -> None:
    run("init", "chess", "--target", "won", "--epsilon", "0.1")
    run("token", "make", "nightly")
    wanted = {
        "driftpace st": ["status"],
        "driftpace status ch": ["chess", "churn"],
        "driftpace ask chu": ["churn"],
        "driftpace ledger chu": ["churn"],
        "driftpace ask churn --form": ["--format"],
        "driftpace log churn --format ": ["table", "json", "csv"],
        "driftpace token re": ["remove"],
        "driftpace token remove ": ["nightly"],
    }
    assert {line: complete(line) for line in wanted} == wanted


@pytest.mark.parametrize("kind", ["option", "environment"])
def test_the_store_is_the_one_that_was_named(churn: Path, run: Run, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    run("init", "--file", "churn.toml", "--storage", "other.db")
    Path("driftpace.db").unlink()
    assert in_fish("driftpace ask chu") == []
    if kind == "environment":
        monkeypatch.setenv("DRIFTPACE_STORAGE", "other.db")
        assert in_fish("driftpace ask chu") == ["churn"]
    else:
        assert in_fish("driftpace ask --storage other.db chu") == ["churn"]


@pytest.mark.parametrize("place", ["none.db", "pool.csv", ".", "postgresql://127.0.0.1:1/none", "mysql://none"])
def test_nobody_wants_a_sentence_behind_a_tab_key(folder: Path, place: str) -> None:
    before = sorted(os.listdir())
    assert in_fish(f"driftpace ask --storage {place} chu") == []
    assert in_fish(f"driftpace token remove --storage {place} n") == []
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    ("shell", "word"), [("bash", "complete_bash"), ("zsh", "complete_zsh"), ("fish", "complete_fish")]
)
def test_every_shell_has_a_script(shell: str, word: str) -> None:
    output = script(shell)
    assert f"_DRIFTPACE_COMPLETE={word}" in output
    assert "driftpace" in output.splitlines()[-1]
