"""``driftpace warm``: compile the numerical kernels ahead of time, so that the first answer of a process does not wait for them."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import typer

from driftpace.cli.options import ShownList
from driftpace.cli.output import ListForm


class CompiledPart(NamedTuple):
    """A part of the library: its kernels that are ready, how many of them had to be compiled, and the seconds it took."""

    part: str
    kernels: int
    compiled: int
    seconds: float


def warm(form: ShownList = ListForm.TABLE) -> None:
    """Compile and cache the numerical kernels.

    Run it once while a container image is built: processes that start from the image then load the machine code from the cache.
    The cache is beside the package, or where NUMBA_CACHE_DIR says. A second run compiles nothing.

    Example: driftpace warm
    """
    from driftpace.cli.output import print_csv, print_json, print_note, print_table

    parts = [_run(name, work) for name, work in _PARTS.items()]
    total = sum(part.seconds for part in parts)
    if form is ListForm.JSON:
        print_json([part._asdict() for part in parts])
        return
    rows = [(part.part, str(part.kernels), str(part.compiled), f"{part.seconds:.1f}") for part in parts]
    if form is ListForm.CSV:
        print_csv(CompiledPart._fields, rows)
        return
    print_table(("part", "kernels", "compiled", "seconds"), rows, right=(1, 2, 3))
    print_note(f"{sum(part.kernels for part in parts)} kernels are ready, compiled or loaded in {total:.1f} s.")
    if any(part.compiled for part in parts) and not _cached():
        typer.echo("The cache cannot be written: set NUMBA_CACHE_DIR to a folder that can.", err=True)


def _run(name: str, work: Callable[[], None]) -> CompiledPart:
    """Run the work of a part once, and count the kernels that it used."""
    began, before = time.perf_counter(), set(_kernels())
    work()
    used = {key: kernel for key, kernel in _kernels().items() if key not in before}
    compiled = sum(1 for kernel in used.values() if not sum(kernel.stats.cache_hits.values()))
    return CompiledPart(name, len(used), compiled, time.perf_counter() - began)


def _kernels() -> dict[str, Any]:
    """Return the kernels that were compiled or loaded in this process."""
    import sys

    return {
        f"{module}.{name}": kernel
        for module, content in list(sys.modules.items())
        if module.startswith("driftpace.") and "kernels" in module
        for name, kernel in vars(content).items()
        if getattr(kernel, "signatures", None) and kernel.__module__ == module
    }


def _cached() -> bool:
    return all(type(kernel._cache).__name__ != "NullCache" for kernel in _kernels().values())


def _tracker() -> None:
    """Track two periods with the default method."""
    import numpy as np

    from driftpace import SquaredLoss, Tracker

    rng = np.random.default_rng(0)
    for confidence in (None, 0.9):
        tracker = Tracker(SquaredLoss(), epsilon=0.1, features=2, confidence=confidence, rng=0)
        for _ in range(2):
            X = rng.standard_normal((max(tracker.ask().samples, 12), 2))
            tracker.tell(X, X.sum(axis=1) + rng.standard_normal(len(X)))
        tracker.ask()


def _planning() -> None:
    """Plan a budget that is too small, for every objective."""
    from driftpace.adaptive.outlook import PredictedBound
    from driftpace.planning import LargestGap, LargestRun, LinearCost, MeanGap, Outlook, Problem, plan_exact
    from driftpace.records import Money

    outlook = Outlook(bound=PredictedBound(noise=1.0, size=3), rho=0.3, start=1.0, steps="walk")
    for gap in (MeanGap(), LargestGap(), LargestRun()):
        for accuracy in (1e-5, 0.02):
            problem = Problem(
                outlook=outlook, epsilon=0.02, budget=Money.of(150), horizon=8, cost=LinearCost(fixed=9), gap=gap
            )
            plan_exact(problem, accuracy=accuracy)


def _gradient_descent() -> None:
    """Fit each loss by a pass of gradient descent."""
    import numpy as np

    from driftpace.constraints import WholeSpace
    from driftpace.learners import Sgd
    from driftpace.losses import SquaredLoss
    from driftpace.records import Constants

    constants = Constants.given(m=1.0, A=1.0, B=1.0)
    for features in (1, 60):
        X = np.ones((64, features)) / features
        Sgd().fit(SquaredLoss(), WholeSpace(), np.zeros(features), X, np.ones(64), distance=1.0, constants=constants)


def _bounds() -> None:
    """Evaluate the bounds that are tables."""
    from driftpace.bounds import GaussianLeastSquares, Greedy, LastIterate, NoiseModel
    from driftpace.schedules import InverseTime

    noise, schedule = NoiseModel(A=0.16, B=4.0), InverseTime(scale=2.0, shift=8.0)
    for bound in (
        Greedy(m=1.0, M=1.0, noise=noise),
        LastIterate(m=1.0, M=1.0, noise=noise, schedule=schedule),
        GaussianLeastSquares(eigenvalues=(1.0, 1.0), noise=0.08, schedule=schedule),
    ):
        bound.smallest(1.4, 0.1, cap=10**6)
        bound(1.4, 1_000)


_PARTS = {
    "tracker": _tracker,
    "planning": _planning,
    "gradient descent": _gradient_descent,
    "bounds": _bounds,
}
