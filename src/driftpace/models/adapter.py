"""What a tracker needs of a pre-trained model: its scores, and a way to train it again."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, Self

import numpy as np

from driftpace.errors import DataError, DriftpaceError, ParameterError
from driftpace.models.rows import column_names, count_columns, is_matrix, with_categories, with_columns
from driftpace.typing import FloatArray, IntArray

Task = Literal["regression", "classification", "multiclass", "counts"]
TASKS: tuple[Task, ...] = ("regression", "classification", "multiclass", "counts")

LEAST_PROBABILITY = 1e-6
"""Probabilities closer to 0 or 1 than this are taken as this far, so that their logarithm is finite."""

SUM_ERROR = 0.01
"""Probabilities of the classes of a row may sum to 1 up to this: single precision and rounded ones do."""


class ModelAdapter(ABC):
    """A fitted model as a tracker sees it. Subclass it, give ``task`` and :meth:`scores`, and register the class.

    Attributes
    ----------
    model : object
        The model.
    task : {"regression", "classification", "multiclass", "counts"}
        What it predicts: numbers, one of two classes, one of several, or counts.
    labels : tuple, optional
        The labels of its classes, in the order of its scores; by default 0, 1, ...
    columns : tuple of str, optional
        The names of the columns that it was trained on.
    features : int, optional
        Their number.

    Examples
    --------
    >>> from driftpace.models import ModelAdapter, adapt, register_adapter
    >>> class Thermometer:
    ...     def read(self, X):
    ...         return X[:, 0] * 1.8 + 32.0
    >>> class ThermometerAdapter(ModelAdapter):
    ...     task = "regression"
    ...     def scores(self, X):
    ...         return self.model.read(X)
    >>> register_adapter(Thermometer, ThermometerAdapter)
    >>> adapt(Thermometer()).scores(np.array([[100.0]]))
    array([212.])
    """

    task: Task
    labels: tuple[Any, ...] | None = None
    columns: tuple[str, ...] | None = None
    features: int | None = None
    format: str | None = None
    """The name of the format of :meth:`dump`; None for a model that cannot be saved."""
    needs_model: bool = False
    """Whether :meth:`restore` needs the model again, because only its weights are saved."""
    takes_offset: bool = False
    """Whether :meth:`refit` can start from given scores."""
    loss_name: str | None = None
    """The loss that it was trained for, such as "quantile(0.9)", where it is not that of its task."""
    hard: bool = False
    """Whether its scores only say which class is predicted: no head can use them, and its loss is the share of errors."""
    corrections: int = 0
    """How many corrections of a first base it consists of."""

    def __init__(self, model: Any) -> None:
        self.model = model

    @abstractmethod
    def scores(self, X: Any) -> FloatArray:
        """Return the scores of rows, (rows,) or (rows, classes).

        Numbers are predicted as they are, counts by the logarithm of their mean, two classes by the log-odds of the second, and
        several by scores whose softmax are their probabilities.
        """

    def changed(self) -> bool:
        """Return whether the model that was given was trained again since; an adapter that holds it and no copy need not say."""
        return False

    def leaves(self, X: Any) -> IntArray | None:  # noqa: ARG002
        """Return the leaf that each row falls into, (rows, trees); None for a model without trees."""
        return None

    def hidden(self, X: Any) -> FloatArray | None:  # noqa: ARG002
        """Return the values of the last hidden layer, (rows, units); None for a model without one."""
        return None

    def refit(
        self,
        X: Any,  # noqa: ARG002
        y: FloatArray,  # noqa: ARG002
        *,
        sample_weight: FloatArray | None = None,  # noqa: ARG002
        offset: FloatArray | None = None,  # noqa: ARG002
    ) -> "ModelAdapter":
        """Return a model with the same settings, trained from nothing.

        Parameters
        ----------
        X, y : array-like
            Rows and targets; classes by number.
        sample_weight : array, optional
            What each row counts for.
        offset : array, optional
            Scores that the new ones are added to; only where ``takes_offset``.
        """
        raise ParameterError(
            f"must be a model that driftpace can train again; {type(self).__name__} has no refit().",
            owner="Tracker.retrain",
            name="model",
        )

    def staged_scores(self, X: Any) -> FloatArray:
        """Return the scores after parts of the training, (stages, rows) or (stages, rows, classes); the last are :meth:`scores`."""
        return np.asarray(self.scores(X))[None]

    def stage(self, number: int) -> Self:  # noqa: ARG002
        """Return the model after that part of its training."""
        return self

    def dump(self) -> bytes:
        """Return the model in its ``format``, which never is one that could run code when it is read."""
        raise ParameterError(
            f"must be given again as model= when the tracker is loaded; {type(self).__name__} cannot be saved.",
            owner="Tracker.save",
            name="model",
        )

    @classmethod
    def restore(cls, data: bytes, *, model: Any = None) -> "ModelAdapter":
        """Return the model that :meth:`dump` wrote; ``model`` is given where ``needs_model``."""
        raise NotImplementedError

    @property
    def trainable(self) -> bool:
        """Whether :meth:`refit` can train the model."""
        return type(self).refit is not ModelAdapter.refit

    @property
    def outputs(self) -> int:
        """The number of scores of a row."""
        return len(self.labels) if self.task == "multiclass" and self.labels is not None else 1

    def categories(self, X: Any) -> Mapping[str, Sequence[Any]]:  # noqa: ARG002
        """Return the categories that the model was trained on, by the column of rows; empty where it does not say."""
        return {}

    def rows(self, X: Any, owner: str) -> Any:
        """Return rows with the columns of the model in its order, or refuse them in a sentence.

        Columns of categories get those of the model; a category that it was not trained on is missing.
        """
        X = self._with_its_columns(X, owner)
        known = {} if is_matrix(X) else self.categories(X)
        return with_categories(X, known) if known else X

    def _with_its_columns(self, X: Any, owner: str) -> Any:
        names = column_names(X, owner)
        if self.columns is not None and names is not None:
            missing = [name for name in self.columns if name not in names]
            if missing:
                raise DataError(
                    f"must have the columns of the model; got no {missing[0]!r} among {len(names)} columns.",
                    owner=owner,
                    name="X",
                )
            return X if names == self.columns else with_columns(X, self.columns)
        count = count_columns(X, owner)
        if self.features is not None and count != self.features:
            raise DataError(f"must have the {self.features} columns of the model; got {count}.", owner=owner, name="X")
        return X

    def checked_scores(self, X: Any, rows: int, owner: str) -> FloatArray:
        """Return the scores of rows, or refuse those of another shape or that are not finite; (rows, outputs)."""
        if rows == 0:  # which not every library scores
            return np.zeros((0, self.outputs))
        with library_errors("score", owner):
            found = np.asarray(self.scores(X))
            if found.dtype.kind == "c":
                raise ParameterError("must have real scores; got complex ones.", owner=owner, name="model")
            found = found.astype(np.float64, copy=False)
        wanted = (rows,) if self.outputs == 1 else (rows, self.outputs)
        if found.shape != wanted:
            raise ParameterError(
                f"must score {rows} rows as {wanted}; got scores of shape {found.shape}.", owner=owner, name="model"
            )
        if not np.isfinite(found).all():
            raise ParameterError(
                f"must have finite scores; got {found[~np.isfinite(found)][0]}.", owner=owner, name="model"
            )
        return found.reshape(rows, self.outputs)


def log_odds(probabilities: Any) -> FloatArray:
    """Return the log-odds of probabilities, or their logarithms where there are several classes; refuse what is none.

    >>> log_odds([0.5, 0.75]).round(2).tolist()
    [0.0, 1.1]
    """
    shares = np.asarray(probabilities, dtype=np.float64)
    possible = (shares >= -LEAST_PROBABILITY) & (shares <= 1.0 + LEAST_PROBABILITY)
    if not possible.all():
        wrong = shares[~possible].flat[0]
        raise ParameterError(f"must give probabilities between 0 and 1; got {wrong:g}.", owner="adapt", name="model")
    shares = np.clip(shares, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    return np.asarray(np.log(shares) - np.log1p(-shares) if shares.ndim == 1 else np.log(shares))


def check_shares(probabilities: FloatArray, classes: int) -> FloatArray:
    """Return the probabilities of rows, (rows, classes), or refuse another shape, and rows that do not sum to 1."""
    if probabilities.ndim != 2 or probabilities.shape[1] != classes:
        raise ParameterError(
            f"must give a probability for each of {classes} classes; got an array of shape {probabilities.shape}.",
            owner="adapt",
            name="model",
        )
    log_odds(probabilities)
    sums = probabilities.sum(axis=1)
    wrong = np.flatnonzero(np.abs(sums - 1.0) > SUM_ERROR)
    if len(wrong):
        raise ParameterError(
            f"must give probabilities that sum to 1; those of row {wrong[0]} sum to {sums[wrong[0]]:g}.",
            owner="adapt",
            name="model",
        )
    return probabilities


def check_task(own: Task, given: str | None) -> None:
    """Refuse a task other than that of the model itself."""
    if given is not None and given != own:
        raise ParameterError(
            f"must be left out or {own!r}, which is what the model predicts; got {given!r}.", owner="adapt", name="task"
        )


def class_labels(count: int, given: Sequence[Any] | None, own: Sequence[Any] | None = None) -> tuple[Any, ...]:
    """Return the labels of the classes of a model: its own, or those given for it, or 0, 1, ...; plain values.

    >>> class_labels(2, np.array(["no", "yes"]))
    ('no', 'yes')
    """
    if count < 2:
        raise ParameterError(f"must be a model of at least two classes; got {count}.", owner="adapt", name="model")
    known = None if own is None else tuple(plain(label) for label in own)
    labels = known if given is None else tuple(plain(label) for label in given)
    if labels is None:
        return tuple(range(count))
    if len(labels) != count or len(set(labels)) != count or (known is not None and labels != known):
        wanted = f"the {count} different labels" if known is None else f"left out or {known}, the labels"
        raise ParameterError(
            f"must be {wanted} of the classes of the model; got {labels}.", owner="adapt", name="labels"
        )
    return labels


def plain(label: Any) -> Any:
    """Return a label as Python's own number or text."""
    return label.item() if isinstance(label, np.generic) else label


_PLACE = re.compile(r"^\[\d\d:\d\d:\d\d\] \S+:\d+: ")
"""The time and the line of source that errors of XGBoost begin with."""


def one_line(error: BaseException) -> str:
    """Return what an exception says, in one line, without the place in compiled code.

    >>> one_line(ValueError("[09:12:01] src/cat.h:29: Found a category: `d` Stack trace: [bt] (0) lib.so(+0x2)"))
    'Found a category: `d`'
    """
    said = _PLACE.sub("", str(error).partition("Stack trace:")[0])
    return " ".join(said.split())[:200] or type(error).__name__


@contextmanager
def library_errors(what: str, owner: str | None) -> Iterator[None]:
    """Refuse rows that the library of a model raises any error about; ``what`` is what it should do with them."""
    try:
        yield
    except DriftpaceError:
        raise
    except ModuleNotFoundError as error:
        raise ParameterError(
            f"must be usable here: it needs the package {error.name!r}; install it.", owner=owner, name="model"
        ) from error
    except Exception as error:  # whatever the library of the model raises
        raise DataError(
            f"must be rows that the model can {what}; it said: {one_line(error)}", owner=owner, name="X"
        ) from error
