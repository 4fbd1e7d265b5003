"""What the first rows show: the features, a target of classes that is a number, and features that give it away."""

import numpy as np

from driftpace.campaign.definition import Definition
from driftpace.campaign.period_column import period_source
from driftpace.campaign.schema import Columns, TableRows
from driftpace.formatting import first_names, plural
from driftpace.losses.registry import loss_spec
from driftpace.tables.cells import without_marks
from driftpace.tables.encoding import CategoryColumn, Encoding
from driftpace.tables.label_studio import ROW_FOR, ROW_ID
from driftpace.tables.leak_scores import FEWEST_ROWS
from driftpace.tables.leakage import find_leaks
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


def shown_features(definition: Definition, columns: Columns, encoding: Encoding) -> str:
    """Return which columns of the first rows are features from now on, and which are not.

    >>> from driftpace.tables import learn_encoding, read_columns
    >>> definition = Definition.of({"name": "a", "target": "y", "epsilon": 0.1})
    >>> table = read_columns({"x": [1, 2], "city": ["Oslo", "Rome"], "day": ["2026-03-01", "2026-03-02"], "y": [1, 2]})
    >>> shown_features(definition, table, learn_encoding(table, apart=["y"]).encoding)
    'x, city (2 categories); not used: day; a campaign with features uses others'
    """
    described = [
        f"{column.name} ({plural(len(column.levels), 'category', 'categories')})"
        if isinstance(column, CategoryColumn)
        else column.name
        for column in encoding.columns
    ]
    roles = (definition.target, definition.id, definition.groups, definition.weight, definition.exposure)
    period = None if definition.period is None else period_source(definition.period, columns)[0]
    apart = {*encoding.sources, *roles, definition.annotator, period, ROW_ID, ROW_FOR}
    unused = [name for name in columns if name not in apart]
    rest = f"; not used: {first_names(unused)}; a campaign with features uses others" if unused else ""
    return f"{first_names(described)}{rest}"
