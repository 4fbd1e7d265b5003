"""Tasks spread over processes that are started afresh, with the same numbers for any number of them."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, TypeVar

from driftpace.backtest.workers import cores, hide_main, one_thread

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def spread(task: Callable[[Item], Answer], items: Sequence[Item], *, workers: int | None) -> Iterator[Answer]:
    """Yield ``task(item)`` for each item, in order."""
    count = min(cores() if workers is None else workers, len(items))
    if count <= 1:
        with one_thread():
            for item in items:
                yield task(item)
        return
    with ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_begin) as executor:
        with hide_main():
            futures = [executor.submit(task, item) for item in items]
        try:
            for future in futures:
                yield future.result()
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise


def _begin() -> Any:
    one_thread()
