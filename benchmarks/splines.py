"""Splines: what they cost where nothing is curved, what they reach where something is, and on real tables.

python -m benchmarks splines [--runs 5] [--only worlds|tables]
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.tables import tables
from driftpace import LogisticLoss, SquaredLoss, Tracker
from driftpace.adaptive import bands
from driftpace.backtest import promise, replay
from driftpace.backtest.job import TrackerConfig, prepare
from driftpace.backtest.table import expanded
from driftpace.executors import one_thread
from driftpace.tables.expansion import ExpansionRequest
from driftpace.typing import FloatArray

TARGET, STEP = 0.05, 0.2
POPULATION = 20_000
WORLD_RUNS = 4
"""Runs of a world for each run of a table."""

WORLDS = (
    ("linear, 5 columns", 5, 0, 0.0, True),
    ("linear, 10 columns", 10, 0, 0.0, True),
    ("one curve of 5", 5, 1, 1.0, True),
    ("two slight curves of 5", 5, 2, 0.3, True),
    ("two curves of 5", 5, 2, 0.5, True),
    ("five curves of 5", 5, 5, 0.4, True),
    ("five curves of 5; control: curves taken for nothing", 5, 5, 0.4, False),
)
WORLD_HEADS = ("world", "model", "first: labels", "risk/eps", "later: labels", "risk/eps", "stated/eps", "all labels")
TABLE_HEADS = (
    *("table", "target", "model", "labels/period", "risk/eps", "above", "promise", "x yardstick", "test loss"),
    *("sklearn splines", "sklearn linear", "seconds"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """A regression whose slopes walk, with ``curved`` columns that have a sine besides."""

    columns: int
    curved: int
    amplitude: float
    seed: int

    def run(self, *, splines: bool, periods: int = 12) -> FloatArray:
        """Return the labels, the true excess risk over the target, and the stated one, (periods, 3).

        The excess is that over the best model of the columns that the tracker has, spline terms included, without a penalty.
        """
        rng = np.random.default_rng(self.seed)
        tracker = Tracker(SquaredLoss(), epsilon=TARGET, splines=True if splines else None, rng=self.seed)
        population = rng.standard_normal((POPULATION, self.columns))
        tracker.fit_pool(rng.standard_normal((2000, self.columns)))
        slopes, found = 0.5 * rng.standard_normal(self.columns + 1), []
        length = np.sqrt(2.0 * STEP * TARGET / (self.columns + 1))
        for _ in range(periods):
            slopes = slopes + length * rng.standard_normal(self.columns + 1)

            def mean(X: FloatArray, now: FloatArray = slopes) -> FloatArray:
                waves = np.sin(1.5 * X[:, : self.curved] + 0.3).sum(axis=1)
                return np.asarray(X @ now[:-1] + now[-1] + self.amplitude * waves)

            def draw(rows: int) -> tuple[FloatArray, FloatArray]:
                X = rng.standard_normal((rows, self.columns))
                return X, mean(X) + rng.standard_normal(rows)

            report = tracker.step(draw)
            assert tracker.encoding is not None
            expansion = tracker.encoding.expansion
            X = population if expansion is None else expansion.expand(population, tracker.encoding.plain_names)
            X = np.column_stack([X, np.ones(POPULATION)])
            best = np.linalg.lstsq(X, mean(population), rcond=None)[0]
            gap = X @ (np.append(tracker.coef, tracker.intercept) - best)
            found.append((report.samples, 0.5 * float(gap @ gap) / POPULATION / TARGET, report.risk_bound / TARGET))
        return np.array(found)


def world_line(name: str, columns: int, curved: int, amplitude: float, *, splines: bool, runs: int) -> list[str]:
    """Return one line of the table of worlds."""
    results = [
        World(columns=columns, curved=curved, amplitude=amplitude, seed=seed).run(splines=splines)
        for seed in range(runs)
    ]
    mean = np.mean(results, axis=0)
    later = np.array([one[1:, 1].mean() for one in results])
    first = np.array([one[0, 1] for one in results])
    return [
        name,
        "splines" if splines else "linear",
        f"{mean[0, 0]:.0f}",
        f"{first.mean():.2f} ± {first.std(ddof=1) / np.sqrt(runs):.2f}",
        f"{mean[1:, 0].mean():.0f}",
        f"{later.mean():.2f} ± {later.std(ddof=1) / np.sqrt(runs):.2f}",
        f"{mean[1:, 2].mean():.2f}",
        f"{mean[:, 0].sum():.0f}",
    ]


def worlds(runs: int) -> None:
    """Print the table of worlds; the control takes every band for nothing."""
    print("| " + " | ".join(WORLD_HEADS) + " |\n|" + "---|" * len(WORLD_HEADS))
    usual = bands.NOTHING
    for name, columns, curved, amplitude, believed in WORLDS:
        bands.NOTHING = usual if believed else 1.0 - 1e-9
        try:
            for splines in (False, True) if believed else (True,):
                line = world_line(name, columns, curved, amplitude, splines=splines, runs=runs)
                print("| " + " | ".join(line) + " |", flush=True)
        finally:
            bands.NOTHING = usual


def table_lines(runs: int) -> None:
    """Print the tables bike_hourly and elec2 at two targets, with and without splines."""
    print("| " + " | ".join(TABLE_HEADS) + " |\n|" + "---|" * len(TABLE_HEADS))
    wanted: dict[str, tuple[Any, tuple[str, ...]]] = {
        "bike_hourly": (SquaredLoss(l2=1e-4), ("temp", "hum", "windspeed")),
        "elec2 six": (LogisticLoss(l2=1e-3), ("lp", "lv", "nswdemand", "vicdemand", "time_of_day")),
    }
    for table in tables():
        if isinstance(table, str) or table.name not in wanted:
            continue
        loss, names = wanted[table.name]
        for epsilon in table.epsilons:
            for splines in (None, names):
                line = table_line(table, loss, epsilon, splines, runs)
                print("| " + " | ".join(line) + " |", flush=True)


def table_line(table: Any, loss: Any, epsilon: float, splines: tuple[str, ...] | None, runs: int) -> list[str]:
    began = time.perf_counter()
    result = replay(
        table.panel,
        loss=loss,
        epsilon=epsilon,
        splines=splines,
        runs=runs,
        seed=0,
        workers=1,
        progress=False,
        baselines=("best_constant",),
    )
    own, yardstick = result.strategies
    kept = promise(own.excess_risk, np.array(result.epsilon))
    peers = ["", ""]
    if splines is not None and find_spec("sklearn"):
        peers = [f"{loss:.4f}" for loss in refitted(table, loss, epsilon, splines, own.samples[:2].astype(int))]
    return [
        table.name,
        f"{epsilon:g}",
        "linear" if splines is None else f"splines of {len(splines)}",
        f"{own.samples.mean():.0f}",
        f"{(own.excess_risk.mean(axis=0) / np.array(result.epsilon)).mean():.2f}",
        f"{kept.periods_above} of {len(result.epsilon)}",
        "kept" if kept.kept else "broken",
        f"{own.samples.sum() / yardstick.samples.sum():.2f}",
        f"{own.test_loss.mean():.4f}",
        *peers,
        f"{time.perf_counter() - began:.0f}",
    ]


def refitted(table: Any, loss: Any, epsilon: float, splines: tuple[str, ...], samples: Any) -> list[float]:
    """Return the mean test losses of scikit-learn with and without splines, on the labels of a period or on all so far.

    Of those the better one, and the better of two penalties, in hindsight over the table.
    """
    request = ExpansionRequest.of("benchmark", splines, None)
    assert request is not None
    with one_thread():
        panel = expanded(table.panel, request, owner="benchmark")
        job = prepare(panel, loss=loss, asked=TrackerConfig(epsilon=epsilon), test_fraction=0.2, seed=0)
        plain = len(table.panel.features)
        curved = [table.panel.features.index(name) for name in splines]
        losses = np.zeros((2, 2, 2))
        for run, sizes in enumerate(samples):
            seen: list[tuple[FloatArray, FloatArray]] = []
            last: dict[tuple[int, ...], Any] = {}
            for now, size in zip(job.rows(run), sizes, strict=True):
                if size:
                    X, y = now.bought(0, int(size))
                    seen.append((X[:, :plain], y))
                test, target = now.test()
                for place, parts in enumerate((seen[-1:], seen)):
                    X, y = (np.concatenate(part) for part in zip(*parts, strict=True))
                    for penalty, weight in enumerate((1e-3, 1e-1)):
                        for model, columns in enumerate((curved, [])):
                            key = (place, penalty, model)
                            if size:
                                last[key] = _peer(loss, weight, columns, plain).fit(X, y)
                            scores = _scores(last[key], test[:, :plain])
                            losses[model, place, penalty] += float(loss.curve.phi(scores, target).mean())
    return [float(one.min()) / (len(samples) * len(job.populations)) for one in losses]


def _peer(loss: Any, penalty: float, curved: list[int], plain: int) -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import SplineTransformer

    line = [index for index in range(plain) if index not in curved]
    shape = SplineTransformer(n_knots=5, knots="quantile", extrapolation="linear", include_bias=False)
    columns = ColumnTransformer([("curve", shape, curved), ("line", "passthrough", line)]) if curved else "passthrough"
    model = (
        Ridge(alpha=penalty * 10.0)
        if isinstance(loss, SquaredLoss)
        else LogisticRegression(C=0.1 / penalty, max_iter=500)
    )
    return make_pipeline(columns, model)


def _scores(model: Any, X: FloatArray) -> FloatArray:
    return np.asarray(model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X))


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks splines")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", choices=("worlds", "tables"), default=None)
    given = parser.parse_args(list(options))
    if given.only != "tables":
        print(f"Worlds, {WORLD_RUNS * given.runs} runs of 12 periods each")
        worlds(WORLD_RUNS * given.runs)
    if given.only != "worlds":
        print(f"Tables, {given.runs} runs; scikit-learn 2")
        table_lines(given.runs)


if __name__ == "__main__":
    main()
