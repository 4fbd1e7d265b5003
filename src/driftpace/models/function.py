"""A function from rows to scores as a model that can be used, but neither trained again nor saved."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.models.adapter import TASKS, ModelAdapter, class_labels
from driftpace.typing import FloatArray


class FunctionAdapter(ModelAdapter):
    """A function X -> scores; :meth:`ModelAdapter.scores` says which scores.

    Parameters
    ----------
    function : callable
        The model.
    task : {"regression", "classification", "multiclass", "counts"}
        What it predicts.
    labels : sequence, optional
        The labels of its classes, in the order of its scores.
    """

    def __init__(
        self, function: Callable[[Any], Any], *, task: str | None, labels: Sequence[Any] | None = None
    ) -> None:
        super().__init__(function)
        if task is None:
            raise ParameterError(
                f"must be given with a function: {', '.join(TASKS)}; got None.", owner="Tracker.for_model", name="task"
            )
        validation.choice("Tracker.for_model", TASKS, task=task)
        self.task = task  # type: ignore[assignment]
        self.labels = None if labels is None else tuple(labels)
        if task == "multiclass" and (self.labels is None or len(self.labels) < 3):
            raise ParameterError(
                f"must be the labels of the three or more classes of the scores; got {labels!r}.",
                owner="Tracker.for_model",
                name="labels",
            )
        if task == "classification":
            self.labels = class_labels(2, labels)

    def scores(self, X: Any) -> FloatArray:
        """Return what the function returns of a copy of the rows, which it may write to."""
        return np.asarray(self.model(X.copy() if isinstance(X, np.ndarray) else X))
