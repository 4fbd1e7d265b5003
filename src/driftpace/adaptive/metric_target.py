"""A target in a metric, such as an accuracy of at least 0.9: turned into the excess loss that each period can afford.

Every metric is an error m that is smaller where the model is better (:mod:`driftpace.metrics.estimation`). The error of a model is
that of the best model of its kind plus what its excess loss e adds: m = m* + D(e). Three things are estimated, from labels that
were bought anyway:

* the error of the model in use, on rows that the model did not see: each row of the period by the fit without it (one Newton step,
  exact for the squared loss), or the rows held out where there are any;
* D, the *added error*: with models drawn about the fit, in the directions in which it is uncertain;
* m* of the period: the error of the model in use less D of its expected excess loss. It is remembered over periods in which it may
  change, as the noise is (:mod:`driftpace.adaptive.noise`).

The excess loss that a period can afford solves D(e) = target - m* - a margin for the uncertainty of m*. An error in D cancels
where the model is as good as it was when m* was measured: what is compared with the target is then the error that was measured.
"""

import math
from dataclasses import dataclass, field, replace
from numbers import Real

import numpy as np

from driftpace.adaptive.coordinates import Coordinates
from driftpace.adaptive.fit import AdaptiveFit
from driftpace.adaptive.left_out import left_out_scores
from driftpace.adaptive.noise import NOISE_RATES, NoiseMemory, NoiseSums
from driftpace.adaptive.rows import DesignRows
from driftpace.errors import ParameterError
from driftpace.metrics import (
    Measurement,
    Metric,
    added_error,
    constant_model,
    get_metric,
    measure,
    quadratic_cost,
    score_directions,
    target_metrics,
)
from driftpace.records import Assumption, MetricReport, Verdict
from driftpace.typing import FloatArray

MARGIN = 0.75
"""Standard errors by which the error of the best model is taken larger than estimated."""

CLOSEST = 0.04
"""The least added error that is aimed at, as a share of the error of the best model: a target that is closer to the best, or beyond
it, would take more rows than there are."""

BEYOND = 0.1
"""The same once the target is known to be out of reach: the model stays close to the best one, at few labels."""

OUT_OF_REACH = 2.5
"""Standard errors by which the best model must miss a target before it is said to be out of reach."""

LEAST_PERIODS = 3
"""Periods that must have been measured before a target is said to be out of reach."""

MOST_ROWS = 4000.0
"""Rows that the error of the best model is remembered from at most."""

_CURVE_ROWS = 400.0
_SCALE_ROWS = 20.0
_GRID = 2.0 ** np.arange(-14.0, 5.0)
_WINDOW = 20
_ERROR, _BEST, _HELD_OUT = 1, 3, 4
_LEAST_CAP = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricTarget:
    """A target in a metric: at least, or at most, ``value``."""

    metric: str
    value: float

    @property
    def spec(self) -> Metric:
        """The metric."""
        return get_metric(self.metric)

    @property
    def goal(self) -> str:
        """The target in words, such as "accuracy at least 0.9"."""
        return f"{self.spec.title} at {'least' if self.spec.higher else 'most'} {self.value:g}"

    @property
    def error(self) -> float:
        """The target as an error."""
        return self.spec.to_error(self.value)


