"""What trackers of models share: targets, predictions from scores, periods, rows as JSON values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from driftpace.errors import DataError, ParameterError, ProtocolError
from driftpace.models import ModelAdapter, ScoredRows
from driftpace.models.rows import count_rows, rows_from_values, rows_to_values, take, unknown_categories
from driftpace.records import Assumption, StepReport, Verdict
from driftpace.storage.codec import decode, encode
from driftpace.tracker.inputs import read_targets
from driftpace.typing import FloatArray

Probe = tuple[Any, FloatArray]
"""Rows with their scores, which show that a model is still the same."""

PROBES = 8
"""The rows of a probe."""

SAME = 1e-4
"""Scores that differ by less than this share of the largest are the same: single precision sums rows in batches differently."""


def probe_of(X: Any, scores: FloatArray) -> Probe:
    """Return the first rows with their scores."""
    return take(X, np.arange(min(count_rows(X), PROBES))), scores[:PROBES]


def check_same_scores(base: ModelAdapter, probe: Probe | None, owner: str) -> None:
    """Refuse a model that was trained again since it was given, or scores the rows of a probe differently from before."""
    if base.changed():
        raise ParameterError(
            "must be left as it was given; it was fitted again since. Pass it to retrain(model=...), or give a copy of it.",
            owner=owner,
            name="model",
        )
    if probe is None:
        return
    X, before = probe
    now = base.checked_scores(X, count_rows(X), owner)
    if not np.allclose(now, before, rtol=0.0, atol=SAME * (1e-9 + float(np.abs(before).max()))):
        raise ParameterError(
            f"must score the same rows alike in every call; row 0 scored {before[0, 0]:g} and now {now[0, 0]:g}. "
            "Pass a new model to retrain(model=...).",
            owner=owner,
            name="model",
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class UnknownCategories:
    """Cells of a period with categories that a model was not trained on, which it sees as missing; ``first`` tells of some."""

    cells: int
    first: str

    @classmethod
    def of(cls, given: Any, taken: Any, before: "UnknownCategories | None") -> "UnknownCategories | None":
        """Return the count with the rows of one delivery more, as they were given and as the model takes them."""
        mapped = unknown_categories(given, taken)
        cells = sum(each.rows for each in mapped) + (0 if before is None else before.cells)
        if not mapped:
            return before
        return cls(cells=cells, first=mapped[0].sentence if before is None else before.first)

    @property
    def check(self) -> Assumption:
        """The check of a period that had such cells.

        >>> UnknownCategories(cells=3, first="2 rows with an unlisted city (Bari) count as missing").check.sentence
        '3 cells have categories that the model was not trained on; 2 rows with an unlisted city (Bari) count as missing.'
        """
        cells = "1 cell has a category" if self.cells == 1 else f"{self.cells:,} cells have categories"
        sentence = f"{cells} that the model was not trained on; {self.first}."
        return Assumption(name="categories", verdict=Verdict.WARN, sentence=sentence)


def check_columns(base: ModelAdapter, before: ModelAdapter, rows: Sequence[ScoredRows]) -> None:
    """Refuse a new base that takes other columns than the one before, or than the rows that are kept have."""
    owner = "Tracker.retrain"
    known = base.features is not None and before.features is not None
    fits = not known or base.features == before.features
    if rows:
        try:
            base.rows(rows[0].X, owner)
        except DataError:
            fits = False
    if not fits:
        raise ParameterError(
            f"must be a model of the same columns as before; got one of {_columns_of(base)} in place of {_columns_of(before)}.",
            owner=owner,
            name="model",
        )


def _columns_of(base: ModelAdapter) -> str:
    """Return the columns of a model in words."""
    names = "" if base.columns is None else f" ({', '.join(base.columns[:8])})"
    return f"{base.features if base.columns is None else len(base.columns)}{names}"


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


def probe_to_values(probe: Probe | None) -> dict[str, Any] | None:
    """Return a probe as JSON values that :func:`probe_from_values` reads."""
    return None if probe is None else {"X": rows_to_values(probe[0]), "scores": encode(probe[1])}


def probe_from_values(values: dict[str, Any] | None) -> Probe | None:
    """Return the probe of :func:`probe_to_values`."""
    return None if values is None else (rows_from_values(values["X"]), decode(values["scores"]))
