"""Ten thousand periods of ask/tell: time per period and memory must not grow."""

import time
import tracemalloc

import numpy as np

from driftpace import Ball, Constants, SquaredLoss, Tracker

FEATURES, ROWS = 10, 20


def run(periods: int, rule: str, constants: Constants | None) -> tuple[list[float], list[int]]:
    """Return microseconds per period in each tenth of the run, and the bytes held after each tenth, history included."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(64, ROWS, FEATURES))
    truth = rng.normal(size=FEATURES)
    y = X @ truth + 0.1 * rng.normal(size=(64, ROWS))
    tracker = Tracker.as_in_paper(
        SquaredLoss(),
        epsilon=0.1,
        domain=Ball(radius=20.0),
        constants=constants,
        first_samples=(50, 50),
        rule=rule,  # type: ignore[arg-type]
        rng=0,
    )
    tenth = periods // 10
    times, held = [], []
    for _ in range(10):
        began = time.perf_counter()
        for index in range(tenth):
            tracker.ask()
            tracker.tell(X[index % 64], y[index % 64])
        times.append(1e6 * (time.perf_counter() - began) / tenth)
        held.append(tracemalloc.get_traced_memory()[0] if tracemalloc.is_tracing() else 0)
    return times, held


def main(periods: int = 10_000) -> None:
    given = Constants.given(m=1.0, M=1.0, A=0.1, B=12.0)
    print(f"\nTracker: {periods} periods of ask/tell, {FEATURES} features, {ROWS} rows a period")
    print(f"{'rule':16} {'constants':10} {'us/period, first tenth':>24} {'last tenth':>11} {'ratio':>6}")
    for rule in ("do-not-update", "update-past"):
        for name, constants in (("given", given), ("estimated", None)):
            run(100, rule, constants)  # compile
            times, _ = run(periods, rule, constants)
            print(f"{rule:16} {name:10} {times[0]:24.0f} {times[-1]:11.0f} {times[-1] / times[0]:6.2f}")
    tracemalloc.start()
    _, held = run(periods, "do-not-update", given)
    tracemalloc.stop()
    growth = (held[-1] - held[0]) / (0.9 * periods)
    print(f"memory: {growth:.0f} bytes a period between the first and the last tenth, all of it the history of reports")


if __name__ == "__main__":
    main()
