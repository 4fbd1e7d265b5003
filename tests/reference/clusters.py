"""A drifting regression whose rows belong together: groups of five rows with correlated residuals, and perhaps features."""

from dataclasses import dataclass

import numpy as np

from driftpace import SquaredLoss, Tracker
from driftpace.records import Verdict
from driftpace.typing import FloatArray, IntArray

EPSILON, FEATURES = 0.05, 5
_PERIOD = 2_000  # more rows than a period asks for, in groups that batches may divide


@dataclass(frozen=True, kw_only=True)
class Clusters:
    """Groups of ``size`` rows; a step costs a stale model ``cost`` targets. Features and residuals have variance one."""

    size: int = 5
    correlation: float = 0.4
    feature_correlation: float = 0.0
    cost: float = 0.3

    @property
    def noise(self) -> float:
        """The noise of a row in a whitened coordinate as it acts: the mean of the design effects of the level and the slopes."""
        others = (self.size - 1) * self.correlation
        return 1.0 + others * (1.0 + FEATURES * self.feature_correlation) / (FEATURES + 1)

    def draw(self, count: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, IntArray]:
        """Return features, residuals and groups of whole groups, cut to ``count`` rows."""
        groups = np.arange(count) // self.size
        shared = rng.standard_normal((groups.max(initial=-1) + 1, FEATURES + 1))[groups]
        own = rng.standard_normal((count, FEATURES + 1))
        share = np.array([self.feature_correlation] * FEATURES + [self.correlation])
        drawn = np.sqrt(share) * shared + np.sqrt(1.0 - share) * own
        return drawn[:, :-1], drawn[:, -1], groups


@dataclass(frozen=True, kw_only=True, eq=False)
class ClustersFollowed:
    """Over runs and periods: excess risk in targets, samples, the noise estimate, and whether neighbours were doubted."""

    ratio: FloatArray
    samples: FloatArray
    noise: FloatArray
    doubted: FloatArray


def follow_clusters(world: Clusters, *, grouped: bool, runs: int, periods: int, seed: int) -> ClustersFollowed:
    """Let default trackers follow the world, with the groups of rows or without."""
    results = np.empty((4, runs, periods))
    step = np.sqrt(2.0 * EPSILON * world.cost / (FEATURES + 1))
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        model, tracker = 0.5 * rng.standard_normal(FEATURES + 1), Tracker(SquaredLoss(), epsilon=EPSILON, rng=run)
        for period in range(periods):
            model = model + step * rng.standard_normal(FEATURES + 1)
            X, residuals, groups = world.draw(_PERIOD, rng)
            y, first = X @ model[:-1] + model[-1] + residuals, 0
            while (request := tracker.ask()).samples > 0:
                now = slice(first, first + request.samples)
                tracker.tell(X[now], y[now], groups=groups[now] if grouped else None, final=False)
                first = now.stop
            report = tracker.tell()
            assert report is not None
            error = np.append(tracker.coef, tracker.intercept) - model
            doubts = [
                item.verdict is not Verdict.PASS for item in report.assumptions if item.name == "independent rows"
            ]
            noise = tracker.snapshot()[1].adaptive.memory.noise.estimate().mean
            results[:, run, period] = 0.5 * error @ error / EPSILON, report.samples, noise, doubts[0]
    return ClustersFollowed(ratio=results[0], samples=results[1], noise=results[2], doubted=results[3])
