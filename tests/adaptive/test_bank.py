"""The bank against a dense Kalman filter for each of its models, and the algebra of jumps and idle periods."""

from dataclasses import replace

import numpy as np
import pytest

from driftpace.adaptive.bank import (
    Bank,
    Mixture,
    Prediction,
    first_bank,
    predict,
    prediction_of,
    skip,
    step_costs,
    update,
)
from driftpace.adaptive.coordinates import coordinates
from driftpace.adaptive.fit import fit_period
from driftpace.adaptive.memory import no_memory
from driftpace.adaptive.rows import DesignRows
from driftpace.losses import SquaredLoss
from driftpace.typing import FloatArray
from tests.reference.kalman import Dense, begun, isotropic, moved, seen

NOISE = 0.7
PRECISE = 1e-10


def orthogonal_rows(z: FloatArray, each: int) -> DesignRows:
    """Rows with X'X = each I and X'y = each z: they say z, with variance noise/each in every direction."""
    X = np.sqrt(each) * np.linalg.qr(np.random.default_rng(3).standard_normal((2 * z.size, z.size)))[0]
    return DesignRows(loss=SquaredLoss(), X=X, y=X @ z, penalty=np.zeros(z.size))


def looked(view: Prediction, z: FloatArray, each: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What the look makes of a view and such rows: shares, means, variances of its components."""
    d = z.size
    look = fit_period(
        orthogonal_rows(z, each),
        no_memory(d),
        coordinates(np.eye(d) / (1.0 + 1e-9)),  # the factor is the identity
        (view,),
        (slice(0, d),),
        NOISE,
        floor=1e-9,
        margin=0.0,
    )
    (posterior,) = look.posteriors
    return posterior.shares, posterior.mean, posterior.variance


def matches(bank: Bank, filters: list[Dense]) -> None:
    for j, state in enumerate(filters):
        place, velocity, spread, cross, speed = isotropic(state)
        np.testing.assert_allclose(bank.place[j], place, rtol=PRECISE, atol=PRECISE)
        np.testing.assert_allclose(bank.velocity[j], velocity, rtol=PRECISE, atol=PRECISE)
        np.testing.assert_allclose(
            [bank.spread[j], bank.cross[j], bank.speed[j]], [spread, cross, speed], rtol=PRECISE, atol=PRECISE
        )


def test_the_bank_is_a_dense_kalman_filter_for_each_model(rng: np.random.Generator) -> None:
    """Places, velocities, variances and shares, over periods with many rows, few rows and none; jumps left out."""
    d, start = 3, 0.4
    place = rng.standard_normal(d)
    bank = first_bank(place, start, 0.5)
    models = bank.models
    filters = [
        begun(place, start + float(wobble), float(step))
        for step, wobble in zip(models.step, models.wobble, strict=True)
    ]
    for each in (5, 40, 1, 0, 12, 200):
        bank = predict(bank)
        filters = [
            moved(state, step=float(step), persistence=float(keeps))
            for state, step, keeps in zip(filters, models.step, models.persistence, strict=True)
        ]
        matches(bank, filters)
        if each == 0:
            bank = skip(bank)
            continue
        before = bank.shares
        z = rng.standard_normal(d) * 2.0
        view = prediction_of(bank, 1.0)
        shares, mean, variance = looked(view, z, each)
        shares = np.append(shares[:-1] / shares[:-1].sum(), 0.0)
        bank = update(bank, view, shares, mean, variance)
        both = [
            seen(state, z, NOISE / each * np.eye(d), wobble=float(wobble))
            for state, wobble in zip(filters, models.wobble, strict=True)
        ]
        filters = [state for state, _ in both]
        matches(bank, filters)
        chances = np.log(before) + np.array([chance for _, chance in both])
        expected = np.exp(chances - chances.max())
        np.testing.assert_allclose(bank.shares, expected / expected.sum(), rtol=1e-8, atol=1e-12)


def test_a_jump_is_weighed_by_its_own_likelihood(rng: np.random.Generator) -> None:
    """The share of the jump against all models: dense Gaussian marginal likelihoods of what the rows say."""
    d, each = 4, 6
    bank = predict(first_bank(rng.standard_normal(d), 0.2, 0.1))
    view = prediction_of(bank, 3.0)
    z = bank.place[0] + rng.standard_normal(d)
    shares, _, _ = looked(view, z, each)
    gaps = np.square(z - view.mean).sum(axis=1)
    spread = view.variance + NOISE / each
    expected = view.shares * np.exp(-0.5 * gaps / spread) * spread ** (-d / 2)
    np.testing.assert_allclose(shares, expected / expected.sum(), rtol=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_mixing_a_jump_keeps_mean_and_variance_of_the_mixture(share: float, rng: np.random.Generator) -> None:
    """theta is the filter's with probability 1 - J, and the jump's (its w*, less a wobble) with probability J.

    J is what is counted as jumps seen: all of the share of the jump, or the part that the rows speak for.
    """
    d = 5
    bank = predict(first_bank(rng.standard_normal(d), 0.3, 0.2))
    view = prediction_of(bank, 2.0)
    shares, mean, variance = looked(view, 3.0 + rng.standard_normal(d), 4)
    rest = shares[:-1] / shares[:-1].sum()
    plain = update(bank, view, np.append(rest, 0.0), mean, variance)
    mixed = update(bank, view, np.append((1.0 - share) * rest, share), mean, variance)
    jump = mixed.jumps - bank.jumps
    assert share - view.shares[-1] - 1e-12 <= jump <= share
    np.testing.assert_allclose(mixed.place, (1.0 - jump) * plain.place + jump * mean[-1], rtol=1e-12)
    second = mixed.spread + np.square(mixed.place).mean(axis=1)
    without = plain.spread + np.square(plain.place).mean(axis=1)
    with_jump = variance[-1] + bank.models.wobble + np.square(mean[-1]).mean()
    np.testing.assert_allclose(second, (1.0 - jump) * without + jump * with_jump, rtol=1e-10)
    np.testing.assert_allclose(mixed.cross, (1.0 - jump) * plain.cross, atol=1e-12)
    np.testing.assert_array_equal(mixed.velocity, plain.velocity)


def test_a_prediction_keeps_mean_and_variance_of_the_bank(rng: np.random.Generator) -> None:
    """Without a jump the mixture's moments are those of the bank; the component of a jump has them, and more."""
    bank = predict(first_bank(rng.standard_normal(3), 0.3, 0.2))
    bank = replace(bank, place=bank.place + rng.standard_normal(bank.place.shape))
    view = prediction_of(bank, 5.0)
    assert view.shares.sum() == pytest.approx(1.0)
    assert view.shares[-1] == pytest.approx(bank.chance_of_jump)
    models = Mixture(shares=np.append(bank.shares, 0.0), mean=view.mean, variance=view.variance)
    np.testing.assert_allclose(view.mean[-1], models.center, rtol=1e-12)
    assert view.variance[-1] == pytest.approx(models.total + 5.0)
    np.testing.assert_allclose(view.center, models.center, rtol=1e-12)


def test_shares_return_to_the_prior_and_never_to_nothing() -> None:
    """A model that was ruled out comes back slowly, so that a change of regime is followed."""
    bank = first_bank(np.zeros(2), 0.3, 0.2)
    bank = replace(bank, shares=np.where(np.arange(len(bank.shares)) == 0, 1.0, 0.0))
    once = predict(bank)
    assert once.shares.min() > 0.0
    later = predict(replace(once, periods=100))
    assert once.shares[0] < later.shares[0] < 1.0 or later.shares[0] == pytest.approx(once.shares[0], rel=0.05)
    for _ in range(5000):
        bank = predict(replace(bank, periods=1))
    np.testing.assert_allclose(bank.shares, np.exp(bank.models.prior), rtol=1e-6)


def test_jumps_are_thought_less_likely_the_longer_none_comes() -> None:
    bank = first_bank(np.zeros(2), 0.3, 0.2)
    calm = replace(bank, periods=50)
    shaken = replace(bank, periods=50, jumps=10.0)
    assert 0.0 < calm.chance_of_jump < bank.chance_of_jump < 0.5
    assert shaken.chance_of_jump == pytest.approx(10.0 / 50.0, rel=0.2)


def test_an_idle_period_only_counts() -> None:
    bank = first_bank(np.ones(2), 0.3, 0.2)
    after = skip(bank)
    assert after.periods == bank.periods + 1
    np.testing.assert_array_equal(after.place, bank.place)
    np.testing.assert_array_equal(after.shares, bank.shares)


def test_a_step_is_as_long_as_simulated(rng: np.random.Generator) -> None:
    """The squared length of a step of w* that each model expects, against 20,000 draws from its law."""
    d, runs = 3, 20_000
    bank = first_bank(np.zeros(d), 0.3, 0.2)
    bank = replace(bank, velocity=bank.velocity + 0.4)
    expected, shares = step_costs(bank)
    assert shares.sum() == pytest.approx(1.0)
    for j in (0, 3, 17, len(expected) - 1):
        speed, wobble = bank.speed[j], bank.models.wobble[j]
        v = bank.velocity[j] + np.sqrt(speed) * rng.standard_normal((runs, d))
        ends = np.sqrt(wobble) * rng.standard_normal((2, runs, d))
        lengths = np.square(v + ends[1] - ends[0]).sum(axis=1)
        error = lengths.std() / np.sqrt(runs)
        assert abs(lengths.mean() - expected[j]) <= 4.9 * error + 1e-12
