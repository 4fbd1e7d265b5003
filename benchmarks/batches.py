"""Budgets spent in batches, in one order a period, and without a limit: labels bought and accuracy reached.

python -m benchmarks batches [--runs 20] [--periods 20] [--workers N]

The money: twenty times what the tracker spends without a budget, as much as that, and 0.6 of it; a row costs 1.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from benchmarks.real_tables import markdown
from benchmarks.synthetic_cases import Case
from benchmarks.synthetic_runs import oracle
from driftpace import Budget, LinearCost, SquaredLoss, Tracker
from driftpace.executors import one_thread
from driftpace.synthetic.paths import Shape
from driftpace.typing import FloatArray

EPSILON = 0.05
MOVES: tuple[tuple[Shape, float], ...] = (
    *(("still", 0.0), ("walk", 0.02), ("walk", 0.2)),
    *(("seasonal", 0.05), ("jump", 0.5)),
)
CASES = tuple(
    Case(loss="squared", features=4, condition=1.0, cost=cost, epsilon=EPSILON, noise="gaussian", shape=shape)
    for shape, cost in MOVES
)
MONEY = (20.0, 1.0, 0.6)
HEADS = ("population", "money", "asked for", "labels", "over best constant", "risk/eps", "mean gap/eps", "ms/period")
LEGEND = """
- labels: of all periods, the mean over runs; over best constant: divided by those of the best constant size in hindsight, which
  holds the target in every period but the first two.
- risk/eps: mean true excess risk over the target; mean gap/eps: the mean over periods of how far the true risk, itself a mean over
  runs, is above it.
"""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Followed:
    """What came of some runs: labels of each, true risks (a row for each run) and milliseconds for a period."""

    labels: FloatArray
    risks: FloatArray
    milliseconds: float


def follow(case: Case, budget: Budget | None, runs: int, periods: int) -> Followed:
    """Run the default tracker on a population, with a budget or without."""
    labels, risks, began = [], [], time.perf_counter()
    for run in range(runs):
        population = case.population(run)
        tracker = Tracker(SquaredLoss(), epsilon=case.epsilon, features=case.features, budget=budget, rng=run)
        risks.append(np.empty(periods))
        for number in range(1, periods + 1):
            now, rng = population.period(number), np.random.default_rng([case.seed, run, number])
            tracker.step(lambda count, now=now, rng=rng: now.draw(count, rng=rng))  # type: ignore[misc]
            risks[-1][number - 1] = now.excess_risk(SquaredLoss(), np.append(tracker.coef, tracker.intercept))
        labels.append(float(sum(report.samples for report in tracker.history)))
    spent = 1e3 * (time.perf_counter() - began) / runs / periods
    return Followed(labels=np.array(labels), risks=np.array(risks), milliseconds=spent)


def study(item: tuple[Case, float | None, bool, int, int]) -> Followed:
    """Return what came of ``item``: (case, total of the budget or None, in batches or not, runs, periods)."""
    case, total, batches, runs, periods = item
    budget = None if total is None else Budget(total=int(total), horizon=periods, cost=LinearCost(), batches=batches)
    with one_thread():
        return follow(case, budget, runs, periods)


def constant_of(item: tuple[Case, int, int]) -> float:
    """Return the labels of the best constant size in hindsight; ``item`` is (case, runs, periods)."""
    with one_thread():
        return oracle(*item)


def line(case: Case, money: str, asked: str, followed: Followed, constant: float) -> list[str]:
    """Return a line of the table."""
    risks = followed.risks / EPSILON
    return [
        f"{case.shape}, a step costs {case.cost:g}",
        money,
        asked,
        f"{followed.labels.mean():.0f}",
        f"{followed.labels.mean() / constant:.2f}",
        f"{risks.mean():.2f}",
        f"{np.maximum(risks.mean(axis=0) - 1.0, 0.0).mean():.3f}",
        f"{followed.milliseconds:.0f}",
    ]


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks batches", description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--periods", type=int, default=20)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(arguments)
    runs, periods = given.runs, given.periods
    ways = [(share, batches) for share in MONEY for batches in (True, False)]
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as crew:
        constants = crew.map(constant_of, [(case, runs, periods) for case in CASES])
        free = list(crew.map(study, [(case, None, True, runs, periods) for case in CASES]))
        items = [
            (case, share * float(one.labels.mean()), batches, runs, periods)
            for case, one in zip(CASES, free, strict=True)
            for share, batches in ways
        ]
        bought = crew.map(study, items)
        lines = []
        for case, one, constant in zip(CASES, free, constants, strict=True):
            lines.append(line(case, "no budget", "in batches", one, constant))
            for share, batches in ways:
                asked = "in batches" if batches else "at once"
                lines.append(line(case, f"{share:g} of that", asked, next(bought), constant))
                print(f"\r{len(lines)} of {len(CASES) * (1 + len(ways))} ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    print(markdown(HEADS, lines))
    print(LEGEND)


if __name__ == "__main__":
    main(sys.argv[1:])