def metric_target(
    owner: str, loss: object, metric: str | None, *, at_least: float | None = None, at_most: float | None = None
) -> MetricTarget | None:
    """Return the target in a metric, None for none, or refuse what does not fit together.

    >>> from driftpace.losses import LogisticLoss
    >>> metric_target("Tracker", LogisticLoss(), "auc", at_least=0.8)
    MetricTarget(metric='auc', value=0.8)
    """
    given = {"at_least": at_least, "at_most": at_most}
    if metric is None:
        for name, value in given.items():
            if value is not None:
                raise ParameterError(f"must be None without metric; got {value!r}.", owner=owner, name=name)
        return None
    spec = get_metric(metric, owner=owner)
    allowed = target_metrics(loss)
    if metric not in allowed:
        named = f"one of {', '.join(map(repr, allowed))}" if allowed else "None"
        hint = (
            ""
            if allowed
            else ": give epsilon or tolerance, since metrics are targets for classes, numbers, counts and quantiles"
        )
        raise ParameterError(
            f"must be {named} with {type(loss).__name__}{hint}; got {metric!r}.", owner=owner, name="metric"
        )
    other = "at_most" if spec.higher else "at_least"
    if given[other] is not None:
        raise ParameterError(
            f"must be None with metric {metric!r}, whose target is {spec.keyword}; got {given[other]!r}.",
            owner=owner,
            name=other,
        )
    value = given[spec.keyword]
    real: object = value
    number = isinstance(real, Real) and not isinstance(real, bool)
    if value is None or not number or not 0.0 < value < spec.most:
        limit = "strictly between 0 and 1" if spec.most == 1.0 else "positive and finite"
        got = "nothing" if value is None else repr(value)
        raise ParameterError(f"must be {limit} with metric {metric!r}; got {got}.", owner=owner, name=spec.keyword)
    return MetricTarget(metric=metric, value=float(value))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MetricMemory:
    """What is remembered between periods: O(1) numbers.

    ``level`` has the errors of the models in use (as its noise) and those of the best models (as its losses). ``added`` is D at the
    excess losses ``grid``, known from ``rows``. ``scale`` is the variance of the targets within a period, known from
    ``scale_rows``. ``recent`` has a row (rows, error, variance, error of the best model, held-out rows) for each of the last
    periods measured, of ``periods`` in all.
    """

    level: NoiseMemory
    grid: FloatArray
    added: FloatArray
    rows: float
    scale: float = 1.0
    scale_rows: float = 0.0
    periods: int = 0
    recent: FloatArray = field(default_factory=lambda: np.zeros((0, 5)))

    def next_period(self, measured: Measurement | None, added: float, held_out: int = 0) -> "MetricMemory":
        """Return the memory after a period, with what was measured of its model, if anything was, and what its excess loss adds."""
        keep = min(1.0, _CURVE_ROWS / self.rows) if self.rows > 0.0 else 1.0
        after = replace(
            self,
            level=self.level.next_period(),
            rows=keep * self.rows,
            scale_rows=min(self.scale_rows, _CURVE_ROWS),
        )
        if measured is None or not measured.rows > 0.0:
            return after
        line = np.array([[measured.rows, measured.error, measured.variance, measured.error - added, held_out]])
        return replace(after, periods=self.periods + 1, recent=np.concatenate([self.recent, line])[-_WINDOW:])

    def pooled(self, column: int) -> tuple[float, float]:
        """Return the mean of a column of ``recent``, weighted by rows, and its standard error, these periods given."""
        weights, values = self.recent[:, 0], self.recent[:, column]
        mean = float(weights @ values / weights.sum())
        return mean, math.sqrt(float((weights * weights) @ self.recent[:, 2])) / float(weights.sum())


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MetricLook:
    """What is known of the metric in a period: the error of the best model and its standard error, and what can be afforded.

    ``memory`` includes the rows of the period, ``measured`` is what they show of the fit, and ``epsilon`` the excess loss that can
    be afforded, ``risk`` the one expected of the model at hand.
    """

    target: MetricTarget
    memory: MetricMemory
    measured: Measurement | None
    best: float
    best_error: float
    epsilon: float
    risk: float

    def error_at(self, excess: float) -> float:
        """Return the error expected at an excess loss."""
        return self.best + _added(self.memory, excess)

    def within(self, excess: float) -> bool:
        """Whether the target is expected to be met at an excess loss."""
        return self.error_at(excess) <= self.target.error

    @property
    def out_of_reach(self) -> bool:
        """Whether even the best models of the last periods missed the target on average, beyond doubt."""
        return _out_of_reach(self.target, self.memory)

    @property
    def best_lately(self) -> tuple[float, float]:
        """The mean error of the best models of the last periods with its standard error; of few, as it is remembered."""
        if len(self.memory.recent) < LEAST_PERIODS:
            return self.best, self.best_error
        mean, deviation = self.memory.pooled(_BEST)
        return max(mean, 0.0), deviation

    def value_at(self, excess: float) -> float:
        """Return the value of the metric expected at an excess loss."""
        return self.target.spec.from_error(self.error_at(excess))

    def sentence(self) -> str:
        """Return what is known of the best model, without a full stop."""
        spec, target = self.target.spec, self.target
        best, deviation = self.best_lately
        shown = f"{spec.from_error(best):.3g} ± {spec.standard_error(best, deviation):.1g}"
        known = f"the best linear model reaches about {shown} {spec.title}"
        return f"{known}; {target.value:g} is out of reach" if self.out_of_reach else known


