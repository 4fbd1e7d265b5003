"""The alarm "train the base again" where the truth is known: false alarms, and power once no head is within the target.

python -m benchmarks alarm [--runs 20] [--world NAME ...] [--epsilon 0.05]
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from driftpace import Tracker
from driftpace.tracker.model_tracker import ModelTracker
from driftpace.typing import BoolArray, FloatArray

COLUMNS, NOISE, TRAINED_ON, TREES = 4, 0.5, 3000, 60
PERIODS, CHANGE, WITHIN = 10, 5, 3
POPULATION, LOST = 4000, 0.75
WORLDS = ("right", "level", "interaction", "meaning", "slow")
HEADS = (
    "world",
    "runs",
    "gap before",
    "gap after",
    "labels",
    "false alarms",
    "of periods",
    "found",
    f"within {WITHIN}",
)
LEGEND = f"""
- right: nothing changes; level: the level moves by a standard deviation of its noise each period, and a slope with it, which a
  head follows; interaction: in period {CHANGE + 1} most of an interaction of two columns goes, and another comes; slow: it does so
  over four periods; meaning: in period {CHANGE + 1} two columns change places.
- gap: how much the best head of all, fitted to {POPULATION:,} rows without noise, is worse than the truth, in targets.
- false alarms: periods with the alarm while the gap is below 0.3 targets; found: runs with the alarm among those whose gap exceeds
  the target, and those within {WITHIN} periods of it. The alarm is never followed, so a period of a run counts once.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """A function of four columns that changes in a period; ``name`` says how."""

    name: str

    def truth(self, X: FloatArray, period: int) -> FloatArray:
        """Return the mean targets of rows in a period; base models are trained in period -1."""
        lost = {"interaction": float(period >= CHANGE), "slow": min(max(period - CHANGE + 1, 0) / 4.0, 1.0)}.get(
            self.name, 0.0
        )
        if self.name == "meaning" and period >= CHANGE:
            X = X[:, [3, 1, 2, 0]]
        here, there = X[:, 1] * (X[:, 2] > 0.0), X[:, 1] * (X[:, 3] > 0.0)
        moved = NOISE * (period + 1) * (1.0 + 0.3 * X[:, 1]) if self.name == "level" else 0.0
        return np.asarray(np.sin(2.0 * X[:, 0]) + here + LOST * lost * (there - here) + moved)

    def draw(self, rows: int, period: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return fresh rows of a period."""
        X = rng.uniform(-2.0, 2.0, (rows, COLUMNS))
        return X, self.truth(X, period) + NOISE * rng.standard_normal(rows)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class AlarmRuns:
    """Runs by periods: whether the alarm was given, the gap of the best head, and the labels."""

    alarms: BoolArray
    gaps: FloatArray
    labels: FloatArray
    epsilon: float

    @property
    def false_alarms(self) -> tuple[int, int]:
        """Periods with the alarm among those whose gap is below 0.3 targets, and the number of those."""
        right = self.gaps < 0.3 * self.epsilon
        return int((self.alarms & right).sum()), int(right.sum())

    @property
    def found(self) -> tuple[int, int, int]:
        """Runs whose gap exceeds the target, those of them with an alarm since, and those within three periods."""
        wrong = self.gaps > self.epsilon
        since = [(run, int(np.argmax(wrong[run]))) for run in np.flatnonzero(wrong.any(axis=1))]
        ever = sum(bool(self.alarms[run, first:].any()) for run, first in since)
        soon = sum(bool(self.alarms[run, first : first + WITHIN].any()) for run, first in since)
        return len(since), ever, soon


def base_of(world: World, rng: np.random.Generator) -> Any:
    """Return LightGBM trained on rows before the first period."""
    lightgbm = import_module("lightgbm")
    X, y = world.draw(TRAINED_ON, -1, rng)
    params = {"objective": "regression", "learning_rate": 0.1, "num_leaves": 15, "num_threads": 1, "verbosity": -1}
    return lightgbm.train(params, lightgbm.Dataset(X, label=y), num_boost_round=TREES)


def gap_of(tracker: ModelTracker, world: World, period: int, X: FloatArray) -> float:
    """Return how much the best head is worse than the truth, by least squares on rows without noise."""
    state = tracker._state
    assert state.features is not None
    phi = state.features.of(state.base, X, np.asarray(state.base.scores(X))[:, None])
    design = np.column_stack([phi, np.ones(len(X))])
    y = world.truth(X, period)
    return 0.5 * float(np.square(y - design @ np.linalg.lstsq(design, y, rcond=None)[0]).mean())


def alarm_runs(world: World, epsilon: float, runs: int, seed: int = 0, periods: int = PERIODS) -> AlarmRuns:
    """Return runs in a world; each has its own base."""
    alarms, gaps, labels = [], [], []
    for run in range(runs):
        rng = np.random.default_rng((seed, run))
        tracker = Tracker.for_model(base_of(world, rng), epsilon=epsilon, rng=run)
        X = world.draw(POPULATION, 0, rng)[0]
        tracker.fit_pool(X[:1000])
        for period in range(periods):
            report = tracker.step(partial(world.draw, period=period, rng=rng))
            alarms.append(bool(report.retrain))
            gaps.append(gap_of(tracker, world, period, X))
            labels.append(report.samples)
    shape = (runs, periods)
    return AlarmRuns(
        alarms=np.array(alarms).reshape(shape),
        gaps=np.array(gaps).reshape(shape),
        labels=np.array(labels, dtype=np.float64).reshape(shape),
        epsilon=epsilon,
    )


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks alarm")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--world", nargs="*", default=list(WORLDS), choices=WORLDS)
    parser.add_argument("--epsilon", type=float, default=0.05)
    given = parser.parse_args(list(options))
    print("| " + " | ".join(HEADS) + " |")
    print("|" + "---|" * len(HEADS))
    for name in given.world:
        found = alarm_runs(World(name=name), given.epsilon, given.runs)
        false, right = found.false_alarms
        wrong, ever, soon = found.found
        cells = [name, str(given.runs), f"{found.gaps[:, :CHANGE].mean() / given.epsilon:.2f}"]
        cells += [f"{found.gaps[:, CHANGE:].mean() / given.epsilon:.2f}", f"{found.labels.mean():.0f}"]
        cells += [str(false), str(right), f"{ever} of {wrong}", f"{soon} of {wrong}"]
        print("| " + " | ".join(cells) + " |", flush=True)
    print(LEGEND)


if __name__ == "__main__":
    main()
