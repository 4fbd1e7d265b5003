"""A backtest ready to run: the tracker's configuration, the rows of each period and run, and the targets.

Every strategy of a run buys a prefix of the same random order, so that strategies differ by what they do and not by luck. The
order of run r and period n depends on (seed, r, n) alone: not on other runs, and not on the process that computes it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftpace.adaptive import MetricTarget, metric_target
from driftpace.backtest.metric_target import affordable_excess
from driftpace.backtest.population import Population, find_population, scores_of
from driftpace.backtest.table import Panel
from driftpace.errors import DataError, ParameterError
from driftpace.losses import LinearLoss, LogLinkLoss, Loss, SoftmaxLoss, VectorLoss, classifies, get_loss, loss_names
from driftpace.tables.expansion import ExpansionRequest
from driftpace.tracker import Tracker
from driftpace.typing import FloatArray, IntArray

TrackerMaker = Callable[[Loss, int, int], Tracker]


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackerConfig:
    """The target, and how to make a tracker.

    ``maker`` makes a custom tracker from loss, features and seed. ``l2`` are the penalties to choose from, if any.
    ``orders`` is the most orders of a period, None for batches. ``audit`` is the share of each order that is held out. ``expand``
    says which columns are expanded.
    """

    epsilon: float | None = None
    tolerance: float | None = None
    metric: str | None = None
    at_least: float | None = None
    at_most: float | None = None
    confidence: float | None = None
    certificate_level: float = 0.95
    orders: int | None = None
    season: int | None = None
    audit: float | None = None
    expand: ExpansionRequest | None = None
    maker: TrackerMaker | None = None
    l2: tuple[float, ...] | None = None

    def metric_target(self, loss: Loss) -> MetricTarget | None:
        """Return the target in a metric, None for none; refuse one that does not fit the loss."""
        return metric_target("backtest", loss, self.metric, at_least=self.at_least, at_most=self.at_most)

    def tracker(self, loss: Loss, features: int, seed: int) -> Tracker:
        """Return a new tracker."""
        if self.maker is not None:
            return self.maker(loss, features, seed)
        asked = {
            name: getattr(self, name)
            for name in (
                "epsilon",
                "tolerance",
                "metric",
                "at_least",
                "at_most",
                "confidence",
                "orders",
                "season",
                "audit",
                "l2",
            )
        }
        given: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
        if self.expand is None:
            given["features"] = features
        else:  # rows come with their expanded columns, whose names say what they are
            given |= self.expand.to_values()
        return Tracker(loss, certificate_level=self.certificate_level, rng=seed, **given)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PeriodSplit:
    """Row numbers of one period: ``test`` rows, and the ``pool`` in the order in which it is labelled."""

    test: IntArray
    pool: IntArray


def count_test_rows(rows: int, test_fraction: float) -> int:
    """Return the number of test rows of a period: the nearest whole number, at least one, and at least one row is left.

    >>> count_test_rows(10, 0.2), count_test_rows(2, 0.01)
    (2, 1)
    """
    return max(min(round(test_fraction * rows), rows - 1), 1)


def split_period(
    rows: int, *, test_fraction: float, seed: int, run: int, period: int, groups: IntArray | None = None
) -> PeriodSplit:
    """Return the split of a period of ``rows`` rows in a run; runs and periods count from 0.

    With ``groups``, whole groups are test rows, so that no group is both trained and tested on. Where the number of test rows
    divides a group, the rest of it comes last in the pool.

    >>> split_period(5, test_fraction=0.2, seed=0, run=0, period=0).pool.size
    4
    >>> split_period(6, test_fraction=0.3, seed=0, run=0, period=0, groups=np.array([1, 1, 2, 2, 3, 3])).test.tolist()
    [2, 3]
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(run, period)))
    order = rng.permutation(rows)
    tested = count_test_rows(rows, test_fraction)
    if groups is None:
        return PeriodSplit(test=order[:tested], pool=order[tested:])
    names, of_row = np.unique(groups, return_inverse=True)
    drawn = rng.permutation(len(names))[of_row]
    by_group = np.argsort(drawn, kind="stable")
    test, pool = by_group[:tested], order[~np.isin(order, by_group[:tested])]
    known = np.isin(drawn[pool], drawn[test])
    return PeriodSplit(test=test, pool=np.concatenate([pool[~known], pool[known]]))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SplitRows:
    """A period's population and how a run splits it; rows are copied only when they are used."""

    population: Population
    split: PeriodSplit

    @property
    def pool(self) -> int:
        """The number of rows that can be labelled."""
        return len(self.split.pool)

    def bought(self, first: int, last: int) -> tuple[FloatArray, FloatArray]:
        """Return rows ``first`` to ``last`` (exclusive) in the order of the run, as far as there are any."""
        chosen = self.split.pool[first:last]
        return self.population.X[chosen], self.population.y[chosen]

    def groups_of(self, first: int, last: int) -> IntArray | None:
        """Return the groups of these rows, None where there are none."""
        groups = self.population.groups
        return None if groups is None else groups[self.split.pool[first:last]]

    def weights_of(self, first: int, last: int) -> FloatArray | None:
        """Return the weights of these rows, None where there are none."""
        weights = self.population.weights
        return None if weights is None else weights[self.split.pool[first:last]]

    def test_weights(self) -> FloatArray | None:
        """Return the weights of the test rows, None where there are none."""
        return None if self.population.weights is None else self.population.weights[self.split.test]

    def test(self) -> tuple[FloatArray, FloatArray]:
        """Return the test rows."""
        return self.population.X[self.split.test], self.population.y[self.split.test]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Job:
    """A table ready to be replayed.

    ``loss`` is the user's, for the classes of the table; ``epsilon`` is the target of each period; ``scale`` the spread of each
    coefficient's column, which is 1 for the intercept; ``features`` are the names of the columns and ``baselines`` those of the
    baselines to replay. Where the target is given in a ``metric``, ``epsilon`` is the excess risk that it affords in hindsight.
    """

    loss: Loss
    classification: bool
    populations: tuple[Population, ...]
    epsilon: FloatArray
    scale: FloatArray
    asked: TrackerConfig
    test_fraction: float
    seed: int
    features: tuple[str, ...]
    baselines: tuple[str, ...] = ()
    metric: MetricTarget | None = None

    @property
    def coefficients(self) -> int:
        """The number of coefficients of all scores, those of the intercept included."""
        return int(self.scale.size)

    @property
    def pools(self) -> IntArray:
        """The number of training rows of each period."""
        rows = [len(now.y) for now in self.populations]
        return np.array([total - count_test_rows(total, self.test_fraction) for total in rows])

    def rows(self, run: int) -> tuple[SplitRows, ...]:
        """Return the periods of a run, each split into training and test rows."""
        return tuple(self._period(run, period) for period in range(len(self.populations)))

    def _period(self, run: int, period: int) -> SplitRows:
        population = self.populations[period]
        parts = split_period(
            len(population.y),
            test_fraction=self.test_fraction,
            seed=self.seed,
            run=run,
            period=period,
            groups=population.groups,
        )
        return SplitRows(population=population, split=parts)

    def tracker_seed(self, run: int) -> int:
        """Return the seed of the tracker of a run."""
        return tracker_seed(self.seed, run)


