"""What trackers of models share: targets, predictions from scores, periods, rows as JSON values."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from driftpace.errors import DataError, ProtocolError
from driftpace.models import ModelAdapter, ScoredRows
from driftpace.models.rows import count_rows, rows_from_values, rows_to_values
from driftpace.records import StepReport
from driftpace.storage.codec import decode, encode
from driftpace.tracker.inputs import read_targets
from driftpace.typing import FloatArray


def codes_of(base: ModelAdapter, y: Any, rows: int, owner: str) -> FloatArray:
    """Return targets as the loss takes them: numbers of classes where there are classes."""
    labels = base.labels
    if labels is None:
        return read_targets(y, owner=owner, rows=rows)
    values = np.asarray(y, dtype=object).reshape(-1)
    if len(values) != rows:
        raise DataError(
            f"must have one entry for each of the {rows} rows of X; got {len(values)}.", owner=owner, name="y"
        )
    places = {str(_plain(label)): float(place) for place, label in enumerate(labels)}
    codes = np.array([places.get(str(_plain(value)), -1.0) for value in values], dtype=np.float64)
    if (codes < 0.0).any():
        row = int(np.argmax(codes < 0.0))
        raise DataError(
            f"must be classes of the model ({', '.join(str(label) for label in labels[:10])}); got {values[row]!r} in row "
            f"{row}.",
            owner=owner,
            name="y",
        )
    return codes


def predictions_of(base: ModelAdapter, scores: FloatArray) -> Any:
    """Return what scores predict: numbers, means of counts, or labels of classes."""
    if base.labels is not None:
        chosen = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0.0).astype(np.int64)
        return np.asarray(base.labels)[chosen]
    return np.exp(scores) if base.task == "counts" else scores


def shares_of(base: ModelAdapter, scores: FloatArray) -> FloatArray:
    """Return the probabilities of the classes, (rows, classes)."""
    if base.labels is None or base.hard:
        raise ProtocolError("predict_proba() needs a model of classes that gives probabilities.")
    if scores.ndim == 1:
        second = 1.0 / (1.0 + np.exp(-np.clip(scores, -700.0, 700.0)))
        return np.column_stack([1.0 - second, second])
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _plain(label: Any) -> Any:
    value = label.item() if isinstance(label, np.generic) else label
    return int(value) if isinstance(value, float | bool) and float(value).is_integer() else value


def run_period(tracker: Any, draw: Callable[[int], tuple[Any, ...]], pool: int | None) -> StepReport:
    """Return the report of a period that is asked for, drawn until there are enough rows or no more, and closed."""
    while wanted := tracker.ask(pool=pool).samples:
        X, y = draw(wanted)
        tracker.tell(X, y, final=False)
        if count_rows(X) < wanted:
            break
    report = tracker.tell()
    assert report is not None
    return cast("StepReport", report)


def part_to_values(part: ScoredRows) -> dict[str, Any]:
    """Return the rows of a period as JSON values that :func:`part_from_values` reads."""
    values = {name: encode(getattr(part, name)) for name in ("period", "y", "scores", "weights")}
    return {**values, "X": rows_to_values(part.X)}


def part_from_values(values: dict[str, Any]) -> ScoredRows:
    """Return the rows of :func:`part_to_values`."""
    held = {name: decode(value) for name, value in values.items() if name != "X"}
    return ScoredRows(X=rows_from_values(values["X"]), **held)
