"""One pass of SGD beside its peers and beside the speed of reading the rows; a whole period; the first call.

Every comparison is made in one process, the competitors taking turns, and is the median of the ratios of single rounds: a slow
phase of the machine hits both sides. Peers do a little less: scikit-learn does not project, river and Vowpal Wabbit do not
average; scikit-learn is used at its fastest (rows in order, a constant step, no intercept).
"""

import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from driftpace.compiled import compiled
from driftpace.constraints import Ball
from driftpace.learners import Sgd
from driftpace.losses import LogisticLoss, SmoothedHinge, SquaredLoss
from driftpace.records import Constants
from driftpace.typing import FloatArray

SIZES = ((1_000_000, 10), (200_000, 100), (20_000, 1_000))
ROUNDS = 9
CONSTANTS = Constants.given(m=1.0, M=1.0, A=1.0, B=40.0)
PREFIX = 2_000

FIRST_CALL = """
import time
began = time.perf_counter()
import numpy as np
from driftpace.learners import Sgd
from driftpace.losses import SquaredLoss
from driftpace.records import Constants
from driftpace.constraints import WholeSpace
imported = time.perf_counter()
X, y = np.ones((200, {features})), np.ones(200)
known = Constants.given(m=1.0, A=1.0, B=400.0)
def fit():
    Sgd().fit(SquaredLoss(), WholeSpace(), np.zeros({features}), X, y, constants=known, distance=1.0)
fit()
first = time.perf_counter()
print(imported - began, first - imported)
"""


@compiled(fastmath=True)
def read(flat: FloatArray) -> float:
    """The sum of all numbers: nothing can look at every row in less."""
    total = 0.0
    for i in range(flat.size):
        total += flat[i]
    return total


