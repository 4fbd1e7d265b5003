"""The command says what it can do, which version it is, and starts without the heavy parts."""

import subprocess
import sys
from importlib.metadata import version

import pytest

from driftpace.cli import main

HEAVY = (
    "numba",
    "scipy",
    "pandas",
    "polars",
    "pyarrow",
    "plotly",
    "matplotlib",
    "driftpace.backtest",
    "driftpace.datasets",
)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"driftpace {version('driftpace')}\n"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["backtest", "--help"]])
def test_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    assert "backtest" in capsys.readouterr().out


def test_help_loads_nothing_heavy_beyond_the_package_itself() -> None:
    before = "import driftpace, sys; before = set(sys.modules)"
    call = "from driftpace.cli import main; main(['backtest', '--help'])"
    code = f"{before}; {call}; print([name for name in {HEAVY} if name in set(sys.modules) - before])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "driftpace", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("driftpace ")


def test_without_typer_the_sentence_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("driftpace.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "typer", None)
    assert main([]) == 2
    assert "driftpace[cli]" in capsys.readouterr().err