def look_at_metric(  # noqa: PLR0913  what is known of a period
    target: MetricTarget,
    memory: MetricMemory | None,
    rows: DesignRows,
    fit: AdaptiveFit | None,
    *,
    white: Coordinates,
    model: FloatArray,
    variances: FloatArray,
    parts: tuple[slice, ...],
    noise: float,
) -> MetricLook:
    """Return what is known of the metric; ``variances`` are those of the model in each block of coordinates."""
    sizes = np.array([float(part.stop - part.start) for part in parts])
    risk = 0.5 * float(sizes @ variances)
    if memory is None:
        grid = noise * float(sizes.sum()) * _GRID
        memory = MetricMemory(
            level=replace(NoiseMemory.of(NoiseSums(), NOISE_RATES), most=MOST_ROWS),
            grid=grid,
            added=np.zeros(len(grid)),
            rows=0.0,
        )
    measured = None
    if fit is not None and len(rows):
        memory = _with_scale(target, memory, rows)
        measured = measure(
            target.metric,
            rows.loss,
            rows.y,
            left_out_scores(rows, fit),
            scale=memory.scale,
            weights=rows.weights,
            groups=rows.groups,
        )
        memory = _with_curve(target, memory, rows, fit, variances, parts)
        if measured.rows > 0.0:
            sums = _sums(measured, _added(memory, risk), float(sizes.sum()))
            memory = replace(memory, level=memory.level.with_rows(sums))
        else:
            measured = None
    known = memory.level.estimate()
    best, deviation = max(known.best_loss, 0.0), known.error
    if known.rows == 0.0:
        return MetricLook(
            target=target,
            memory=memory,
            measured=None,
            best=math.nan,
            best_error=math.inf,
            epsilon=float(memory.grid[0]),
            risk=risk,
        )
    beyond = _out_of_reach(target, memory)
    allowed = allowed_error(target, best, deviation, beyond=beyond)
    slopes = white.white(model)[parts[min(1, len(parts) - 1)].start :]
    cap = max(0.25 * float(slopes @ slopes), _LEAST_CAP * noise)
    if (
        target.metric == "auc" and rows.outputs == 1 and len(parts) > 1
    ):  # the level is no part of it: only what the slopes cost is limited
        cap *= risk / max(0.5 * float(sizes[1:] @ variances[1:]), _LEAST_CAP * risk, 1e-300)
    return MetricLook(
        target=target,
        memory=memory,
        measured=measured,
        best=best,
        best_error=deviation,
        epsilon=min(affordable(memory.grid, memory.added, allowed), cap),
        risk=risk,
    )


def _out_of_reach(target: MetricTarget, memory: MetricMemory) -> bool:
    if len(memory.recent) < LEAST_PERIODS:
        return False
    mean, deviation = memory.pooled(_BEST)
    return mean - OUT_OF_REACH * deviation > target.error


def _with_scale(target: MetricTarget, memory: MetricMemory, rows: DesignRows) -> MetricMemory:
    """Return the memory with what the metric is relative to in the period, helped by that of earlier ones."""
    if not target.spec.relative or len(rows) < 2:
        return memory
    mass = np.ones(len(rows)) if rows.weights is None else rows.weights
    free = rows.effective - 1.0
    if target.metric == "r2":
        middle = float(mass @ rows.y) / rows.mass
        total = float(mass @ np.square(rows.y - middle)) / rows.mass * (free + 1.0)
    else:
        total = constant_model(rows.loss, rows.y, mass).mean * free
    older = min(memory.scale_rows, _SCALE_ROWS)
    scale = (total + older * memory.scale) / max(free + older, 1e-9)
    return replace(memory, scale=max(scale, 1e-300), scale_rows=free + older)


def _with_curve(
    target: MetricTarget,
    memory: MetricMemory,
    rows: DesignRows,
    fit: AdaptiveFit,
    variances: FloatArray,
    parts: tuple[slice, ...],
) -> MetricMemory:
    """Return the memory with the added errors that the rows of the period show."""
    spread = np.concatenate(
        [np.full(part.stop - part.start, max(float(each), 1e-300)) for part, each in zip(parts, variances, strict=True)]
    )
    root = fit.coordinates.inverse.T * np.sqrt(spread)
    directions, scores = score_directions(rows.loss, rows.X, root), rows.scores(fit.model)
    cost = quadratic_cost(rows.loss, rows.y, scores, directions, rows.weights)
    if not cost > 0.0:
        return memory
    added = added_error(
        target.metric,
        rows.loss,
        rows.y,
        scores,
        directions / math.sqrt(cost),
        memory.grid,
        scale=memory.scale,
        weights=rows.weights,
    )
    count = rows.effective
    mean = (memory.rows * memory.added + count * added) / (memory.rows + count)
    return replace(memory, added=np.maximum.accumulate(mean), rows=memory.rows + count)


