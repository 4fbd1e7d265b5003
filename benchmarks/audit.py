"""The audit against the truth: bias and coverage, how soon a wrong bank is found out, and what feedback changes.

python -m benchmarks audit [--runs 20] [--periods 40] [--only TEXT] [--parts scenarios tables feedback] [--workers N]

Numbers do not depend on workers. Variants of the method are made by setting its documented constants: see VARIANTS.
"""

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context

import numpy as np

from benchmarks.real_tables import SEED, TEST_FRACTION, CountedRows, markdown
from benchmarks.scenario_runs import CAP, FIELDS, LEVEL, Runs, follow, run_scenarios
from benchmarks.scenarios import LinearPeriod, RowStream, scenarios
from benchmarks.tables import tables
from driftpace import SquaredLoss, Tracker
from driftpace.adaptive.audit import AuditState, Measured, audit_of, with_measured_risk
from driftpace.adaptive.state import AIM, AIM_CURVED
from driftpace.backtest.job import Job, TrackerConfig, prepare
from driftpace.backtest.workers import Workers
from driftpace.executors import one_thread, open_executor
from driftpace.typing import FloatArray

WINDOW, LEAST_PERIODS = 20, 5  # periods that a report pools, and before which the check of the measured risk is silent
WRONG = 1.3
JUDGED = (WRONG, 2.0, 0.85)
PARTS = ("scenarios", "tables", "feedback")
DECADE = 10
BIAS_HEADS = (
    *("scenario or table", "eps", "truth/eps", "measured/eps", "ratio", "truth, weighted", "ratio, weighted"),
    *("periods measured", "weight", "interval", "at every period", "mean +- 2 se", "aim"),
)
BIAS_LEGEND = f"""
- truth and measured: mean excess risk over the target in measured periods, each alike or by the weights of the audit; ratio:
  measured over truth, with its standard error over runs.
- weight: the mean weight of a measured period; aim: the mean correction of orders in the last period.
- interval: run-periods in which the {LEVEL:g} interval has the weighted mean of the true risks up to then; at every period: runs
  in which it always has; mean +- 2 se: run-periods in which that has the weighted mean of the true risks of the last {WINDOW},
  after {LEAST_PERIODS} measured periods.
"""
VARIANTS: dict[str, dict[str, float]] = {
    "as it is": {},
    "aim fixed": {"audit.LEAST_AIM": 1.0, "audit.MOST_AIM": 1.0},
    "bank alone": {"audit.LEAST_AIM": 1.0, "audit.MOST_AIM": 1.0, "audit.TRUST": 1e-9},
    f"wrong by {WRONG:g}": {"state.AIM": WRONG * AIM, "state.AIM_CURVED": WRONG * AIM_CURVED},
    f"wrong by {WRONG:g}, aim fixed": {
        "state.AIM": WRONG * AIM,
        "state.AIM_CURVED": WRONG * AIM_CURVED,
        "audit.LEAST_AIM": 1.0,
        "audit.MOST_AIM": 1.0,
    },
}
"""Constants of ``driftpace.adaptive`` that differ: without correction of the aim, without the record of prediction errors as
well, and with orders sized for a target 1.3 times the one asked for."""

FEATURES, EPSILON = 10, 0.05
COSTS: dict[str, Callable[[int, np.random.Generator], float]] = {
    "walk": lambda n, rng: 0.4,  # noqa: ARG005
    "every third period": lambda n, rng: 4.0 if n % 3 == 0 else 0.0,  # noqa: ARG005
    "heavy-tailed steps": lambda n, rng: min(0.3 * float(rng.standard_t(2.0)) ** 2, 40.0),  # noqa: ARG005
}
ADVERSARIES = (*COSTS, "every third period, and back", "moves when orders are small")
"""Worlds of 10 features at epsilon 0.05, costs of a step in targets. The last one sees the orders: it moves by 4 targets after
each period that took fewer labels than the median so far, which is when the method trusts its prediction most."""


