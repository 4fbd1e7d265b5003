"""A model for each series by mlforecast, spread over an engine by fugue, against a period of a fleet of as many segments.

python -m benchmarks fleet_peers [--segments 300] [--engine local dask ray] [--rows 60]

mlforecast fits a linear regression of ten columns on the rows of each series once. A fleet does more with them: it sizes batches
until the target is met, and audits. Both begin with an engine that has worked before. Processor seconds are those of all processes.
"""

import argparse
import time
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.fleet_speed import COLUMNS, PACKAGES, Stores, period, processor_seconds
from driftpace import Fleet, SquaredLoss
from driftpace.executors import open_executor

NEEDED = ("mlforecast", "fugue", "sklearn")


def fit_series(frame: pd.DataFrame) -> pd.DataFrame:
    """Fit the model of one series, and return its first coefficient."""
    forecast = import_module("mlforecast").MLForecast
    model = import_module("sklearn.linear_model").LinearRegression
    fitted = forecast(models=[model()], freq=1).fit(frame, static_features=[])
    coef = fitted.models_["LinearRegression"].coef_
    return pd.DataFrame({"unique_id": frame["unique_id"].iloc[:1].to_numpy(), "first": coef[:1]})


def series(count: int, rows: int) -> pd.DataFrame:
    """Return rows of so many series."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((count, rows, COLUMNS))
    y = np.einsum("srj,sj->sr", X, rng.standard_normal((count, COLUMNS))) + rng.standard_normal((count, rows))
    names = np.repeat([f"s{number:06d}" for number in range(count)], rows)
    columns = {f"x{column}": X[:, :, column].ravel() for column in range(COLUMNS)}
    return pd.DataFrame({"unique_id": names, "ds": np.tile(np.arange(rows), count), "y": y.ravel(), **columns})


def spread(frame: pd.DataFrame, engine: Any) -> int:
    """Fit all series on an engine, and return how many there were."""
    transform = import_module("fugue.api").transform
    done = transform(
        frame,
        fit_series,
        schema="unique_id:str,first:double",
        partition={"by": "unique_id"},
        engine=engine,
        as_local=True,
    )
    return len(done)


def timed(work: Any) -> tuple[float, float]:
    """Return the seconds of a clock and of processors that work takes."""
    began, used = time.perf_counter(), processor_seconds()
    work()
    return time.perf_counter() - began, processor_seconds() - used


def run(name: str, count: int, rows: int) -> None:
    """Print a line for mlforecast and one for each of two periods of a fleet."""
    executor: Any = open_executor(name, workers=None if name == "local" else 2)
    list(executor.map(abs, range(4)))
    if name == "ray":
        import_module("fugue_ray.registry")
    engine = {"local": None, "dask": getattr(executor, "client", None), "ray": "ray"}[name]
    spread(series(4, rows), engine)
    frame = series(count, rows)
    seconds, processor = timed(lambda: spread(frame, engine))
    peer = processor
    _line("mlforecast, a model per series", name, count, seconds, processor, 1.0)
    stores = Stores(count)
    fleet = Fleet(
        SquaredLoss(),
        epsilon=0.1,
        segment="store",
        target="sales",
        segments=stores.names.tolist(),
        executor=executor,
        rng=0,
    )
    for number in (1, 2):
        done = period(fleet, stores)
        what = f"fleet, period {number}, {done['batches']} batches"
        _line(what, name, count, done["seconds"], done["processor"], done["processor"] / peer)


def _line(what: str, name: str, count: int, seconds: float, processor: float, ratio: float) -> None:
    cells = (name, f"{count:,}", f"{seconds:.1f}", f"{1e3 * processor / count:.2f}", f"{ratio:.2f}")
    print(f"{what:<34}" + " ".join(f"{cell:>14}" for cell in cells), flush=True)


def main(arguments: Sequence[str] = ()) -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks fleet_peers")
    parser.add_argument("--segments", type=int, default=300)
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--engine", nargs="+", default=["local", "dask", "ray"], choices=["local", "dask", "ray"])
    given = parser.parse_args(arguments)
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        print(f"not installed: {', '.join(missing)}")
        return
    warnings.simplefilter("ignore")  # the engines warn of their own sockets, processes and defaults
    head = ("engine", "segments", "s", "CPU ms/segment", "to mlforecast")
    print(" " * 34 + " ".join(f"{name:>14}" for name in head))
    for name in given.engine:
        if find_spec(PACKAGES[name]) is None:
            print(f"{name}: {PACKAGES[name]} is not installed")
            continue
        run(name, given.segments, given.rows)
