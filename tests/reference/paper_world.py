"""The synthetic regression of section V with the constants of theory 6.1, followed by a tracker."""

from collections.abc import Callable

import numpy as np

from driftpace import Ball, Constants, SquaredLoss, Tracker
from driftpace.synthetic import DriftingRegression

LOSS = SquaredLoss()
EPSILON = 0.1
NOISE = 0.08
KNOWN = Constants.given(m=1.0, M=1.0, A=2 * NOISE, B=4.0)  # isotropic Gaussian rows in two dimensions (theory 1.1g)


def paper_tracker(run: int, /, **changes: object) -> Tracker:
    parts: dict[str, object] = {
        "epsilon": EPSILON,
        "domain": Ball(radius=50.0),
        "constants": KNOWN,
        "first_samples": (50, 50),
        "features": 2,
        "rng": run,
    }
    return Tracker.as_in_paper(LOSS, **{**parts, **changes})  # type: ignore[arg-type]


def follow(
    make: Callable[[int], Tracker], *, runs: int, periods: int, seed: int, rho: float = 1.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return true excess risk, samples and drift estimates, each (runs, periods)."""
    risk, samples, drift = (np.full((runs, periods), np.nan) for _ in range(3))
    for run in range(runs):
        world = DriftingRegression(features=2, rho=rho, noise=NOISE, rng=1_000_003 * seed + run)
        rng = np.random.default_rng((seed, run, 1))
        tracker = make(run)
        for index in range(periods):
            now = world.period(index + 1)
            report = tracker.step(lambda count, now=now, rng=rng: now.draw(count, rng=rng))  # type: ignore[misc]
            risk[run, index] = now.excess_risk(LOSS, tracker.coef)
            samples[run, index] = report.samples
            drift[run, index] = np.nan if report.rho is None else report.rho
    return risk, samples, drift
