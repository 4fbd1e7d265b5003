"""A population without drift: how many labels the default tracker keeps asking for."""

import numpy as np

from driftpace import SquaredLoss, Tracker
from driftpace.executors import one_thread
from driftpace.synthetic import ShapedRegression
from driftpace.typing import FloatArray

DECADE = 10


def still(features: int, epsilon: float, runs: int, periods: int) -> FloatArray:
    """Return the mean labels a period in each ten periods."""
    samples = np.zeros((runs, periods))
    with one_thread():
        for run in range(runs):
            population = ShapedRegression(features=features, cost=0.0, shape="still", rng=run).period(1)
            tracker = Tracker(SquaredLoss(), epsilon=epsilon, features=features, rng=run)
            rows = np.random.default_rng([run, 1])
            for period in range(periods):
                samples[run, period] = tracker.step(lambda wanted, w=population, r=rows: w.draw(wanted, rng=r)).samples  # type: ignore[misc]
    decades: FloatArray = samples.reshape(runs, -1, DECADE).mean(axis=(0, 2))
    return decades
