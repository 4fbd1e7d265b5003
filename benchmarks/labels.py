"""Labels used compared with the best constant size in hindsight, on the paper's drifting regression (theory 3.3)."""

from dataclasses import dataclass
from itertools import count

import numpy as np

from driftpace import Ball, Constants, SquaredLoss, Tracker
from driftpace.drift import Drift, Prequential, RecentChange
from driftpace.learners import AnchoredErm, Learner, Sgd
from driftpace.synthetic import DriftingRegression

LOSS, DOMAIN, FIRST = SquaredLoss(), Ball(radius=60.0), (50, 50)
SETTLED = 20


@dataclass(frozen=True)
class Problem:
    """A drift, a target and a noise variance; rows are Gaussian with two features."""

    rho: float
    epsilon: float
    noise: float

    @property
    def constants(self) -> Constants:
        return Constants.given(m=1.0, M=1.0, A=2 * self.noise, B=4.0, noise=self.noise)

    def population(self, run: int) -> DriftingRegression:
        return DriftingRegression(features=2, rho=self.rho, noise=self.noise, rng=run)


PROBLEMS = (
    Problem(1.0, 0.1, 0.08),
    Problem(1.0, 0.1, 0.5),
    Problem(0.3, 0.1, 0.5),
    Problem(0.1, 0.1, 1.0),
    Problem(0.1, 0.02, 0.5),
    Problem(0.02, 0.02, 0.5),
)
PREQUENTIAL = Drift(one_step=Prequential(), combine=RecentChange(window=20))
METHODS: dict[str, dict[str, object]] = {
    "as in the paper": {},
    "update-past": {"rule": "update-past"},
    "greedy steps": {"learner": Sgd(steps="greedy")},
    "greedy, prequential": {"learner": Sgd(steps="greedy"), "drift": PREQUENTIAL},
    "anchored, prequential": {"learner": AnchoredErm(), "drift": PREQUENTIAL},
}


def follow(problem: Problem, method: dict[str, object], runs: int, periods: int) -> tuple[float, float]:
    """Return the mean true risk and the mean samples of the settled periods."""
    risks, samples = [], []
    for run in range(runs):
        population, rows = problem.population(run), np.random.default_rng([run, 1])
        tracker = Tracker.as_in_paper(
            LOSS,
            epsilon=problem.epsilon,
            domain=DOMAIN,
            constants=problem.constants,
            first_samples=FIRST,
            rng=run,
            **method,  # type: ignore[arg-type]
        )
        for period in range(1, periods + 1):
            now = population.period(period)
            report = tracker.step(lambda wanted, now=now, rows=rows: now.draw(wanted, rng=rows))  # type: ignore[misc]
            if period > SETTLED:
                risks.append(now.excess_risk(LOSS, tracker.coef))
                samples.append(report.samples)
    return float(np.mean(risks)), float(np.mean(samples))


def constant_risk(problem: Problem, learner: Learner, size: int, distance: float, runs: int, periods: int) -> float:
    """Return the mean true risk of the settled periods when every period has ``size`` samples."""
    risks = []
    for run in range(runs):
        population, rows, coef = problem.population(run), np.random.default_rng([run, 1]), np.zeros(2)
        for period in range(1, periods + 1):
            now = population.period(period)
            X, y = now.draw(FIRST[period - 1] if period <= len(FIRST) else size, rng=rows)
            coef = learner.fit(LOSS, DOMAIN, coef, X, y, constants=problem.constants, distance=distance).coef
            if period > SETTLED:
                risks.append(now.excess_risk(LOSS, coef))
    return float(np.mean(risks))


def best_constant(problem: Problem, runs: int, periods: int) -> int:
    """Return the smallest constant size that holds the target with the best constant anchor, in hindsight."""
    anchors = problem.rho + np.array([0.3, 1.0, 2.0]) * (2 * problem.epsilon) ** 0.5

    def holds(size: int) -> bool:
        return any(
            constant_risk(problem, AnchoredErm(), size, float(distance), runs, periods) <= problem.epsilon
            for distance in anchors
        )

    return next(size for size in count(1) if holds(size))


def main(runs: int = 20, periods: int = 60) -> None:
    print(
        f"\nLabels: true risk / target, samples a period after {SETTLED}, and samples over the best constant size in hindsight"
    )
    print(
        f"(anchored least squares with the best of three anchors); {runs} runs of {periods} periods, known constants, walk"
    )
    print(f"{'rho':>5} {'epsilon':>7} {'noise':>5} {'best':>5} | " + " | ".join(f"{name:>21}" for name in METHODS))
    for problem in PROBLEMS:
        best = best_constant(problem, runs, periods)
        shown = []
        for method in METHODS.values():
            risk, samples = follow(problem, method, runs, periods)
            shown.append(f"{risk / problem.epsilon:6.2f} {samples:6.1f} {samples / best:6.2f}x")
        print(f"{problem.rho:5g} {problem.epsilon:7g} {problem.noise:5g} {best:5d} | " + " | ".join(shown))


if __name__ == "__main__":
    main()
