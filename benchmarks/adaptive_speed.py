"""Speed of the default tracker: ask + tell compared with one least-squares solve, first answers, budgets, and the demo.

Ratios are medians of the ratios of single rounds, both sides taking turns in one process: a slow phase hits both.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lstsq

from driftpace import SquaredLoss, Tracker
from driftpace.executors import one_thread
from driftpace.planning import Budget, LinearCost
from driftpace.typing import FloatArray

SIZES = ((1_000, 50), (100, 10))
ROUNDS = 60
EARLY, LATE = 10, 1_000
DEMO = ("backtest", "gss_income", "--epsilon", "0.02")


class Following:
    """A tracker on slowly drifting data, with the same number of rows each period."""

    def __init__(self, rows: int, features: int) -> None:
        self._rng = np.random.default_rng(0)
        self._rows, self._coef = rows, self._rng.standard_normal(features) / np.sqrt(features)
        self.tracker = Tracker(SquaredLoss(), epsilon=0.05, features=features, rng=0)

    def draw(self) -> tuple[FloatArray, FloatArray]:
        """Return the next period's rows."""
        self._coef = self._coef + 0.05 * self._rng.standard_normal(self._coef.size) / np.sqrt(self._coef.size)
        X = self._rng.standard_normal((self._rows, self._coef.size))
        return X, X @ self._coef + self._rng.standard_normal(self._rows)

    def period(self, X: FloatArray, y: FloatArray) -> None:
        """Ask, and tell what came."""
        self.tracker.ask()
        self.tracker.tell(X, y)


def seconds(call: Callable[[], object]) -> float:
    """Return how long a call took."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


FIRST = """
import time
began = time.perf_counter(), time.process_time()
import numpy as np
from driftpace import SquaredLoss, Tracker
rng, tracker = np.random.default_rng(0), Tracker(SquaredLoss(), epsilon=0.05, features=5, rng=0)
X = rng.standard_normal((tracker.ask().samples, 5))
tracker.tell(X, X.sum(axis=1) + rng.standard_normal(len(X)))
tracker.ask()
print(time.perf_counter() - began[0], time.process_time() - began[1])
"""


def first_answers() -> list[tuple[float, float]]:
    """Return seconds and processor seconds of import, ask, tell and ask in a fresh process: without a cache, and with it."""
    with tempfile.TemporaryDirectory() as cache:
        command, environment = [sys.executable, "-c", FIRST], os.environ | {"NUMBA_CACHE_DIR": cache}
        answers = [subprocess.run(command, env=environment, capture_output=True, check=True).stdout for _ in range(2)]
    return [(float(answer.split()[0]), float(answer.split()[1])) for answer in answers]


def budgeted_asks(money: int, fixed: int, horizon: int = 52) -> list[float]:
    """Return the milliseconds of every ask of a tracker with a budget."""
    budget = Budget(total=money, horizon=horizon, cost=LinearCost(fixed=fixed))
    rng, coef, times = np.random.default_rng(0), np.zeros(5), list[float]()
    tracker = Tracker(SquaredLoss(), epsilon=0.05, features=5, budget=budget, rng=0)
    while tracker.period <= horizon:
        began = time.perf_counter()
        request = tracker.ask()
        times.append(1e3 * (time.perf_counter() - began))
        if request.samples == 0:
            tracker.tell()
            coef = coef + 0.1 * rng.standard_normal(5)
            continue
        X = rng.standard_normal((request.samples, 5))
        tracker.tell(X, X @ coef + rng.standard_normal(len(X)), final=False)
    return times


def solve_normal_equations(design: FloatArray, y: FloatArray) -> FloatArray:
    """Return least squares by a Cholesky factor."""
    solution: FloatArray = cho_solve(
        cho_factor(design.T @ design, check_finite=False), design.T @ y, check_finite=False
    )
    return solution


def beside_a_solve(rows: int, features: int, rounds: int) -> tuple[float, float, float, float, float]:
    """Return milliseconds of ask + tell and of numpy's lstsq, and the ratio to it, to gelsy and to the normal equations."""
    following = Following(rows, features)
    own, plain, fast, normal = list[float](), list[float](), list[float](), list[float]()
    for turn in range(rounds + 5):
        X, y = following.draw()
        design = np.column_stack([X, np.ones(rows)])
        times = (
            seconds(lambda X=X, y=y: following.period(X, y)),  # type: ignore[misc]
            seconds(lambda design=design, y=y: np.linalg.lstsq(design, y)),  # type: ignore[misc]
            seconds(lambda design=design, y=y: lstsq(design, y, lapack_driver="gelsy", check_finite=False)),  # type: ignore[misc]
            seconds(lambda design=design, y=y: solve_normal_equations(design, y)),  # type: ignore[misc]
        )
        if turn >= 5:
            for kept, one in zip((own, plain, fast, normal), times, strict=True):
                kept.append(one)
    median = statistics.median
    return (
        1e3 * median(own),
        1e3 * median(plain),
        median(a / b for a, b in zip(own, plain, strict=True)),
        median(a / b for a, b in zip(own, fast, strict=True)),
        median(a / b for a, b in zip(own, normal, strict=True)),
    )


