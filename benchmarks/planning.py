"""The exact planner, the paper's relaxation and simple plans: value, proof, time and memory.

python -m benchmarks planning [--horizons 12 52 250 1000] [--fixed 0 5 20 80] [--goals mean largest run] [--settings fast slow]
    [--starts 30] [--limit 12] [--repeats 3] [--exact-only]
"""

import argparse
import math
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import product

import numpy as np

from benchmarks.planning_runs import (
    EPSILON,
    GOALS,
    SETTINGS,
    SHARE,
    SIMPLE,
    Cell,
    PlannerResult,
    WorkerProcess,
    run_exact,
    run_ipopt,
    run_slsqp,
    start_up,
    warm_up,
)
from benchmarks.real_tables import markdown

HORIZONS, FIXED = (12, 52, 250, 1000), (0, 5, 20, 80)
PATIENCE, PATIENCE_SLSQP = 4.0, 2.0  # times the limit, after which IPOPT's first start and SLSQP are stopped
REPEATED, SLSQP_LIMIT = 250, 250  # the longest horizons that are timed several times, and that SLSQP is tried on
ONCE = {"mean": (0.5, 5.0), "largest": (5.0, 50.0), "run": (5.0, 50.0)}  # seconds promised for T = 52 and T = 1000
PROMISED, GAP, EXPONENT = (52, 1000), 0.01, 2.0
TITLES = {
    "mean": "the mean gap (phi_1)",
    "largest": "the largest gap (phi_2)",
    "run": "the largest run of gaps (phi_3)",
}


@dataclass(slots=True)
class Comparison:
    """All results on one problem; ``started`` are the runs of IPOPT in order."""

    cell: Cell
    exact: PlannerResult | None = None
    simple: list[PlannerResult] = field(default_factory=list)
    started: list[PlannerResult] = field(default_factory=list)
    slsqp: PlannerResult | None = None
    slow: bool = False

    @property
    def ipopt(self) -> tuple[PlannerResult | None, PlannerResult | None]:
        """The best of the first start, and of all that were done: their values, time and memory in all."""
        return _best([case for case in self.started if case.start == 0]), _best(self.started)

    @property
    def others(self) -> list[PlannerResult]:
        """What every other planner reached."""
        return [case for case in (*self.ipopt, self.slsqp, *self.simple) if case is not None]

    def times(self, other: PlannerResult | None) -> str:
        """How many times the exact planner's value another one's is."""
        if other is None or self.exact is None:
            return "-"
        if self.exact.value <= 0.0:
            return "1" if other.value <= 0.0 else "inf"
        ratio = other.value / self.exact.value
        return f"{ratio:.4f}" if ratio < 10.0 else f"{ratio:,.0f}"


def _best(answers: Sequence[PlannerResult]) -> PlannerResult | None:
    if not answers:
        return None
    return PlannerResult(
        method="IPOPT",
        value=min(case.value for case in answers),
        lower=0.0,
        seconds=sum(case.seconds for case in answers),
        on_cpu=sum(case.on_cpu for case in answers),
        megabytes=max(case.megabytes for case in answers),
        solving=sum(case.solving for case in answers),
    )


class Progress:
    """A progress line on stderr."""

    def __init__(self, what: str, number: int) -> None:
        self._what, self._number, self._done, self._began = what, number, 0, time.perf_counter()

    def count(self, cell: Cell) -> None:
        """Count one more."""
        self._done += 1
        spent = time.perf_counter() - self._began
        name = f"T {cell.horizon}, {cell.setting}, P0 {cell.fixed}, {cell.goal}"
        print(
            f"\r{self._what}: {self._done} of {self._number} problems, {spent:.0f} s ({name})".ljust(90),
            end="\n" if self._done == self._number else "",
            file=sys.stderr,
            flush=True,
        )


def plan_all(cases: Sequence[Comparison], repeats: int) -> None:
    """Run the exact planner and the simple ones, one problem at a time."""
    progress = Progress("exact planner", len(cases))
    with WorkerProcess(warm_up) as worker:
        for case in cases:
            answers, finished = worker.ask(run_exact, case.cell, repeats if case.cell.horizon <= REPEATED else 1)
            if not finished:
                sys.exit(f"the exact planner failed on {case.cell}")
            case.exact, *case.simple = answers
            progress.count(case.cell)


