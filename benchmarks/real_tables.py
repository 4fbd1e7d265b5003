"""The default tracker on real tables: whether the target is met, with how many labels, compared with baselines.

python -m benchmarks real_tables [--runs 20] [--only NAME ...]
"""

import argparse
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.peers import PEERS, replay_peers
from benchmarks.tables import Replayed, tables
from driftpace.backtest import BacktestResult, Strategy, promise, replay
from driftpace.backtest.job import Job, TrackerConfig, prepare
from driftpace.backtest.metrics import RunMetrics
from driftpace.backtest.run import stack_strategy
from driftpace.backtest.tracker_run import RowSource
from driftpace.backtest.workers import Workers
from driftpace.backtest.yardstick import JUDGED_AFTER, PILOT_PERIODS, ROWS_PER_COEFFICIENT
from driftpace.executors import one_thread
from driftpace.typing import FloatArray

TEST_FRACTION, SEED, LEVEL = 0.2, 0, 0.95
BATCH_RUNS = 5  # they repeat what the backtest did, to count its deliveries
LIMIT, FEW, LIMIT_FEW = 1.5, 10, 3.0  # times the yardstick's total; where its constant is below FEW, LIMIT_FEW
HEADS = (
    *("table", "epsilon", "risk/eps", "above", "promise", "labels/period", "yardstick K", "x yardstick", "within"),
    *("batches", "coverage", "cert/truth", "scratch", "paper", "up front loss"),
)
LEGEND = f"""
- risk/eps: mean excess risk over the target; above: periods whose run-average is above it by over two standard errors.
- yardstick: {ROWS_PER_COEFFICIENT} rows per coefficient in each of the first two periods, then the least constant K, with the
  best constant anchor, that keeps the promise after period {JUDGED_AFTER} (in hindsight); x yardstick: total labels over its
  total; within: at most {LIMIT:g} times, or {LIMIT_FEW:g} times where K is below {FEW}.
- batches: the median number of deliveries in a period after the first, over {BATCH_RUNS} runs at most.
- coverage: run-periods whose excess risk is at most the certificate, stated level {LEVEL:g}; cert/truth: ratio of their means.
- scratch: a fresh fit of textbook size; paper: its rule with generous known constants, capped at the pool (labels a period).
- up front loss: test loss of as many labels bought in period 1, over that of driftpace.
"""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Shown:
    """One table at one target: the backtest, and the peers by name."""

    table: Replayed
    epsilon: float
    result: BacktestResult
    peers: dict[str, Strategy]
    batches: float


def show(table: Replayed, epsilon: float, runs: int) -> Shown:
    """Replay a table at a target, and the peers on the same rows in the same order."""
    asked = TrackerConfig(epsilon=epsilon, certificate_level=LEVEL)
    result = replay(
        table.panel,
        loss=table.loss,
        epsilon=epsilon,
        certificate_level=LEVEL,
        runs=runs,
        test_fraction=TEST_FRACTION,
        seed=SEED,
    )
    with one_thread():
        job = prepare(table.panel, loss=table.loss, asked=asked, test_fraction=TEST_FRACTION, seed=SEED, baselines=())
        totals = result.strategies[0].samples.sum(axis=1).astype(int).tolist()
        with Workers(job, workers=None, items=runs) as crew:
            results = list(crew.map(replay_peers, list(enumerate(totals))))
            batches = np.array(list(crew.map(count_batches, list(range(min(runs, BATCH_RUNS))))))
    peers = dict(_best(job, results))
    return Shown(table=table, epsilon=epsilon, result=result, peers=peers, batches=float(np.median(batches[:, 1:])))


def count_batches(job: Job, run: int) -> list[int]:
    """Return how many deliveries each period of a run of the tracker had."""
    tracker = job.asked.tracker(job.loss, job.coefficients - 1, job.tracker_seed(run))
    counts = []
    for rows in job.rows(run):
        source = CountedRows(rows)
        tracker.step(source, pool=rows.pool)
        counts.append(source.deliveries)
    return counts


class CountedRows(RowSource):
    """A source of the rows of a period that counts its deliveries."""

    deliveries = 0

    def __call__(self, samples: int) -> tuple[Any, ...]:
        self.deliveries += 1
        return super().__call__(samples)


def _best(job: Job, results: list[dict[str, tuple[RunMetrics, ...]]]) -> Iterator[tuple[str, Strategy]]:
    """Yield each peer at its best setting in hindsight: fewest labels among those that keep the promise, else least risk."""
    for name in results[0]:
        tried = []
        for setting, value in enumerate(PEERS[name].settings):
            runs = [run[name][setting] for run in results]
            note = "defaults" if value is None else ", ".join(f"{one:.3g}" for one in np.atleast_1d(value))
            tried.append(stack_strategy(name, PEERS[name].title, note, runs))
        keep = [one for one in tried if promise(one.excess_risk, job.epsilon).kept]
        yield (
            name,
            min(keep, key=lambda one: (float(one.samples.mean()), float(one.excess_risk.mean())))
            if keep
            else min(tried, key=lambda one: float(one.excess_risk.mean())),
        )


