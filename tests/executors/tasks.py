"""What the tests let workers do."""

import os
import signal
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from driftpace.errors import DataError
from driftpace.executors import Executor


def doubled(item: int) -> tuple[int, int]:
    return 2 * item, os.getpid()


def refuse(item: int) -> int:
    if item == 3:
        raise DataError("must be another number; got 3.", owner="refuse", name="item")
    return item


def raise_the_unsendable(item: int) -> int:
    class Local(Exception):
        pass

    raise Local(f"item {item}")


def halves(item: Any) -> Any:
    item["rows"] *= 0.5  # fails where an engine hands out arrays that cannot be written
    return item


def product(item: Any) -> Any:
    return item @ item.T


def die(item: int) -> int:
    if item == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def once_fatal(marker: Path, function: Callable[[Any], Any], item: Any) -> Any:
    """Kill the worker on the first item that begins without the marker."""
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return function(item)
    os.kill(os.getpid(), signal.SIGKILL)
    return None


class Fatal:
    """An executor one of whose workers is killed in the middle."""

    def __init__(self, executor: Executor, marker: Path) -> None:
        self.executor, self.marker = executor, marker

    def map(self, function: Callable[[Any], Any], items: Iterable[Any], /) -> Iterable[Any]:
        return self.executor.map(partial(once_fatal, self.marker, function), items)


def large_arrays() -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((150, 300)) for _ in range(3)]
