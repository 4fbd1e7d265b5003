"""The baselines: other ways of buying labels, replayed on the same rows, and the reason where one cannot run."""

from collections.abc import Sequence

import numpy as np
from numpy.linalg import LinAlgError

from driftpace.backtest.anchored import STRENGTHS, fit_fresh, follow_anchored, mean_weights
from driftpace.backtest.job import Job, SplitRows
from driftpace.backtest.metrics import RunMetrics, measure
from driftpace.backtest.population import Population
from driftpace.backtest.tracker_run import RowSource, TrackerRun
from driftpace.constraints import Ball
from driftpace.errors import CollinearColumnsError, DataError, DriftpaceError
from driftpace.losses import LinearLoss, VectorLoss
from driftpace.records import Constants
from driftpace.tracker import Tracker
from driftpace.typing import FloatArray, IntArray

BASELINE_ERRORS = (DriftpaceError, LinAlgError, ArithmeticError)
"""What a baseline may raise on a table that it cannot handle; anything else is a defect and is raised."""


def explain_failure(error: Exception, features: Sequence[str]) -> str:
    """Return the reason in one sentence.

    >>> explain_failure(CollinearColumnsError(columns=(1, 2), rows=60), ["price", "promo"])
    "'promo' is constant over the first 60 rows."
    >>> explain_failure(CollinearColumnsError(columns=(0, 1), rows=60), ["net", "gross"])
    "'net' and 'gross' are collinear over the first 60 rows."
    """
    if isinstance(error, CollinearColumnsError):
        return f"{_dependence(error, features)}."
    sentence = str(error) or type(error).__name__
    return sentence if sentence.endswith(".") else f"{sentence}."


def feature_error(error: CollinearColumnsError, features: Sequence[str]) -> DataError:
    """Return the error of a tracker of the user's own, in the names of the table.

    >>> str(feature_error(CollinearColumnsError(columns=(1,), rows=40), ["age", "rare"]))
    "backtest(features=...) must be linearly independent in the rows that are bought; 'rare' is constant over the first 40 rows: \
leave it out, or give the loss an l2 above 0."
    """
    left_out = "one of them" if len(_names(error, features)) > 1 else "it"
    return DataError(
        f"must be linearly independent in the rows that are bought; {_dependence(error, features)}: "
        f"leave {left_out} out, or give the loss an l2 above 0.",
        owner="backtest",
        name="features",
    )


def _names(error: CollinearColumnsError, features: Sequence[str]) -> list[str]:
    """Return the features among the dependent columns; the intercept, which comes after them, is not one."""
    return [repr(features[column]) for column in error.columns if column < len(features)]


def _dependence(error: CollinearColumnsError, features: Sequence[str]) -> str:
    names = _names(error, features)
    where = f"over the first {error.rows:,} rows"
    if len(names) == 1:
        return f"{names[0]} is constant {where}"
    return f"{', '.join(names[:-1])} and {names[-1]} are collinear {where}"


def up_front(job: Job, rows: tuple[SplitRows, ...], total: int) -> RunMetrics:
    """Measure the paper's comparison: ``total`` rows at once in period 1, as far as its pool goes, and the model kept."""
    first = rows[0]
    size = min(total, first.pool)
    return _measure_kept(
        rows, fit_fresh(first.population.loss, *first.bought(0, size), job.scale, mean_weights(first, size)), size
    )


def first_model(rows: tuple[SplitRows, ...], followed: TrackerRun) -> RunMetrics:
    """Measure the tracker's first model, never updated."""
    return _measure_kept(rows, followed.coefs[0], float(followed.samples[0]))


def _measure_kept(rows: tuple[SplitRows, ...], model: FloatArray, size: float) -> RunMetrics:
    samples = np.zeros(len(rows))
    samples[0] = size
    return measure(rows, np.tile(model, (len(rows), 1)), samples)


def even_sizes(total: int, pools: IntArray) -> IntArray:
    """Return ``total`` split as evenly as whole numbers allow, earlier periods first, as far as the pools go.

    >>> even_sizes(11, np.array([9, 9, 2])).tolist()
    [4, 4, 2]
    """
    share, rest = divmod(total, len(pools))
    wanted = share + (np.arange(len(pools)) < rest)
    sizes: IntArray = np.minimum(wanted, pools).astype(np.int64)
    return sizes


