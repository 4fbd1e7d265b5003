"""The protocol of executors, and what those have in common whose workers may die."""

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from driftpace.errors import ExecutorError
from driftpace.executors.threads import one_thread

Item = TypeVar("Item")
Answer = TypeVar("Answer")

RETRIES = 3
"""So many times work is sent again whose worker died."""


class Executor(Protocol):
    """What maps a function over items; a pool of ``concurrent.futures`` or ``multiprocessing`` is one.

    The function is at the top of a module, and its answers depend on the item alone, so that work can be done anywhere and again.
    """

    def map(self, function: Callable[[Any], Any], items: Iterable[Any], /) -> Iterable[Any]:
        """Return the answers in the order of the items."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception of the function, as an answer: it is no failure of the worker."""

    error: BaseException


def call(function: Callable[[Any], Any], item: Any) -> Any:
    """Return the answer of a function with one thread of linear algebra, or its exception as a :class:`Failure`."""
    try:
        with one_thread():
            return function(item)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:  # it cannot be sent
            return Failure(RuntimeError(f"{type(error).__qualname__}: {error}"))
        return Failure(error)


def call_packed(payload: bytes) -> bytes:
    """Return the answer of a packed function and item, packed.

    Engines hand out arrays that cannot be written, or that keep their memory; bytes are copied.
    """
    function, item = pickle.loads(payload)
    return pickle.dumps(call(function, item), protocol=pickle.HIGHEST_PROTOCOL)


class RetryingExecutor(ABC):
    """An executor whose workers may die: what they had not answered is sent again, at most :data:`RETRIES` times."""

    name: str

    def map(self, function: Callable[[Item], Answer], items: Iterable[Item], /) -> Iterator[Answer]:
        """Yield the answers in the order of the items.

        Raises
        ------
        ExecutorError
            If workers died too often, or the cluster cannot be reached.
        """
        every, answers, at = list(items), {}, 0
        for attempt in range(RETRIES + 1):
            missing = [(place, every[place]) for place in range(at, len(every)) if place not in answers]
            try:
                for place, answer in self._answers(function, missing):
                    answers[place] = answer
                    while at in answers:
                        yield _checked(answers.pop(at))
                        at += 1
            except self._losses() as error:
                if attempt == RETRIES:
                    raise ExecutorError(
                        f"the workers of {self.name} were lost {attempt + 1} times, the last time with {type(error).__name__}: "
                        f"{str(error).strip() or 'no message'}"[:400]
                    ) from error
            else:
                return

    @abstractmethod
    def _answers(self, function: Callable[[Any], Any], items: Sequence[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
        """Yield the place of each item with its answer, in any order."""

    @abstractmethod
    def _losses(self) -> tuple[type[BaseException], ...]:
        """Return the exceptions that say that a worker, and no function, failed."""


def _checked(answer: Any) -> Any:
    if isinstance(answer, Failure):
        raise answer.error
    return answer
