"""Counts, amounts and quantiles on real tables: whether the target is met, with how many labels, and the loss on test rows.

python -m benchmarks targets [--runs 5] [--only NAME ...] [--tolerances 0.05 ...]

scikit-learn, where it is installed, is re-fitted in every period on the labels that driftpace bought: on those of the period, and
on those of the last three; its penalty is the best of several in hindsight.
"""

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.tables import FLIGHTS, SHARED
from driftpace.backtest import Panel, promise, read_table, replay
from driftpace.backtest.job import Job, TrackerConfig, prepare
from driftpace.backtest.population import mean_losses
from driftpace.executors import one_thread
from driftpace.losses import LinearLoss, PoissonLoss, QuantileLoss, SquaredLoss
from driftpace.tables import LOCAL_LIMITS, read_columns, to_arrays
from driftpace.typing import FloatArray

TEST_FRACTION, SEED = 0.2, 0
PENALTIES = (1e-4, 1e-2)
PEER_RUNS = 2  # QuantileRegressor solves a linear programme in each period
HEADS = (
    *("table", "tolerance", "labels/period", "risk/eps", "above", "promise", "x yardstick"),
    *("test loss", "best loss", "sklearn 1", "sklearn 3", "seconds"),
)
LEGEND = """
- risk/eps: mean excess risk over the target, the tolerance times the best loss of the period; above: periods whose run-average is
  above it by over two standard errors.
- x yardstick: total labels over those of the best constant size in hindsight.
- test loss: half the deviance, or the check loss, on test rows of all periods; best loss: of the best model of each period on all
  its rows. sklearn 1, 3: PoissonRegressor or QuantileRegressor on the labels that driftpace bought in the period, or in the last
  three; two runs.
"""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Task:
    """A table and the loss of its target."""

    name: str
    panel: Panel
    loss: LinearLoss
    tolerances: tuple[float, ...] = (0.02, 0.05)


def tasks() -> Iterator[Task | str]:
    """Yield every task, or a sentence on why it is left out."""
    for name, read in (("bike_trips", _bike), ("births", _births), ("flights", _flights)):
        path = SHARED / f"{name}.csv.gz"
        if path.is_file():
            yield from read(to_arrays(read_columns(path, limits=LOCAL_LIMITS, owner=name)))
        else:
            yield f"{name} is left out: there is no file {name}.csv.gz in ../shared/data."


def _bike(columns: dict[str, Any]) -> Iterator[Task]:
    """Yield trips in an hour, as counts and as a quantile; the last month has one row, the first is partial."""
    keep = (columns["period"] > 0) & (columns["period"] < 108)
    columns = {name: values[keep] for name, values in columns.items() if name != "date"}
    angle = 2.0 * np.pi * columns["hr"].astype(np.float64) / 24.0
    working = (columns["weekday"].astype(int) < 5).astype(np.float64)
    table = {"period": columns["period"], "trips": columns["trips"].astype(np.float64), "working": working}
    for turns in (1, 2, 3):
        for wave, values in (("sin", np.sin(turns * angle)), ("cos", np.cos(turns * angle))):
            table[f"{wave}{turns}"], table[f"working_{wave}{turns}"] = values, working * values
    table |= {name: columns[name].astype(np.float64) for name in ("tmin", "tmax")}
    table["rain"] = np.log1p(columns["pn"].astype(np.float64))
    panel = read_table(table, period="period", target="trips", name="bike_trips")
    yield Task(name="bike_trips counts", panel=panel, loss=PoissonLoss(l2=1e-4), tolerances=(0.02, 0.05, 0.2))
    yield Task(name="bike_trips 0.9 quantile", panel=panel, loss=QuantileLoss(tau=0.9), tolerances=(0.02, 0.05, 0.2))


def _births(columns: dict[str, Any]) -> Iterator[Task]:
    """Yield births in a state and day, for a unit of the state's mean in the first year, which is left out; a fifth of the rows."""
    keep = (columns["period"] > 0) & (np.arange(len(columns["period"])) % 5 == 0)
    columns = {name: values[keep] for name, values in columns.items()}
    month = np.array([int(str(date)[5:7]) for date in columns["date"]])
    angle = 2.0 * np.pi * month / 12.0
    table = {"period": columns["period"], "births": columns["births"].astype(np.float64), "wday": columns["wday"]}
    table |= {"sin": np.sin(angle), "cos": np.cos(angle), "usual": np.exp(columns["log_start"].astype(np.float64))}
    panel = read_table(table, period="period", target="births", exposure="usual", name="births")
    yield Task(name="births, with exposure", panel=panel, loss=PoissonLoss(l2=1e-4))