def tracker_seed(seed: int, run: int) -> int:
    """Return the seed of the tracker of a run, which depends on that of the backtest."""
    return int(np.random.SeedSequence(seed, spawn_key=(run,)).generate_state(1, np.uint64)[0] >> np.uint64(1))


_SAME = 1e-10
_NOTHING = 1e-20


def prepare(
    panel: Panel,
    *,
    loss: Loss | None,
    asked: TrackerConfig,
    test_fraction: float,
    seed: int,
    baselines: Sequence[str] = (),
) -> Job:
    """Return the job of a panel, or refuse a table that cannot be replayed."""
    loss = default_loss(panel, None if asked.l2 is None else 0.0) if loss is None else loss
    check_loss(panel, loss)
    if isinstance(loss, SoftmaxLoss):
        loss = with_classes(panel, loss)
    if asked.l2 is not None and loss.l2 != 0.0:
        raise ParameterError(
            f"must be the only penalty; the loss has l2={loss.l2!r} as well.",
            owner="backtest",
            name="l2",
        )
    if len(panel.periods) < 2:
        raise DataError(f"must have at least two periods; got {len(panel.periods)}.", owner="backtest", name="period")
    for label, X in zip(panel.periods, panel.X, strict=True):
        check_rows(label, len(X), X.shape[1] + 1, test_fraction)
    _check_collinearity(panel, loss)
    groups = panel.groups or (None,) * len(panel.periods)
    weights = panel.weights or (None,) * len(panel.periods)
    if panel.weights is not None and not isinstance(loss, LinearLoss | VectorLoss):
        raise ParameterError(
            f"must be a LinearLoss or VectorLoss where rows have weights; got {loss!r}.", owner="backtest", name="loss"
        )
    populations = tuple(
        find_population(label, loss, X, y, whose, counts)
        for label, X, y, whose, counts in zip(panel.periods, panel.X, panel.y, groups, weights, strict=True)
    )
    if all(now.zeros for now in populations):
        raise DataError("must have a count above zero in some period; got zeros only.", owner="backtest", name="target")
    metric = asked.metric_target(loss)
    if metric is not None:
        epsilon = np.full(len(populations), affordable_excess(metric, populations))
    elif asked.epsilon is not None:
        epsilon = np.full(len(populations), float(asked.epsilon))
    else:
        assert asked.tolerance is not None
        shown = [now for now in populations if not now.zeros]
        _check_positive_loss(shown)
        usual = float(np.mean([now.least for now in shown]))
        epsilon = asked.tolerance * np.array([usual if now.zeros else now.least for now in populations])
    return Job(
        loss=loss,
        classification=classifies(loss) or isinstance(loss, SoftmaxLoss),
        populations=populations,
        epsilon=epsilon,
        metric=metric,
        scale=np.repeat(_scale(panel.X), scores_of(loss)),
        asked=asked,
        test_fraction=test_fraction,
        seed=seed,
        features=tuple(panel.features),
        baselines=tuple(baselines),
    )


