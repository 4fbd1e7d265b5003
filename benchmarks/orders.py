"""Batches, two orders and one order a period, side by side: labels, true excess risk and orders.

python -m benchmarks orders [--runs 10] [--periods 20] [--workers N]

Synthetic populations (five columns and an intercept, a target of 0.05) and the tables of ``real_tables``.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np

from benchmarks.real_tables import markdown
from benchmarks.tables import tables
from driftpace import SquaredLoss, Tracker
from driftpace.backtest import promise
from driftpace.backtest.job import Job, TrackerConfig, prepare
from driftpace.backtest.tracker_run import RowSource
from driftpace.executors import one_thread
from driftpace.synthetic import ShapedRegression
from driftpace.synthetic.paths import Shape
from driftpace.typing import FloatArray

EPSILON, FEATURES = 0.05, 5
MOVES: tuple[tuple[Shape, float], ...] = (
    *(("still", 0.0), ("walk", 0.02), ("walk", 0.2)),
    *(("line", 0.02), ("seasonal", 0.05), ("jump", 0.5)),
)
ORDERS = (None, 2, 1)
HEADS = (
    "data",
    "target",
    "orders",
    "labels/period",
    "over batches",
    "risk/eps",
    "periods above",
    "kept",
    "orders/period",
)
LEGEND = """
- labels/period: the mean over runs and periods, the first one included; over batches: divided by those of batches.
- risk/eps: mean true excess risk over the target; periods above: how many periods are above the target by more than two standard
  errors; kept: the mean is within the target and at most one period in ten is above it.
- orders/period: the mean number of deliveries in a period, without the first period.
"""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Followed:
    """One run: true excess risk, rows and orders of each period."""

    risks: FloatArray
    samples: FloatArray
    orders: FloatArray


def run_period(tracker: Tracker, draw: Callable[[int], Any], pool: int | None = None) -> tuple[int, int]:
    """Deliver a period as it is asked for, and close it; return the number of its rows and orders."""
    request, orders = tracker.ask(pool=pool), 0
    while request.samples:
        tracker.tell(*draw(request.samples), final=False)
        orders += 1
        request = tracker.ask()
    report = tracker.tell()
    assert report is not None
    return report.samples, orders


def follow_population(move: tuple[Shape, float], periods: int, orders: int | None, run: int) -> Followed:
    """Run the default tracker on a synthetic population."""
    shape, cost = move
    population = ShapedRegression(features=FEATURES, cost=cost, shape=shape, rng=1_000 + run)
    tracker = Tracker(SquaredLoss(), epsilon=EPSILON, features=FEATURES, orders=orders, rng=run)
    lines = []
    with one_thread():
        for number in range(1, periods + 1):
            now, rng = population.period(number), np.random.default_rng([run, number])
            bought = run_period(tracker, lambda count, now=now, rng=rng: now.draw(count, rng=rng))  # type: ignore[misc]
            lines.append((now.excess_risk(SquaredLoss(), np.append(tracker.coef, tracker.intercept)), *bought))
    risks, samples, counts = np.array(lines, dtype=np.float64).T
    return Followed(risks=risks, samples=samples, orders=counts)


def follow_table(job: Job, epsilon: float, orders: int | None, run: int) -> Followed:
    """Run the default tracker on a table."""
    tracker = Tracker(job.loss, epsilon=epsilon, features=job.coefficients - 1, orders=orders, rng=run)
    lines = []
    with one_thread():
        for rows in job.rows(run):
            bought = run_period(tracker, RowSource(rows), rows.pool)
            model = np.append(tracker.coef, tracker.intercept)
            lines.append((float(rows.population.excess_risk(model)[0]), *bought))
    risks, samples, counts = np.array(lines, dtype=np.float64).T
    return Followed(risks=risks, samples=samples, orders=counts)


def study(name: str, epsilon: float, follow: Callable[..., Followed], runs: int, crew: Executor) -> list[list[str]]:
    """Return the lines of one population or table."""
    lines, batches = [], 0.0
    for orders in ORDERS:
        followed = list(crew.map(partial(follow, orders), range(runs)))
        risks = np.array([one.risks for one in followed])
        labels = float(np.mean([one.samples for one in followed]))
        batches = batches or labels
        held = promise(risks, epsilon)
        lines.append(
            [
                name,
                f"{epsilon:g}",
                "batches" if orders is None else str(orders),
                f"{labels:.1f}",
                f"{labels / batches:.2f}",
                f"{held.mean / epsilon:.2f}",
                f"{held.periods_above} of {risks.shape[1]}",
                "yes" if held.kept else "no",
                f"{np.mean([one.orders[1:] for one in followed]):.1f}",
            ]
        )
        print(" | ".join(lines[-1]), file=sys.stderr, flush=True)
    return lines


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks orders", description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--periods", type=int, default=20)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(arguments)
    lines, notes = [], []
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as crew:
        for move in MOVES:
            name = f"{move[0]}, a step costs {move[1]:g}"
            lines += study(name, EPSILON, partial(follow_population, move, given.periods), given.runs, crew)
        for table in tables():
            if isinstance(table, str):
                notes.append(table)
                continue
            for epsilon in table.epsilons:
                asked = TrackerConfig(epsilon=epsilon)
                job = prepare(table.panel, loss=table.loss, asked=asked, test_fraction=0.2, seed=0, baselines=())
                lines += study(table.name, epsilon, partial(follow_table, job, epsilon), given.runs, crew)
    print(markdown(HEADS, lines))
    print(LEGEND)
    print(*notes, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
