"""The exact planner beside the paper's relaxation and what anyone would try first: value, proof, time and memory.

python -m benchmarks planning [--horizons 12 52 250 1000] [--fixed 0 5 20 80] [--goals mean largest run] [--worlds fast slow]
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
    SHARE,
    SIMPLE,
    WORLDS,
    Answer,
    Apart,
    Cell,
    by_ipopt,
    by_slsqp,
    exactly,
    start_up,
    warm_up,
)
from benchmarks.real_tables import markdown

HORIZONS, FIXED = (12, 52, 250, 1000), (0, 5, 20, 80)
PATIENCE, PATIENCE_SLSQP = 4.0, 2.0  # times the limit, before IPOPT's first start and SLSQP are given up
REPEATED, SLSQP_LIMIT = 250, 250  # the longest horizons that are timed several times, and that SLSQP is tried on
ONCE = {"mean": (0.5, 5.0), "largest": (5.0, 50.0), "run": (5.0, 50.0)}  # seconds promised for T = 52 and T = 1000
PROMISED, GAP, EXPONENT = (52, 1000), 0.01, 2.0
TITLES = {
    "mean": "the mean gap (phi_1)",
    "largest": "the largest gap (phi_2)",
    "run": "the largest run of gaps (phi_3)",
}


@dataclass(slots=True)
class Shown:
    """Everything that was found on one problem; ``started`` are IPOPT's solves, one after the other."""

    cell: Cell
    exact: Answer | None = None
    simple: list[Answer] = field(default_factory=list)
    started: list[Answer] = field(default_factory=list)
    slsqp: Answer | None = None
    slow: bool = False

    @property
    def ipopt(self) -> tuple[Answer | None, Answer | None]:
        """The best of the first start, and of all that were done: their values, time and memory in all."""
        return _best([one for one in self.started if one.start == 0]), _best(self.started)

    @property
    def others(self) -> list[Answer]:
        """What every other planner reached."""
        return [one for one in (*self.ipopt, self.slsqp, *self.simple) if one is not None]

    def times(self, other: Answer | None) -> str:
        """How many times the exact planner's value another one's is."""
        if other is None or self.exact is None:
            return "-"
        if self.exact.value <= 0.0:
            return "1" if other.value <= 0.0 else "inf"
        ratio = other.value / self.exact.value
        return f"{ratio:.4f}" if ratio < 10.0 else f"{ratio:,.0f}"


def _best(answers: Sequence[Answer]) -> Answer | None:
    if not answers:
        return None
    return Answer(
        method="IPOPT",
        value=min(one.value for one in answers),
        lower=0.0,
        seconds=sum(one.seconds for one in answers),
        on_cpu=sum(one.on_cpu for one in answers),
        megabytes=max(one.megabytes for one in answers),
        solving=sum(one.solving for one in answers),
    )


class Progress:
    """One line on stderr: how many are done, and since when."""

    def __init__(self, what: str, number: int) -> None:
        self._what, self._number, self._done, self._began = what, number, 0, time.perf_counter()

    def tell(self, cell: Cell) -> None:
        """Count one more."""
        self._done += 1
        spent = time.perf_counter() - self._began
        name = f"T {cell.horizon}, {cell.world}, P0 {cell.fixed}, {cell.goal}"
        print(
            f"\r{self._what}: {self._done} of {self._number} problems, {spent:.0f} s ({name})".ljust(90),
            end="\n" if self._done == self._number else "",
            file=sys.stderr,
            flush=True,
        )


def plan_all(shown: Sequence[Shown], repeats: int) -> None:
    """Run the exact planner and the simple ones, one problem at a time."""
    progress = Progress("exact planner", len(shown))
    with Apart(warm_up) as apart:
        for one in shown:
            answers, whole = apart.ask(exactly, one.cell, repeats if one.cell.horizon <= REPEATED else 1)
            if not whole:
                sys.exit(f"the exact planner broke down on {one.cell}")
            one.exact, *one.simple = answers
            progress.tell(one.cell)


def relax_all(shown: Sequence[Shown], starts: int, limit: float) -> None:
    """Run IPOPT and SLSQP, for each world in a process of its own at the same time; whoever takes too long is ended."""
    progress = Progress("peers", len(shown))

    def relax(world: str) -> None:
        with Apart(start_up) as apart:
            for one in (one for one in shown if one.cell.world == world):
                one.started, _ = apart.ask(by_ipopt, one.cell, starts, limit, limit=PATIENCE * limit)
                if one.cell.horizon <= SLSQP_LIMIT:
                    answers, _ = apart.ask(by_slsqp, one.cell, 1, limit=PATIENCE_SLSQP * limit)
                    one.slsqp = answers[0] if answers else None
                    one.slow = not answers
                progress.tell(one.cell)

    worlds = list(dict.fromkeys(one.cell.world for one in shown))
    with ThreadPoolExecutor(len(worlds)) as crew:
        list(crew.map(relax, worlds))


