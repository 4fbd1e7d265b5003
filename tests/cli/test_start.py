"""The command says what it can do, which version it is, and starts without the heavy parts."""

import subprocess
import sys
from importlib.metadata import entry_points, version

import pytest

from driftpace.cli import main

HEAVY = (
    "numpy",
    "numba",
    "scipy",
    "pandas",
    "polars",
    "pyarrow",
    "plotly",
    "matplotlib",
    "narwhals",
    "driftpace.backtest",
    "driftpace.datasets",
    "driftpace.tracker",
)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"driftpace {version('driftpace')}\n"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["backtest", "--help"]])
def test_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    assert "backtest" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["backtest", "--help"]])
def test_nothing_heavy_is_loaded_for_an_answer_that_needs_none(arguments: list[str]) -> None:
    code = f"import sys; from driftpace.cli import main; main({arguments}); print([n for n in {HEAVY} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "driftpace", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("driftpace ")


def test_the_command_is_installed() -> None:
    (command,) = entry_points(group="console_scripts", name="driftpace")
    assert command.load() is main


def test_without_typer_the_sentence_names_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("driftpace.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "typer", None)
    assert main([]) == 2
    needed = (
        'driftpace: the driftpace command needs typer: pip install "driftpace[all]", or driftpace[cli] for the least.\n'
    )
    assert capsys.readouterr().err == needed
