"""The default tracker on synthetic data: target met, certificate coverage, labels of an oracle.

python -m benchmarks synthetic_study [--runs 200] [--periods 30] [--full] [--only TEXT] [--workers N] [--csv FILE]
python -m benchmarks synthetic_study --half held-out|tuned [--runs 200] [--periods 30] [--only TEXT] [--workers N]

By default a balanced fraction of the grid (benchmarks/synthetic_cases.py); --full is all of it. With --half the scenarios of one
half (benchmarks/scenarios.py): the method may be tuned on the tuned half and on the grid, the held-out half is only reported.
Numbers do not depend on workers, nor on the engine: --executor dask --address ADDRESS tries populations on a cluster.
"""

import argparse
import csv
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from benchmarks import scenario_runs
from benchmarks.no_drift import DECADE, still
from benchmarks.real_tables import markdown
from benchmarks.scenario_runs import run_scenarios
from benchmarks.scenarios import scenarios
from benchmarks.synthetic_cases import EPSILONS, FEATURES, Case, balanced_fraction, whole_grid
from benchmarks.synthetic_runs import LEVEL, ORACLE_RUNS, CaseResult, study
from driftpace.backtest.promise import promise
from driftpace.executors import ENGINES, Executor, open_executor

STILL_PERIODS, STILL_RUNS = 200, 20
HEADS = (
    *(
        "",
        "populations",
        "kept",
        "risk/eps",
        "labels/period",
        "labels/oracle",
        "worst",
        "coverage",
        "least",
        "cert/truth",
    ),
    *("FAIL", "WARN"),
)
LEGEND = f"""
- kept: populations that keep the promise from period 1 on; risk/eps: mean achieved excess risk over the target.
- labels/oracle: total labels over those of the best constant size with the best constant anchor in hindsight (10 rows per
  coefficient in the first two periods, the promise judged after period 3, at most {ORACLE_RUNS} runs); median and worst; squared
  loss only.
- coverage: run-periods with risk <= certificate (level {LEVEL:g}), where no check failed; mean and least over populations.
- FAIL, WARN: share of run-periods with that as the worst verdict of the tracker's own checks.
"""


def in_order(items: Sequence[tuple[Case, int, int]], executor: Executor) -> Iterator[CaseResult]:
    """Yield the results of each population in the order of the items, printing the progress."""
    began = time.perf_counter()

    def counted(results: Iterable[CaseResult]) -> Iterator[CaseResult]:
        for done, one in enumerate(results, start=1):
            spent = time.perf_counter() - began
            left = spent / done * (len(items) - done)
            print(
                f"\r{done} of {len(items)} populations, {spent:.0f} s, {left:.0f} s left ",
                end="",
                file=sys.stderr,
                flush=True,
            )
            yield one
        print(file=sys.stderr)

    yield from counted(executor.map(study, items))


def line(name: str, group: Sequence[CaseResult]) -> list[str]:
    """Return a summary of populations."""
    ratios = [one.total / one.oracle for one in group if one.oracle > 0.0]
    return [
        name,
        str(len(group)),
        str(sum(one.kept for one in group)),
        _mean(one.risk for one in group),
        _mean((one.labels for one in group), ".1f"),
        f"{np.median(ratios):.2f}" if ratios else "-",
        f"{max(ratios):.2f}" if ratios else "-",
        _mean((one.coverage for one in group), ".3f"),
        _mean((one.coverage for one in group), ".3f", least=True),
        _mean((one.tightness for one in group), ".1f"),
        _mean((100 * one.failed for one in group), ".1f") + " %",
        _mean((100 * one.warned for one in group), ".1f") + " %",
    ]


def _mean(values: Iterable[float], form: str = ".2f", *, least: bool = False) -> str:
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return "-"
    return format(min(known) if least else float(np.mean(known)), form)