def _sums(measured: Measurement, added: float, coordinates: float) -> NoiseSums:
    """Return a measured error as sums over rows: their mean is the error, and the variance of the mean its variance.

    An excess loss of so many coordinates is not the expected one, by a factor of variance two over their number: rows of a model of
    which next to nothing is known say little of the best one, and count as fewer.
    """
    share = 1.0 / (1.0 + 2.0 / coordinates * added**2 / max(measured.variance, 1e-300))
    rows, error = measured.rows * share, measured.error
    return NoiseSums(
        rows=rows,
        total=rows * error,
        squares=rows * error**2 + rows**2 * measured.variance / share,
        losses=rows * (error - added),
    )


def _added(memory: MetricMemory, excess: float) -> float:
    """Return D of an excess loss: linear between the points of the grid and from 0 to the first."""
    return float(np.interp(excess, np.append(0.0, memory.grid), np.append(0.0, memory.added)))


def affordable(grid: FloatArray, added: FloatArray, allowed: float) -> float:
    """Return the largest excess loss that adds at most ``allowed``, where those of a ``grid`` add ``added``."""
    grid, added = np.append(0.0, grid), np.append(0.0, added)
    above = np.flatnonzero(added > allowed)
    if not len(above):
        return float(grid[-1])
    last = int(above[0])
    share = (allowed - added[last - 1]) / (added[last] - added[last - 1])
    return float(max(grid[last - 1] + share * (grid[last] - grid[last - 1]), 1e-6 * grid[1]))


def allowed_error(target: MetricTarget, best: float, deviation: float = 0.0, *, beyond: bool = False) -> float:
    """Return what a model may add to the error of the best one, known up to a standard deviation; ``beyond`` reach, a share of it.

    Where next to nothing is known of the best one it is a share of the standard deviation.

    >>> round(allowed_error(MetricTarget(metric="accuracy", value=0.9), best=0.06), 3)
    0.04
    """
    share = BEYOND if beyond else CLOSEST
    return max(target.error - best - MARGIN * deviation, share * max(best, deviation), 1e-9)


def measure_held_out(look: MetricLook, rows: DesignRows, model: FloatArray) -> Measurement | None:
    """Return the error of a model on rows that had no part in it; None where they cannot show it."""
    if not len(rows):
        return None
    measured = measure(
        look.target.metric,
        rows.loss,
        rows.y,
        rows.scores(model),
        scale=look.memory.scale,
        weights=rows.weights,
        groups=rows.groups,
    )
    return measured if measured.rows > 0.0 else None


def metric_report(look: MetricLook, memory: MetricMemory, measured: Measurement | None) -> MetricReport:
    """Return what a report says of the metric; ``memory`` is that after the period."""
    spec, recent = look.target.spec, memory.recent
    mean = mean_error = None
    look = replace(look, memory=memory)
    best, best_error = look.best_lately
    if len(recent):
        error, deviation = memory.pooled(_ERROR)
        mean, mean_error = spec.from_error(error), spec.standard_error(error, deviation)
    return MetricReport(
        name=spec.name,
        title=spec.title,
        target=look.target.value,
        higher=spec.higher,
        expected=spec.from_error(look.error_at(look.risk)),
        measured=None if measured is None else spec.from_error(measured.error),
        error=None if measured is None else spec.standard_error(measured.error, math.sqrt(measured.variance)),
        mean=mean,
        mean_error=mean_error,
        periods=len(recent),
        best=spec.from_error(best),
        best_error=spec.standard_error(best, best_error),
        out_of_reach=look.out_of_reach,
        held_out=int(recent[:, _HELD_OUT].sum()) if len(recent) else 0,
    )


def close_metric(look: MetricLook, held_out: DesignRows | None, model: FloatArray) -> tuple[MetricMemory, MetricReport]:
    """Return what is remembered after a period, and what its report says; rows ``held_out`` measure the model, if any."""
    measured = look.measured if held_out is None else measure_held_out(look, held_out, model)
    added = _added(look.memory, look.risk)
    memory = look.memory.next_period(measured, added, 0 if held_out is None else len(held_out))
    return memory, metric_report(look, memory, measured)


def metric_check(look: MetricLook, report: MetricReport) -> Assumption:
    """Check whether the metric that was measured over the last periods is consistent with the target."""
    name, interval = "metric", report.interval
    if interval is None:
        sentence = f"Not checked: no labels show the {report.title} yet."
        return Assumption(name=name, verdict=Verdict.PASS, sentence=sentence, judged=False)
    missed = interval[1] < report.target if report.higher else interval[0] > report.target
    verdict = Verdict.WARN if look.out_of_reach or (missed and report.periods >= LEAST_PERIODS) else Verdict.PASS
    return Assumption(name=name, verdict=verdict, sentence=f"{report.sentence[0].upper()}{report.sentence[1:]}.")
