"""What the rows of a first period show that looks wrong: a target of classes that is a number, and features that give it away."""

import numpy as np

from driftpace.campaign.definition import Definition
from driftpace.campaign.schema import Columns, TableRows
from driftpace.formatting import plural
from driftpace.losses.registry import loss_spec
from driftpace.tables.cells import without_marks
from driftpace.tables.leakage import FEWEST_ROWS, find_leaks
from driftpace.tables.targets import describe_target, list_classes

_COUNTS = ("poisson", "gamma", "tweedie")
"""Losses of counts and amounts, which may be 0, 1 and 2."""


def row_warnings(definition: Definition, columns: Columns, rows: TableRows) -> tuple[str, ...]:
    """Return warnings of the rows of a table, none where there are too few to tell.

    >>> from driftpace.campaign.schema import labelled
    >>> from driftpace.tables import read_columns
    >>> definition = Definition.of({"name": "a", "target": "y", "epsilon": 0.1})
    >>> table = read_columns({"x": range(30), "y": [0, 1, 2] * 10})
    >>> rows = labelled(definition, table, period=1, owner="example")
    >>> print(*row_warnings(definition, table, rows))
    y has 3 values, 0, 1 and 2, and is predicted as a number: if they are classes, create the campaign with classes and loss
    softmax
    """
    target, y = definition.target, rows.y
    if target is None or y.size < FEWEST_ROWS:
        return ()
    spec = loss_spec(definition.loss)
    warnings = []
    if spec.task == "regression" and spec.name not in _COUNTS:
        distinct = np.unique(y)
        if distinct.size == 2 or describe_target(target, y).classes:
            loss = "logistic" if distinct.size == 2 else "softmax"
            values = f"{plural(distinct.size, 'value')}, {list_classes([f'{value:g}' for value in distinct])},"
            warnings.append(
                f"{target} has {values} and is predicted as a number: if they are classes, create the campaign with classes and "
                f"loss {loss}"
            )
    sources = [name for name in rows.rows.encoding.sources if name in columns]  # calendar features are made of dates
    read = {**columns, target: without_marks(columns[target], definition.classes or ())}
    leaks = find_leaks(read, sources, target, y, rows.keep, classes=spec.task == "multiclass")
    return (*warnings, *(leak.sentence.removesuffix(".") for leak in leaks))
