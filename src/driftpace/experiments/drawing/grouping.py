"""Numbers of the same table or target under one heading, where their names begin alike."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from driftpace.experiments.records import Comparison


def grouped(comparisons: Sequence[Comparison]) -> list[tuple[str, list[Comparison]]]:
    """Return runs of numbers that share what stands before the first colon of their names, which is then named once.

    >>> rows = [Comparison(what=what, paper=None, as_in_paper=None, practical=None) for what in ("a: x", "a: y", "z")]
    >>> [(head, [each.what for each in group]) for head, group in grouped(rows)]
    [('a', ['x', 'y']), ('', ['z'])]
    """
    found: list[tuple[str, list[Comparison]]] = []
    for head, run in groupby(comparisons, key=lambda each: each.what.partition(": ")[0] if ": " in each.what else ""):
        group = list(run)
        if head and len(group) > 1:
            found.append((head, [replace(each, what=each.what.partition(": ")[2]) for each in group]))
        elif found and not found[-1][0] and (not head or len(group) == 1):
            found[-1][1].extend(group)
        else:
            found.append(("", group))
    return found
