import numpy as np
import pytest

from driftpace import LogisticLoss, SquaredLoss, Tracker
from driftpace.adaptive.rows import DesignRows
from driftpace.adaptive.season_search import LENGTHS, SeasonSearch, with_period
from driftpace.losses import LinearLoss
from driftpace.records import Verdict
from driftpace.typing import FloatArray

SIZE = 4


def searched(path: FloatArray, rng: np.random.Generator, error: float = 0.1, rows: int = 30) -> SeasonSearch:
    """Return the search after periods whose best models are on a path, each found with an error."""
    search = None
    for best in path:
        X = rng.standard_normal((rows, SIZE))
        y = X @ best + rng.standard_normal(rows)
        period = DesignRows(loss=SquaredLoss(), X=X, y=y, penalty=np.zeros(SIZE))
        search = with_period(search, period, best + error * rng.standard_normal(SIZE))
    assert search is not None
    return search


def swing(length: int, periods: int) -> FloatArray:
    turn = 2.0 * np.pi * np.arange(periods) / length
    return np.column_stack([np.cos(turn), np.sin(turn), np.zeros(periods), np.ones(periods)])


@pytest.mark.parametrize("length", LENGTHS)
def test_a_swing_is_found_after_two_cycles(length: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    error = min(0.1, 2.0 / length)
    assert searched(swing(length, 3 * length + 4), rng, error, rows=300).found() == length
    assert searched(swing(length, 2 * length - 1), rng, error, rows=300).found() is None


@pytest.mark.statistical
@pytest.mark.parametrize("shape", ["still", "walk", "line"])
def test_nothing_is_found_where_nothing_repeats_itself(shape: str, seed: int) -> None:
    """Of 100 campaigns of 60 periods at most three may warn: with a chance of 1 in 300 each, one suite in 4,000 has more."""
    rng, found = np.random.default_rng(seed), 0
    for _ in range(100):
        steps = 0.3 * rng.standard_normal((60, SIZE)) if shape == "walk" else np.full((60, SIZE), 0.1)
        path = np.zeros((60, SIZE)) if shape == "still" else np.cumsum(steps, axis=0)
        found += searched(path, rng).found() is not None
    assert found <= 3


@pytest.mark.parametrize("loss", [SquaredLoss(), LogisticLoss(l2=0.1)])
def test_losses_are_those_of_the_rows(loss: LinearLoss, rng: np.random.Generator) -> None:
    X, y = rng.standard_normal((20, SIZE)), np.sign(rng.standard_normal(20))
    rows = DesignRows(loss=loss, X=X, y=y, penalty=np.full(SIZE, loss.l2))
    models = rng.standard_normal((5, SIZE))
    search = None
    for model in models[:4]:
        search = with_period(search, rows.select(np.zeros(20, dtype=np.bool_)), model)
    search = with_period(search, rows, models[4])
    older, half, last = (rows.value(models[index]) / 20 for index in (0, 2, 3))
    gain = min(half, last) - older
    assert search.sums[:, 0].tolist() == pytest.approx([gain, gain**2, 1.0])
    assert search.sums[:, 1:].tolist() == [[0.0] * 3] * 3
    assert search.models.shape == (5, SIZE)


def test_a_tracker_names_the_season_unless_it_is_given(seed: int) -> None:
    path = 2.0 * swing(4, 16)
    for season in (None, 4):
        rng, tracker = np.random.default_rng(seed), Tracker(SquaredLoss(), epsilon=0.1, features=SIZE, season=season)
        for best in path:

            def draw(
                count: int, best: FloatArray = best, rng: np.random.Generator = rng
            ) -> tuple[FloatArray, FloatArray]:
                X = rng.standard_normal((count, SIZE))
                return X, X @ best + 0.5 * rng.standard_normal(count)

            tracker.step(draw)
        warnings = [one for one in tracker.ask().assumptions if one.name == "season"]
        assert [one.verdict for one in warnings] == ([Verdict.WARN] if season is None else [])
        assert all("season=4" in one.sentence for one in warnings)
