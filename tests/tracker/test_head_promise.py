"""The promise of a head where the truth is known, and what components that drift in their own way save."""

from functools import partial

import numpy as np
import pytest

from benchmarks.alarm_worlds import World
from driftpace import Tracker
from driftpace.models import HeadFeatures
from driftpace.tracker import model_tracker
from driftpace.typing import FloatArray

EPSILON, SHARE, PERIODS, RUNS = 0.05, 0.7, 9, 5


def heads_of(name: str, seed: int, *, asked: float = EPSILON) -> tuple[FloatArray, FloatArray]:
    """Return the mean excess risk of the heads of each run over the best head of all, in targets of a head, and labels."""
    world = World(name=name)
    risks, labels = [], []
    for run in range(RUNS):
        rng = np.random.default_rng((seed, run))
        tracker = Tracker.for_model(world.base(rng), epsilon=asked, rng=run)
        X = world.draw_columns(3000, rng)
        tracker.fit_pool(X[:1000])
        state = tracker._state
        assert state.features is not None
        phi = state.features.of(state.base, X, np.asarray(state.base.scores(X))[:, None])
        design = np.column_stack([phi, np.ones(len(X))])
        for period in range(PERIODS):
            labels.append(tracker.step(partial(world.draw, period=period, rng=rng)).samples)
            y = world.truth(X, period)
            best = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
            risks.append(0.5 * float((np.square(y - tracker.predict(X)) - np.square(best)).mean()))
    shape = (RUNS, PERIODS)
    return np.reshape(risks, shape).mean(axis=1) / (SHARE * EPSILON), np.reshape(labels, shape).mean(axis=1)


@pytest.mark.statistical
def test_a_head_keeps_its_promise_with_fewer_labels_where_components_stand_still(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean excess risk is within the target of a head where levels move, and where an interaction goes in one period.

    Error budget: twelve runs had 0.51 (standard error of five runs 0.05) and 0.68 (0.09), so that either exceeds 1 with a chance
    of 1e-3 at most. Orders for six times the target must exceed it. Heads whose components share the drift of scores and
    columns took 53 labels where 32 are enough now: fewer than 0.85 of theirs, in the mean of five runs of nine periods.
    """
    monkeypatch.setattr(model_tracker, "gain_now", lambda *_, **__: (None, None))
    risks, labels = heads_of("level", seed)
    assert risks.mean() <= 1.0
    assert heads_of("interaction", seed)[0].mean() <= 1.0
    assert heads_of("level", seed, asked=6.0 * EPSILON)[0].mean() > 1.0
    monkeypatch.setattr(HeadFeatures, "bands", ())
    together, more = heads_of("level", seed)
    assert together.mean() <= 1.0
    assert labels.mean() < 0.85 * more.mean()
