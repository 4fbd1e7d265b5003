"""One way to compile a hot loop, so that the traps are handled in one place.

``compiled`` is :func:`numba.njit` with the on-disk cache and without the interpreter lock. Traps dealt with here:

* where neither the package nor the user's cache folder can be written (a read-only install), numba refuses to cache; the
  kernel is then compiled in memory, once per process;
* numba's ``fastmath`` lets the compiler assume that NaN and infinity do not occur, and then no check can find them;
  ``fastmath`` here lets it regroup and fuse terms, and no more;
* numba's cache key does not contain ``fastmath``, so a strict and a fast kernel must never share a name and a source line:
  write them as separate functions;
* a kernel is compiled anew when its own file changes, not when a file does whose kernels it calls: touch it then.

Importing this module imports numba (0.2 s). Modules of kernels are therefore named ``kernels`` and are imported inside
the functions that call them, never when a package is imported.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_REGROUP = frozenset({"arcp", "contract", "nsz", "reassoc"})


def compiled(*, fastmath: bool = False, inline: bool = False) -> Callable[[Kernel], Kernel]:
    """Compile a function of floats and arrays to machine code, cached on disk where possible.

    ``inline`` puts it into the kernels that call it, with its own ``fastmath``; Python itself can then not call it.

    >>> @compiled()
    ... def twice(x):
    ...     return 2.0 * x
    >>> twice(1.5)
    3.0
    """
    options: dict[str, Any] = {
        "nogil": True,
        "fastmath": set(_REGROUP) if fastmath else False,
        "error_model": "numpy",
        "forceinline": inline,
        "no_cpython_wrapper": inline,
        "no_cfunc_wrapper": inline,
    }

    def decorate(function: Kernel) -> Kernel:
        try:
            kernel: Kernel = numba.njit(cache=True, **options)(function)
        except RuntimeError:  # no writable place for the cache
            kernel = numba.njit(cache=False, **options)(function)
        return kernel

    return decorate
