"""Speed and memory of fleets: whole periods of stores with ten columns, on one and two workers of each engine that is installed.

A period is everything from the first order to the closed books: all batches are asked for and told. Seconds are those of a clock;
processor seconds are added up over this process and all that it has started, and so is the memory that they hold at the end.
"""

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from driftpace import Fleet, LogisticLoss, SquaredLoss
from driftpace.executors import open_executor
from driftpace.fleet import FleetOrders
from driftpace.typing import FloatArray

COLUMNS = 10
LOSSES = {"squared": SquaredLoss(), "logistic": LogisticLoss(l2=0.01)}
PACKAGES = {"local": "driftpace", "processes": "joblib", "dask": "distributed", "ray": "ray", "spark": "pyspark"}


class Stores:
    """Stores whose coefficients walk slowly; with ``classes`` their targets are above or below zero."""

    def __init__(self, count: int, *, classes: bool = False) -> None:
        self.classes = classes
        self.rng = np.random.default_rng(0)
        self.names = np.array([f"s{number:06d}" for number in range(count)])
        self.coef: FloatArray = self.rng.standard_normal((count, COLUMNS + 1))

    def label(self, orders: FleetOrders) -> pd.DataFrame:
        """Return the rows of an order."""
        store = np.repeat(np.arange(len(self.names)), [order.samples for order in orders])
        X = self.rng.standard_normal((len(store), COLUMNS))
        level = self.coef[store, 0] + np.einsum("ij,ij->i", X, self.coef[store, 1:])
        frame = {f"x{column}": X[:, column] for column in range(COLUMNS)}
        sales = level + self.rng.standard_normal(len(store))
        return pd.DataFrame(
            {"store": self.names[store], **frame, "sales": (sales > 0.0).astype(float) if self.classes else sales}
        )

    def next_period(self) -> None:
        """Move every coefficient."""
        self.coef = self.coef + 0.05 * self.rng.standard_normal(self.coef.shape)


def period(fleet: Fleet, stores: Stores) -> dict[str, Any]:
    """Run a period; the time in which rows are labelled does not count."""
    seconds = processor = 0.0
    rows = batches = 0
    while True:
        began, used = time.perf_counter(), processor_seconds()
        orders = fleet.ask()
        seconds, processor = seconds + time.perf_counter() - began, processor + processor_seconds() - used
        if not orders.samples:
            break
        frame = stores.label(orders)
        began, used = time.perf_counter(), processor_seconds()
        fleet.tell(frame, final=False)
        seconds, processor = seconds + time.perf_counter() - began, processor + processor_seconds() - used
        rows, batches = rows + len(frame), batches + 1
    began, used = time.perf_counter(), processor_seconds()
    fleet.tell()
    seconds, processor = seconds + time.perf_counter() - began, processor + processor_seconds() - used
    stores.next_period()
    return {"seconds": seconds, "processor": processor, "rows": rows, "batches": batches}


def run(count: int, name: str, workers: int, periods: int, *, loss: str, borrow: bool) -> None:
    """Print a line for each period of a fleet, and one for saving it."""
    executor = open_executor(name, workers=None if name == "local" else workers)
    list(executor.map(_warm, range(workers)))
    stores = Stores(count, classes=loss == "logistic")
    fleet = Fleet(
        LOSSES[loss],
        epsilon=0.1,
        segment="store",
        target="sales",
        segments=stores.names.tolist(),
        executor=executor,
        borrow=borrow,
        rng=0,
    )
    for number in range(1, periods + 1):
        done = period(fleet, stores)
        cells = (
            f"{count:,}",
            name,
            workers,
            number,
            f"{done['rows']:,}",
            done["batches"],
            f"{done['seconds']:.1f}",
            f"{done['processor']:.1f}",
            f"{1e3 * done['processor'] / count:.2f}",
            f"{_memory():.0f}",
        )
        print(" ".join(f"{cell:>14}" for cell in cells), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fleet.json"
        began = time.perf_counter()
        fleet.save(path)
        saved = time.perf_counter() - began
        began = time.perf_counter()
        Fleet.load(path)
        size = path.stat().st_size / 1e6
        print(
            f"{count:,} segments: saved in {saved:.1f} s, {size:.0f} MB, loaded in {time.perf_counter() - began:.1f} s"
        )


def _warm(_: int) -> int:
    """Run a small fleet, so that kernels are compiled in the process."""
    stores = Stores(2)
    fleet = Fleet(SquaredLoss(), epsilon=0.1, segment="store", target="sales", segments=stores.names.tolist(), rng=0)
    for _ in range(2):
        period(fleet, stores)
    return os.getpid()


def processor_seconds() -> float:
    """Return the processor seconds of this process and of those that it has started, ended ones included."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    ticks = sum(int(one[11]) + int(one[12]) for one in _children().values())
    return time.process_time() + ended.ru_utime + ended.ru_stime + ticks / os.sysconf("SC_CLK_TCK")


def _memory() -> float:
    """Return the most megabytes that this process had, with those that its children have."""
    pages = sum(int(one[21]) for one in _children().values())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0 + pages * os.sysconf("SC_PAGE_SIZE") / 1024.0**2


def _children() -> dict[int, list[str]]:
    """Return what /proc says of the processes that this one has started, and of theirs, from their state on."""
    every: dict[int, list[str]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            every[int(path.parent.name)] = path.read_text().rpartition(") ")[2].split()
        except OSError:  # it has ended
            continue
    found = {os.getpid()}
    while more := {number for number, one in every.items() if int(one[1]) in found} - found:
        found |= more
    return {number: every[number] for number in found - {os.getpid()}}


def main(arguments: Sequence[str] = ()) -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks fleet_speed")
    parser.add_argument("--segments", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--executor", nargs="+", default=["local", "processes"], choices=list(PACKAGES))
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--periods", type=int, default=3)
    parser.add_argument(
        "--loss", default="squared", choices=list(LOSSES), help="looks by the squared loss are not sent"
    )
    parser.add_argument("--borrow", action="store_true", help="segments learn from each other")
    given = parser.parse_args(arguments)
    head = ("segments", "executor", "workers", "period", "rows", "batches", "s", "CPU s", "CPU ms/segment", "MB")
    print(" ".join(f"{name:>14}" for name in head))
    for count in given.segments:
        for name in given.executor:
            if find_spec(PACKAGES[name]) is None:
                print(f"{name}: {PACKAGES[name]} is not installed")
                continue
            for workers in [1] if name == "local" else given.workers:
                run(count, name, workers, given.periods, loss=given.loss, borrow=given.borrow)
