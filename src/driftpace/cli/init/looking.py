"""What a table shows of a campaign: which columns are numbers, which are words and which, what tells rows apart."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from driftpace.cli.init.aiming import aim, are_dates
from driftpace.errors import ParameterError
from driftpace.tables.limits import MAX_CATEGORIES

if TYPE_CHECKING:
    from driftpace.tables import Column

FEWEST_COUNTED = 20
"""Fewer numbers than this may run on by chance."""


def look(values: dict[str, Any], table: Path) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return the values with the columns of a table filled in where nothing was given, and what was found, in words."""
    from driftpace.campaign.schema import listed

    columns = columns_of(table)
    values = dict(values)
    notes: list[tuple[str, str]] = []
    target = values.get("target")
    for name, option in ((values.get("id"), "--id"), *((one, "--features") for one in values.get("features", []))):
        if name is not None and name not in columns:
            raise ParameterError(f"{option} must be a column of {table.name} ({', '.join(columns)}); got {name!r}.")
    if "id" not in values:
        found = identity(columns, apart=target)
        if found is not None:
            values["id"] = found
            notes.append(("Rows", f"are told apart by {found}"))
    notes += aim(values, columns, table.name)
    categories: dict[str, list[str]] = {}
    usable: list[str] = []
    left: dict[str, list[str]] = {}
    seen: dict[bytes, str] = {}
    for name in values.get("features") or columns:
        if name in (target, values.get("id"), values.get("groups")):
            continue
        if _are_dates(columns[name]):
            left.setdefault("dates", []).append(name)
            continue
        numbers, words = _of_use(columns[name], named="features" in values)
        if numbers is None and (words is None or not 1 <= len(words) <= MAX_CATEGORIES):
            left.setdefault("neither numbers nor a few words", []).append(name)
            continue
        again = _says_nothing_new(numbers, columns[name], seen, name)
        if again is not None and ("features" not in values or (words is not None and len(words) < 2)):
            left.setdefault(again, []).append(name)
            continue
        if again is not None:
            notes.append(("Careful", f"{name}: {again}, so that it says nothing new"))
        usable.append(name)
        if numbers is None and words is not None:
            categories[name] = words
    if not usable:
        raise ParameterError(f"--table must have a column to predict from; {table.name} has {', '.join(columns)}.")
    values["features"] = usable
    if categories:
        values["categories"] = categories
    notes.append(
        (
            "Features",
            ", ".join(f"{name} ({listed(categories[name])})" if name in categories else name for name in usable),
        )
    )
    gaps = [f"{name} in {int(columns[name].missing.sum()):,}" for name in usable if columns[name].missing.any()]
    if gaps:
        rows = next(iter(columns.values())).missing.size
        notes.append(("Missing", f"{', '.join(gaps)} of {rows:,} rows; rows without a value cannot be told"))
    if left:
        notes.append(("Left out", "; ".join(f"{', '.join(names)}: {why}" for why, names in left.items())))
    return values, notes


def columns_of(table: Path) -> "dict[str, Column]":
    """Return the columns of a file."""
    from driftpace.cli.shared.tables import not_readable, own_limits
    from driftpace.tables import read_columns

    if not table.is_file():
        what = not_readable(table) or "is a pipe"
        raise ParameterError(f"--table must be a file of rows; {str(table)!r} {what}.")
    return read_columns(table, owner="init", limits=own_limits())


def identity(columns: "dict[str, Column]", *, apart: str | None) -> str | None:
    """Return the column that looks like it tells rows apart: named so, or numbers that count the rows; None where none does."""
    named = [name for name in columns if _named_so(name)]
    others = [name for name in columns if name not in named and _counts(columns[name])]
    return next((name for name in (*named, *others) if name != apart and _tells_apart(columns[name])), None)


def _named_so(name: str) -> bool:
    said = name.lower().replace("-", "_")
    return said in ("id", "uuid", "key", "driftpace_id") or said.endswith("_id")


def _tells_apart(column: "Column") -> bool:
    """Whether a column is whole or words, with nothing missing and nothing twice."""
    values = column.values[~column.missing]
    whole = column.kind == "text" or (column.kind == "number" and bool(np.all(values == np.floor(values))))
    return whole and not column.missing.any() and len({str(one) for one in values}) == len(values)


def _counts(column: "Column") -> bool:
    """Whether numbers run on by one, in whatever order: then they number the rows, and say nothing about them."""
    if column.kind != "number" or column.missing.any() or column.values.size < FEWEST_COUNTED:
        return False
    return bool(np.all(np.diff(np.sort(column.values)) == 1.0))


def _of_use(column: "Column", *, named: bool) -> "tuple[Column | None, list[str] | None]":
    """Return a column as numbers, or its different words; neither where it is of no use. Codes are numbers where they are named."""
    from driftpace.tables.cells import as_numbers

    numbers = column if column.kind in ("number", "flag") else as_numbers(column) if named else None
    return numbers, None if numbers is not None else _words(column)


def _are_dates(column: "Column") -> bool:
    """Whether a column is dates, or names of weeks and the like: those of the next period are none of the words of this one."""
    if column.kind == "time":
        return True
    return column.kind == "text" and are_dates({str(one) for one in column.values[~column.missing]})


def _says_nothing_new(numbers: "Column | None", column: "Column", seen: dict[bytes, str], name: str) -> str | None:
    """Return why a column says nothing that those before it did not: it never changes, or repeats one. None where it says some."""
    if numbers is not None:
        there = numbers.values[~numbers.missing]
        codes, one = numbers.values + 0.0, there.size > 0 and bool((there == there[0]).all())
    else:
        order: dict[Any, int] = {}
        codes = np.array([order.setdefault(cell, len(order)) for cell in column.values.tolist()], dtype=np.float64)
        one = len(order) - int(None in order) == 1
    if one:
        return "the same in every row"
    digest = hashlib.sha256(codes.tobytes()).digest() + bytes([numbers is None])
    before = seen.setdefault(digest, name)
    return None if before == name else f"the same as {before}"


def _words(column: "Column") -> list[str] | None:
    """Return the different words of a column, in order; None where it holds no words, or too many."""
    if column.kind != "text":
        return None
    found = sorted({str(one) for one in column.values[~column.missing]})
    return found if len(found) <= max(MAX_CATEGORIES, 2) else None
