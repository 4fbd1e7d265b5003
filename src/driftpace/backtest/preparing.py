"""From a table to a job: the loss, the populations of all periods and the targets, or a refusal in a sentence."""

from collections.abc import Sequence

import numpy as np

from driftpace.backtest.following import Asked
from driftpace.backtest.job import Job
from driftpace.backtest.population import Population, find_population
from driftpace.backtest.split import count_test_rows
from driftpace.backtest.table import Panel
from driftpace.errors import DataError, ParameterError
from driftpace.losses import Loss, classifies, get_loss, loss_names
from driftpace.typing import FloatArray, IntArray

_SAME = 1e-10
_NOTHING = 1e-20


def prepare(
    panel: Panel, *, loss: Loss | None, asked: Asked, test_fraction: float, seed: int, baselines: Sequence[str] = ()
) -> Job:
    """Return the job of replaying a panel."""
    loss = _default_loss(panel, asked.l2) if loss is None else loss
    _fits(panel, loss)
    if asked.l2 is not None and loss.l2 != 0.0:
        raise ParameterError(
            f"must be the only penalty; got a loss that has l2={loss.l2!r} besides.",
            owner="backtest",
            name="l2",
        )
    if len(panel.periods) < 2:
        raise DataError(f"must name at least two periods; got {len(panel.periods)}.", owner="backtest", name="period")
    for label, X in zip(panel.periods, panel.X, strict=True):
        _enough(label, len(X), X.shape[1] + 1, test_fraction)
    _nothing_twice(panel, loss)
    groups = panel.groups or (None,) * len(panel.periods)
    populations = tuple(
        find_population(label, loss, X, y, whose)
        for label, X, y, whose in zip(panel.periods, panel.X, panel.y, groups, strict=True)
    )
    if asked.epsilon is not None:
        epsilon = np.full(len(populations), float(asked.epsilon))
    else:
        assert asked.tolerance is not None
        _something_is_lost(populations)
        epsilon = asked.tolerance * np.array([now.least for now in populations])
    return Job(
        loss=loss,
        classification=classifies(loss),
        populations=populations,
        epsilon=epsilon,
        scale=_scale(panel.X),
        asked=asked,
        test_fraction=test_fraction,
        seed=seed,
        features=tuple(panel.features),
        baselines=tuple(baselines),
    )


def _default_loss(panel: Panel, l2: tuple[float, ...] | None) -> Loss:
    """Return the default loss for the target, without a penalty where candidates are given."""
    name = loss_names("classification" if panel.two_classes else "regression")[0]
    return get_loss(name, l2=None if l2 is None else 0.0)


def _fits(panel: Panel, loss: object) -> None:
    """Refuse what is no loss, and a loss of two classes where there are more."""
    if not isinstance(loss, Loss):
        raise ParameterError(f"must be a loss such as SquaredLoss(); got {loss!r}.", owner="backtest", name="loss")
    values = np.unique(np.concatenate(panel.y)).size
    if classifies(loss) and values > 2:
        raise DataError(
            f"must be a loss of numbers, such as {loss_names('regression')[0]}, for target {panel.target!r}; "
            f"{type(loss).__name__} is for two classes, and there are {values:,} different values.",
            owner="backtest",
            name="loss",
        )


def _nothing_twice(panel: Panel, loss: Loss) -> None:
    """Refuse features that say the same twice where no penalty decides between them."""
    twins = _told_apart_by_nothing(np.concatenate(panel.X)) if loss.l2 == 0.0 else np.zeros(0, dtype=np.int64)
    if twins.size:
        names = [repr(panel.features[index]) for index in twins]
        raise DataError(
            f"must each say something of their own; {', '.join(names[:-1])} and {names[-1]} "
            "together say the same twice: drop one of them, or give the loss an l2 above 0.",
            owner="backtest",
            name="features",
        )


def _told_apart_by_nothing(X: FloatArray) -> IntArray:
    """Return the columns of a sum that is constant over all rows; none where there is no such sum."""
    away = X - X.mean(axis=0)
    sizes = np.linalg.norm(away, axis=0)
    moving = np.flatnonzero(sizes > 0.0)
    if moving.size < 2:
        return np.zeros(0, dtype=np.int64)
    _, found, directions = np.linalg.svd(np.linalg.qr(away[:, moving] / sizes[moving], mode="r"))
    if found[-1] > _SAME * found[0]:
        return np.zeros(0, dtype=np.int64)
    weights = np.abs(directions[-1])
    twins: IntArray = moving[weights > 1e-3 * weights.max()]
    return twins


def _enough(label: str, rows: int, coefficients: int, test_fraction: float) -> None:
    pool = rows - count_test_rows(rows, test_fraction) if rows > 1 else 0
    if pool <= coefficients:
        raise DataError(
            f"must give each period more training rows than the {coefficients} coefficients; period "
            f"{label!r} has {rows} rows, of which {pool} are for training: merge periods, or use fewer features.",
            owner="backtest",
            name="period",
        )


def _something_is_lost(populations: tuple[Population, ...]) -> None:
    """Refuse a share of nothing."""
    for now in populations:
        if now.least <= _NOTHING * max(float(np.mean(np.square(now.y))), 1.0):
            raise DataError(
                "must be a share of a loss above zero; the best model of period "
                f"{now.label!r} fits every row exactly: give epsilon instead.",
                owner="backtest",
                name="tolerance",
            )


def _scale(X: tuple[FloatArray, ...]) -> FloatArray:
    """Return the variance of each column over the whole table, and 1 for the intercept; a constant column counts 1."""
    variances = np.concatenate(X).var(axis=0)
    return np.append(np.where(variances > 0.0, variances, 1.0), 1.0)
