"""The bar shows where people look and nowhere else."""

import pytest

from driftpace.backtest import progress as module
from driftpace.backtest.progress import Progress
from driftpace.errors import MissingExtraError


def test_it_is_silent_where_nobody_looks(capfd: pytest.CaptureFixture[str]) -> None:
    with Progress() as progress:
        assert list(progress.over("abc", "letters", total=3)) == ["a", "b", "c"]
        progress.searching("more")
    assert capfd.readouterr() == ("", "")


def test_it_shows_when_asked_to(capfd: pytest.CaptureFixture[str]) -> None:
    with Progress(True) as progress:
        assert list(progress.over("abc", "letters", total=3)) == ["a", "b", "c"]
        progress.searching("a size: 1?")
        progress.searching("a size: 2?")
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "letters" in shown.err


def test_a_bar_without_rich_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"backtest\(progress=True\) needs rich"):
        Progress(True)
    with Progress() as progress:
        assert list(progress.over("ab", "letters", total=2)) == ["a", "b"]