def table(shown: Sequence[Shown], starts: int, *, peers: bool) -> str:
    """Return one line a problem: the exact planner, then how many times its value the others reach."""
    heads = ["T", "world", "P0", "value", "gap", "s", "on cpu", "MB"]
    if peers:
        heads += ["IPOPT 1", "s (solver)", "MB", f"IPOPT {starts}", "done, well", "s (solver)", "SLSQP", "s", "MB"]
    return markdown([*heads, *SIMPLE], [_line(one, peers=peers) for one in shown])


def _line(one: Shown, *, peers: bool) -> list[str]:
    exact = one.exact
    assert exact is not None
    cells = [str(one.cell.horizon), one.cell.world, str(one.cell.fixed), f"{exact.value:.5g}", _percent(_gap(exact))]
    cells += [f"{exact.seconds:.2f}", f"{exact.on_cpu:.2f}", _mb(exact)]
    if peers:
        (first, all_), slsqp = one.ipopt, one.slsqp
        cells += [one.times(first), _spent(first), _mb(first)]
        done, aims = len({each.start for each in one.started}), len(one.started)
        well = sum(each.well for each in one.started)
        cells += [one.times(all_), f"{done}, {well} of {aims}" if aims else "none", _spent(all_)]
        ended = " (ended early)" if slsqp and not slsqp.well else ""
        missing = "too slow" if one.slow else "not run"
        cells += [one.times(slsqp) + ended if slsqp else missing, f"{slsqp.seconds:.1f}" if slsqp else "-", _mb(slsqp)]
    return [*cells, *(one.times(each) for each in one.simple)]


def _gap(exact: Answer) -> float:
    return 0.0 if exact.value <= exact.lower else 1.0 - exact.lower / exact.value


def _percent(share: float) -> str:
    return f"{100.0 * share:.2f} %"


def _spent(answer: Answer | None) -> str:
    return "-" if answer is None else f"{answer.seconds:.1f} ({answer.solving:.1f})"


def _mb(answer: Answer | None) -> str:
    return "-" if answer is None or math.isnan(answer.megabytes) else f"{answer.megabytes:.0f}"


def claims(shown: Sequence[Shown]) -> Iterator[str]:
    """Yield what is promised of the exact planner, and whether it was kept here."""
    beaten = [(one, other) for one in shown for other in one.others if other.value < _value(one) * (1.0 - 1e-9)]
    number = sum(len(one.others) for one in shown)
    yield _claim(not beaten, f"never above another's value: {number - len(beaten)} of {number} comparisons")
    for one, other in beaten:
        yield f"      {one.cell}: exact {_value(one):.6g}, {other.method} {other.value:.6g}"
    for goal in dict.fromkeys(one.cell.goal for one in shown):
        group = [one for one in shown if one.cell.goal == goal]
        wide = [one for one in group if one.exact is not None and _gap(one.exact) >= GAP]
        worst = max(_gap(one.exact) for one in group if one.exact is not None)
        yield _claim(
            not wide,
            f"{goal}: gap below {GAP:.0%} in {len(group) - len(wide)} of {len(group)}, at most {_percent(worst)}",
        )
        for horizon, promised in zip(PROMISED, ONCE[goal], strict=True):
            taken = [one.exact for one in group if one.exact is not None and one.cell.horizon == horizon]
            yield _timed(goal, horizon, promised, taken)
        yield _growth(goal, group)


def _claim(kept: bool, sentence: str) -> str:
    return f"{'kept' if kept else 'NOT KEPT':>8}  {sentence}"


def _value(one: Shown) -> float:
    return math.nan if one.exact is None else one.exact.value


def _timed(goal: str, horizon: int, promised: float, taken: Sequence[Answer]) -> str:
    if not taken:
        return f"       -  {goal}: T = {horizon} was not run"
    slowest, middle = max(one.seconds for one in taken), float(np.median([one.seconds for one in taken]))
    busy = max(one.on_cpu for one in taken)
    said = f"{goal}: T = {horizon} below {promised:g} s: {middle:.2f} s in the middle, {slowest:.2f} s at most"
    return _claim(slowest < promised, f"{said} ({busy:.2f} s on a processor)")