def own_line(shown: Shown) -> list[str]:
    """Return what is shown of driftpace and of what the library itself compares it with."""
    result, epsilon = shown.result, shown.epsilon
    named = {one.name: one for one in result.strategies}
    own, yardstick = named["driftpace"], named["best_constant"]
    judged, total = promise(own.excess_risk, epsilon), float(own.samples.sum(axis=1).mean())
    size = float(yardstick.samples[:, PILOT_PERIODS:].max())
    times = total / float(yardstick.samples.sum(axis=1).mean())
    coverage, tightness = certified(result.ledger.certificate, own.excess_risk)
    return [
        shown.table.name,
        f"{epsilon:g}",
        f"{judged.mean / epsilon:.2f}",
        f"{judged.periods_above} of {len(result.periods)}",
        "kept" if judged.kept else "**broken**",
        f"{total / len(result.periods):.1f}",
        f"{size:.0f}{'' if promise(yardstick.excess_risk[:, JUDGED_AFTER:], epsilon).kept else ' (broken)'}",
        f"{times:.2f}",
        "yes" if times <= (LIMIT_FEW if size < FEW else LIMIT) else "**no**",
        f"{shown.batches:.0f}",
        f"{coverage:.3f}" if coverage >= LEVEL else f"**{coverage:.3f}**",
        f"{tightness:.1f}",
        brief(named.get("from_scratch"), epsilon),
        brief(named.get("paper"), epsilon),
        f"{named['up_front'].test_loss.mean() / own.test_loss.mean():.2f}",
    ]


def certified(certificate: FloatArray, risk: FloatArray) -> tuple[float, float]:
    """Return how often the risk is below its certificate, and the mean certificate over the mean risk, where there is one."""
    known = np.isfinite(certificate)
    if not known.any():
        return math.nan, math.nan
    return float((risk[known] <= certificate[known]).mean()), float(certificate[known].mean() / risk[known].mean())


def brief(strategy: Strategy | None, epsilon: float | FloatArray) -> str:
    """Return labels a period and the verdict; a dash for a baseline that cannot run on the table."""
    if strategy is None:
        return "-"
    return f"{strategy.samples.mean():.0f}, {'kept' if promise(strategy.excess_risk, epsilon).kept else 'broken'}"


def peer_line(shown: Shown) -> list[str]:
    """Return labels a period, risk over the target and the verdict: driftpace first, then the peers."""
    lines = [shown.table.name, f"{shown.epsilon:g}"]
    for strategy in (shown.result.strategies[0], *shown.peers.values()):
        judged = promise(strategy.excess_risk, shown.epsilon)
        setting = f" ({strategy.note})" if strategy.name in PEERS else ""
        risk = f"{judged.mean / shown.epsilon:.2f}" if judged.mean < 100 * shown.epsilon else "over 100"
        lines.append(f"{strategy.samples.mean():.1f}, {risk}, {'kept' if judged.kept else 'broken'}{setting}")
    return lines


def markdown(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table that reads well as text and as markdown."""
    widths = [max(len(line[column]) for line in (heads, *lines)) for column in range(len(heads))]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
        for line in (heads, rule, *lines)
    )


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks real_tables", description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--only", nargs="+", default=None, help="names of tables")
    asked = parser.parse_args(arguments)
    began, shown, left_out = time.perf_counter(), list[Shown](), list[str]()
    for table in tables():
        if isinstance(table, str):
            left_out.append(table)
        elif asked.only is None or table.name in asked.only:
            shown += [show(table, epsilon, asked.runs) for epsilon in table.epsilons]
    print(
        f"\nThe promise on real tables, {asked.runs} runs, from period 1 on. Features are standardised over all periods"
    )
    names = sorted({one.table.name for one in shown if one.table.standardised})
    print(f"together; so are the targets of {' and '.join(names) or 'none'}, the others are in their own units.")
    for sentence in left_out:
        print(sentence)
    print(LEGEND)
    print(markdown(HEADS, [own_line(one) for one in shown]))
    print("\nPeers on the same rows in the same order: labels a period, risk/eps, promise (setting that proved best)\n")
    installed = [name for name, peer in PEERS.items() if find_spec(peer.needs) is not None]
    print(markdown(("table", "epsilon", "driftpace", *installed), [peer_line(one) for one in shown]))
    print()
    for name, peer in PEERS.items():
        print(f"- {peer.title}: {peer.note if name in installed else 'not installed, so not shown'}.")
    print(f"\nTook {time.perf_counter() - began:.0f} s.")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