def default_loss(panel: Panel, l2: float | None = None) -> Loss:
    """Return the default loss for the target, with its default penalty unless another is given."""
    name = loss_names(panel.task)[0]
    loss = get_loss(name, l2=l2)
    return with_classes(panel, loss) if isinstance(loss, SoftmaxLoss) else loss


def with_classes(panel: Panel, loss: SoftmaxLoss) -> SoftmaxLoss:
    """Return the loss for the classes of the table, or refuse one for fewer."""
    classes = len(panel.classes or ()) or int(max(y.max() for y in panel.y)) + 1
    if loss.classes is not None and loss.classes < classes:
        raise ParameterError(
            f"must have at least the {classes} classes of target {panel.target!r}; got classes={loss.classes}.",
            owner="backtest",
            name="loss",
        )
    return loss if loss.classes is not None else loss.with_outputs(classes - 1)


def check_loss(panel: Panel, loss: object) -> None:
    """Refuse anything but a loss, and a classification loss for more than two values."""
    if not isinstance(loss, Loss):
        raise ParameterError(f"must be a loss such as SquaredLoss(); got {loss!r}.", owner="backtest", name="loss")
    if isinstance(loss, LogLinkLoss):
        for label, y in zip(panel.periods, panel.y, strict=True):
            if not (allowed := loss.allows(y)).all():
                raise DataError(
                    f"must be {loss.allowed} for {type(loss).__name__}; {panel.target!r} has {y[~allowed][0]:g} in period "
                    f"{label!r}.",
                    owner="backtest",
                    name="target",
                )
    values = np.unique(np.concatenate(panel.y)).size
    if classifies(loss) and values > 2:
        raise DataError(
            f"must be a loss for numbers, such as {loss_names('regression')[0]}, or for several classes, such as "
            f"{loss_names('multiclass')[0]}, for target {panel.target!r}; {type(loss).__name__} is for two classes, and there are "
            f"{values:,} distinct values.",
            owner="backtest",
            name="loss",
        )


def _check_collinearity(panel: Panel, loss: Loss) -> None:
    """Refuse collinear features where there is no penalty."""
    twins = _collinear_columns(np.concatenate(panel.X)) if loss.l2 == 0.0 else np.zeros(0, dtype=np.int64)
    if twins.size:
        names = [repr(panel.features[index]) for index in twins]
        raise DataError(
            f"must be linearly independent; {', '.join(names[:-1])} and {names[-1]} are collinear: "
            "drop one of them, or give the loss an l2 above 0.",
            owner="backtest",
            name="features",
        )


def _collinear_columns(X: FloatArray) -> IntArray:
    """Return the columns of a linear combination that is constant over all rows, if there is one."""
    away = X - X.mean(axis=0)
    sizes = np.linalg.norm(away, axis=0)
    moving = np.flatnonzero(sizes > 0.0)
    if moving.size < 2:
        return np.zeros(0, dtype=np.int64)
    _, singular, directions = np.linalg.svd(np.linalg.qr(away[:, moving] / sizes[moving], mode="r"))
    if singular[-1] > _SAME * singular[0]:
        return np.zeros(0, dtype=np.int64)
    weights = np.abs(directions[-1])
    twins: IntArray = moving[weights > 1e-3 * weights.max()]
    return twins


def check_rows(label: str, rows: int, coefficients: int, test_fraction: float) -> None:
    """Refuse a period with no more training rows than coefficients."""
    pool = rows - count_test_rows(rows, test_fraction) if rows > 1 else 0
    if pool <= coefficients:
        raise DataError(
            f"must give each period more training rows than the {coefficients} coefficients; period "
            f"{label!r} has {rows} rows, of which {pool} are for training: merge periods, or use fewer features.",
            owner="backtest",
            name="period",
        )


def _check_positive_loss(populations: Sequence[Population]) -> None:
    """Refuse a tolerance where the best loss of a period is zero."""
    for now in populations:
        if now.least <= _NOTHING * max(float(np.mean(np.square(now.y))), 1.0):
            raise DataError(
                "must be relative to a loss above zero; the best model of period "
                f"{now.label!r} fits every row exactly: give epsilon instead.",
                owner="backtest",
                name="tolerance",
            )


def _scale(X: tuple[FloatArray, ...]) -> FloatArray:
    """Return the variance of each column over the whole table, 1 for the intercept and for a constant column."""
    variances = np.concatenate(X).var(axis=0)
    return np.append(np.where(variances > 0.0, variances, 1.0), 1.0)
