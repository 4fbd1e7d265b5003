"""Counts, amounts and quantiles in worlds with known truth: stated and true excess risk, and labels.

python -m benchmarks target_worlds [--runs 12] [--periods 20] [--only NAME ...]

Squared loss in the same shapes of drift shows what is due to the drift models and not to the loss.
"""

import argparse
from collections.abc import Sequence
from typing import get_args

import numpy as np

from driftpace import GammaLoss, HuberLoss, PoissonLoss, QuantileLoss, SquaredLoss, Tracker, TweedieLoss
from driftpace.losses import LinearLoss
from driftpace.synthetic import NoiseKind, Shape, ShapedCounts, ShapedRegression
from driftpace.typing import FloatArray

LOSSES: dict[str, tuple[LinearLoss, float]] = {
    "squared": (SquaredLoss(), 0.05),
    "Poisson, over-dispersed": (PoissonLoss(), 0.1),
    "Poisson, heavy tails": (PoissonLoss(), 0.1),
    "gamma": (GammaLoss(), 0.04),
    "Tweedie 1.5": (TweedieLoss(), 0.05),
    "0.9 quantile": (QuantileLoss(tau=0.9), 0.02),
    "median, heavy tails": (QuantileLoss(), 0.02),
    "Huber, heavy tails": (HuberLoss(), 0.03),
}
SHAPES = ("still", "walk", "jump")
HEADS = ("loss", "features", "drift", "labels 1", "labels", "risk/eps", "stated/true 1", "stated/true", "certified")


def world(name: str, features: int, shape: Shape, rng: int) -> ShapedCounts | ShapedRegression:
    """Return the world of a loss: steps cost 0.4 targets, the jump, into period 8, four."""
    loss, epsilon = LOSSES[name]
    cost = epsilon * (4.0 if shape == "jump" else 0.4)
    if isinstance(loss, PoissonLoss | GammaLoss | TweedieLoss):
        return ShapedCounts(
            features=features,
            cost=cost,
            shape=shape,
            rng=rng,
            kind="count" if isinstance(loss, PoissonLoss) else "amount" if isinstance(loss, GammaLoss) else "compound",
            dispersion=0.0 if isinstance(loss, TweedieLoss) else 0.5,
            heavy="heavy" in name,
            loss=loss,
            jump_at=8,
        )
    noise: NoiseKind = "student" if "heavy" in name else "gaussian"
    return ShapedRegression(
        features=features, cost=cost, shape=shape, rng=rng, noise_kind=noise, intercept=True, jump_at=8
    )


def run(name: str, features: int, shape: Shape, periods: int, seed: int) -> FloatArray:
    """Return rows, stated and true excess risk, and whether the certificate holds, of each period."""
    loss, epsilon = LOSSES[name]
    made, rng, tracker = (
        world(name, features, shape, seed),
        np.random.default_rng(seed),
        Tracker(loss, epsilon=epsilon, rng=seed),
    )
    lines = []
    for n in range(1, periods + 1):
        now = made.period(n)
        report = tracker.step(lambda samples, now=now: now.draw(samples, rng=rng))  # type: ignore[misc]
        true = now.excess_risk(loss, np.append(tracker.coef, tracker.intercept))
        lines.append((report.samples, report.risk_bound, true, float(report.certificate or 0.0) >= true))
    return np.array(lines, dtype=np.float64)


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks target_worlds")
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--periods", type=int, default=20)
    parser.add_argument("--only", nargs="*", default=tuple(LOSSES), help="names of losses")
    given = parser.parse_args(list(options))
    print(f"{given.runs} runs of {given.periods} periods")
    print("| " + " | ".join(HEADS) + " |")
    print("|" + "---|" * len(HEADS))
    shapes: tuple[Shape, ...] = tuple(shape for shape in get_args(Shape) if shape in SHAPES)
    for name in given.only:
        _, epsilon = LOSSES[name]
        for features in (5, 15):
            for shape in shapes:
                runs = np.array([run(name, features, shape, given.periods, seed) for seed in range(given.runs)])
                rows, stated, true, certified = (runs[:, :, place] for place in range(4))
                numbers = (
                    f"{rows[:, 0].mean():.0f}",
                    f"{rows[:, 1:].mean():.0f}",
                    f"{true.mean() / epsilon:.2f}",
                    f"{stated[:, 0].mean() / true[:, 0].mean():.2f}",
                    f"{stated[:, 1:].mean() / true[:, 1:].mean():.2f}",
                    f"{certified.mean():.3f}",
                )
                print("| " + " | ".join((name, str(features), shape, *numbers)) + " |", flush=True)


if __name__ == "__main__":
    main()
