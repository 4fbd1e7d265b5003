"""The paper's own rule on a table, with every doubt about its constants decided in its favour."""

import numpy as np

from driftpace.backtest.following import Draw
from driftpace.backtest.job import Job
from driftpace.backtest.measure import Measured, measure
from driftpace.backtest.population import Population
from driftpace.backtest.rows import Rows
from driftpace.constraints import Ball
from driftpace.losses import LinearLoss
from driftpace.records import Constants
from driftpace.tracker import Tracker
from driftpace.typing import FloatArray

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


def paper_rule(job: Job, rows: tuple[Rows, ...], run: int) -> Measured:
    """Measure Tracker.as_in_paper on rows with a column of ones, since it has no intercept of its own."""
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
        samples.append(tracker.step(Draw(now, ones=True), pool=now.pool).samples)
        coefs.append(tracker.coef)
    return measure(rows, np.array(coefs), np.array(samples, dtype=np.float64), classification=job.classification)


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
