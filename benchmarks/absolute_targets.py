"""Targets in metrics on real tables: kept or said to be out of reach, and labels against a constant size.

python -m benchmarks absolute_targets [--runs 5] [--only NAME ...] [--no-yardstick] [--worlds [NAME ...]]

Each of seven tables of numbers, classes, counts and a quantile is replayed with a target that is easy, one that is close to the
best model, and one that is beyond it.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import classes, targets
from benchmarks.metric_worlds import KINDS, worlds
from benchmarks.real_tables import markdown
from benchmarks.tables import SHARED, tables
from driftpace.backtest import Panel, read_table
from driftpace.backtest.anchored import STRENGTHS
from driftpace.backtest.job import Job, TrackerConfig, prepare
from driftpace.backtest.metrics import measure
from driftpace.backtest.tracker_run import run_tracker
from driftpace.backtest.yardstick import JUDGED_AFTER, constant_run
from driftpace.losses import LinearLoss, Loss, SoftmaxLoss, VectorLoss
from driftpace.metrics import evaluate, get_metric

TARGETS = {
    "elec2": ("accuracy", (0.75, 0.78, 0.85)),
    "flights logistic": ("auc", (0.65, 0.70, 0.80)),
    "bike_hourly": ("r2", (0.75, 0.82, 0.92)),
    "gss_income": ("mae", (0.66, 0.62, 0.55)),
    "rodents": ("accuracy", (0.7, 0.78, 0.9)),
    "bike_trips counts": ("mae", (90.0, 82.0, 60.0)),
    "bike_trips 0.9 quantile": ("pinball", (25.0, 21.0, 15.0)),
}
SIZES = (0, 3, 5, 8, 12, 18, 27, 40, 60, 90, 135, 200, 300, 450, 700)
TEST_FRACTION = 0.2
HEADS = ("table", "target", "best", "reached", "labels/period", "best constant", "out of reach", "result")
LEGEND = """
- best: the metric of the best linear model of each period on all its rows, on average.
- reached: the metric on test rows after the third period, on average over runs and periods, with the standard error over runs.
- labels/period: the mean over runs and periods, the first one included.
- best constant: the least constant number of rows a period, among those tried, with which anchored fits of the best constant
  strength reach the target after the third period, in hindsight; "-" where none does, or with --no-yardstick.
- out of reach: the share of the last ten periods in which the report says so.
"""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Task:
    """A table and the loss of its target."""

    name: str
    panel: Panel
    loss: Loss


def tasks() -> Iterator[Task | str]:
    """Yield every table that has targets, or a sentence on why one is left out."""
    for each in (*tables(), *targets.tasks()):
        if isinstance(each, str):
            yield each
        elif each.name in TARGETS:
            yield Task(name=each.name, panel=each.panel, loss=each.loss)
    rodents = classes.TABLES[0]
    path = SHARED / f"{rodents.name}.csv.gz"
    if path.is_file():
        panel = read_table(path, period="period", target=rodents.target, features=rodents.features)
        yield Task(name=rodents.name, panel=panel, loss=SoftmaxLoss(l2=1e-3))


def best_value(job: Job, name: str) -> float:
    """Return the mean over periods of the metric of the best model on all rows."""
    values = []
    for now in job.populations:
        assert isinstance(now.loss, LinearLoss | VectorLoss)
        scores = now.X @ now.best if isinstance(now.loss, LinearLoss) else now.loss.scores(now.best, now.X)
        values.append(evaluate(now.loss, now.y, scores, now.weights)[name])
    return float(np.nanmean(values))


def least_constant(job: Job, runs: int, name: str, target: float) -> int | None:
    """Return the least of SIZES that reaches the target with one of the strengths."""
    sign = 1.0 if get_metric(name).higher else -1.0
    for size in SIZES:
        for strength in STRENGTHS[::2]:
            found = [constant_run(job, (run, size, float(strength))).metrics[name] for run in range(runs)]
            if sign * (float(np.nanmean(np.array(found)[:, JUDGED_AFTER:])) - target) >= 0.0:
                return size
    return None


def replayed(table: Task, runs: int, *, yardstick: bool = True) -> list[tuple[str, ...]]:
    """Return a line for each target of a table."""
    name, values = TARGETS[table.name]
    spec = get_metric(name)
    lines: list[tuple[str, ...]] = []
    for value in values:
        at_least, at_most = (value, None) if spec.higher else (None, value)
        asked = TrackerConfig(metric=name, at_least=at_least, at_most=at_most)
        job = prepare(table.panel, loss=table.loss, asked=asked, test_fraction=TEST_FRACTION, seed=0)
        found, labels, beyond = [], [], []
        for run in range(runs):
            rows = job.rows(run)
            followed = run_tracker(asked.tracker(job.loss, len(job.features), job.tracker_seed(run)), rows)
            found.append(
                float(np.nanmean(measure(rows, followed.coefs, followed.samples).metrics[name][JUDGED_AFTER:]))
            )
            labels.append(float(followed.samples.mean()))
            beyond.append(float(np.mean(followed.out_of_reach[-10:])))
        mean, best = float(np.mean(found)), best_value(job, name)
        sign = 1.0 if spec.higher else -1.0
        kept = sign * (mean - value) >= 0.0
        error = float(np.std(found, ddof=1)) / runs**0.5 if runs > 1 else float("nan")
        reached = yardstick and sign * (best - value) >= 0.0
        constant = least_constant(job, runs, name, value) if reached else None
        said = float(np.mean(beyond))
        digits = 3 if value < 10.0 else 2
        lines.append(
            (
                table.name,
                f"{spec.title} {'>=' if spec.higher else '<='} {value:g}",
                f"{best:.{digits}f}",
                f"{mean:.{digits}f} ± {error:.{digits}f}",
                f"{np.mean(labels):.1f}",
                "-" if constant is None else str(constant),
                f"{100 * said:.0f} %",
                "kept" if kept else "said to be out of reach" if said >= 0.5 else "missed",
            )
        )
    return lines


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks absolute_targets")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=tuple(TARGETS), default=tuple(TARGETS))
    parser.add_argument("--no-yardstick", action="store_true")
    parser.add_argument("--worlds", nargs="*", choices=tuple(KINDS), help="worlds with known truth in place of tables")
    given = parser.parse_args(options)
    if given.worlds is not None:
        worlds(given.runs, given.worlds or tuple(KINDS))
        return
    lines: list[tuple[str, ...]] = []
    for table in tasks():
        if isinstance(table, str):
            print(table)
        elif table.name in given.only:
            lines += replayed(table, given.runs, yardstick=not given.no_yardstick)
    print(markdown(HEADS, lines))
    print(LEGEND)


if __name__ == "__main__":
    main()
