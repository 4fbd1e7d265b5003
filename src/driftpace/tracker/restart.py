"""Begin a method anew: from a model that is near the truth, or with the drift that was seen before."""

from dataclasses import replace
from typing import Any

from driftpace.tracker.adaptive_method import AdaptiveMethod
from driftpace.tracker.budget_method import BudgetMethod


def near_start(method: Any, state: Any, bands: tuple[int, ...] = ()) -> tuple[Any, Any]:
    """Return a method that expects its first model near the one it starts from, and its first state.

    ``bands`` are numbers of last columns that drift in their own way, each of them.
    """
    if isinstance(method, BudgetMethod):
        inner, held = near_start(method.inner, state.inner, bands)
        return replace(method, inner=inner), replace(state, inner=held)
    assert isinstance(method, AdaptiveMethod)
    adaptive = None if state.adaptive is None else replace(state.adaptive, bands=bands, expanded=False)
    config = replace(method.config, near_start=True, bands=bands)
    return replace(method, config=config), replace(state, adaptive=adaptive)


def restarted(method: Any, state: Any, *, before: Any) -> tuple[Any, Any]:
    """Return a method in its first state, in the period that ``before`` is in, with the drift that was seen before."""
    if isinstance(method, BudgetMethod):
        _, inner = restarted(method.inner, state.inner, before=before.inner)
        return method, replace(before, inner=inner)
    assert isinstance(method, AdaptiveMethod)
    banks = () if before.adaptive is None else before.adaptive.banks
    adaptive = None if state.adaptive is None else replace(state.adaptive, inherited=banks)
    return method, replace(state, adaptive=adaptive, period=before.period)
