"""Settings of a campaign that describe its columns: categories, what unknown ones count as, and what missing numbers are."""

import math
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from driftpace.errors import ParameterError


def words(name: str, value: Any) -> tuple[str, ...]:
    """Return a list of names, or raise ParameterError."""
    good = (
        isinstance(value, list | tuple) and value and all(isinstance(text, str) and "\0" not in text for text in value)
    )
    if not good:
        raise ParameterError(f"must be a list of names; got {value!r:.80}.", owner="Campaign", name=name)
    return tuple(value)


def check_categories(value: Any) -> dict[str, tuple[str, ...]]:
    """Return the categories of each column, or raise ParameterError."""
    if not isinstance(value, Mapping):
        raise ParameterError(
            f"must give a list of categories for each column; got {value!r:.80}.",
            owner="Campaign",
            name="categories",
        )
    checked = {}
    for name, listed in value.items():
        levels = words("categories", listed)
        if len(levels) < 2 or len(set(levels)) != len(levels):
            raise ParameterError(
                f"must be at least two different categories; got {list(levels)!r:.80} for {name!r}.",
                owner="Campaign",
                name="categories",
            )
        checked[str(name)] = levels
    return checked


def check_unknown_categories(
    owner: str, value: Any, categories: Mapping[str, tuple[str, ...]], *, learned: bool = False
) -> dict[str, str | tuple[str, ...]]:
    """Return what unknown categories count as, by column, or raise ParameterError unless it is in ``categories``.

    Of columns whose categories are ``learned`` from rows, it is not known here what they are.
    """
    if not isinstance(value, Mapping):
        raise ParameterError(
            f"must give one category for each column; got {value!r:.80}.", owner=owner, name="unknown_categories"
        )
    checked: dict[str, str | tuple[str, ...]] = {}
    for name, given in value.items():
        listed = tuple(given) if isinstance(given, list | tuple) and given else (given,)
        if name not in categories and not learned:
            near = get_close_matches(str(name), categories, n=1)
            there = (
                f"there {'are' if len(categories) > 1 else 'is'} {', '.join(categories)}"
                if categories
                else "there are none"
            )
            hint = f"did you mean {near[0]!r}?" if near else f"{there}."
            raise ParameterError(
                f"must be columns in categories; got {name!r:.80}: {hint}",
                owner=owner,
                name="unknown_categories",
            )
        wrong = next((word for word in listed if name in categories and word not in categories[name]), None)
        if wrong is not None:
            raise ParameterError(
                f"must be one of {list(categories[name])!r:.80} for {name!r:.80}; got {wrong!r:.80}.",
                owner=owner,
                name="unknown_categories",
            )
        checked[name] = listed[0] if len(listed) == 1 else listed
    return checked


def check_fill(value: Any) -> dict[str, float]:
    """Return a finite number for each column, or raise ParameterError."""
    if not isinstance(value, Mapping):
        raise ParameterError(f"must give a number for each column; got {value!r:.80}.", owner="Campaign", name="fill")
    for number in value.values():
        if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
            raise ParameterError(f"must give finite numbers; got {number!r:.80}.", owner="Campaign", name="fill")
    return {str(name): float(number) for name, number in value.items()}
