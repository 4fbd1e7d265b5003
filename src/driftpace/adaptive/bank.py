"""A bank of Kalman filters over one block of coordinates, one filter for each drift model, weighted by how well they predict.

Within a block the coordinates are whitened and alike, so each model keeps a vector for its mean and one number for its
variance, not a matrix: O(models x coordinates) memory, whatever the number of periods.
"""

from dataclasses import dataclass, field, replace

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
    their variances and covariance in each coordinate, ``shares[j]`` its probability. ``jumps`` counts the jumps seen,
    as far as rows spoke for them; ``expected_jumps`` is the prior number of them, in as many periods as :data:`JUMPS` says.
    """

    models: DriftModels
    place: FloatArray
    velocity: FloatArray
    spread: FloatArray
    cross: FloatArray
    speed: FloatArray
    shares: FloatArray
    jumps: float
    periods: int
    expected_jumps: float = JUMPS[0]

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return int(self.place.shape[1])

    @property
    def chance_of_jump(self) -> float:
        """How likely a jump is in a period, as far as the past tells."""
        return (self.expected_jumps + self.jumps) / (JUMPS[1] + self.periods)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Mixture:
    """A Gaussian for each component, with the same variance in every coordinate.

    ``center`` is the mean of all, ``around`` the variance of each component about it, and ``total`` that of all.

    >>> both = Mixture(shares=np.array([0.5, 0.5]), mean=np.array([[0.0], [2.0]]), variance=np.array([1.0, 2.0]))
    >>> both.center, both.around, both.total
    (array([1.]), array([2., 3.]), 2.5)
    """

    shares: FloatArray
    mean: FloatArray
    variance: FloatArray
    center: FloatArray = field(init=False)
    around: FloatArray = field(init=False)
    total: float = field(init=False)

    def __post_init__(self) -> None:
        from driftpace.adaptive.kernels import mixture_moments

        center, around = np.empty(self.mean.shape[1]), np.empty(len(self.shares))
        total = mixture_moments(self.shares, self.mean, self.variance, center, around)
        for name, value in (("center", center), ("around", around), ("total", total)):
            object.__setattr__(self, name, value)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Prediction(Mixture):
    """What is known of w*_n before the period's rows: a Gaussian for each model of a bank, and last one for a jump.

    The first ``recorded`` components are those of the record of prediction errors and, before them, the ``seasonal`` ones.
    """

    recorded: int = 0
    seasonal: int = 0


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
        shares=np.exp(models.prior),
        jumps=0.0,
        periods=1,
    )


def inherit(bank: Bank, before: Bank) -> Bank:
    """Return a first bank that expects the drift of an earlier one: the probabilities of its models, and its jumps."""
    return replace(bank, shares=before.shares, jumps=before.jumps, periods=before.periods)


def with_prior(bank: Bank, prior: FloatArray, expected_jumps: float) -> Bank:
    """Return the bank as it would be with another prior of its drift models, given as log weights, and of jumps.

    Shares are prior times likelihood, so they change by the ratio of the priors; what rows said is kept.
    """
    shares = bank.shares * np.exp(prior - bank.models.prior)
    return replace(
        bank, models=replace(bank.models, prior=prior), shares=shares / shares.sum(), expected_jumps=expected_jumps
    )


def predict(bank: Bank, *, forgetting: float = FORGETTING) -> Bank:
    """Return the bank one period later, before any row of it."""
    models = bank.models
    share = forgetting / (bank.periods + 1)
    keeps = models.persistence
    return Bank(
        models=models,
        place=bank.place + bank.velocity,
        velocity=keeps[:, None] * bank.velocity,
        spread=bank.spread + 2.0 * bank.cross + bank.speed,
        cross=keeps * (bank.cross + bank.speed),
        speed=keeps**2 * bank.speed + (1.0 - keeps**2) * models.step,
        shares=(1.0 - share) * bank.shares + share * np.exp(models.prior),
        jumps=bank.jumps,
        periods=bank.periods,
        expected_jumps=bank.expected_jumps,
    )


def prediction_of(bank: Bank, jump: float, *, jumps: bool = True) -> Prediction:
    """Return what the bank says of this period's w*; a jump adds the variance ``jump`` in each coordinate.

    Without ``jumps`` it has no share.
    """
    from driftpace.adaptive.kernels import mixture_moments

    count, chance = len(bank.shares), bank.chance_of_jump if jumps else 0.0
    shares, mean, variance = np.empty(count + 1), np.empty((count + 1, bank.size)), np.empty(count + 1)
    shares[:count], shares[count] = (1.0 - chance) * bank.shares, chance
    mean[:count] = bank.place
    variance[:count] = bank.spread + bank.models.wobble
    common = mixture_moments(bank.shares, bank.place, variance[:count], mean[count], np.empty(count))
    variance[count] = common + jump
    return Prediction(shares=shares, mean=mean, variance=variance)


def update(bank: Bank, before: Prediction, shares: FloatArray, mean: FloatArray, variance: FloatArray) -> Bank:
    """Return the bank after the period's rows, which gave each component a posterior ``mean``, ``variance`` and share.

    Given w*, theta and v follow by regression on it. A jump is mixed into every model by the share that the rows added to
    its chance: a jump that nothing speaks for leaves no trace, or a still world would stay uncertain for ever.
    """
    from driftpace.adaptive.kernels import update_models

    prior = before.shares
    if before.recorded:  # the models are weighed among themselves
        prior, shares, mean, variance = (values[before.recorded :] for values in (prior, shares, mean, variance))
        prior = prior / prior.sum()
        shares = np.maximum(shares, 1e-300) / max(float(shares.sum()), 1e-300)
    likelihood = shares / np.maximum(prior, 1e-300)
    likelihood = (1.0 - prior[-1]) * likelihood[:-1] + prior[-1] * likelihood[-1]
    jump = max(float(shares[-1] - prior[-1]), 0.0)
    place, velocity = bank.place.copy(), bank.velocity.copy()
    moments = (bank.spread.copy(), bank.cross.copy(), bank.speed.copy(), bank.shares.copy())
    update_models(likelihood, mean, variance, bank.models.wobble, jump, place, velocity, moments)
    return Bank(
        models=bank.models,
        place=place,
        velocity=velocity,
        spread=moments[0],
        cross=moments[1],
        speed=moments[2],
        shares=moments[3],
        jumps=bank.jumps + jump,
        periods=bank.periods + 1,
        expected_jumps=bank.expected_jumps,
    )


def turned(
    bank: Bank,
    turn: FloatArray,
    *,
    place: FloatArray | float = 0.0,
    velocity: FloatArray | float = 0.0,
    spread: float = 0.0,
) -> Bank:
    """Return the bank in coordinates turn @ u, with what another block adds to the coordinates there."""
    return Bank(
        models=bank.models,
        place=bank.place @ turn.T + place,
        velocity=bank.velocity @ turn.T + velocity,
        spread=bank.spread + spread,
        cross=bank.cross,
        speed=bank.speed,
        shares=bank.shares,
        jumps=bank.jumps,
        periods=bank.periods,
        expected_jumps=bank.expected_jumps,
    )


def skip(bank: Bank) -> Bank:
    """Return the bank after a period without rows."""
    return replace(bank, periods=bank.periods + 1)


def step_costs(bank: Bank) -> tuple[FloatArray, FloatArray]:
    """Return for each model the squared length of one step of w*, in expectation, and the models' shares."""
    each = bank.size * (bank.speed + 2.0 * bank.models.wobble) + np.square(bank.velocity).sum(axis=1)
    return each, bank.shares