def grown(rows: int, features: int, late: int) -> tuple[float, float, int, int]:
    """Return milliseconds of a period around EARLY and around ``late``, and the bytes of the saved state after each."""
    following = Following(rows, features)
    times, sizes = list[float](), dict[int, int]()
    with tempfile.TemporaryDirectory() as folder:
        for period in range(1, late + 1):
            X, y = following.draw()
            times.append(seconds(lambda X=X, y=y: following.period(X, y)))  # type: ignore[misc]
            if period in (EARLY, late):
                path = Path(folder) / "state"
                following.tracker.save(path)
                sizes[period] = path.stat().st_size
    early, last = times[EARLY - 6 : EARLY + 5], times[-11:]
    return 1e3 * statistics.median(early), 1e3 * statistics.median(last), sizes[EARLY], sizes[late]


def demo(options: Sequence[str]) -> tuple[float, float, str]:
    """Return seconds and peak megabytes of all processes of the demo together, and the last line that it prints."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        command = [sys.executable, "-m", "driftpace", *options, "--out", folder]
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        peak = 0.0
        while running.poll() is None:
            peak = max(peak, _resident(running.pid))
            time.sleep(0.05)
        spent = time.perf_counter() - began
        assert running.stdout is not None
        lines = [line.strip() for line in running.stdout.read().splitlines() if line.strip()]
    if running.returncode:
        sys.exit(f"the demo failed: {lines[-1] if lines else 'no output'}")
    return spent, peak, next((line for line in lines if line.startswith("Took")), "")


def _resident(process: int) -> float:
    """Return the resident megabytes of a process and all its descendants; 0 where the system does not tell."""
    family, total = [process], 0.0
    while family:
        one = family.pop()
        try:
            total += int(Path(f"/proc/{one}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
            for task in Path(f"/proc/{one}/task").iterdir():
                family += [int(child) for child in (task / "children").read_text().split()]
        except (OSError, IndexError):
            continue
    return total


def main(rounds: int = ROUNDS, late: int = LATE, options: Sequence[str] = DEMO) -> None:
    print(f"\nA default ask + tell beside one least-squares solve of the same rows, median of {rounds} periods")
    print(
        f"{'threads':>8} {'rows':>6} {'features':>8} {'ask+tell ms':>12} {'lstsq ms':>9}"
        f" {'ratio':>6} {'ratio to gelsy':>15} {'to Cholesky':>12}"
    )
    cores, busy = os.cpu_count() or 1, os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if busy > cores:
        print(f"(the machine is busy: a load of {busy:.1f} on {cores} cores; trust the ratios with one thread only)")
    for threads in (one_thread(), nullcontext()):
        with threads:
            for rows, features in SIZES:
                own, plain, ratio, fast, normal = beside_a_solve(rows, features, rounds)
                many = "all" if isinstance(threads, nullcontext) else "one"
                print(
                    f"{many:>8} {rows:6d} {features:8d} {own:12.2f} {plain:9.2f} {ratio:6.2f} {fast:15.2f} {normal:12.2f}"
                )
    print(
        f"\nThe same around period {EARLY} and at period {late}, and the saved state (its history of reports included)"
    )
    print(
        f"{'rows':>6} {'features':>8} {'early ms':>9} {'late ms':>8} {'ratio':>6} {'early KB':>9} {'late KB':>8} {'B/period':>9}"
    )
    with one_thread():
        for rows, features in SIZES:
            before, after, small, large = grown(rows, features, late)
            each = (large - small) / (late - EARLY)
            print(
                f"{rows:6d} {features:8d} {before:9.2f} {after:8.2f} {after / before:6.2f}"
                f" {small / 1e3:9.1f} {large / 1e3:8.1f} {each:9.0f}"
            )
    print("\nThe first answer of a fresh process: import, ask, tell, ask")
    for name, (wall, processor) in zip(("without a cache", "with the cache"), first_answers(), strict=True):
        print(f"{name:>16} {wall:6.2f} s, of it {processor:.2f} s of processor time")
    print("\nOne ask with a budget over 52 periods, 5 features")
    print(f"{'money':>8} {'fixed':>6} {'asks':>6} {'median ms':>10} {'90 % ms':>8} {'most ms':>8}")
    with one_thread():
        for money, fixed in ((2_000, 0), (2_000, 20), (20_000, 0)):
            asks = budgeted_asks(money, fixed)
            most, late_ones = max(asks), float(np.quantile(asks, 0.9))
            print(f"{money:8d} {fixed:6d} {len(asks):6d} {statistics.median(asks):10.1f} {late_ones:8.1f} {most:8.1f}")
    spent, peak, summary = demo(options)
    print(f"\ndriftpace {' '.join(options)}: {spent:.1f} s and {peak:,.0f} MB at most in all its processes together")
    print(f"reported by the demo: {summary}")


if __name__ == "__main__":
    main()
