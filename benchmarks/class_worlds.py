"""Several classes in worlds with known truth: stated and true excess risk, labels, and classes that appear and vanish.

python -m benchmarks class_worlds [--runs 5] [--periods 6] [--only NAME ...]
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from driftpace import SoftmaxLoss, Tracker
from driftpace.synthetic import ShapedMulticlass
from driftpace.synthetic.multiclass import MulticlassPeriod
from driftpace.typing import FloatArray

L2 = 1e-4
STEP = 0.2
"""What a step of the walk costs a stale model, in targets."""

IMBALANCE = 20.0
LARGE = 500
"""Worlds with more coefficients than this have three runs of three periods at most."""

HEADS = (
    *("world", "coefficients", "epsilon", "labels 1", "stated 1", "true 1", "stated/true 1"),
    *("labels", "risk/eps", "se", "stated/true", "certified", "seconds"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassWorld:
    """Classes and columns, and the target; ``rare`` classes are up to twenty times as rare as the commonest."""

    classes: int
    columns: int
    epsilon: float
    rare: bool = False

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"{self.classes} classes, {self.columns} columns" + (", 20:1" if self.rare else "")

    @property
    def coefficients(self) -> int:
        """The number of coefficients."""
        return (self.columns + 1) * (self.classes - 1)

    def population(self, seed: int) -> ShapedMulticlass:
        """Return the population of a run."""
        shares = np.geomspace(IMBALANCE, 1.0, self.classes) if self.rare else None
        return ShapedMulticlass(
            features=self.columns,
            classes=self.classes,
            cost=STEP * self.epsilon,
            shape="walk",
            rng=seed,
            shares=None if shares is None else tuple(shares),
        )

    def run(self, seed: int, periods: int) -> FloatArray:
        """Return the labels, the stated and the true risk, and whether the certificate holds, of each period."""
        population, rng = self.population(seed), np.random.default_rng(seed)
        tracker = Tracker(
            SoftmaxLoss(l2=L2, classes=self.classes), epsilon=self.epsilon, features=self.columns, rng=seed
        )
        found = []
        for number in range(1, periods + 1):
            now = population.period(number)
            report = tracker.step(lambda rows, now=now: now.draw(rows, rng=rng))  # type: ignore[misc]
            true = now.excess_risk(tracker.predict_proba)
            assert report.certificate is not None
            found.append((report.samples, report.risk_bound, true, true <= report.certificate))
        return np.array(found, dtype=np.float64)


WORLDS = (
    ClassWorld(classes=3, columns=5, epsilon=0.04),
    ClassWorld(classes=3, columns=5, epsilon=0.04, rare=True),
    ClassWorld(classes=8, columns=5, epsilon=0.08),
    ClassWorld(classes=8, columns=5, epsilon=0.08, rare=True),
    ClassWorld(classes=20, columns=5, epsilon=0.12),
    ClassWorld(classes=20, columns=5, epsilon=0.12, rare=True),
    ClassWorld(classes=3, columns=50, epsilon=0.1),
    ClassWorld(classes=3, columns=50, epsilon=0.1, rare=True),
    ClassWorld(classes=8, columns=50, epsilon=0.2),
    ClassWorld(classes=20, columns=50, epsilon=0.3),
)


def line(world: ClassWorld, runs: int, periods: int) -> list[str]:
    """Return one line of the table."""
    began = time.perf_counter()
    if world.coefficients > LARGE:
        runs, periods = min(runs, 3), min(periods, 3)
    found = np.array([world.run(seed, periods) for seed in range(runs)])
    first, later = found[:, 0], found[:, 1:]
    by_run = later[:, :, 2].mean(axis=1) / world.epsilon
    return [
        world.name,
        str(world.coefficients),
        f"{world.epsilon:g}",
        f"{first[:, 0].mean():.0f}",
        f"{first[:, 1].mean():.4f}",
        f"{first[:, 2].mean():.4f}",
        f"{first[:, 1].mean() / first[:, 2].mean():.2f}",
        f"{later[:, :, 0].mean():.0f}",
        f"{by_run.mean():.2f}",
        f"{by_run.std(ddof=1) / np.sqrt(runs):.2f}",
        f"{later[:, :, 1].mean() / later[:, :, 2].mean():.2f}",
        f"{found[:, :, 3].mean():.3f}",
        f"{time.perf_counter() - began:.0f}",
    ]


def changing_classes(runs: int) -> None:
    """Print how many periods the promise takes to come back when a class appears, and what one that vanishes costs.

    Of four classes the last is absent in the periods before 5, or after it.
    """
    print(
        "| the last of four classes | "
        + " | ".join(f"period {n}" for n in range(3, 9))
        + " | labels in period 5 | before |"
    )
    print("|" + "---|" * 9)
    cases: tuple[tuple[str, Callable[[int], bool]], ...] = (
        ("appears in 5", lambda n: n >= 5),
        ("vanishes after 4", lambda n: n < 5),
    )
    for name, there in cases:
        risks, labels = np.zeros((runs, 8)), np.zeros((runs, 8))
        for seed in range(runs):
            population = ShapedMulticlass(features=5, classes=4, cost=0.01, shape="walk", rng=seed)
            rng, tracker = np.random.default_rng(seed), Tracker(SoftmaxLoss(l2=L2, classes=4), epsilon=0.05, rng=seed)
            for number in range(1, 9):
                now = population.period(number)

                def draw(
                    rows: int,
                    now: MulticlassPeriod = now,
                    here: bool = there(number),
                    rng: np.random.Generator = rng,
                ) -> tuple[FloatArray, FloatArray]:
                    X, y = now.draw(3 * rows + 60, rng=rng)
                    keep = (y < 3.0) | here
                    return X[keep][:rows], y[keep][:rows]

                report = tracker.step(draw)
                true = now.probabilities(now.rows)
                if not there(number):
                    true = true * np.array([1.0, 1.0, 1.0, 0.0])
                weight = true.sum(axis=1)
                true = true / weight[:, None]
                given = tracker.predict_proba(now.rows)
                gap = np.where(
                    true > 0.0, true * (np.log(np.maximum(true, 1e-300)) - np.log(np.maximum(given, 1e-12))), 0.0
                )
                risks[seed, number - 1] = float(weight @ gap.sum(axis=1) / weight.sum()) / 0.05
                labels[seed, number - 1] = report.samples
        each = " | ".join(f"{risk:.2f}" for risk in risks.mean(axis=0)[2:])
        print(f"| {name} | {each} | {labels[:, 4].mean():.0f} | {labels[:, 3].mean():.0f} |", flush=True)


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks class_worlds")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--periods", type=int, default=6)
    parser.add_argument("--only", nargs="*", default=None, help="names of worlds that begin so")
    given = parser.parse_args(list(options))
    print(f"{given.runs} runs of {given.periods} periods")
    print("| " + " | ".join(HEADS) + " |\n|" + "---|" * len(HEADS))
    for world in WORLDS:
        if not given.only or any(world.name.startswith(name) for name in given.only):
            print("| " + " | ".join(line(world, given.runs, given.periods)) + " |", flush=True)
    if not given.only:
        print()
        changing_classes(given.runs)


if __name__ == "__main__":
    main()
