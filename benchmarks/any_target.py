"""Ten tasks of all kinds of targets in one table: whether the target is met, labels against the best constant size, test loss.

python -m benchmarks any_target [--runs 5] [--only NAME ...] [--data DIR]

Classes, counts, a quantile, growth, curves, texts and ten thousand columns, at two targets each. The tasks and scikit-learn's part
are those of the benchmarks ``classes``, ``targets``, ``splines``, ``wide_classes`` and ``wide``, which say more of each.
"""

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import classes, splines, targets
from benchmarks.tables import SHARED, Replayed, tables
from benchmarks.wide import WideWorld, penalised_excess
from benchmarks.wide_classes import best_constant, follow_news, read_news
from driftpace import SquaredLoss, Tracker
from driftpace.backtest import Panel, promise, read_table, replay
from driftpace.backtest.job import Job, TrackerConfig, prepare
from driftpace.executors import one_thread
from driftpace.losses import LogisticLoss, Loss, SoftmaxLoss
from driftpace.tables import LOCAL_LIMITS, read_columns, to_arrays

TEST_FRACTION, SEED = 0.2, 0
PEER_RUNS = 2
JUDGED_AFTER = 2
HEADS = (
    *("task", "target", "labels/period", "risk/target", "above", "promise", "pool bought", "x yardstick"),
    *("test loss", "scikit-learn", "runs", "seconds"),
)
LEGEND = """
- target: epsilon, or a tolerance (t), the share of the best loss of a period; risk/target: mean excess risk over the mean target;
  above: periods whose run-average is above it by over two standard errors; pool bought: share of the rows that could be labelled.
- x yardstick: labels over those of the best constant size in hindsight; test loss: that of the loss on test rows; scikit-learn:
  re-fitted in every period on the labels that driftpace bought, the better of those of the period and of several, at the better of
  two penalties, in hindsight.
"""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Task:
    """A table, its loss and its two targets; ``peer`` is the test loss of scikit-learn on the labels bought."""

    name: str
    panel: Panel
    loss: Loss
    peer: Callable[[Job, Any], float]
    tolerances: tuple[float, float] | None = None
    epsilons: tuple[float, float] | None = None
    splines: tuple[str, ...] | None = None
    most: int = field(default=20)
    """The runs at most, of tasks that take long."""


def tasks(data: Path) -> Iterator[Task]:
    """Yield the tasks that are tables."""
    for table in classes.TABLES:
        panel = read_table(data / f"{table.name}.csv.gz", period="period", target=table.target, features=table.features)
        yield Task(
            name=f"{table.name}, {len(np.unique(np.concatenate(panel.y)))} classes",
            panel=panel,
            loss=SoftmaxLoss(l2=1e-3),
            tolerances=(0.05, 0.1) if table.name == "rodents" else (0.02, 0.05),
            peer=lambda job, result: float(classes.sklearn_losses(job, result).min()),
        )
    chosen = {
        "bike_trips counts": (0.05, 0.2),
        "births, with exposure": (0.02, 0.05),
        "bike_trips 0.9 quantile": (0.1, 0.2),
    }
    for one in targets.tasks():
        if not isinstance(one, str) and one.name in chosen:
            yield Task(name=one.name, panel=one.panel, loss=one.loss, tolerances=chosen[one.name], peer=_of_targets)
    yield _employment(data)
    curved: dict[str, tuple[Loss, tuple[str, ...]]] = {
        "bike_hourly": (SquaredLoss(l2=1e-4), ("temp", "hum", "windspeed")),
        "elec2 six": (LogisticLoss(l2=1e-3), ("lp", "lv", "nswdemand", "vicdemand", "time_of_day")),
    }
    for each in tables():
        if isinstance(each, Replayed) and each.name in curved:
            loss, names = curved[each.name]
            yield Task(
                name=f"{each.name}, splines",
                panel=each.panel,
                loss=loss,
                epsilons=each.epsilons,
                splines=names,
                peer=partial(_of_splines, table=each, loss=loss, names=names),
            )


