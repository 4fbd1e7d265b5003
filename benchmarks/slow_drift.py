"""Delay in detecting a slow linear drift: the default tracker's excess risk relative to its target, period by period.

A step costs a stale model 0.22 of the target; along a line such steps add up before they can be distinguished from noise, in a
walk they do not. docs/method.md cites what this prints.
"""

import numpy as np

from driftpace import SquaredLoss, Tracker
from driftpace.synthetic import Shape, ShapedRegression

EPSILON, COST, NOISE = 0.01, 0.0022, 0.5
RUNS, PERIODS = 60, 15
SHAPES: tuple[Shape, ...] = ("line", "walk", "still")


def followed(shape: Shape, run: int) -> list[float]:
    """Return the excess risk over the target in each period of a run."""
    population = ShapedRegression(features=2, cost=COST, shape=shape, rng=run, noise=NOISE)
    tracker, rng = (
        Tracker(SquaredLoss(), epsilon=EPSILON, fit_intercept=False, rng=run),
        np.random.default_rng((run, 3)),
    )
    ratios = []
    for n in range(1, PERIODS + 1):
        now = population.period(n)
        tracker.step(lambda count, now=now: now.draw(count, rng=rng))  # type: ignore[misc]
        ratios.append(now.excess_risk(SquaredLoss(), tracker.coef) / EPSILON)
    return ratios


def main() -> None:
    print(
        f"\nExcess risk over the target, {RUNS} runs, two features, steps that cost {COST / EPSILON:.2f} of the target"
    )
    print("shape   mean  " + " ".join(f"n={n:<4d}" for n in range(1, PERIODS + 1)))
    for shape in SHAPES:
        risks = np.array([followed(shape, run) for run in range(RUNS)])
        print(f"{shape:6s} {risks.mean():5.2f}  " + " ".join(f"{value:<6.2f}" for value in risks.mean(axis=0)))
        error = risks.std(axis=0, ddof=1) / np.sqrt(RUNS)
        print("   +-         " + " ".join(f"{value:<6.2f}" for value in error))


if __name__ == "__main__":
    main()