def rounds(contestants: dict[str, Callable[[], object]], count: int = ROUNDS) -> dict[str, list[float]]:
    """Seconds of each contestant in each round, taking turns; one round is not counted."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(count + 1):
        for name, run in contestants.items():
            began = time.perf_counter()
            run()
            if turn:
                times[name].append(time.perf_counter() - began)
    return times


def ratio(slower: list[float], faster: list[float]) -> float:
    """The median of the ratios of the rounds."""
    return statistics.median(a / b for a, b in zip(slower, faster, strict=True))


def data(rows: int, features: int, *, classes: bool) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, features)) / math.sqrt(features)
    y = X @ rng.standard_normal(features) + 0.3 * rng.standard_normal(rows)
    return X, np.where(y > 0.0, 1.0, -1.0) if classes else y


def one_pass(learner: Sgd, loss: Any, X: FloatArray, y: FloatArray) -> Callable[[], object]:
    """The pass alone, as ``fit`` calls it, without the gradient that ``fit`` takes afterwards."""
    from driftpace.learners.kernels import work_space
    from driftpace.learners.sgd_pass import _loop, make_plan

    plan, (rows, features), ball = make_plan(learner, CONSTANTS), X.shape, Ball(100.0)
    curve = (loss.code, loss.shape, loss.l2, loss.unpenalised)
    loop, _ = _loop(curve, ball, features, 1)
    numbers = (ball.radius, plan.scale, plan.grow, plan.shift, np.zeros(0), *plan.averaged(rows), plan.tilt, plan.level)
    return lambda: loop(X, y, np.zeros(features), np.zeros(work_space(features)), *curve, *numbers)


def scikit_learn(kind: str, loss: str, X: FloatArray, y: FloatArray) -> Callable[[], object]:
    from sklearn.linear_model import SGDClassifier, SGDRegressor

    settings: dict[str, Any] = {"alpha": 1e-3, "shuffle": False, "fit_intercept": False, "learning_rate": "constant"}
    settings |= {"loss": loss, "average": True, "eta0": 1e-3}
    if kind == "regression":
        return lambda: SGDRegressor(**settings).partial_fit(X, y)
    return lambda: SGDClassifier(**settings).partial_fit(X, y, classes=[-1.0, 1.0])


def river(X: FloatArray, y: FloatArray) -> Callable[[], object]:
    from river import linear_model, optim

    rows = [dict(enumerate(row)) for row in X.tolist()]
    targets = y.tolist()

    def run() -> None:
        model = linear_model.LinearRegression(optimizer=optim.SGD(1e-3), intercept_lr=0.0)
        for row, target in zip(rows, targets, strict=True):
            model.learn_one(row, target)

    return run


def vowpal_wabbit(X: FloatArray, y: FloatArray) -> Callable[[], object]:
    from vowpalwabbit import Workspace

    workspace = Workspace("--quiet --sgd --noconstant -l 0.001")
    lines = [f"{target} | " + " ".join(f"{j}:{x}" for j, x in enumerate(row)) for row, target in zip(X, y, strict=True)]
    examples = [workspace.example(line) for line in lines]

    def run() -> None:
        for example in examples:
            workspace.learn(example)

    return run


def passes() -> None:
    cases = (
        ("squared", SquaredLoss(l2=1e-3), "regression", "squared_error"),
        ("smoothed hinge", SmoothedHinge(l2=1e-3), "classes", "squared_hinge"),
        ("logistic", LogisticLoss(l2=1e-3), "classes", "log_loss"),
    )
    print("\nOne pass with averaging (aim: 5 times scikit-learn; from 100 features on 45 % of the speed of reading X)")
    print(
        f"{'loss':15} {'rows':>9} {'features':>8} {'ms':>7} {'Mrows/s':>8} {'x scikit-learn':>14} {'of reading X':>12}"
    )
    for rows, features in SIZES:
        for name, loss, kind, theirs in cases:
            X, y = data(rows, features, classes=kind == "classes")
            flat = X.reshape(-1)
            times = rounds(
                {
                    "ours": one_pass(Sgd(output="weighted"), loss, X, y),
                    "scikit-learn": scikit_learn(kind, theirs, X, y),
                    "read": lambda flat=flat: read(flat),  # type: ignore[misc]
                    "sum": lambda flat=flat: flat.sum(),  # type: ignore[misc]
                }
            )
            ours = statistics.median(times["ours"])
            reading = [min(pair) for pair in zip(times["read"], times["sum"], strict=True)]
            print(
                f"{name:15} {rows:9} {features:8} {1e3 * ours:7.2f} {rows / ours / 1e6:8.2f}"
                f" {ratio(times['scikit-learn'], times['ours']):14.1f} {1.0 / ratio(times['ours'], reading):12.2f}"
            )


def row_by_row() -> None:
    print(f"\nPeers that learn row by row, squared loss, on the first {PREFIX} rows (in memory, ready for them)")
    print(f"{'features':>8} {'x river':>9} {'x Vowpal Wabbit':>16}")
    for _, features in SIZES:
        X, y = data(PREFIX, features, classes=False)
        times = rounds(
            {
                "ours": one_pass(Sgd(output="weighted"), SquaredLoss(l2=1e-3), X, y),
                "river": river(X, y),
                "wabbit": vowpal_wabbit(X, y),
            },
            count=5,
        )
        print(f"{features:8} {ratio(times['river'], times['ours']):9.0f} {ratio(times['wabbit'], times['ours']):16.0f}")


def our_periods(X: FloatArray, y: FloatArray, count: int) -> Callable[[], object]:
    learner, loss, domain, start = Sgd(output="weighted"), SquaredLoss(l2=1e-3), Ball(100.0), np.zeros(X.shape[1])

    def run() -> None:
        for _ in range(count):
            learner.fit(loss, domain, start, X, y, constants=CONSTANTS, distance=1.0)

    return run


def their_periods(X: FloatArray, y: FloatArray, count: int) -> Callable[[], object]:
    partial: Callable[[], Any] = scikit_learn("regression", "squared_error", X, y)

    def run() -> None:
        for _ in range(count):
            w = partial().coef_
            _ = X.T @ (X @ w - y) / len(y) + 1e-3 * w

    return run


def periods() -> None:
    print("\nA whole period through Learner.fit, the mean gradient included (aim: 50 times at 200 rows of 2 features)")
    print(f"{'rows':>9} {'features':>8} {'us':>9} {'x scikit-learn':>14}")
    for rows, features in ((200, 2), (1_000, 100), *SIZES):
        X, y = data(rows, features, classes=False)
        count, more = max(1, 40_000 // (rows * features)), 20 if rows < 10_000 else 1
        times = rounds({"ours": our_periods(X, y, more * count), "theirs": their_periods(X, y, count)})
        each = statistics.median(times["ours"]) / (more * count)
        print(f"{rows:9} {features:8} {1e6 * each:9.1f} {more * ratio(times['theirs'], times['ours']):14.1f}")


def first_calls() -> None:
    print(
        "\nThe first fit of a process, seconds (import of driftpace; then numba's own start, and compiling or reading back)"
    )
    print(f"{'features':>8} {'import':>7} {'cold':>6} {'cached':>7}")
    for features in (2, 10, 100, 1_000):
        with tempfile.TemporaryDirectory() as folder:
            taken = []
            for _ in range(2):
                command = [sys.executable, "-c", FIRST_CALL.format(features=features)]
                environment = os.environ | {"NUMBA_CACHE_DIR": folder}
                done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
                taken.append([float(word) for word in done.stdout.split()])
        (imported, cold), (_, cached) = taken
        print(f"{features:8} {imported:7.2f} {cold:6.2f} {cached:7.2f}")


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        passes()
        periods()
        row_by_row()
    first_calls()


if __name__ == "__main__":
    main()
