"""The least constant size that would have kept the target, known only afterwards."""

from dataclasses import replace

from driftpace.bounds import OrdinaryLeastSquares
from paper.regression.settings import MANY, STUDY


def best_constant_sgd(seed: int, threads: int | None) -> tuple[int, float]:
    """Return the least K in every period for which the mean excess risk of the paper's SGD is at most epsilon, and that mean."""
    for samples in range(1, 1_000):
        study = replace(STUDY, first_samples=(samples,) * STUDY.periods)
        risk = study.run(MANY, seed=seed, threads=threads).mean_risk
        if risk <= STUDY.epsilon:
            return samples, risk
    raise AssertionError("a thousand rows a period are far more than enough")


def best_constant_squares() -> tuple[int, float]:
    """Return the same for a least squares fit from scratch: its mean excess risk is known exactly (theory 1.5a).

    >>> best_constant_squares()
    (4, 0.08)
    """
    bound = OrdinaryLeastSquares(noise=STUDY.noise, features=STUDY.features)
    samples = bound.smallest(STUDY.diameter, STUDY.epsilon, cap=1_000)
    assert samples is not None
    return samples, bound(STUDY.diameter, samples)
