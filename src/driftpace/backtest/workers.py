"""Runs in parallel processes or on an executor, with the same numbers for any number of them.

Every task depends on the job and its item alone, and results are in the order of the items. Linear algebra uses one thread
everywhere (:func:`one_thread`): several threads sum in another order, and would compete with the other processes.

Processes are spawned, which is safe beside threads. Python would then run the user's script again in each of them, so the
script is hidden while they start. Where a loss or a tracker is defined in the script, everything runs in this process.
"""

import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from multiprocessing import get_context
from types import ModuleType, TracebackType
from typing import Any, Self, TypeVar

from driftpace.executors import Executor, cores, one_thread

Item = TypeVar("Item")
Answer = TypeVar("Answer")

_job: Any = None


class Workers:
    """A context that maps tasks over items: in processes, in this one, or where an executor works.

    ``alone`` is True where the job had to stay in this process although more were requested.
    """

    def __init__(self, job: Any, *, workers: int | None, items: int, executor: Executor | None = None) -> None:
        wanted = min(cores() if workers is None else workers, items)
        self._job, self._elsewhere = job, executor
        payload = _portable(job) if wanted > 1 or executor is not None else None
        self.alone = payload is None and (wanted > 1 or executor is not None)
        self._count = wanted if payload is not None else 1
        self._payload = payload
        self._executor: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        if self._payload is not None and self._elsewhere is None:
            self._executor = ProcessPoolExecutor(
                self._count, mp_context=get_context("spawn"), initializer=_initialize, initargs=(self._payload,)
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)

    def map(self, task: Callable[[Any, Item], Answer], items: Sequence[Item]) -> Iterator[Answer]:
        """Yield ``task(job, item)`` for each item, in order."""
        if self._payload is not None and self._elsewhere is not None:
            yield from self._elsewhere.map(_call_with, [(self._payload, task, item) for item in items])
            return
        if self._executor is None:
            for item in items:
                yield task(self._job, item)
            return
        with hide_main():
            futures = [self._executor.submit(_call, task, item) for item in items]
        for future in futures:
            yield future.result()


def _initialize(payload: bytes) -> None:
    """Store the job when a process starts."""
    global _job
    one_thread()
    _job = pickle.loads(payload)


def _call(task: Callable[[Any, Any], Answer], item: Any) -> Answer:
    assert _job is not None
    return task(_job, item)


def _call_with(work: tuple[bytes, Callable[[Any, Any], Answer], Any]) -> Answer:
    """Return the answer for an item, sent with its job."""
    payload, task, item = work
    return task(_unpacked(payload), item)


@lru_cache(maxsize=1)
def _unpacked(payload: bytes) -> Any:
    """Return a job; the last one of a process is kept."""
    job: Any = pickle.loads(payload)
    return job


def _portable(job: Any) -> bytes | None:
    """Return the job pickled, None where another process could not load it."""
    try:
        payload = pickle.dumps(job)
    except Exception:  # a lambda, an open file: a custom tracker may hold anything
        return None
    return None if b"__main__" in payload else payload


@contextmanager
def hide_main() -> Iterator[None]:
    """Hide the main script while processes start, so that it is not run again in each."""
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script
