"""Fixtures of the command-line tests: directories with a pool and campaigns, built once a session and copied for each test."""

import shutil
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest

from tests.cli.loop import INIT, MONEY, Run, period, quiet_run, runner, write_pool


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """The command, run in this process."""
    return runner(capsys)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a pool in it and without a store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DRIFTPACE_STORAGE", raising=False)
    write_pool(tmp_path / "pool.csv")
    return tmp_path


@pytest.fixture(scope="session")
def built_churn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a campaign; copied, never changed."""
    return _built(tmp_path_factory.mktemp("churn"), lambda: quiet_run(*INIT, *MONEY))


@pytest.fixture(scope="session")
def built_two(tmp_path_factory: pytest.TempPathFactory, built_churn: Path) -> Path:
    """A directory with a campaign in its second period and a new one; copied, never changed."""

    def build() -> None:
        shutil.copytree(built_churn, ".", dirs_exist_ok=True)
        period(quiet_run, "W1")
        quiet_run("ask", "churn", "--key", "W2")
        assert quiet_run("init", "Prices", "--target", "price", "--epsilon", "0.1")[0] == 0

    return _built(tmp_path_factory.mktemp("two"), build)


def _built(place: Path, build: Callable[[], object]) -> Path:
    with chdir(place), pytest.MonkeyPatch.context() as patch:
        patch.delenv("DRIFTPACE_STORAGE", raising=False)
        write_pool(place / "pool.csv")
        build()
    assert (place / "driftpace.db").is_file()
    return place


@pytest.fixture
def churn(folder: Path, built_churn: Path) -> Path:
    """The working directory, with a campaign."""
    shutil.copytree(built_churn, folder, dirs_exist_ok=True)
    return folder


@pytest.fixture
def two(folder: Path, built_two: Path) -> Path:
    """The working directory, with a campaign in its second period and a new one."""
    shutil.copytree(built_two, folder, dirs_exist_ok=True)
    return folder
