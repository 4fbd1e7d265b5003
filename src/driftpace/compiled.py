"""Compilation of numerical kernels with numba, with its pitfalls handled in one place.

``compiled`` is :func:`numba.njit` with a cache on disk and without the interpreter lock. It handles these pitfalls:

* numba recompiles a kernel when its file changes, but not when the file of a kernel that it calls does, so that an
  upgrade could run stale machine code; here a change to any kernel of the package invalidates the cache;
* where the cache cannot be written (a read-only install, a full disk) or read back, numba fails; here the kernel is
  compiled in memory, once per process;
* numba's ``fastmath`` lets the compiler assume that NaN and infinity do not occur, and then no check can detect them;
  ``fastmath`` here only lets it regroup and fuse terms;
* numba's cache key does not contain ``fastmath``: a strict and a fast kernel that shared a name and a source line would
  share their machine code. Here they do not, but each would evict the other: write them as separate functions.

Importing this module imports numba (0.2 s). Modules of kernels are therefore named ``kernels`` and are imported inside
the functions that call them, never when a package is imported.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core.caching import FunctionCache

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_REGROUP = frozenset({"arcp", "contract", "nsz", "reassoc"})


def compiled(*, fastmath: bool = False, inline: bool = False) -> Callable[[Kernel], Kernel]:
    """Compile a function of floats and arrays to machine code, cached on disk where possible.

    Parameters
    ----------
    fastmath : bool, default False
        Allow the compiler to regroup and fuse terms.
    inline : bool, default False
        Inline the kernel into the kernels that call it, with its own ``fastmath``; Python cannot call it then.

    Returns
    -------
    callable
        A decorator.

    Examples
    --------
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
        kernel: Any = numba.njit(**options)(function)
        with suppress(RuntimeError):  # no cache directory is writable
            kernel._cache = _KernelCache(function, fastmath=fastmath)
        result: Kernel = kernel
        return result

    return decorate


class _KernelCache(FunctionCache):
    """numba's cache on disk, valid for one version of all kernels of the package; its errors are ignored."""

    def __init__(self, function: Callable[..., Any], *, fastmath: bool) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file._source_stamp = (self._cache_file._source_stamp, _state_of_kernels(), fastmath)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # a truncated or foreign file: compile again and drop it
            with suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):  # the disk is full, or the folder is gone or read-only
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]


@cache
def _state_of_kernels() -> str:
    """Return a digest of every file of kernels in the package."""
    package = Path(__file__).parent
    digest = sha256()
    for path in sorted([*package.rglob("kernels.py"), *package.rglob("kernels/*.py"), Path(__file__)]):
        digest.update(str(path.relative_to(package)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
