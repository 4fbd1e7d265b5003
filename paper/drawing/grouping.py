"""Numbers of the same table or target under one heading, where their names begin alike."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from paper.records import Comparison


def grouped(comparisons: Sequence[Comparison]) -> list[tuple[str, list[Comparison]]]:
    """Return runs of numbers that share what stands before the first colon of their names, which is then named once.

    Numbers of no group come first; where some come later they would seem to belong to the group above, and none is made.

    >>> rows = [Comparison(what=what, paper=None, as_in_paper=None, practical=None) for what in ("z", "a: x", "a: y")]
    >>> [(head, [each.what for each in group]) for head, group in grouped(rows)]
    [('', ['z']), ('a', ['x', 'y'])]
    >>> [(head, len(group)) for head, group in grouped(rows[::-1])]
    [('', 3)]
    """
    found: list[tuple[str, list[Comparison]]] = []
    for head, run in groupby(comparisons, key=_head):
        group = list(run)
        if head and len(group) > 1:
            found.append((head, [replace(each, what=each.what.partition(": ")[2]) for each in group]))
        elif not found:
            found.append(("", group))
        elif len(found) == 1 and not found[0][0]:
            found[0][1].extend(group)
        else:
            return [("", list(comparisons))]
    return found


def _head(comparison: Comparison) -> str:
    head, colon, _ = comparison.what.partition(": ")
    return head if colon else ""
