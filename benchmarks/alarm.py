"""The alarm "train the base again" where the truth is known: false alarms, and power once no head is within the target.

python -m benchmarks alarm [--runs 10] [--world NAME ...] [--task TASK ...] [--epsilon 0.05] [--seed 1]
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import get_args

import numpy as np

from benchmarks.alarm_worlds import CHANGE, CHOSEN_ON, UNSEEN, Task, World
from driftpace import Tracker
from driftpace.tracker.model_tracker import ModelTracker
from driftpace.typing import BoolArray, FloatArray

PERIODS, WITHIN = 10, 3
POPULATION, RIGHT = 4000, 0.5
TASKS: tuple[Task, ...] = get_args(Task)
HEADS = (
    "task",
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
  over four periods; meaning: in period {CHANGE + 1} two columns change places. The threshold was chosen on these, of numbers.
- waves: the level and a slope move back and forth, which a head follows; fading: all that columns say loses 8 % a period, likewise;
  product: in period {CHANGE + 1} the product of two columns changes its sign; threshold: another region counts. Six correlated
  columns, on which nothing was chosen.
- gap: how much the best head of all, fitted to {POPULATION:,} rows without noise, is worse than the truth, in targets.
- false alarms: periods with the alarm while the gap is below {RIGHT} targets; found: runs with the alarm among those whose gap
  exceeds the target, and those within {WITHIN} periods of it. The alarm is never followed, so a period of a run counts once.
"""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class AlarmRuns:
    """Runs by periods: whether the alarm was given, the gap of the best head, and the labels."""

    alarms: BoolArray
    gaps: FloatArray
    labels: FloatArray
    epsilon: float

    @property
    def false_alarms(self) -> tuple[int, int]:
        """Periods with the alarm among those whose gap is below half a target, and the number of those."""
        right = self.gaps < RIGHT * self.epsilon
        return int((self.alarms & right).sum()), int(right.sum())

    @property
    def found(self) -> tuple[int, int, int]:
        """Runs whose gap exceeds the target, those of them with an alarm since, and those within three periods."""
        wrong = self.gaps > self.epsilon
        since = [(run, int(np.argmax(wrong[run]))) for run in np.flatnonzero(wrong.any(axis=1))]
        ever = sum(bool(self.alarms[run, first:].any()) for run, first in since)
        soon = sum(bool(self.alarms[run, first : first + WITHIN].any()) for run, first in since)
        return len(since), ever, soon


def gap_of(tracker: ModelTracker, world: World, period: int, X: FloatArray) -> float:
    """Return how much the best head is worse than the truth."""
    state = tracker._state
    assert state.features is not None
    phi = state.features.of(state.base, X, np.asarray(state.base.scores(X)).reshape(len(X), -1))
    return world.gap(phi, X, period)


def alarm_runs(world: World, epsilon: float, runs: int, seed: int = 0, periods: int = PERIODS) -> AlarmRuns:
    """Return runs in a world; each has its own base."""
    alarms, gaps, labels = [], [], []
    for run in range(runs):
        rng = np.random.default_rng((seed, run))
        tracker = Tracker.for_model(world.base(rng), epsilon=epsilon, rng=run)
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
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--world", nargs="*", default=[*CHOSEN_ON, *UNSEEN], choices=[*CHOSEN_ON, *UNSEEN])
    parser.add_argument("--task", nargs="*", default=list(TASKS), choices=TASKS)
    parser.add_argument("--epsilon", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(list(options))
    print("| " + " | ".join(HEADS) + " |")
    print("|" + "---|" * len(HEADS))
    for task in given.task:
        for name in given.world:
            found = alarm_runs(World(name=name, task=task), given.epsilon, given.runs, seed=given.seed)
            print("| " + " | ".join([task, name, str(given.runs), *cells(found)]) + " |", flush=True)
    print(LEGEND)


def cells(found: AlarmRuns) -> list[str]:
    """Return what was found in the runs of a world."""
    false, right = found.false_alarms
    wrong, ever, soon = found.found
    before, after = found.gaps[:, :CHANGE].mean(), found.gaps[:, CHANGE:].mean()
    numbers = [f"{before / found.epsilon:.2f}", f"{after / found.epsilon:.2f}", f"{found.labels.mean():.0f}"]
    return [*numbers, str(false), str(right), f"{ever} of {wrong}", f"{soon} of {wrong}"]


if __name__ == "__main__":
    main()
