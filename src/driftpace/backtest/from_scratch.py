"""A fresh fit every period, of the size that a textbook gives to somebody who knows the noise."""

import numpy as np

from driftpace.backtest.anchored import fit_fresh
from driftpace.backtest.job import Job
from driftpace.backtest.measure import Measured, measure
from driftpace.backtest.rows import Rows
from driftpace.typing import IntArray


def textbook_sizes(job: Job) -> IntArray:
    """Return d + 1 + tr(H^-1 Cov g)/(2 epsilon) for each period, d coefficients, as far as the pool goes.

    For least squares with Gaussian rows the loss of a fresh fit is noise d / (2 (K - d - 1)) in the mean: this is the K
    that makes it epsilon. The trace is d times the noise there, and is known here from the whole period.
    """
    noise = np.array([now.noise for now in job.populations])
    wanted = np.ceil(job.coefficients + 1 + noise / (2.0 * job.epsilon))
    return np.minimum(wanted, job.pools).astype(np.int64)


def from_scratch(job: Job, rows: tuple[Rows, ...]) -> Measured:
    """Measure a model that is fitted anew each period, from nothing."""
    sizes = textbook_sizes(job)
    coefs = [
        fit_fresh(now.population.loss, *now.bought(0, size), job.scale) for now, size in zip(rows, sizes, strict=True)
    ]
    return measure(rows, np.array(coefs), sizes.astype(np.float64), classification=job.classification)