def even(job: Job, rows: tuple[SplitRows, ...], total: int) -> tuple[RunMetrics, ...]:
    """Measure one run for each anchoring strength; which one is best is known only after all runs."""
    sizes = even_sizes(total, job.pools)
    models = follow_anchored(rows, sizes, STRENGTHS, job.scale, shrink_first=True)
    samples = sizes.astype(np.float64)
    return tuple(measure(rows, coefs, samples) for coefs in models)


def textbook_sizes(job: Job) -> IntArray:
    """Return d + 1 + tr(H^-1 Cov g)/(2 epsilon) for each period, d coefficients, as far as the pool goes.

    For least squares with Gaussian rows the loss of a fresh fit is noise d / (2 (K - d - 1)) in the mean: this is the K
    that makes it epsilon. The trace is d times the noise there, and is known here from the whole period.
    """
    noise = np.array([now.noise for now in job.populations])
    wanted = np.ceil(job.coefficients + 1 + noise / (2.0 * job.epsilon))
    return np.minimum(wanted, job.pools).astype(np.int64)


def from_scratch(job: Job, rows: tuple[SplitRows, ...]) -> RunMetrics:
    """Measure a model that is fitted anew each period, from nothing."""
    sizes = textbook_sizes(job)
    coefs = [
        fit_fresh(now.population.loss, *now.bought(0, size), job.scale, mean_weights(now, size))
        for now, size in zip(rows, sizes, strict=True)
    ]
    return measure(rows, np.array(coefs), sizes.astype(np.float64))


_LEAST_CONDITION = 1e-6


def generous_constants(job: Job) -> Constants:
    """Return m, M, A, B as measured at the minimisers of the whole table, the worst period counting.

    E||g(w)||^2 <= A + B ||w - w*||^2 holds with A = 2 E||g(w*)||^2 and B = 2 ||E (bend xx' + P)^2|| in general; both
    factors of two are left out, and curvature is the local one also where a loss is flat elsewhere.
    """
    values = [np.linalg.eigvalsh(now.hessian) for now in job.populations]
    largest = max(float(value[-1]) for value in values)
    least = max(min(float(value[0]) for value in values), _LEAST_CONDITION * largest)
    return Constants.given(
        m=least,
        M=largest,
        A=max(_square_gradient(now) for now in job.populations),
        B=max(_square_curvature(now) for now in job.populations),
    )


def paper_rule(job: Job, rows: tuple[SplitRows, ...], run: int) -> RunMetrics:
    """Measure Tracker.as_in_paper on rows with a column of ones, since it fits no intercept."""
    if isinstance(job.loss, VectorLoss):
        raise DataError("It is for losses of one score, such as those for numbers and for two classes.")
    if rows[0].population.weights is not None:
        raise DataError("Its bound is for rows that count alike.")
    radius = 2.0 * max(float(np.linalg.norm(now.best)) for now in job.populations)
    tracker = Tracker.as_in_paper(
        rows[0].population.loss,
        epsilon=float(job.epsilon.mean()),
        domain=Ball(radius=max(radius, 1.0)),
        constants=generous_constants(job),
        features=job.coefficients,
        cap=int(job.pools.max()),
        rng=job.tracker_seed(run),
    )
    coefs, samples = [], []
    for now in rows:
        samples.append(tracker.step(RowSource(now, ones=True), pool=now.pool).samples)
        coefs.append(tracker.coef)
    return measure(rows, np.array(coefs), np.array(samples, dtype=np.float64))


def _square_gradient(now: Population) -> float:
    gradients = now.loss.row_gradients(now.best, now.X, now.y)
    return float(np.einsum("ij,ij->", gradients, gradients)) / len(now.y)


def _square_curvature(now: Population) -> float:
    """Return the largest eigenvalue of E (bend xx' + P)^2, P the Hessian of the penalty."""
    loss = now.loss
    if not isinstance(loss, LinearLoss):
        return float(np.mean(np.square(loss.row_smoothness(now.X))))
    bends: FloatArray = loss.curve.bend(now.X @ now.best, now.y)
    penalty = np.diag(loss.penalty_weights(now.best.size))
    norms = np.einsum("ij,ij->i", now.X, now.X)
    fourth = (now.X.T * (np.square(bends) * norms)) @ now.X / len(now.y)
    second = (now.X.T * bends) @ now.X / len(now.y)
    return float(np.linalg.eigvalsh(fourth + second @ penalty + penalty @ second + penalty @ penalty)[-1])