def _employment(data: Path) -> Task:
    """Return the growth of employment in a month, with years as periods: 148 series as one model, and little drift."""
    columns = to_arrays(read_columns(data / "us_employment.csv.gz", limits=LOCAL_LIMITS, owner="us_employment"))
    names = ("growth", "growth_1", "growth_12", "growth_mean12")
    table: dict[str, Any] = {name: columns[name].astype(np.float64) for name in names}
    year = columns["period"].astype(np.int64) // 12
    known = np.isfinite(np.column_stack(list(table.values()))).all(axis=1) & (year >= 52)  # from 1991 on: all series
    angle = 2.0 * np.pi * (columns["period"].astype(np.float64) % 12) / 12.0
    for turns in (1, 2, 3):
        table |= {f"sin{turns}": np.sin(turns * angle), f"cos{turns}": np.cos(turns * angle)}
    table = {name: values[known] for name, values in table.items()} | {"year": year[known]}
    panel = read_table(table, period="year", target="growth", name="us_employment")
    return Task(name="us_employment", panel=panel, loss=SquaredLoss(), tolerances=(0.02, 0.05), peer=_of_targets)


def _of_targets(job: Job, result: Any) -> float:
    return min(targets.refitted(job, result.strategies[0].samples[:PEER_RUNS].astype(int)))


def _of_splines(job: Job, result: Any, *, table: Any, loss: Any, names: tuple[str, ...]) -> float:  # noqa: ARG001
    samples = result.strategies[0].samples[:PEER_RUNS].astype(int)
    return splines.refitted(table, loss, float(result.epsilon[0]), names, samples)[0]


def line(task: Task, target: float, runs: int) -> list[str]:
    """Return one line of the table."""
    began = time.perf_counter()
    asked: dict[str, Any] = {"epsilon" if task.tolerances is None else "tolerance": target}
    result = replay(
        task.panel,
        loss=task.loss,
        **asked,
        splines=task.splines,
        runs=runs,
        test_fraction=TEST_FRACTION,
        seed=SEED,
        workers=1,
        progress=False,
        baselines=("best_constant",),
    )
    own, epsilon = result.strategies[0], np.array(result.epsilon)
    kept = promise(own.excess_risk, epsilon)
    yardstick = next((one for one in result.strategies if one.name == "best_constant"), None)
    peer = math.nan
    if find_spec("sklearn"):
        with one_thread():
            job = prepare(
                task.panel,
                loss=task.loss,
                asked=TrackerConfig(**asked),
                test_fraction=TEST_FRACTION,
                seed=SEED,
            )
            peer = task.peer(job, result)
    return [
        task.name,
        f"{target:g}" + (" t" if task.tolerances else ""),
        f"{own.samples.mean():.0f}",
        f"{own.excess_risk.mean() / epsilon.mean():.2f}",
        f"{kept.periods_above} of {len(epsilon)}",
        "kept" if kept.kept else "broken",
        f"{own.samples.sum(axis=1).mean() / float(np.sum(result.pool)):.2f}",
        "-" if yardstick is None else f"{own.samples.sum() / yardstick.samples.sum():.2f}",
        f"{own.test_loss.mean():.4g}",
        f"{peer:.4g}",
        f"{runs}",
        f"{time.perf_counter() - began:.0f}",
    ]


