"""What is to be predicted: a number, or which of two words; and what can never be told is refused before labels are bought."""

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from driftpace.errors import ParameterError
from driftpace.losses import loss_names

if TYPE_CHECKING:
    from driftpace.campaign import Definition
    from driftpace.tables import Column

FEWEST = 20
"""Two different numbers are taken for classes where so many rows have one; 0 and 1, or -1 and 1, always."""
_NO = frozenset(["no", "n", "false", "f", "nein", "non", "nee", "nej", "nie", "off", "negative", "never"])
_YES = frozenset(["yes", "y", "true", "t", "ja", "oui", "si", "sí", "da", "tak", "on", "positive"])
_DATE = re.compile(
    r"\d{4}-?(W|Q)\d{1,2}|\d{4}[-/.]\d{1,2}([-/.]\d{1,2}([T ].*)?)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{2}|\d{4})( .*)?"
)
_NUMBER = re.compile(r"\d+")


def predicts(definition: "Definition") -> str:
    """Return what a campaign predicts, and how.

    >>> from driftpace.campaign import Definition
    >>> predicts(Definition.of({"name": "a", "target": "y", "epsilon": 0.1}))
    'numbers (y), by least squares'
    >>> predicts(Definition.of({"name": "a", "target": "y", "classes": ["no", "yes"], "epsilon": 0.1}))
    'which of no, yes (y), by logistic regression'
    """
    from driftpace.campaign.schema import listed
    from driftpace.losses import loss_spec

    about = "" if definition.target is None else f" ({definition.target})"
    spec = loss_spec(definition.loss)
    two = spec.task == "classification"
    what = f"which of {listed(definition.classes or ('0', '1'))}" if two else "numbers"
    return f"{what}{about}, by {spec.description}"


def aim(values: dict[str, Any], columns: "dict[str, Column]", table: str) -> list[tuple[str, str]]:
    """Fill in the classes that the target holds, and return what is to be said about that; refuse what can never be told."""
    from driftpace.campaign.schema import listed
    from driftpace.tables.cells import without_marks

    target, given = values.get("target"), values.get("classes")
    if target is None:
        return []
    if target not in columns:
        if "features" not in values:
            _refuse_typo(target, columns, table)
        return [("Target", f"{target} is no column of {table}: it is what people fill in")]
    column = without_marks(columns[target], given or ())  # NA there is a label that nobody gave yet
    if column.missing.all():
        return []
    if given is not None:
        _refuse_others(column, given, target, table)
        return []
    numeric, two = _two(column, target, table, loss=values.get("loss"))
    if two is None:
        return []
    values["classes"] = two
    other = "; --loss squared takes them as numbers" if numeric else ""
    return [("Classes", f"{listed(two[:1])} (no) and {listed(two[1:])} (yes), in {target}{other}")]


def are_dates(words: "list[str] | set[str]") -> bool:
    """Whether words are dates, or names of weeks, months and quarters: new ones come with every period.

    >>> are_dates(["2026-11-16", "2026-11-23"]), are_dates(["16.11.2026"]), are_dates(["2026-W46"]), are_dates(["gold"])
    (True, True, True, False)
    """
    return bool(words) and all(_DATE.fullmatch(word) for word in words)


def _two(column: "Column", target: str, table: str, *, loss: str | None) -> tuple[bool, list[str] | None]:
    """Return whether the target is numbers, and the two classes that it holds; None where it holds numbers to be predicted."""
    from driftpace.tables.cells import as_numbers
    from driftpace.tables.csv_format import number_text

    as_they_are = loss in loss_names("regression")
    if column.kind == "flag":
        return True, None if as_they_are else ["false", "true"]
    numbers = as_numbers(column)
    if numbers is None:
        return False, _two_words(column, target, table, only_numbers=as_they_are)
    there = numbers.values[~numbers.missing]
    different = np.unique(there)
    two = different.size == 2 and (there.size >= FEWEST or different.tolist() in ([0.0, 1.0], [-1.0, 1.0]))
    if two and not as_they_are:
        return True, [number_text(one) for one in different.tolist()]
    if loss in loss_names("classification") and (different.size > 2 or not set(different.tolist()) <= {-1.0, 0.0, 1.0}):
        names = " or ".join(loss_names("regression"))
        raise ParameterError(
            f"--loss must be {names} for numbers; {target!r} holds {different.size:,} different ones in {table}."
        )
    return True, None


def _two_words(column: "Column", target: str, table: str, *, only_numbers: bool) -> list[str]:
    from driftpace.campaign.schema import listed
    from driftpace.tables.cells import numbers_each

    head = f"--target must be numbers or one of two words; {target!r} holds"
    words = {str(one) for one in column.values[~column.missing]}
    if column.kind == "time" or are_dates(words):
        raise ParameterError(f"{head} dates in {table}.")
    found = sorted(words)
    none = np.isnan(numbers_each(column)) & ~column.missing
    if column.kind != "text" or (only_numbers and len(found) == 2) or int(none.sum()) < int((~column.missing).sum()):
        row = int(np.argmax(none)) + 1
        raise ParameterError(f"{head} {str(column.values[row - 1])!r:.80} beside numbers in {table}, row {row:,}.")
    if len(found) != 2:
        shown = listed(found[:4]) + (", ..." if len(found) > 4 else "")
        hint = ": give both with --classes" if len(found) == 1 else ""
        raise ParameterError(f"{head} {len(found):,} word{'' if len(found) == 1 else 's'} in {table} ({shown}){hint}.")
    plain = [one.lower() for one in found]
    turned = (plain[1] in _NO and plain[0] not in _NO) or (plain[0] in _YES and plain[1] not in _YES)
    return found[::-1] if turned else found


def _refuse_typo(target: str, columns: "dict[str, Column]", table: str) -> None:
    """Refuse a target that is hardly called otherwise than a column: that one would be a feature, and give everything away."""
    called = {name.lower(): name for name in columns}
    near = get_close_matches(target.lower(), called, n=1, cutoff=0.8)
    if near and (near[0] == target.lower() or _NUMBER.sub("", near[0]) != _NUMBER.sub("", target.lower())):
        raise ParameterError(
            f"--target must be a column of {table}, or called otherwise than all of them; got {target!r}: "
            f"did you mean {called[near[0]]!r}? If not, say with --features what to predict from."
        )


def _refuse_others(column: "Column", classes: list[str], target: str, table: str) -> None:
    from driftpace.campaign.schema import listed, meanings, word_of

    found = meanings([word_of(one, column.kind) for one in column.values[~column.missing]], classes)
    other = next((word for word, one in found.items() if one is None), None)
    if other is not None:
        raise ParameterError(
            f"--classes must be what {target!r} holds in {table}; got {listed(classes)} and it has {other!r:.80}."
        )
