"""One way to compile a hot loop, so that the traps are handled in one place.

``compiled`` is :func:`numba.njit` with the on-disk cache and without the interpreter lock. Two traps are dealt with here:

* where neither the package nor the user's cache folder can be written (a read-only install), numba refuses to cache; the
  kernel is then compiled in memory, once per process;
* numba's cache key does not contain ``fastmath``, so a strict and a fast kernel must never share a name and a source line:
  write them as separate functions.

Importing this module imports numba (0.2 s). Modules of kernels are therefore named ``kernels`` and are imported inside
the functions that call them, never when a package is imported.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(*, fastmath: bool = False, inline: bool = False) -> Callable[[Kernel], Kernel]:
    """Compile a function of floats and arrays to machine code, cached on disk where possible.

    >>> @compiled()
    ... def twice(x):
    ...     return 2.0 * x
    >>> twice(1.5)
    3.0
    """
    options: dict[str, Any] = {
        "nogil": True,
        "fastmath": fastmath,
        "error_model": "numpy",
        "inline": "always" if inline else "never",
    }

    def decorate(function: Kernel) -> Kernel:
        try:
            kernel: Kernel = numba.njit(cache=True, **options)(function)
        except RuntimeError:  # no writable place for the cache
            kernel = numba.njit(cache=False, **options)(function)
        return kernel

    return decorate
