"""Cross-validation of the penalty of a single fit."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from driftpace.constraints import WholeSpace
from driftpace.errors import DataError, ParameterError
from driftpace.learners.newton import minimise
from driftpace.losses import LinearLoss, classifies
from driftpace.records import Selected
from driftpace.selection.candidates import read_l2
from driftpace.selection.choice import Choosing, Tally, choose
from driftpace.selection.folds import make_folds
from driftpace.selection.leave_out import Design, Held, left_out, losses_left_out
from driftpace.typing import FloatArray, IntArray

_OWNER = "select_l2"


def select_l2(
    loss: LinearLoss,
    X: FloatArray,
    y: FloatArray,
    l2: Sequence[float],
    *,
    folds: int = 10,
    choosing: Choosing = "least",
    groups: Any = None,
    rng: np.random.Generator | int = 0,
) -> tuple[Selected, FloatArray]:
    """Choose a penalty for one table by cross-validation, without earlier periods; no intercept is added.

    Parameters
    ----------
    loss : LinearLoss
        The loss; its penalty is replaced.
    X : ndarray of shape (rows, columns)
        Features.
    y : ndarray of shape (rows,)
        Targets. Classes are spread evenly over the folds.
    l2 : sequence of float
        At least two different penalties.
    folds : int, default 10
        The folds.
    choosing : {"least", "one-standard-error"}
        As for :class:`Selection`.
    groups : array-like, optional
        The group of each row; rows of one group stay in one fold.
    rng : int or numpy.random.Generator, default 0
        Seeds the folds.

    Returns
    -------
    selected : Selected
        The choice, with scores and standard errors.
    coef : ndarray of shape (columns,)
        The chosen fit to all rows.

    Examples
    --------
    >>> from driftpace.losses import SquaredLoss
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((40, 10))
    >>> y = X[:, 0] + 3.0 * rng.standard_normal(40)
    >>> selected, coef = select_l2(SquaredLoss(), X, y, [0.0, 1.0])
    >>> selected.chosen, coef.shape
    ('l2=1', (10,))
    """
    values = sorted(read_l2(_OWNER, l2))
    if not isinstance(loss, LinearLoss):
        raise ParameterError(f"must be a LinearLoss; got {loss!r}.", owner=_OWNER, name="loss")
    X = _numbers("X", X)
    if X.ndim != 2 or X.shape[1] == 0 or not np.isfinite(X).all():
        raise DataError(f"must be finite rows by columns; got shape {X.shape}.", owner=_OWNER, name="X")
    y = loss.encode(_numbers("y", y))
    if y.shape != (len(X),):
        raise DataError(f"must have one entry for each of {len(X)} rows; got shape {y.shape}.", owner=_OWNER, name="y")
    codes: IntArray | None = None
    if groups is not None:
        names = np.asarray(groups, dtype=object)
        if names.shape != y.shape:
            raise DataError(
                f"must have one entry for each of {len(y)} rows; got {names.shape}.",
                owner=_OWNER,
                name="groups",
            )
        if any(_missing(name) for name in names):
            raise DataError("must have no missing entries; got some.", owner=_OWNER, name="groups")
        codes = np.unique(names.astype(np.str_), return_inverse=True)[1]
    classes = y if classifies(loss) else None
    fold = make_folds(len(y), folds, rng=rng, classes=classes, groups=codes)
    design = Design(X=X, y=y, fold=fold)
    models, losses = [], []
    start = np.zeros(X.shape[1])
    for value in values:
        held = Held(
            loss=replace(loss, l2=value),
            model=minimise(replace(loss, l2=value), WholeSpace(), start, X, y, 0.0)[0],
            strength=np.zeros((X.shape[1], X.shape[1])),
        )
        start = held.model  # the next penalty begins where this one ended
        models.append(held.model)
        losses.append(losses_left_out(design, left_out(design, held), loss))
    labels = tuple(f"l2={value:g}" for value in values)
    selected = choose(labels, Tally.of(np.array(losses), codes), choosing=choosing, folds=folds)
    return selected, models[selected.index]


def _missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # what pandas has for missing words is neither equal to itself nor not
        return True


def _numbers(name: str, values: Any) -> FloatArray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("must be numbers; got others.", owner=_OWNER, name=name) from None