@contextmanager
def constants(values: Mapping[str, float]) -> Iterator[None]:
    """Set constants of the method, named by module and name as in VARIANTS; an unknown name is an error."""
    places = {name: (import_module(f"driftpace.adaptive.{name.split('.')[0]}"), name.split(".")[1]) for name in values}
    before = {name: getattr(module, constant) for name, (module, constant) in places.items()}
    try:
        for name, (module, constant) in places.items():
            setattr(module, constant, values[name])
        yield
    finally:
        for name, (module, constant) in places.items():
            setattr(module, constant, before[name])


def bias_line(runs: Runs) -> list[str]:
    """Return bias and coverage of the audit."""
    risk, measured, weight, epsilon = runs["risk"], runs["measured"], runs["weight"], runs.epsilon
    known = np.isfinite(measured)
    if not known.any():
        return [runs.name, f"{epsilon:g}", *["-"] * (len(BIAS_HEADS) - 2)]
    weight, shown = np.where(known, weight, 0.0), np.where(known, measured, 0.0)
    interval, always, pooled = coverage(runs)
    truth = float(risk[known].mean())
    weighted_truth = float((weight * risk).sum() / weight.sum())
    return [
        runs.name,
        f"{epsilon:g}",
        f"{truth / epsilon:.2f}",
        f"{measured[known].mean() / epsilon:.2f}",
        _ratio(known * shown, known * risk),
        f"{weighted_truth / epsilon:.2f}",
        _ratio(weight * shown, weight * risk),
        f"{100.0 * known.mean():.0f} %",
        f"{weight[known].mean():.2f}",
        f"{interval:.3f}",
        f"{always:.2f}",
        f"{pooled:.3f}",
        f"{runs['aim'][:, -1].mean():.2f}",
    ]


def _ratio(above: FloatArray, below: FloatArray) -> str:
    """Return the ratio of sums over everything, and its standard error over runs."""
    tops, bottoms = above.sum(axis=1), below.sum(axis=1)
    ratio = float(tops.sum() / bottoms.sum())
    if len(tops) < 2:
        return f"{ratio:.2f}"
    error = float(np.std(tops - ratio * bottoms, ddof=1)) / math.sqrt(len(tops)) / float(bottoms.mean())
    return f"{ratio:.2f} +- {error:.2f}"


def coverage(runs: Runs) -> tuple[float, float, float]:
    """Return how often the interval covers in run-periods, in whole runs, and how often mean +- 2 se covers."""
    covered, always, pooled = list[bool](), list[bool](), list[bool]()
    for run in range(len(runs.values)):
        line = {name: runs.values[run, :, at] for at, name in enumerate(FIELDS)}
        at = np.flatnonzero(np.isfinite(line["measured"]))
        if at.size == 0:
            continue
        weight, risk = line["weight"][at], line["risk"][at]
        truth = np.cumsum(weight * risk) / np.cumsum(weight)
        within = (line["low"][at] <= truth) & (truth <= line["high"][at])
        covered += within.tolist()
        always.append(bool(within.all()))
        for last in range(LEAST_PERIODS - 1, at.size):
            part = slice(max(last + 1 - WINDOW, 0), last + 1)
            recent = float(weight[part] @ risk[part] / weight[part].sum())
            pooled.append(abs(line["mean"][at[last]] - recent) <= 2.0 * line["mean_error"][at[last]])
    return float(np.mean(covered)), float(np.mean(always)), float(np.mean(pooled)) if pooled else math.nan


def run_table(job: Job, run: int) -> FloatArray:
    """Return (periods, fields) of one run on a table."""
    tracker = job.asked.tracker(job.loss, job.coefficients - 1, job.tracker_seed(run))
    sources = [
        (CountedRows(rows), rows.pool, lambda coef, rows=rows: float(np.ravel(rows.population.excess_risk(coef))[0]))
        for rows in job.rows(run)
    ]
    return follow(tracker, sources)


def run_tables(runs: int, only: str | None) -> Iterator[Runs]:
    """Yield the runs of each table at each target."""
    for table in tables():
        if isinstance(table, str) or (only is not None and only not in table.name):
            continue
        for epsilon in table.epsilons:
            asked = TrackerConfig(epsilon=epsilon, certificate_level=LEVEL)
            with one_thread():
                job = prepare(
                    table.panel, loss=table.loss, asked=asked, test_fraction=TEST_FRACTION, seed=SEED, baselines=()
                )
                with Workers(job, workers=None, items=runs) as crew:
                    values = np.array(list(crew.map(run_table, list(range(runs)))))
            yield Runs(name=table.name, epsilon=epsilon, values=values)


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """How soon each run was found out: the periods until a warning and until a failed check, infinite where it never was."""

    warned: FloatArray
    failed: FloatArray


