"""A function from rows to scores or probabilities as a model that can be used, but neither trained again nor saved."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.models.adapter import SUM_ERROR, TASKS, ModelAdapter, check_shares, class_labels, log_odds
from driftpace.typing import FloatArray

LEAST_JUDGED = 8
"""Fewer scores than this are not judged to look like probabilities."""


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
    output : {"scores", "probabilities"}, optional
        What it returns of classes: scores, or probabilities, of two classes that of the second. By default scores; those that look
        like probabilities are refused, until it is said what they are.

    Examples
    --------
    >>> def shares(X):
    ...     return np.full(len(X), 0.75)
    >>> FunctionAdapter(shares, task="classification", output="probabilities").scores(np.zeros((1, 2))).round(2).tolist()
    [1.1]
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        *,
        task: str | None,
        labels: Sequence[Any] | None = None,
        output: Literal["scores", "probabilities"] | None = None,
    ) -> None:
        super().__init__(function)
        if task is None:
            raise ParameterError(
                f"must be given with a function: {', '.join(TASKS)}; got None.", owner="Tracker.for_model", name="task"
            )
        validation.choice("Tracker.for_model", TASKS, task=task)
        self.task = task  # type: ignore[assignment]
        classes = task in ("classification", "multiclass")
        if output is not None:
            validation.choice("FunctionAdapter", ("scores", "probabilities") if classes else ("scores",), output=output)
        self._output = output if classes else "scores"
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
        """Return what the function returns of a copy of the rows, which it may write to, as scores."""
        found = np.asarray(self.model(X.copy() if isinstance(X, np.ndarray) else X))
        if self._output == "probabilities":
            if self.task == "multiclass":
                assert self.labels is not None
                return log_odds(check_shares(np.asarray(found, dtype=np.float64), len(self.labels)))
            return log_odds(found)
        if self._output is None and _look_like_shares(found, several=self.task == "multiclass"):
            raise ParameterError(
                "must say what it returns, since its scores look like probabilities: wrap it as FunctionAdapter(function, "
                f"task={self.task!r}, output='probabilities'), or output='scores' where they are log-odds.",
                owner="Tracker.for_model",
                name="model",
            )
        return found


def _look_like_shares(found: "np.ndarray[Any, Any]", *, several: bool) -> bool:
    """Return whether so many scores are between 0 and 1, of several classes with a sum of 1, that they hardly are log-odds."""
    if found.dtype.kind != "f" or len(found) < LEAST_JUDGED or found.ndim != (2 if several else 1):
        return False
    inside = bool((found >= 0.0).all() and (found <= 1.0).all())
    return inside and (not several or bool((np.abs(found.sum(axis=1) - 1.0) < SUM_ERROR).all()))
