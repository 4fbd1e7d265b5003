"""The target of a table: numbers, two classes or several."""

from typing import Any

import numpy as np

from driftpace import validation
from driftpace.errors import DataError
from driftpace.losses import Loss, SoftmaxLoss, classifies
from driftpace.losses.registry import TASKS, Task
from driftpace.tables import Column
from driftpace.tables.cells import numbers_and_texts
from driftpace.tables.encoding import LARGEST, NUMERIC_SHARE
from driftpace.tables.number_text import number_hint
from driftpace.tables.targets import MOST_LABELS, describe_target, list_classes
from driftpace.typing import FloatArray, IntArray

Target = tuple[FloatArray, tuple[str, ...] | None]
"""The target of the rows as numbers, and the classes that became 0, 1, ...; None for numbers."""


def loss_task(loss: Loss | None) -> Task | None:
    """Return what a loss predicts; None where there is no loss yet.

    >>> loss_task(SoftmaxLoss()), loss_task(None)
    ('multiclass', None)
    """
    if loss is None:
        return None
    if isinstance(loss, SoftmaxLoss):
        return "multiclass"
    return "classification" if isinstance(loss, Loss) and classifies(loss) else "regression"


def read_target(
    name: str,
    values: np.ndarray[Any, Any],
    kind: str,
    task: Task | None,
    owner: str,
    notes: list[str],
    rows: IntArray | None = None,
) -> Target:
    """Return the target of a column without missing cells, for a task if one is given; ``notes`` gain what was understood.

    ``rows`` are the places of the values in the table, for messages; by default they are all of it.

    >>> notes = []
    >>> y, classes = read_target("species", np.array(["owl", "cat", "dog"] * 5), "text", None, "read_table", notes)
    >>> classes, notes
    (('cat', 'dog', 'owl'), ['Target species has 3 classes: cat, dog and owl.'])
    """
    if task is not None:
        validation.choice(owner, TASKS, task=task)
    if kind == "number":
        return _numbers(name, values.astype(np.float64), task, owner, notes)
    if kind == "flag":
        return values.astype(np.float64), ("False", "True")
    if kind != "text":
        raise DataError(f"target {name!r} must be numbers or classes; it is {_words(kind)}.", owner=owner)
    words = sorted(set(values.tolist()))
    if len(words) == 1:
        raise DataError(
            f"target {name!r} must be numbers or classes; each of its values is {words[0]!r:.80}.", owner=owner
        )
    if len(words) == 2:
        notes.append(f"Target {name}: {words[0]!r} is 0 and {words[1]!r} is 1.")
        return (values == words[1]).astype(np.float64), (words[0], words[1])
    numbers, others = numbers_and_texts(
        Column(kind="text", values=values, missing=np.zeros(values.size, dtype=np.bool_))
    )
    if others is not None and np.isfinite(numbers).mean() >= NUMERIC_SHARE:
        place = next(place for place, text in enumerate(others) if text is not None)
        row = place if rows is None else int(rows[place])
        raise DataError(
            f"target {name!r} must be numeric; row {row + 1:,} has {others[place]!r:.80}{number_hint(others[place])}.",
            owner=owner,
        )
    if task not in (None, "multiclass"):
        allowed = "numbers" if task == "regression" else "two classes"
        raise DataError(
            f"target {name!r} must be {allowed} for this loss; its {len(words):,} texts, such as {words[0]!r:.80}, are classes, "
            "for --loss softmax, or loss=SoftmaxLoss().",
            owner=owner,
        )
    if len(words) > min(MOST_LABELS, max(values.size // 2, 2)):
        raise DataError(
            f"target {name!r} must be numbers or at most {MOST_LABELS} classes; got {len(words):,} texts, such as "
            f"{words[0]!r:.80}{number_hint(words[0])}.",
            owner=owner,
        )
    notes.append(f"Target {name} has {len(words)} classes: {list_classes(words)}.")
    return np.searchsorted(words, values).astype(np.float64), tuple(words)


def _numbers(name: str, values: FloatArray, task: Task | None, owner: str, notes: list[str]) -> Target:
    wild = np.abs(values) > LARGEST
    if wild.any():
        raise DataError(
            f"column {name!r} must be finite and below {LARGEST:g} in size; got {values[wild][0]:g}.", owner=owner
        )
    distinct = np.unique(values)
    if task == "multiclass":
        if distinct.size < 2 or distinct.size > MOST_LABELS or np.any(distinct != np.trunc(distinct)):
            raise DataError(
                f"target {name!r} must be 2 to {MOST_LABELS} texts or whole numbers for a loss of classes; got "
                f"{distinct.size:,} numbers, {distinct[0]:g} to {distinct[-1]:g}.",
                owner=owner,
            )
        return _codes(name, values, distinct, notes, hint="")
    described = describe_target(name, values)
    if task is None and described.classes:
        hint = " --loss squared, or loss=SquaredLoss(), treats them as a number."
        return _codes(name, values, distinct, notes, hint=hint)
    if described.sentence is not None and (task is None or not described.counts):
        notes.append(described.sentence)
    return values, None


def _codes(name: str, values: FloatArray, distinct: FloatArray, notes: list[str], *, hint: str) -> Target:
    words = tuple(f"{value:.0f}" for value in distinct)
    notes.append(f"Target {name} has {len(words)} classes, the codes {list_classes(words)}.{hint}")
    return np.searchsorted(distinct, values).astype(np.float64), words


def _words(kind: str) -> str:
    return {"text": "text", "time": "a date or time", "other": "neither a number nor a text or date"}[kind]
