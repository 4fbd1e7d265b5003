"""Packages whose names are loaded when they are first asked for, so that a command that needs one of them does not wait for all."""

from collections.abc import Callable, Mapping
from importlib import import_module
from sys import modules
from typing import Any


def lazy(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package that loads each name from its home below it.

    >>> load = lazy("driftpace.records", {"Money": "money"})
    >>> load("Money").__name__
    'Money'
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(modules[package], name, found)
        return found

    return load
