"""A bank of Kalman filters over one block of coordinates, one filter for each drift model, weighted by how well they predict.

Within a block the coordinates are whitened and alike, so each model keeps a vector for its mean and one number for its
variance, not a matrix: O(models x coordinates) memory, whatever the number of periods.
"""

from dataclasses import dataclass, replace

import numpy as np

from driftpace.adaptive.models import DriftModels, drift_models
from driftpace.typing import FloatArray

FORGETTING = 1.0
"""Weights return to the prior by 1/(n+1) at period n: the rate of a change of state none of which was seen in n periods."""

JUMPS = (0.5, 5.5)
"""Prior of the chance of a jump, as if half a jump had been seen in 5.5 periods: it falls as 0.5/n while none comes."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Bank:
    """What is known of a block after some periods.

    For model j: ``place[j]`` and ``velocity[j]`` are the means of theta and v, ``spread[j]``, ``cross[j]``, ``speed[j]``
    their variances and covariance in each coordinate, ``weights[j]`` its log weight. ``jumps`` counts the jumps seen,
    as far as rows spoke for them.
    """

    models: DriftModels
    place: FloatArray
    velocity: FloatArray
    spread: FloatArray
    cross: FloatArray
    speed: FloatArray
    weights: FloatArray
    jumps: float
    periods: int

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return int(self.place.shape[1])

    @property
    def shares(self) -> FloatArray:
        """The weights as probabilities."""
        return as_shares(self.weights)

    @property
    def chance_of_jump(self) -> float:
        """How likely a jump is in a period, as far as the past tells."""
        return (JUMPS[0] + self.jumps) / (JUMPS[1] + self.periods)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Prediction:
    """What is known of w*_n before the period's rows: a Gaussian for each model of a bank, and last one for a jump.

    The first ``recorded`` components are those of the record of prediction errors and, before them, the ``seasonal`` ones.
    """

    weights: FloatArray
    mean: FloatArray
    variance: FloatArray
    recorded: int = 0
    seasonal: int = 0

    @property
    def shares(self) -> FloatArray:
        """The weights as probabilities."""
        return as_shares(self.weights)

    def moments(self, shares: FloatArray) -> tuple[FloatArray, float]:
        """Return the mean and the variance in each coordinate of the mixture with these shares."""
        mean = shares @ self.mean
        return mean, float(shares @ (self.variance + np.square(self.mean - mean).mean(axis=1)))


def as_shares(weights: FloatArray) -> FloatArray:
    """Return log weights as probabilities."""
    shares = np.exp(weights - weights.max())
    return np.asarray(shares / shares.sum())


def first_bank(mean: FloatArray, variance: float, unit: float) -> Bank:
    """Return the bank after the first period, which found ``mean`` with ``variance`` in each coordinate."""
    models = drift_models(unit)
    count = len(models.prior)
    return Bank(
        models=models,
        place=np.tile(mean, (count, 1)),
        velocity=np.zeros((count, mean.size)),
        spread=variance + models.wobble,  # the place is seen through the wobble of its first period
        cross=np.zeros(count),
        speed=models.step.copy(),
        weights=models.prior.copy(),
        jumps=0.0,
        periods=1,
    )


def predict(bank: Bank) -> Bank:
    """Return the bank one period later, before any row of it."""
    models = bank.models
    share = FORGETTING / (bank.periods + 1)
    keeps = models.persistence
    return replace(
        bank,
        place=bank.place + bank.velocity,
        velocity=keeps[:, None] * bank.velocity,
        spread=bank.spread + 2.0 * bank.cross + bank.speed,
        cross=keeps * (bank.cross + bank.speed),
        speed=keeps**2 * bank.speed + (1.0 - keeps**2) * models.step,
        weights=np.log((1.0 - share) * bank.shares + share * np.exp(models.prior)),
    )


def prediction_of(bank: Bank, jump: float) -> Prediction:
    """Return what the bank says of this period's w*; a jump adds the variance ``jump`` in each coordinate."""
    shares, chance = bank.shares, bank.chance_of_jump
    variance = bank.spread + bank.models.wobble
    mean = shares @ bank.place
    common = float(shares @ (variance + np.square(bank.place - mean).mean(axis=1)))
    return Prediction(
        weights=np.append(np.log(shares * (1.0 - chance) + 1e-300), np.log(chance)),
        mean=np.vstack([bank.place, mean]),
        variance=np.append(variance, common + jump),
    )


def update(bank: Bank, before: Prediction, shares: FloatArray, mean: FloatArray, variance: FloatArray) -> Bank:
    """Return the bank after the period's rows, which gave each component a posterior ``mean``, ``variance`` and share.

    Given w*, theta and v follow by regression on it. A jump is mixed into every model by the share that the rows added to
    its chance: a jump that nothing speaks for leaves no trace, or a still world would stay uncertain for ever.
    """
    if before.recorded:  # the models are weighed among themselves
        shares, mean, variance = (values[before.recorded :] for values in (shares, mean, variance))
        shares = np.maximum(shares, 1e-300) / max(float(shares.sum()), 1e-300)
        before = replace(before, weights=before.weights[before.recorded :], recorded=0, seasonal=0)
    prior = before.shares
    likelihood = shares / np.maximum(prior, 1e-300)
    jump = max(float(shares[-1] - prior[-1]), 0.0)
    weights = np.log(bank.shares + 1e-300) + np.log(
        (1.0 - prior[-1]) * likelihood[:-1] + prior[-1] * likelihood[-1] + 1e-300
    )
    total = bank.spread + bank.models.wobble
    with np.errstate(invalid="ignore", divide="ignore"):
        to_place = np.where(total > 0.0, bank.spread / total, 0.0)
        to_speed = np.where(total > 0.0, bank.cross / total, 0.0)
    change, left = mean[:-1] - bank.place, variance[:-1]
    place = bank.place + to_place[:, None] * change
    spread = bank.spread - to_place * bank.spread + to_place**2 * left
    mixed = (1.0 - jump) * place + jump * mean[-1]
    return replace(
        bank,
        place=mixed,
        velocity=bank.velocity + to_speed[:, None] * change,
        spread=(1.0 - jump) * (spread + np.square(place - mixed).mean(axis=1))
        + jump * (variance[-1] + bank.models.wobble + np.square(mean[-1] - mixed).mean(axis=1)),
        cross=(1.0 - jump) * (bank.cross - to_place * bank.cross + to_place * to_speed * left),
        speed=bank.speed - to_speed * bank.cross + to_speed**2 * left,
        weights=weights - weights.max(),
        jumps=bank.jumps + jump,
        periods=bank.periods + 1,
    )


def skip(bank: Bank) -> Bank:
    """Return the bank after a period without rows."""
    return replace(bank, periods=bank.periods + 1)


def step_costs(bank: Bank) -> tuple[FloatArray, FloatArray]:
    """Return for each model the squared length of one step of w*, in expectation, and the models' shares."""
    each = bank.size * (bank.speed + 2.0 * bank.models.wobble) + np.square(bank.velocity).sum(axis=1)
    return each, bank.shares