def found_out(runs: Runs, times: float) -> Found:
    """Judge the measurements of the runs by a target that the mean of their true risks is so many ``times`` above.

    The measurements are those that were made, the aim is not corrected by them: what is asked is how many periods it takes to
    see an excess of that size in rows like these.
    """
    known = np.isfinite(runs["measured"])
    weight = np.where(known, runs["weight"], 0.0)
    target = float((weight * runs["risk"]).sum() / weight.sum()) / times
    warned, failed = [], []
    for run in range(len(runs.values)):
        state, first = AuditState(), {"warned": math.inf, "failed": math.inf}
        for n in np.flatnonzero(known[run]):
            variance = runs["error"][run, n] ** 2
            expected = runs.epsilon**2 * (1.0 / runs["weight"][run, n] - 1.0)
            measured = Measured(
                excess=float(runs["measured"][run, n]), variance=float(variance), expected_variance=float(expected)
            )
            state = with_measured_risk(state, measured, target, target)
            audit = audit_of(state, measured, target)
            if audit is None or audit.all_periods < LEAST_PERIODS:
                continue
            if audit.mean - 2.0 * audit.mean_error > target:
                first["warned"] = min(first["warned"], float(n + 1))
            if audit.interval[0] > target:
                first["failed"] = min(first["failed"], float(n + 1))
        warned.append(first["warned"])
        failed.append(first["failed"])
    return Found(warned=np.array(warned), failed=np.array(failed))


def _when(periods: FloatArray) -> str:
    """Return the median, and the share of runs that were found out."""
    middle = float(np.median(periods))
    return (
        f"{middle:.0f} ({np.isfinite(periods).mean():.2f})"
        if math.isfinite(middle)
        else f"- ({np.isfinite(periods).mean():.2f})"
    )


def run_adversary(item: tuple[str, str, int, int]) -> FloatArray:
    """Return (periods, fields) of one run; ``item`` is (adversary, variant, run, periods)."""
    name, variant, run, periods = item
    with one_thread(), constants(VARIANTS[variant]):
        tracker = Tracker(SquaredLoss(), epsilon=EPSILON, certificate_level=LEVEL, features=FEATURES, cap=CAP, rng=run)
        lines = []
        for n, coef in enumerate(_positions(name, tracker, run, periods), start=1):
            truth = LinearPeriod(coef=coef)
            stream = RowStream(truth, [ADVERSARIES.index(name), run, n])
            lines.append(follow(tracker, [(stream, None, truth.excess_risk)])[0])
        return np.array(lines)


def _positions(name: str, tracker: Tracker, run: int, periods: int) -> Iterator[FloatArray]:
    """Yield the true coefficients of each period; an adversary sees how many labels the periods before took."""
    rng = np.random.default_rng([ADVERSARIES.index(name), run, 0])
    home = place = rng.standard_normal(FEATURES + 1) / math.sqrt(FEATURES + 1)
    for n in range(1, periods + 1):
        yield place
        direction = rng.standard_normal(FEATURES + 1)
        direction /= np.linalg.norm(direction)
        if name == "moves when orders are small":
            spent = np.array([report.samples for report in tracker.history])
            cost = 4.0 if spent[-1] < np.median(spent) else 0.0
        elif name == "every third period, and back":
            place, cost = home, 4.0 if (n + 1) % 3 == 0 else 0.0
        else:
            cost = COSTS[name](n + 1, rng)
        place = place + math.sqrt(2.0 * cost * EPSILON) * direction


def run_adversaries(variant: str, name: str, *, runs: int, periods: int, crew: ProcessPoolExecutor) -> Runs:
    """Return the runs of one variant of the method."""
    values = list(crew.map(run_adversary, [(name, variant, run, periods) for run in range(runs)]))
    return Runs(name=name, epsilon=EPSILON, values=np.array(values))