def _flights(columns: dict[str, Any]) -> Iterator[Task]:
    """Yield the 0.9 quantile of the delay of flights that arrived, in minutes."""
    table = {name: columns[name].astype(np.float64) for name in ("period", "arr_delay", *FLIGHTS)}
    known = np.isfinite(table["arr_delay"])
    table = {name: values[known] for name, values in table.items()}
    panel = read_table(table, period="period", target="arr_delay", features=FLIGHTS, name="flights")
    yield Task(name="flights 0.9 quantile", panel=panel, loss=QuantileLoss(tau=0.9))


def line(task: Task, tolerance: float, runs: int) -> list[str]:
    """Return one line of the table."""
    began = time.perf_counter()
    result = replay(
        task.panel,
        loss=task.loss,
        tolerance=tolerance,
        runs=runs,
        test_fraction=TEST_FRACTION,
        seed=SEED,
        baselines=("best_constant",),
    )
    own = result.strategies[0]
    kept = promise(own.excess_risk, np.array(result.epsilon))
    yardstick = next((one for one in result.strategies if one.name == "best_constant"), None)
    times = math.nan if yardstick is None else float(own.samples.sum() / yardstick.samples.sum())
    with one_thread():
        asked = TrackerConfig(tolerance=tolerance)
        job = prepare(task.panel, loss=task.loss, asked=asked, test_fraction=TEST_FRACTION, seed=SEED)
        peers = refitted(job, own.samples[:PEER_RUNS].astype(int)) if find_spec("sklearn") else (math.nan, math.nan)
    least = float(np.mean([now.least for now in job.populations]))
    return [
        task.name,
        f"{tolerance:g}",
        f"{own.samples.mean():.0f}",
        f"{(own.excess_risk.mean(axis=0) / np.array(result.epsilon)).mean():.2f}",
        f"{kept.periods_above} of {len(result.epsilon)}",
        "kept" if kept.kept else "broken",
        f"{times:.2f}",
        f"{own.test_loss.mean():.4g}",
        f"{least:.4g}",
        *(f"{peer:.4g}" for peer in peers),
        f"{time.perf_counter() - began:.0f}",
    ]


def refitted(job: Job, samples: Any) -> tuple[float, float]:
    """Return the mean test loss of scikit-learn on the labels of each period, and on those of the last three."""
    losses = np.zeros((2, len(PENALTIES)))
    exact = job.populations[0].loss
    assert isinstance(exact, LinearLoss)
    exact = replace(exact.exact, l2=0.0)
    for run, sizes in enumerate(samples):
        seen: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        coefs = np.zeros((2, len(PENALTIES), job.coefficients))
        for now, size in zip(job.rows(run), sizes, strict=True):
            if size:
                X, y = now.bought(0, int(size))
                weights = now.weights_of(0, int(size))
                seen.append((X[:, :-1], y, np.ones(len(y)) if weights is None else weights))
                for place, parts in enumerate((seen[-1:], seen[-3:])):
                    rows = tuple(np.concatenate(part) for part in zip(*parts, strict=True))
                    coefs[place] = [_fit(job.loss, penalty, *rows) for penalty in PENALTIES]
            X, y = now.test()
            for place in (0, 1):
                losses[place] += mean_losses(exact, coefs[place], X, y, now.test_weights())
    least = losses.min(axis=1) / (len(samples) * len(job.populations))
    return float(least[0]), float(least[1])


def _fit(loss: Any, penalty: float, X: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the coefficients of scikit-learn's model, the intercept last."""
    from sklearn.linear_model import PoissonRegressor, QuantileRegressor, Ridge

    if isinstance(loss, SquaredLoss):
        ridge = Ridge(alpha=penalty * len(y)).fit(X, y, sample_weight=weights)
        return np.append(ridge.coef_, ridge.intercept_)
    made: Callable[[], Any] = (
        (lambda: QuantileRegressor(quantile=loss.tau, alpha=penalty * float(np.abs(y).mean() + 1e-9)))
        if isinstance(loss, QuantileLoss)
        else (lambda: PoissonRegressor(alpha=penalty * float(y.mean() + 1e-9), max_iter=300))
    )
    model = made().fit(X, y, sample_weight=weights)
    return np.append(model.coef_, model.intercept_)


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks targets")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=None, help="names of tables that begin so")
    parser.add_argument("--tolerances", type=float, nargs="*", default=None, help="those of a task's that are measured")
    given = parser.parse_args(list(options))
    print(f"{given.runs} runs of every table")
    print("| " + " | ".join(HEADS) + " |")
    print("|" + "---|" * len(HEADS))
    for task in tasks():
        if isinstance(task, str):
            print(task)
            continue
        if given.only and not any(task.name.startswith(name) for name in given.only):
            continue
        for tolerance in task.tolerances:
            if given.tolerances and tolerance not in given.tolerances:
                continue
            print("| " + " | ".join(line(task, tolerance, given.runs)) + " |", flush=True)
    print(LEGEND)


if __name__ == "__main__":
    main()
