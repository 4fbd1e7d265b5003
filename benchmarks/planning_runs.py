"""Planning problems of every size, the planners run on them, and a worker process for the measurements."""

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
from driftpace.bounds import Anchored, LastIterate, NoiseModel
from driftpace.executors import one_thread
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

EPSILON, SHARE = 0.1, 0.6  # the target, and the budget as a share of the cost of the risk rule
SMALL = 12  # periods of the warm-up problems
SETTINGS = {
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
    """A problem: a setting, a number of periods, the fixed price of an order (a sample costs 1), and a goal."""

    setting: str
    horizon: int
    fixed: int
    goal: str

    @property
    def problem(self) -> Problem:
        """The problem itself; its budget is a share of what the risk rule would spend."""
        problem = Problem(
            outlook=SETTINGS[self.setting],
            epsilon=EPSILON,
            budget=Money.of(1),
            horizon=self.horizon,
            cost=LinearCost(fixed=self.fixed),
            gap=GOALS[self.goal](),
        )
        return replace(problem, budget=Money.of(math.floor(SHARE * float(risk_rule(problem).spent.amount))))


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannerResult:
    """The result of a planner: value, proven lower bound, wall and CPU time, and peak memory.

    ``solving`` is the time spent in the solver, ``well`` whether it reports convergence.
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


class Measurement:
    """A context manager that measures time and the peak growth of resident memory."""

    def __enter__(self) -> "Measurement":
        gc.collect()
        _trim_memory()
        _reset_peak()
        self._before = _kilobytes("VmRSS")
        self._cpu, self._clock = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._clock
        self.on_cpu = time.process_time() - self._cpu
        self.megabytes = max(_kilobytes("VmHWM") - self._before, 0.0) / 1e3

    def answer(
        self, method: str, value: float, *, lower: float = 0.0, solving: float = 0.0, start: int = 0, well: bool = True
    ) -> PlannerResult:
        """Return a result with the measured time and memory."""
        return PlannerResult(
            method=method, value=value, lower=lower, seconds=self.seconds, on_cpu=self.on_cpu,
            megabytes=self.megabytes, solving=solving, start=start, well=well,
        )  # fmt: skip


def run_exact(cell: Cell, repeats: int) -> Iterator[PlannerResult]:
    """Yield the result of the exact planner, with the median time of the repeats, and those of the simple plans."""
    problem, results = cell.problem, list[PlannerResult]()
    for _ in range(repeats):
        with Measurement() as measured:
            plan = plan_exact(problem)
        results.append(measured.answer("exact", plan.value, lower=plan.lower))
    yield replace(
        results[0],  # memory of the first call: later ones reuse it
        seconds=statistics.median(each.seconds for each in results),
        on_cpu=statistics.median(each.on_cpu for each in results),
    )
    for name, planner in SIMPLE.items():
        with Measurement() as measured:
            plan = planner(problem)
        yield measured.answer(name, plan.value)


def run_ipopt(cell: Cell, starts: int, limit: float) -> Iterator[PlannerResult]:
    """Yield the rounded result of IPOPT from each start; after the time limit no further start begins.

    The time of the first run includes the set-up.
    """
    from driftpace.planning.relaxed import round_samples
    from driftpace.planning.relaxed.planner import CONVERGED, IpoptSolver
    from driftpace.planning.relaxed.programme import RelaxedProgramme

    problem, until = cell.problem, time.perf_counter() + limit
    with Measurement() as ready:
        programme = RelaxedProgramme.of(problem, K0=0.5, rows="paper", recursion="paper")
        assert programme is not None
        solvers = [IpoptSolver.of(programme, aim, 300) for aim in AIMS[cell.goal]]  # type: ignore[arg-type]
    for number, ((start, point), solver) in enumerate(product(enumerate(programme.starts(starts, 0)), solvers)):
        if start > 0 and time.perf_counter() > until:
            return
        with Measurement() as measured:
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


def run_slsqp(cell: Cell, starts: int) -> Iterator[PlannerResult]:
    """Yield the result of SLSQP."""
    problem = cell.problem
    with Measurement() as measured:
        plan = plan_by_slsqp(problem, starts=starts)
    yield measured.answer("SLSQP", plan.value, well="terminated successfully" in plan.reason)


def warm_up() -> Iterator[PlannerResult]:
    """Compile the kernels on small problems of every kind."""
    for setting, goal, fixed in product(SETTINGS, GOALS, (0, 20)):
        yield from run_exact(Cell(setting=setting, horizon=SMALL, goal=goal, fixed=fixed), 1)


def start_up() -> Iterator[PlannerResult]:
    """Import the solvers and solve a small problem before the first measurement."""
    cell = Cell(setting="slow", horizon=SMALL, goal="mean", fixed=5)
    yield from run_ipopt(cell, 1, math.inf)
    yield from run_slsqp(cell, 1)


class WorkerProcess:
    """A worker process with single-threaded linear algebra that runs one task after another.

    It starts with ``first``, whose results are discarded. After a timeout it is killed and replaced.
    """

    def __init__(self, first: Callable[[], Iterator[PlannerResult]]) -> None:
        self._first = first
        self._running = False

    def __enter__(self) -> "WorkerProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def ask(
        self, task: Callable[..., Iterator[PlannerResult]], *arguments: object, limit: float = math.inf
    ) -> tuple[list[PlannerResult], bool]:
        """Return the results within ``limit`` seconds, and whether the task finished."""
        if not self._running:
            self._begin()
            self._answers(self._first, (), math.inf)
        results, finished = self._answers(task, arguments, limit)
        if not finished:
            self._end()
        return results, finished

    def _answers(
        self, task: Callable[..., Iterator[PlannerResult]], arguments: tuple[object, ...], limit: float
    ) -> tuple[list[PlannerResult], bool]:
        self._pipe.send((task, arguments))
        until, results = time.perf_counter() + limit, list[PlannerResult]()
        while self._pipe.poll(None if math.isinf(limit) else max(until - time.perf_counter(), 0.0)):
            try:
                answer = self._pipe.recv()
            except EOFError:  # the process failed and printed its traceback
                break
            if answer is None:
                return results, True
            results.append(answer)
        return results, False

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
            gc.freeze()  # remaining objects are permanent: garbage collection before the next measurement is fast


def _trim_memory() -> None:
    """Return freed memory to the system if the C library can, so that its reuse is measured."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return


def _reset_peak() -> None:
    """Reset the peak memory of this process (Linux only)."""
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
