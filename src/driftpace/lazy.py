"""Lazy loading of the names of a package, so that importing it does not import all its modules."""

from collections.abc import Callable, Mapping
from importlib import import_module
from sys import modules
from typing import Any


def lazy(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for a package that loads each name from its module on first use.

    Parameters
    ----------
    package : str
        The package, its ``__name__``.
    homes : mapping of str to str
        The module below the package for each name.

    Returns
    -------
    callable
        To be assigned to ``__getattr__`` in the package.

    Examples
    --------
    >>> load = lazy("driftpace.records", {"Money": "money"})
    >>> load("Money").__name__
    'Money'
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(modules[package], name, value)
        return value

    return load
