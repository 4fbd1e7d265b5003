"""The same number of labels spread evenly over the periods, each fit anchored at the last model."""

import numpy as np

from driftpace.backtest.anchored import STRENGTHS, follow_anchored
from driftpace.backtest.job import Job
from driftpace.backtest.measure import Measured, measure
from driftpace.backtest.rows import Rows
from driftpace.typing import IntArray


def even_sizes(total: int, pools: IntArray) -> IntArray:
    """Return ``total`` split as evenly as whole numbers allow, earlier periods first, as far as the pools go.

    >>> even_sizes(11, np.array([9, 9, 2])).tolist()
    [4, 4, 2]
    """
    share, rest = divmod(total, len(pools))
    wanted = share + (np.arange(len(pools)) < rest)
    sizes: IntArray = np.minimum(wanted, pools).astype(np.int64)
    return sizes


def even(job: Job, rows: tuple[Rows, ...], total: int) -> tuple[Measured, ...]:
    """Measure one run for each anchoring strength; which one is best is known only after all runs."""
    sizes = even_sizes(total, job.pools)
    models = follow_anchored(rows, sizes, STRENGTHS, job.scale, shrink_first=True)
    samples = sizes.astype(np.float64)
    return tuple(measure(rows, coefs, samples, classification=job.classification) for coefs in models)
