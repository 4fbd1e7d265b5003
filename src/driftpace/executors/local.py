"""Work in this process, and in others on this machine."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from driftpace.errors import MissingExtraError
from driftpace.executors.protocol import RetryingExecutor, call
from driftpace.executors.threads import cores, one_thread

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class LocalExecutor:
    """Work in this process, one item after the other.

    Examples
    --------
    >>> list(LocalExecutor().map(abs, [-1, 2]))
    [1, 2]
    """

    workers = 1

    def map(self, function: Callable[[Item], Answer], items: Iterable[Item], /) -> Iterator[Answer]:
        """Yield the answers in the order of the items."""
        for item in items:
            with one_thread():
                answer = function(item)
            yield answer

    def __repr__(self) -> str:
        return "LocalExecutor()"


class ProcessExecutor(RetryingExecutor):
    """Work in processes on this machine, by joblib; they stay warm between calls, and end when they are idle.

    Parameters
    ----------
    workers : int, optional
        The number of processes; by default that of the cores.

    Raises
    ------
    MissingExtraError
        If joblib is not installed.
    """

    name = "processes"

    def __init__(self, *, workers: int | None = None) -> None:
        try:
            import joblib  # noqa: F401
        except ImportError as error:
            raise MissingExtraError('executor="processes" needs joblib: pip install "driftpace[joblib]".') from error
        self.workers = cores() if workers is None else workers

    def _answers(self, function: Callable[[Any], Any], items: Sequence[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
        from joblib import Parallel, delayed

        if not items:
            return
        parallel = Parallel(
            n_jobs=self.workers,
            backend="loky",
            return_as="generator",
            batch_size=1,
            max_nbytes=None,
            pre_dispatch="3*n_jobs",
        )
        answers = parallel(delayed(call)(function, item) for _, item in items)
        for (place, _), answer in zip(items, answers, strict=True):
            yield place, answer

    def _losses(self) -> tuple[type[BaseException], ...]:
        from concurrent.futures.process import BrokenProcessPool

        return (BrokenProcessPool,)

    def __repr__(self) -> str:
        return f"ProcessExecutor(workers={self.workers})"
