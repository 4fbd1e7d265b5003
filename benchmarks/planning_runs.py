"""Planning problems of every size, the planners that are tried on them, and a process of their own to be measured in."""

import ctypes
import gc
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.planning_peers import plan_by_slsqp
from driftpace.backtest.workers import one_thread
from driftpace.bounds import Anchored, LastIterate, NoiseModel
from driftpace.planning import (
    Gap,
    LargestGap,
    LargestRun,
    LinearCost,
    MeanGap,
    Outlook,
    Problem,
    periodic,
    plan_exact,
    risk_gaps,
    risk_rule,
    risk_trajectory,
    uniform,
    up_front,
)
from driftpace.records import Money, Plan
from driftpace.schedules import InverseTime

EPSILON, SHARE = 0.1, 0.6  # the target, and the budget as a share of what holding it by the risk rule would cost
SMALL = 12  # periods of what is planned first, to be warm
WORLDS = {
    "fast": Outlook(  # the paper's regression, theory 6.1
        bound=LastIterate(
            m=1.0,
            M=1.0,
            noise=NoiseModel.second_moment(A=0.16, B=4.0, M=1.0),
            schedule=InverseTime(scale=2.0, shift=8.0),
        ),
        rho=1.0,
        start=10.0,
        diameter=20.0,
    ),
    "slow": Outlook(bound=Anchored(noise=1.0, features=10), rho=0.1, start=3.0, diameter=20.0),
}
GOALS: dict[str, Callable[[], Gap]] = {"mean": MeanGap, "largest": LargestGap, "run": LargestRun}
AIMS = {"mean": ("mean",), "largest": ("largest",), "run": ("mean", "largest", "runs")}
SIMPLE: dict[str, Callable[[Problem], Plan]] = {
    "uniform": uniform,
    "every second": lambda problem: periodic(problem, every=2),
    "up front": up_front,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One problem: a world, a number of periods, what an order costs before its first sample (each costs 1), and a goal."""

    world: str
    horizon: int
    fixed: int
    goal: str

    @property
    def problem(self) -> Problem:
        """The problem itself; its budget is a share of what the risk rule would spend."""
        problem = Problem(
            outlook=WORLDS[self.world],
            epsilon=EPSILON,
            budget=Money.of(1),
            horizon=self.horizon,
            cost=LinearCost(fixed=self.fixed),
            gap=GOALS[self.goal](),
        )
        return replace(problem, budget=Money.of(math.floor(SHARE * float(risk_rule(problem).spent.amount))))


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What a planner reached: its value and what it proved, the time it took (all, and on a processor) and the most memory.

    ``solving`` is the part of the time that was the solver's own; ``well`` whether it says that it came to an end.
    """

    method: str
    value: float
    lower: float
    seconds: float
    on_cpu: float
    megabytes: float
    solving: float = 0.0
    start: int = 0
    well: bool = True


class Measured:
    """A context that takes the time and how much the resident memory of this process grew at the most."""

    def __enter__(self) -> "Measured":
        gc.collect()
        _give_back()
        _forget_peak()
        self._before = _kilobytes("VmRSS")
        self._cpu, self._clock = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._clock
        self.on_cpu = time.process_time() - self._cpu
        self.megabytes = max(_kilobytes("VmHWM") - self._before, 0.0) / 1e3

    def answer(
        self, method: str, value: float, *, lower: float = 0.0, solving: float = 0.0, start: int = 0, well: bool = True
    ) -> Answer:
        """Return an answer that took as much as was measured."""
        return Answer(
            method=method, value=value, lower=lower, seconds=self.seconds, on_cpu=self.on_cpu,
            megabytes=self.megabytes, solving=solving, start=start, well=well,
        )  # fmt: skip


def exactly(cell: Cell, repeats: int) -> Iterator[Answer]:
    """Yield the exact planner's answer, with the median time of some repeats, and those of the plans anyone would try."""
    problem, found = cell.problem, list[Answer]()
    for _ in range(repeats):
        with Measured() as measured:
            plan = plan_exact(problem)
        found.append(measured.answer("exact", plan.value, lower=plan.lower))
    yield replace(
        found[0],  # the first call's memory: a later one has that of the first to use again
        seconds=statistics.median(each.seconds for each in found),
        on_cpu=statistics.median(each.on_cpu for each in found),
    )
    for name, planner in SIMPLE.items():
        with Measured() as measured:
            plan = planner(problem)
        yield measured.answer(name, plan.value)


def by_ipopt(cell: Cell, starts: int, limit: float) -> Iterator[Answer]:
    """Yield what IPOPT and rounding make of each start, one solve after the other, none after the first begun past the limit.

    The time of the first solve is with making ready.
    """
    from driftpace.planning.relaxed import round_samples
    from driftpace.planning.relaxed.ipopt import CONVERGED, IpoptSolver
    from driftpace.planning.relaxed.programme import RelaxedProgramme

    problem, until = cell.problem, time.perf_counter() + limit
    with Measured() as ready:
        programme = RelaxedProgramme.of(problem, K0=0.5, rows="paper", recursion="paper")
        assert programme is not None
        solvers = [IpoptSolver.of(programme, aim, 300) for aim in AIMS[cell.goal]]  # type: ignore[arg-type]
    for number, ((start, point), solver) in enumerate(product(enumerate(programme.starts(starts, 0)), solvers)):
        if start > 0 and time.perf_counter() > until:
            return
        with Measured() as measured:
            began = time.perf_counter()
            real, status = solver(point)
            solving = time.perf_counter() - began
            samples = round_samples(problem, real, most=programme.most)
        value = problem.gap(risk_gaps(risk_trajectory(problem.outlook, samples), problem.epsilon))
        answer = measured.answer("IPOPT", value, solving=solving, start=start, well=status in CONVERGED)
        answer = replace(answer, megabytes=answer.megabytes + ready.megabytes)
        if number == 0:
            answer = replace(answer, seconds=answer.seconds + ready.seconds, on_cpu=answer.on_cpu + ready.on_cpu)
        yield answer


def by_slsqp(cell: Cell, starts: int) -> Iterator[Answer]:
    """Yield SLSQP's answer."""
    problem = cell.problem
    with Measured() as measured:
        plan = plan_by_slsqp(problem, starts=starts)
    yield measured.answer("SLSQP", plan.value, well="terminated successfully" in plan.reason)


def warm_up() -> Iterator[Answer]:
    """Compile: ask for small plans of every kind."""
    for world, goal, fixed in product(WORLDS, GOALS, (0, 20)):
        yield from exactly(Cell(world=world, horizon=SMALL, goal=goal, fixed=fixed), 1)


def start_up() -> Iterator[Answer]:
    """Import and solve something small, so that the first one measured is not the one that pays for it."""
    cell = Cell(world="slow", horizon=SMALL, goal="mean", fixed=5)
    yield from by_ipopt(cell, 1, math.inf)
    yield from by_slsqp(cell, 1)


class Apart:
    """A process of its own, in which linear algebra has one thread; it answers task after task.

    It begins with ``first``, whose answers nobody sees. When it is ended, because it took too long, another takes its place.
    """

    def __init__(self, first: Callable[[], Iterator[Answer]]) -> None:
        self._first = first
        self._running = False

    def __enter__(self) -> "Apart":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def ask(
        self, task: Callable[..., Iterator[Answer]], *arguments: object, limit: float = math.inf
    ) -> tuple[list[Answer], bool]:
        """Return the answers that came within ``limit`` seconds, and whether they are all."""
        if not self._running:
            self._begin()
            self._answers(self._first, (), math.inf)
        found, whole = self._answers(task, arguments, limit)
        if not whole:
            self._end()
        return found, whole

    def _answers(
        self, task: Callable[..., Iterator[Answer]], arguments: tuple[object, ...], limit: float
    ) -> tuple[list[Answer], bool]:
        self._pipe.send((task, arguments))
        until, found = time.perf_counter() + limit, list[Answer]()
        while self._pipe.poll(None if math.isinf(limit) else max(until - time.perf_counter(), 0.0)):
            try:
                answer = self._pipe.recv()
            except EOFError:  # it broke down, and has said why
                break
            if answer is None:
                return found, True
            found.append(answer)
        return found, False

    def _begin(self) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._running = True

    def _end(self) -> None:
        if self._running:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._running = False


def _serve(pipe: Connection) -> None:
    with one_thread():
        while True:
            try:
                task, arguments = pipe.recv()
            except EOFError:
                return
            for answer in task(*arguments):
                pipe.send(answer)
            pipe.send(None)
            gc.freeze()  # what is left is left for good; so that collecting garbage before the next measurement is quick


def _give_back() -> None:
    """Give freed memory back to the system, where the C library can, so that it is not used again unseen."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return


def _forget_peak() -> None:
    """Let the kernel count the peak from now on (Linux); elsewhere no memory is told."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _kilobytes(name: str) -> float:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return math.nan
    return next((float(line.split()[1]) for line in lines if line.startswith(name)), math.nan)