def relax_all(cases: Sequence[Comparison], starts: int, limit: float) -> None:
    """Run IPOPT and SLSQP, for each setting in parallel, in one process per setting; runs that take too long are stopped."""
    progress = Progress("peers", len(cases))

    def relax(setting: str) -> None:
        with WorkerProcess(start_up) as worker:
            for case in (case for case in cases if case.cell.setting == setting):
                case.started, _ = worker.ask(run_ipopt, case.cell, starts, limit, limit=PATIENCE * limit)
                if case.cell.horizon <= SLSQP_LIMIT:
                    answers, _ = worker.ask(run_slsqp, case.cell, 1, limit=PATIENCE_SLSQP * limit)
                    case.slsqp = answers[0] if answers else None
                    case.slow = not answers
                progress.count(case.cell)

    settings = list(dict.fromkeys(case.cell.setting for case in cases))
    with ThreadPoolExecutor(len(settings)) as crew:
        list(crew.map(relax, settings))


def table(cases: Sequence[Comparison], starts: int, *, peers: bool) -> str:
    """Return one line a problem: the exact planner, then how many times its value the others reach."""
    heads = ["T", "setting", "P0", "value", "gap", "s", "on cpu", "MB"]
    if peers:
        heads += ["IPOPT 1", "s (solver)", "MB", f"IPOPT {starts}", "done, well", "s (solver)", "SLSQP", "s", "MB"]
    return markdown([*heads, *SIMPLE], [_line(case, peers=peers) for case in cases])


def _line(case: Comparison, *, peers: bool) -> list[str]:
    exact = case.exact
    assert exact is not None
    cells = [
        str(case.cell.horizon),
        case.cell.setting,
        str(case.cell.fixed),
        f"{exact.value:.5g}",
        _percent(_gap(exact)),
    ]
    cells += [f"{exact.seconds:.2f}", f"{exact.on_cpu:.2f}", _mb(exact)]
    if peers:
        (first, all_), slsqp = case.ipopt, case.slsqp
        cells += [case.times(first), _spent(first), _mb(first)]
        done, aims = len({each.start for each in case.started}), len(case.started)
        well = sum(each.well for each in case.started)
        cells += [case.times(all_), f"{done}, {well} of {aims}" if aims else "none", _spent(all_)]
        ended = " (ended early)" if slsqp and not slsqp.well else ""
        missing = "too slow" if case.slow else "not run"
        cells += [case.times(slsqp) + ended if slsqp else missing, f"{slsqp.seconds:.1f}" if slsqp else "-", _mb(slsqp)]
    return [*cells, *(case.times(each) for each in case.simple)]


def _gap(exact: PlannerResult) -> float:
    return 0.0 if exact.value <= exact.lower else 1.0 - exact.lower / exact.value


def _percent(share: float) -> str:
    return f"{100.0 * share:.2f} %"


def _spent(answer: PlannerResult | None) -> str:
    return "-" if answer is None else f"{answer.seconds:.1f} ({answer.solving:.1f})"


def _mb(answer: PlannerResult | None) -> str:
    return "-" if answer is None or math.isnan(answer.megabytes) else f"{answer.megabytes:.0f}"


def claims(cases: Sequence[Comparison]) -> Iterator[str]:
    """Yield the claims about the exact planner, and whether they hold here."""
    beaten = [(case, other) for case in cases for other in case.others if other.value < _value(case) * (1.0 - 1e-9)]
    number = sum(len(case.others) for case in cases)
    yield _claim(not beaten, f"never above another's value: {number - len(beaten)} of {number} comparisons")
    for case, other in beaten:
        yield f"      {case.cell}: exact {_value(case):.6g}, {other.method} {other.value:.6g}"
    for goal in dict.fromkeys(case.cell.goal for case in cases):
        group = [case for case in cases if case.cell.goal == goal]
        wide = [case for case in group if case.exact is not None and _gap(case.exact) >= GAP]
        worst = max(_gap(case.exact) for case in group if case.exact is not None)
        yield _claim(
            not wide,
            f"{goal}: gap below {GAP:.0%} in {len(group) - len(wide)} of {len(group)}, at most {_percent(worst)}",
        )
        for horizon, promised in zip(PROMISED, ONCE[goal], strict=True):
            taken = [case.exact for case in group if case.exact is not None and case.cell.horizon == horizon]
            yield _timed(goal, horizon, promised, taken)
        yield _growth(goal, group)


def _claim(kept: bool, sentence: str) -> str:
    return f"{'kept' if kept else 'NOT KEPT':>8}  {sentence}"


def _value(case: Comparison) -> float:
    return math.nan if case.exact is None else case.exact.value


def _timed(goal: str, horizon: int, promised: float, taken: Sequence[PlannerResult]) -> str:
    if not taken:
        return f"       -  {goal}: T = {horizon} was not run"
    slowest, middle = max(case.seconds for case in taken), float(np.median([case.seconds for case in taken]))
    busy = max(case.on_cpu for case in taken)
    text = f"{goal}: T = {horizon} below {promised:g} s: {middle:.2f} s in the middle, {slowest:.2f} s at most"
    return _claim(slowest < promised, f"{text} ({busy:.2f} s on a processor)")


