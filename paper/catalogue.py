"""The experiments by name, each imported when it is run."""

from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module

from driftpace.errors import ParameterError
from paper.asked import Asked
from paper.records import Finding

NAMES = ("regression", "cost", "classification", "income", "selection", "beyond")
"""Section V of the paper in its order, then cross-validation (section IV-B), then what goes beyond it."""


def experiment(name: str) -> Callable[[Asked], Finding]:
    """Return what runs the experiment of this name.

    >>> experiment("regres")
    Traceback (most recent call last):
    driftpace.errors.ParameterError: reproduce(name=...) must be one of regression, ...; got 'regres': did you mean 'regression'?
    """
    if name not in NAMES:
        near = get_close_matches(str(name), NAMES, n=1)
        hint = f": did you mean {near[0]!r}?" if near else "."
        raise ParameterError(f"must be one of {', '.join(NAMES)}; got {name!r}{hint}", owner="reproduce", name="name")
    find: Callable[[Asked], Finding] = import_module(f"paper.{name}").find
    return find