def news_line(news: Any, target: float, runs: int) -> list[str]:
    """Return the line of the sections of Python's changelog; the risk is that of the penalised loss, from the third period on."""
    began = time.perf_counter()
    found = [follow_news(news, target, seed) for seed in range(runs)]
    excess = np.array([one["excess"] for one in found])[:, JUDGED_AFTER:]
    labels = np.array([one["labels"] for one in found])
    kept = promise(excess, np.full(excess.shape[1], target))
    size, reached = best_constant(found, target)
    sklearn = np.array([one["sklearn"] for one in found])[:, :, :, 1:].mean(axis=(0, 3)).min()
    pools = sum(len(y) / 2.0 for y in news.targets)
    return [
        f"cpython_news, {news.name}",
        f"{target:g}",
        f"{labels.mean():.0f}",
        f"{excess.mean() / target:.2f}",
        f"{kept.periods_above} of {excess.shape[1]}",
        "kept" if kept.kept else "broken",
        f"{labels.sum(axis=1).mean() / pools:.2f}",
        f"{labels[:, JUDGED_AFTER:].mean() / size:.2f}" if reached else "-",
        f"{np.array([one['loss'] for one in found])[:, 1:].mean():.4g}",
        f"{sklearn:.4g}",
        f"{runs}",
        f"{time.perf_counter() - began:.0f}",
    ]


COLUMNS, PERIODS, POOL = 10_000, 5, 3000


def wide_run(target: float, seed: int) -> list[Any]:
    """Follow ten thousand columns; return labels, excess, and the test losses of the tracker and a ridge, of each period."""
    from sklearn.linear_model import RidgeCV

    world = WideWorld(columns=COLUMNS, rng=np.random.default_rng((7, seed)))
    tracker = Tracker(SquaredLoss(), epsilon=target, rng=seed)
    tracker.fit_pool(world.rows(POOL))
    found: list[Any] = []
    for period in range(PERIODS):
        if period:
            world.step()
        bought: list[Any] = []

        def draw(count: int, world: Any = world, bought: list[Any] = bought) -> Any:
            bought.append(world.draw(count))
            return bought[-1]

        report = tracker.step(draw)
        X, y = (np.concatenate(part) for part in zip(*bought, strict=True))
        test, expected = world.draw(2000)
        peer = RidgeCV(alphas=(0.1, 1.0, 10.0)).fit(X, y)
        losses = [0.5 * float(np.square(model.predict(test) - expected).mean()) for model in (tracker, peer)]
        found.append((report.samples, penalised_excess(tracker, world), *losses))
    return found


def wide_line(target: float, runs: int) -> list[str]:
    """Return the line of ten thousand columns; there is no pool that ends, and no yardstick."""
    began = time.perf_counter()
    found = np.array([wide_run(target, seed) for seed in range(runs)])
    kept = promise(found[:, :, 1], np.full(PERIODS, target))
    return [
        "wide synthetic, 10,000 columns",
        f"{target:g}",
        f"{found[:, :, 0].mean():.0f}",
        f"{found[:, :, 1].mean() / target:.2f}",
        f"{kept.periods_above} of {PERIODS}",
        "kept" if kept.kept else "broken",
        "-",
        "-",
        f"{found[:, :, 2].mean():.4g}",
        f"{found[:, :, 3].mean():.4g}",
        f"{runs}",
        f"{time.perf_counter() - began:.0f}",
    ]


def main(options: Sequence[str] = ()) -> None:
    """Print the table, or some lines of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks any_target")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=None, help="names of tasks that begin so")
    parser.add_argument("--data", type=Path, default=SHARED)
    given = parser.parse_args(list(options))

    def wanted(name: str) -> bool:
        return given.only is None or any(name.startswith(one) for one in given.only)

    print("| " + " | ".join(HEADS) + " |\n|" + "---|" * len(HEADS))
    for task in tasks(given.data):
        for target in task.tolerances or task.epsilons or ():
            if wanted(task.name):
                print("| " + " | ".join(line(task, target, min(given.runs, task.most))) + " |", flush=True)
    for news in read_news(given.data):
        for target in (0.15, 0.25):
            if wanted(f"cpython_news, {news.name}"):
                print("| " + " | ".join(news_line(news, target, given.runs)) + " |", flush=True)
    for target in (0.05, 0.1):
        if wanted("wide synthetic"):
            print("| " + " | ".join(wide_line(target, given.runs)) + " |", flush=True)
    print(LEGEND)


if __name__ == "__main__":
    main()