def _growth(goal: str, group: Sequence[Comparison]) -> str:
    """Return the power of T with which the time grows between the two claimed horizons."""
    low, high = PROMISED
    spent = {(case.cell.setting, case.cell.fixed, case.cell.horizon): case.exact for case in group}
    slopes = [
        math.log(last.on_cpu / first.on_cpu) / math.log(high / low)
        for (setting, fixed, horizon), last in spent.items()
        if horizon == high and last is not None and (first := spent.get((setting, fixed, low))) is not None
    ]
    if not slopes:
        return f"       -  {goal}: growth from T = {low} to {high} was not measured"
    text = f"{goal}: time on a processor grows as T^{np.median(slopes):.2f} from {low} to {high}, T^{max(slopes):.2f} at most"
    return _claim(max(slopes) < EXPONENT, text)


def describe(options: argparse.Namespace, *, peers: bool) -> str:
    """Return what is measured, and how."""
    lines = [
        f"\nPlans within a budget: {SHARE:g} of what the risk rule would spend, epsilon {EPSILON:g}, P1 = 1. Settings: fast is",
        "the paper's regression (last iterate of SGD, rho 1), slow has an anchored fit and rho 0.1, so that skipping",
        f"pays. One thread. Exact: alone, after compilation, median of {options.repeats} up to T = {REPEATED}; gap: proven.",
        "Others: how many times its value they reach. MB: by how much the resident memory grew at most.",
    ]
    if peers:
        lines += [
            "Peers: a process for each setting, at the same time. IPOPT: the paper's relaxation, then rounded; s (solver): with",
            "rounding, and the solver's own; done, well: starts, and solves that ended at a local optimum (phi_3 has three",
            f"aims a start). It begins no start after {options.limit:g} s, and is ended after {PATIENCE * options.limit:g} s.",
            f"SLSQP: one start on the same relaxation, ended after {PATIENCE_SLSQP * options.limit:g} s (too slow);",
            f"not run above T = {SLSQP_LIMIT}.",
        ]
    return "\n".join(lines)


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks planning", description=__doc__)
    parser.add_argument("--horizons", type=int, nargs="+", default=HORIZONS)
    parser.add_argument("--fixed", type=int, nargs="+", default=FIXED, help="P0, where P1 = 1")
    parser.add_argument("--goals", nargs="+", default=tuple(GOALS), choices=tuple(GOALS))
    parser.add_argument("--settings", nargs="+", default=tuple(SETTINGS), choices=tuple(SETTINGS))
    parser.add_argument("--starts", type=int, default=30, help="starts of IPOPT")
    parser.add_argument("--limit", type=float, default=12.0, help="seconds after which IPOPT begins no further start")
    parser.add_argument(
        "--repeats", type=int, default=3, help=f"calls of which the median is taken up to T = {REPEATED}"
    )
    parser.add_argument("--exact-only", action="store_true", help="no IPOPT, no SLSQP")
    options = parser.parse_args(arguments)
    began = time.perf_counter()
    cases = [
        Comparison(Cell(setting=setting, horizon=horizon, fixed=fixed, goal=goal))
        for goal, horizon, setting, fixed in product(options.goals, options.horizons, options.settings, options.fixed)
    ]
    peers = not options.exact_only and find_spec("casadi") is not None
    plan_all(cases, options.repeats)
    if peers:
        relax_all(cases, options.starts, options.limit)
    print(describe(options, peers=peers))
    if not peers and not options.exact_only:
        print("IPOPT and SLSQP are left out: casadi is not installed.")
    cores, busy = os.cpu_count() or 1, os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if busy > cores:
        print(f"(the machine is busy: a load of {busy:.1f} on {cores} cores; compare CPU times)")
    for goal in options.goals:
        print(
            f"\n{TITLES[goal]}\n\n{table([case for case in cases if case.cell.goal == goal], options.starts, peers=peers)}"
        )
    print(f"\n{_simple(cases)}\n\nThe exact planner")
    for line in claims(cases):
        print(line)
    print(f"\nTook {time.perf_counter() - began:.0f} s.")


def _simple(cases: Iterable[Comparison]) -> str:
    answers = [answer for case in cases for answer in case.simple]
    seconds, most = max(case.seconds for case in answers), max(case.megabytes for case in answers)
    return f"{', '.join(SIMPLE)}: at most {seconds:.2f} s and {most:.0f} MB."


if __name__ == "__main__":
    main(sys.argv[1:])
