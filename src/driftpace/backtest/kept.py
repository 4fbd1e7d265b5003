"""Models that are bought once and kept: everything up front, and the tracker's first model."""

import numpy as np

from driftpace.backtest.anchored import fit_fresh
from driftpace.backtest.following import Followed
from driftpace.backtest.job import Job
from driftpace.backtest.measure import Measured, measure
from driftpace.backtest.rows import Rows
from driftpace.typing import FloatArray


def up_front(job: Job, rows: tuple[Rows, ...], total: int) -> Measured:
    """Measure the paper's comparison: ``total`` rows at once in period 1, as far as its pool goes, and the model kept."""
    first = rows[0]
    size = min(total, first.pool)
    return _keep(job, rows, fit_fresh(first.population.loss, *first.bought(0, size), job.scale), size)


def first_model(job: Job, rows: tuple[Rows, ...], followed: Followed) -> Measured:
    """Measure what comes of stopping after period 1: the tracker's first model, kept."""
    return _keep(job, rows, followed.coefs[0], float(followed.samples[0]))


def _keep(job: Job, rows: tuple[Rows, ...], model: FloatArray, size: float) -> Measured:
    samples = np.zeros(len(rows))
    samples[0] = size
    return measure(rows, np.tile(model, (len(rows), 1)), samples, classification=job.classification)