def summaries(results: Sequence[CaseResult]) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield tables: by shape and cost, then by each other factor."""
    squared = [one for one in results if one.case.loss == "squared"]

    def by(group: Sequence[CaseResult], key: Callable[[Case], str]) -> list[list[str]]:
        names = list(dict.fromkeys(key(one.case) for one in group))
        return [line(name, [one for one in group if key(one.case) == name]) for name in names]

    yield "squared loss, by shape and cost of a step", by(squared, lambda case: f"{case.shape} {case.cost:g}")
    yield "squared loss, by features", by(squared, lambda case: f"d = {case.features}")
    yield "squared loss, by condition number", by(squared, lambda case: f"condition {case.condition:g}")
    yield "squared loss, by target", by(squared, lambda case: f"epsilon {case.epsilon:g}")
    yield "squared loss, by noise", by(squared, lambda case: case.noise)
    others = [one for one in results if one.case.loss != "squared"]
    yield "classification", by(others, lambda case: f"{case.loss}, {case.shape} {case.cost:g}")
    yield "all", [line("all", results)]


def broken(one: CaseResult) -> str:
    """Return what went wrong in a population, and what the tracker reported."""
    wrong = []
    if one.crashes:
        wrong.append(f"{one.crashes} of {one.runs} runs raised {one.crash}")
    if not one.judged.kept and one.crashes < one.runs:
        wrong.append(f"promise broken: risk/eps {one.risk:.2f}, {one.judged.periods_above} periods above")
    if not one.covered:
        wrong.append(
            f"coverage {one.coverage:.3f} +- {one.error:.3f} where no check failed ({one.coverage_all:.3f} in all)"
        )
    checks = f"FAIL {100 * one.failed:.1f} %, WARN {100 * one.warned:.1f} % ({one.checks or 'every check passed'})"
    outcomes = f"; outcomes: {one.outcomes}" if one.outcomes else "; it promised the target every time"
    return f"- {one.case.name}: {'; '.join(wrong)}. The tracker reported: {checks}{outcomes}."


def write_csv(path: Path, results: Sequence[CaseResult]) -> None:
    """Write one line a population."""
    lines = []
    for one in results:
        fields = asdict(one)
        lines.append({**fields.pop("case"), **fields.pop("judged"), **fields})
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)


def report_half(asked: argparse.Namespace) -> None:
    """Print what the promise was in the scenarios of one half."""
    began = time.perf_counter()
    chosen = [one for one in scenarios() if one.half == asked.half and (asked.only is None or asked.only in one.name)]
    if not chosen:
        sys.exit(f"no scenario of that half has {asked.only!r} in its name")
    lines, broken = list[list[str]](), 0
    for runs in run_scenarios(chosen, runs=asked.runs, periods=asked.periods, executor=engine(asked)):
        lines.append(scenario_runs.promise_line(runs))
        broken += not promise(runs["risk"], runs.epsilon).kept
        print(f"\r{len(lines)} of {len(chosen)} scenarios ", end="", file=sys.stderr, flush=True)
    print(f"\nScenarios, {asked.half} half: {len(chosen)}, {asked.runs} runs of {asked.periods} periods each")
    print(scenario_runs.LEGEND)
    print(markdown(scenario_runs.HEADS, lines))
    print(f"\nThe promise is broken in {broken} of {len(chosen)}. Took {time.perf_counter() - began:.0f} s.")


def engine(asked: argparse.Namespace) -> Executor:
    """Return the executor that is asked for; one process is this one."""
    alone = asked.executor == "processes" and asked.workers == 1
    return open_executor(
        "local" if alone else asked.executor, address=asked.address, workers=None if alone else asked.workers
    )


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks synthetic_study", description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--periods", type=int, default=30)
    parser.add_argument("--full", action="store_true", help="the whole grid")
    parser.add_argument("--only", default=None, help="populations whose name contains this text")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--executor", choices=ENGINES, default="processes", help="where populations are tried")
    parser.add_argument("--address", default=None, help="of a Dask, Ray or Spark cluster; without it a new one here")
    parser.add_argument("--csv", type=Path, default=None, help="write one line a population to this file")
    parser.add_argument("--half", choices=("tuned", "held-out"), default=None, help="scenarios in place of the grid")
    asked = parser.parse_args(arguments)
    if asked.half is not None:
        report_half(asked)
        return
    began = time.perf_counter()
    cases = whole_grid() if asked.full else balanced_fraction()
    cases = [case for case in cases if asked.only is None or asked.only in case.name]
    if not cases:
        sys.exit(f"no population has {asked.only!r} in its name")
    results = list(in_order([(case, asked.runs, asked.periods) for case in cases], engine(asked)))
    which = "the whole grid" if asked.full else "a balanced fraction of the grid"
    print(f"\nPopulations: {len(cases)} ({which}), {asked.runs} runs of {asked.periods} periods each")
    print(LEGEND)
    for title, lines in summaries(results):
        if lines:
            print(f"{title}\n\n{markdown(HEADS, lines)}\n")
    bad = [one for one in results if not (one.kept and one.covered)]
    print(
        f"Populations where the promise is broken or the certificate covers less than {LEVEL:g}: {len(bad)} of {len(results)}\n"
    )
    for one in bad:
        print(broken(one))
    if asked.csv is not None:
        write_csv(asked.csv, results)
    if asked.only is None:
        print(
            f"\nA population without drift, {STILL_PERIODS} periods: labels a period, {DECADE} periods at a time (falls to zero)\n"
        )
        pairs = [(features, epsilon) for features in FEATURES[:2] for epsilon in EPSILONS]
        heads = ("", *(f"{first + 1}-{first + DECADE}" for first in range(0, STILL_PERIODS, DECADE)))
        runs = min(asked.runs, STILL_RUNS)
        lines = [
            [f"d {d}, epsilon {e:g}", *(f"{one:.1f}" for one in still(d, e, runs, STILL_PERIODS))] for d, e in pairs
        ]
        print(markdown(heads, lines))
    print(f"\nTook {time.perf_counter() - began:.0f} s.")


if __name__ == "__main__":
    main(sys.argv[1:])
