"""What a numeric target holds: classes, counts or numbers, in words."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftpace.typing import FloatArray

MOST_CLASSES = 20
"""More distinct whole values than this are numbers, not codes of classes."""
AMBIGUOUS_CLASSES = 4
"""Up to so many values 0, 1, 2, ... are taken for codes of classes, whatever their frequencies."""
RARE = 0.02
"""Values in the tail that have less than this share of the rows of the most frequent one do not show whether it is a count."""
COUNTS_HINT = "--loss poisson predicts counts"
MOST_LABELS = 100
"""More distinct texts than this are not classes."""
_NAMED = 10


def list_classes(words: Sequence[str]) -> str:
    """Return the names of classes in words, the first ten where there are more.

    >>> list_classes(["cat", "dog", "owl"])
    'cat, dog and owl'
    """
    if len(words) > _NAMED:
        return f"{', '.join(words[:_NAMED])} and {len(words) - _NAMED} more"
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


@dataclass(frozen=True, kw_only=True, slots=True)
class NumericTarget:
    """What a numeric target looks like: ``classes`` is the number of its codes of classes, 0 where it holds numbers.

    ``counts`` says whether it looks like counts.
    """

    sentence: str | None = None
    classes: int = 0
    counts: bool = False


def describe_target(name: str, values: FloatArray) -> NumericTarget:
    """Return what a numeric target looks like.

    Whole numbers 0, 1, ..., k - 1 are codes of classes where k is 3 or 4, or where k is at most 20 and their frequencies do not
    fall to both sides of one peak, as those of a count do.

    >>> describe_target("species", np.array([0.0, 1.0, 2.0] * 5)).classes
    3
    >>> print(describe_target("children", np.repeat(np.arange(6.0), [9, 7, 5, 3, 2, 1])).sentence)  # doctest: +NORMALIZE_WHITESPACE
    Target children has 6 whole values, 0 to 5, and is treated as a number; --loss softmax, or SoftmaxLoss(), takes it for classes;
    --loss poisson predicts counts.
    >>> describe_target("goals", np.repeat(np.arange(8.0), [236, 393, 354, 227, 115, 4, 1, 2])).classes
    0
    >>> print(describe_target("trips", np.arange(300.0)).sentence)
    Target trips holds whole numbers, 0 to 299, such as counts, and is treated as a number; --loss poisson predicts counts.
    >>> describe_target("price", np.array([1.5, 2.0])).sentence is None
    True
    """
    present = values[np.isfinite(values)]
    if not present.size or np.any(present != np.trunc(present)):
        return NumericTarget()
    distinct, frequencies = np.unique(present, return_counts=True)
    least, most = distinct[0], distinct[-1]
    if distinct.size <= 2:
        return NumericTarget()
    if distinct.size > MOST_CLASSES:
        if least < 0.0:
            return NumericTarget()
        return NumericTarget(
            sentence=f"Target {name} holds whole numbers, {least:,.0f} to {most:,.0f}, such as counts, and is treated as a number; "
            f"{COUNTS_HINT}.",
            counts=True,
        )
    codes = least == 0.0 and most == distinct.size - 1
    if codes and (distinct.size <= AMBIGUOUS_CLASSES or not _single_peak(frequencies)):
        return NumericTarget(classes=distinct.size)
    treated = "is treated as a number; --loss softmax, or SoftmaxLoss(), takes it for classes"
    counts = bool(least == 0.0)
    hint = f"; {COUNTS_HINT}" if counts else ""
    return NumericTarget(
        sentence=f"Target {name} has {distinct.size} whole values, {least:.0f} to {most:.0f}, and {treated}{hint}.",
        counts=counts,
    )


def _single_peak(counts: "np.ndarray[tuple[int], np.dtype[np.intp]]") -> bool:
    """Whether frequencies rise to a peak and fall after it, but for a tail of rare values, whose order is chance."""
    common = np.flatnonzero(counts >= RARE * counts.max())
    counts = counts[common[0] : common[-1] + 1]
    steps = np.sign(np.diff(counts))
    steps = steps[steps != 0]
    return not np.any((steps[:-1] < 0) & (steps[1:] > 0))
