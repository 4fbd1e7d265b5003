"""Fixtures of the tests that run the command on campaigns."""

from pathlib import Path

import pytest

from tests.cli.loop import INIT, MONEY, Run, period, runner, write_pool


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """The command, run in this process."""
    return runner(capsys)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with a pool in it; the store is here unless said otherwise."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DRIFTPACE_STORAGE", raising=False)
    write_pool(tmp_path / "pool.csv")
    return tmp_path


@pytest.fixture
def churn(folder: Path, run: Run) -> Path:
    """The folder, with a campaign begun in it."""
    assert run(*INIT, *MONEY)[0] == 0
    return folder


@pytest.fixture
def two(churn: Path, run: Run) -> Path:
    """A store with a campaign in its second period and one that was just begun."""
    period(run, "W1")
    run("ask", "churn", "--key", "W2")
    assert run("init", "Prices", "--target", "price", "--epsilon", "0.1")[0] == 0
    return churn