def feedback_line(runs: Runs, variant: str) -> list[str]:
    """Return the risk, and the path of risk and aim in tens of periods."""
    risk = runs["risk"] / runs.epsilon
    first = range(0, risk.shape[1], DECADE)
    half = risk[:, risk.shape[1] // 2 :].mean(axis=1)
    return [
        runs.name,
        variant,
        f"{risk.mean():.2f}",
        f"{half.mean():.2f} +- {half.std(ddof=1) / math.sqrt(len(half)) if len(half) > 1 else math.nan:.2f}",
        f"{runs['samples'].mean():.1f}",
        " ".join(f"{risk[:, n : n + DECADE].mean():.2f}" for n in first),
        " ".join(f"{runs['aim'][:, n : n + DECADE].mean():.2f}" for n in first),
        f"{100.0 * runs['failed'].mean():.0f} %",
        f"{100.0 * runs['unpromised'].mean():.0f} %",
    ]


def report_bias(every: Sequence[Runs], asked: argparse.Namespace) -> None:
    """Print bias, coverage and power."""
    print(f"\nThe audit against the truth, {asked.runs} runs, scenarios of {asked.periods} periods")
    print(BIAS_LEGEND)
    print(markdown(BIAS_HEADS, [bias_line(one) for one in every]))
    print(
        f"\nPeriods until the audit finds out a risk of {' or '.join(f'{times:g}' for times in JUDGED)} targets: median (share of"
    )
    print(
        "runs) of a warning (mean - 2 se) and of a failed check (interval), judged on the measurements of the same runs.\n"
    )
    lines = []
    for one in every:
        if np.isfinite(one["measured"]).any():
            each = [found_out(one, times) for times in JUDGED]
            cells = [_when(part) for found in each for part in (found.warned, found.failed)]
            lines.append([one.name, f"{one.epsilon:g}", *cells])
    heads = [f"{what}, {times:g}" for times in JUDGED for what in ("warns", "fails")]
    print(markdown(("scenario or table", "eps", *heads), lines))


def report_feedback(asked: argparse.Namespace) -> None:
    """Print risk and aim of every variant in worlds built to defeat the bank."""
    print(f"\nWorlds built to defeat the bank, {asked.runs} runs of {asked.long} periods (risks over the target)\n")
    heads = (
        *("world", "variant", "mean", "second half", "labels/period", "risk in tens", "aim in tens"),
        *("FAIL", "not promised"),
    )
    lines = []
    with ProcessPoolExecutor(asked.workers, mp_context=get_context("spawn")) as crew:
        for name in ADVERSARIES:
            for variant in VARIANTS:
                if name == "walk" or not variant.startswith("wrong"):
                    runs = run_adversaries(variant, name, runs=asked.runs, periods=asked.long, crew=crew)
                    lines.append(feedback_line(runs, variant))
    print(markdown(heads, lines))


def _announced(results: Iterable[Runs]) -> Iterator[Runs]:
    """Yield the results, printing the name of each as it comes."""
    for runs in results:
        print(f"{runs.name}, epsilon {runs.epsilon:g}", file=sys.stderr, flush=True)
        yield runs


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks audit", description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--periods", type=int, default=40, help="periods of the scenarios")
    parser.add_argument("--long", type=int, default=100, help="periods of the worlds built to defeat the bank")
    parser.add_argument("--only", default=None, help="scenarios and tables whose name contains this text")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args(arguments)
    began, every = time.perf_counter(), list[Runs]()
    if "scenarios" in asked.parts:
        chosen = [one for one in scenarios() if asked.only is None or asked.only in one.name]
        executor = open_executor("processes", workers=asked.workers)
        every += _announced(run_scenarios(chosen, runs=asked.runs, periods=asked.periods, executor=executor))
    if "tables" in asked.parts:
        every += _announced(run_tables(asked.runs, asked.only))
    if every:
        report_bias(every, asked)
    if "feedback" in asked.parts:
        report_feedback(asked)
    print(f"\nTook {time.perf_counter() - began:.0f} s.")


if __name__ == "__main__":
    main(sys.argv[1:])
