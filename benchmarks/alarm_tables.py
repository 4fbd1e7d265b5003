"""The alarm "train the base again" on real tables, against what training again brings on rows that were not bought.

python -m benchmarks alarm_tables [--runs 1] [--only NAME ...] [--epsilon 0.02 0.05] [--trees 100]
"""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.any_model import SEED, TABLES, TEST_FRACTION
from driftpace import Tracker
from driftpace.backtest.model_runs import SplitHistory
from driftpace.errors import ProtocolError
from driftpace.models import ModelAdapter
from driftpace.records import StepReport
from driftpace.tracker.model_tracker import ModelTracker
from driftpace.typing import BoolArray, FloatArray

MISSED = 0.5
HEADS = ("table", "eps", "periods", "due", "brings", "harmful", "labels", "not due", "would bring", "missed", "labels")
LEGEND = f"""
- The alarm is never followed, so that a period of a run counts once; the base is trained on the first fifth of the periods.
- due: periods with the alarm; brings: the mean fall of the loss in the next period, on a third of its rows, of a copy that follows
  the alarm, in targets; harmful: those in which the loss rises; labels: of the next period, those of the copy over the others.
- not due, would bring, labels: the same of the other periods, where a copy is trained against the advice; those in which no
  training was better on the rows bought bring nothing. missed: those in which training would bring more than {MISSED} targets.
"""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TableAlarms:
    """Whether training was due in each period, what it brings in the next one, in targets, and the labels with it and without."""

    due: BoolArray
    falls: FloatArray
    labels: FloatArray

    def cells(self) -> Iterator[str]:
        """Yield what is printed of them."""
        yield str(len(self.due))
        for chosen, counted in ((self.due, self.falls < 0.0), (~self.due, self.falls > MISSED)):
            yield str(int(chosen.sum()))
            yield f"{self.falls[chosen].mean():.2f}" if chosen.any() else "-"
            yield str(int((chosen & counted).sum()))
            trained, kept = self.labels[chosen].sum(axis=0)
            yield f"{trained / kept:.2f}" if kept else "-"


def step(tracker: ModelTracker, split: SplitHistory, place: int) -> StepReport:
    """Run a period, on the rows in the order in which they are bought."""
    given = 0

    def draw(samples: int) -> tuple[Any, FloatArray]:
        nonlocal given
        given += samples
        return split.bought(place, given - samples, given)

    return tracker.step(draw, pool=int(split.pools[place]))


def table_alarms(split: SplitHistory, base: ModelAdapter, epsilon: float) -> TableAlarms:
    """Return the alarms of a run that never follows them, and what copies that do find in the next period."""
    history = split.history
    tracker = Tracker.for_model(base, epsilon=epsilon, loss=history.loss, rng=split.run)
    tracker.fit_pool(history.first_rows()[0])
    due, falls, labels = [], [], []
    report = step(tracker, split, 0)
    for place in range(1, len(split.splits)):
        due.append(bool(report.retrain))
        copy = deepcopy(tracker)
        kept = copy.base
        with suppress(ProtocolError):  # no training is better on the rows bought
            copy.retrain()
        report = step(tracker, split, place)
        fall, spent = 0.0, report.samples
        if copy.base is not kept:
            spent = step(copy, split, place).samples
            X = split.test_rows(place)
            before, after = (split.test_loss(place, one.decision_function(X)) for one in (tracker, copy))
            fall = (before - after) / epsilon
        falls.append(fall)
        labels.append((float(spent), float(report.samples)))
    return TableAlarms(due=np.array(due), falls=np.array(falls), labels=np.array(labels))


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks alarm_tables")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[table.name for table in TABLES])
    parser.add_argument("--epsilon", nargs="*", type=float, default=[0.02, 0.05])
    parser.add_argument("--trees", type=int, default=100)
    given = parser.parse_args(list(options))
    print("| " + " | ".join(HEADS) + " |")
    print("|" + "---|" * len(HEADS))
    for table in TABLES:
        if table.name not in given.only:
            continue
        history = table.history()
        base = table.base(history, given.trees)
        splits = [
            SplitHistory.of(history, test_fraction=TEST_FRACTION, seed=SEED, run=run) for run in range(given.runs)
        ]
        for epsilon in given.epsilon:
            runs = [table_alarms(split, base, epsilon) for split in splits]
            found = TableAlarms(
                due=np.concatenate([run.due for run in runs]),
                falls=np.concatenate([run.falls for run in runs]),
                labels=np.concatenate([run.labels for run in runs]),
            )
            print("| " + " | ".join([table.name, f"{epsilon:g}", *found.cells()]) + " |", flush=True)
    print(LEGEND)


if __name__ == "__main__":
    main()
