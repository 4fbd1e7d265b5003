"""One thread of linear algebra, and the number of cores."""

import os
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]


def one_thread() -> AbstractContextManager[Any]:
    """Return a context in which linear algebra uses one thread.

    Several threads sum in another order, and would compete with other processes.
    """
    limits: AbstractContextManager[Any] = _libraries().limit(limits=1)
    return limits


@cache
def _libraries() -> Any:
    """Return the libraries of linear algebra of this process: to look for them takes longer than some work does."""
    import scipy.linalg  # noqa: F401  # loads its own BLAS, which must be loaded to be limited

    return ThreadpoolController()


def cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
