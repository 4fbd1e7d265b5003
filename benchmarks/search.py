"""The smallest sample size: microseconds a query against an O(K) compiled scan; time and memory of the tables."""

import time
from collections.abc import Callable

from driftpace.bounds import ClosedForm, Greedy, LastIterate, NoiseModel, RiskBound, smallest_samples
from driftpace.bounds.recursion import CheckpointTable, RecursionNumbers
from driftpace.compiled import compiled

M, A, B, DISTANCE = 1.0, 0.16, 4.0, 1.5


@compiled()
def scan(
    squared: float, half_M: float, epsilon: float, m: float, A: float, B: float, scale: float, shift: float
) -> int:
    """The recursion, step by step until it meets epsilon: what a table saves."""
    k = 0
    while half_M * squared > epsilon:
        k += 1
        mu = scale / (k + shift)
        squared = max(0.0, 1.0 - 2.0 * m * mu + B * mu * mu) * squared + A * mu * mu
    return k


def microseconds(ask: Callable[[], object], *, seconds: float = 0.2) -> float:
    """Return the best mean time of a few rounds of calls."""
    ask()
    began = time.perf_counter()
    ask()
    calls = max(1, min(2_000, int(seconds / 5 / max(time.perf_counter() - began, 1e-7))))
    rounds = []
    for _ in range(5 if calls > 1 else 1):
        began = time.perf_counter()
        for _ in range(calls):
            ask()
        rounds.append((time.perf_counter() - began) / calls)
    return 1e6 * min(rounds)


def main(largest: int = 9) -> None:
    noise = NoiseModel(A=A, B=B)
    closed = ClosedForm(m=1.0, M=M, noise=noise)
    schedule = closed.schedule
    exact = LastIterate(m=1.0, M=M, noise=noise, schedule=schedule)
    bounds: list[RiskBound] = [exact, Greedy(m=1.0, M=M, noise=noise), closed]
    numbers = RecursionNumbers(m=1.0, A=A, B=B, scale=schedule.scale, grow=1.0, shift=schedule.shift)
    squared, half = DISTANCE**2, 0.5 * M
    CheckpointTable(numbers).first(squared, half, 0.1, 10**9)  # compile
    scan(squared, half, 0.1, 1.0, A, B, schedule.scale, schedule.shift)
    print(
        "\nSmallest number of samples, microseconds a question (recursion: kernel and table; others: as a user calls them)"
    )
    print(
        f"{'K*':>12} {'build ms':>9} {'table MB':>9} {'kernel':>8} {'recursion':>10} {'greedy':>8} {'closed':>8}"
        f" {'smallest_samples':>17} {'O(K) scan':>12} {'scan/question':>14}"
    )
    for power in range(2, largest + 1):
        epsilon = exact(DISTANCE, 10**power)
        table = CheckpointTable(numbers)
        began = time.perf_counter()
        samples = table.first(squared, half, epsilon, 10**9)
        build = 1e3 * (time.perf_counter() - began)
        kernel = microseconds(lambda t=table, e=epsilon: t.first(squared, half, e, 10**9))  # type: ignore[misc]
        asked = [microseconds(lambda b=bound, e=epsilon: b.smallest(DISTANCE, e, 10**9)) for bound in bounds]  # type: ignore[misc]
        whole = microseconds(lambda e=epsilon: smallest_samples(exact, DISTANCE, e))  # type: ignore[misc]
        slow = microseconds(
            lambda e=epsilon: scan(squared, half, e, 1.0, A, B, schedule.scale, schedule.shift)  # type: ignore[misc]
        )
        print(
            f"{samples:12d} {build:9.2f} {table.nbytes / 1e6:9.2f} {kernel:8.2f} {asked[0]:10.2f} {asked[1]:8.2f}"
            f" {asked[2]:8.2f} {whole:17.2f} {slow:12.1f} {slow / asked[0]:14.1f}"
        )


if __name__ == "__main__":
    main()