def _growth(goal: str, group: Sequence[Shown]) -> str:
    """Say with which power of T the time grows, problem by problem, between the two promised horizons."""
    low, high = PROMISED
    spent = {(one.cell.world, one.cell.fixed, one.cell.horizon): one.exact for one in group}
    slopes = [
        math.log(last.on_cpu / first.on_cpu) / math.log(high / low)
        for (world, fixed, horizon), last in spent.items()
        if horizon == high and last is not None and (first := spent.get((world, fixed, low))) is not None
    ]
    if not slopes:
        return f"       -  {goal}: growth from T = {low} to {high} was not seen"
    said = f"{goal}: time on a processor grows as T^{np.median(slopes):.2f} from {low} to {high}, T^{max(slopes):.2f} at most"
    return _claim(max(slopes) < EXPONENT, said)


def describe(asked: argparse.Namespace, *, peers: bool) -> str:
    """Return what is measured, and how."""
    lines = [
        f"\nPlans within a budget: {SHARE:g} of what the risk rule would spend, epsilon {EPSILON:g}, P1 = 1. Worlds: fast is",
        "the paper's regression (last iterate of SGD, rho 1), slow has an anchored fit and rho 0.1, so that skipping",
        f"pays. One thread. Exact: alone, after compilation, median of {asked.repeats} up to T = {REPEATED}; gap: proven.",
        "Others: how many times its value they reach. MB: by how much the resident memory grew at most.",
    ]
    if peers:
        lines += [
            "Peers: a process for each world, at the same time. IPOPT: the paper's relaxation, then rounded; s (solver): with",
            "rounding, and the solver's own; done, well: starts, and solves that ended at a local optimum (phi_3 has three",
            f"aims a start). It begins no start after {asked.limit:g} s, and is ended after {PATIENCE * asked.limit:g} s.",
            f"SLSQP: one start on the same relaxation, ended after {PATIENCE_SLSQP * asked.limit:g} s (too slow);",
            f"not run above T = {SLSQP_LIMIT}.",
        ]
    return "\n".join(lines)


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks planning", description=__doc__)
    parser.add_argument("--horizons", type=int, nargs="+", default=HORIZONS)
    parser.add_argument("--fixed", type=int, nargs="+", default=FIXED, help="P0, where P1 = 1")
    parser.add_argument("--goals", nargs="+", default=tuple(GOALS), choices=tuple(GOALS))
    parser.add_argument("--worlds", nargs="+", default=tuple(WORLDS), choices=tuple(WORLDS))
    parser.add_argument("--starts", type=int, default=30, help="starts of IPOPT")
    parser.add_argument("--limit", type=float, default=12.0, help="seconds after which IPOPT begins no further start")
    parser.add_argument(
        "--repeats", type=int, default=3, help=f"calls of which the median is taken up to T = {REPEATED}"
    )
    parser.add_argument("--exact-only", action="store_true", help="no IPOPT, no SLSQP")
    asked = parser.parse_args(arguments)
    began = time.perf_counter()
    shown = [
        Shown(Cell(world=world, horizon=horizon, fixed=fixed, goal=goal))
        for goal, horizon, world, fixed in product(asked.goals, asked.horizons, asked.worlds, asked.fixed)
    ]
    peers = not asked.exact_only and find_spec("casadi") is not None
    plan_all(shown, asked.repeats)
    if peers:
        relax_all(shown, asked.starts, asked.limit)
    print(describe(asked, peers=peers))
    if not peers and not asked.exact_only:
        print("IPOPT and SLSQP are left out: casadi is not installed.")
    cores, busy = os.cpu_count() or 1, os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if busy > cores:
        print(f"(the machine is busy: a load of {busy:.1f} on {cores} cores; trust the time on a processor rather)")
    for goal in asked.goals:
        print(
            f"\n{TITLES[goal]}\n\n{table([one for one in shown if one.cell.goal == goal], asked.starts, peers=peers)}"
        )
    print(f"\n{_simple(shown)}\n\nThe exact planner")
    for line in claims(shown):
        print(line)
    print(f"\nTook {time.perf_counter() - began:.0f} s.")


def _simple(shown: Iterable[Shown]) -> str:
    answers = [answer for one in shown for answer in one.simple]
    seconds, most = max(one.seconds for one in answers), max(one.megabytes for one in answers)
    return f"{', '.join(SIMPLE)}: at most {seconds:.2f} s and {most:.0f} MB."


if __name__ == "__main__":
    main(sys.argv[1:])
