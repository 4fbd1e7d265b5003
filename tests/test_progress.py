"""The bar shows where people look and nowhere else."""

import lightgbm
import numpy as np
import pytest

from driftpace import Tracker
from driftpace import progress as module
from driftpace.errors import MissingExtraError
from driftpace.progress import Progress, over


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


def test_work_below_is_shown_on_the_bar_that_is_open_and_nowhere_else(capfd: pytest.CaptureFixture[str]) -> None:
    assert list(over("ab", "letters", total=2)) == ["a", "b"]
    assert capfd.readouterr() == ("", "")
    with Progress(True):
        assert list(over("ab", "letters", total=2)) == ["a", "b"]
    assert "letters" in capfd.readouterr().err
    list(over("ab", "digits", total=2))
    assert capfd.readouterr() == ("", "")


def test_a_tracker_of_a_model_says_how_far_it_is(capfd: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    y = X[:, 0] + 0.3 * rng.standard_normal(200)
    model = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1).fit(X, y)
    tracker = Tracker.for_model(model, epsilon=0.1, rng=0)
    tracker.ask()
    tracker.tell(X[:60], y[:60], final=False)
    with Progress(True):
        tracker.tell()
    shown = capfd.readouterr().err
    assert "gain of training again (a correction" in shown
    assert "gain of training again (from nothing" in shown


def test_a_bar_without_rich_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="progress=True needs rich"):
        Progress(True)
    with Progress() as progress:
        assert list(progress.over("ab", "letters", total=2)) == ["a", "b"]
