"""The prior of drift models is learned from the others, keeps a part of the default, and odd segments are freed."""

from dataclasses import replace

import numpy as np
import pytest

from driftpace.adaptive.bank import JUMPS, Bank, first_bank, predict, prediction_of, update, with_prior
from driftpace.adaptive.models import drift_models
from driftpace.fleet.drift_prior import FEW, KEPT, ODD, learn_drift
from driftpace.typing import FloatArray

DEFAULT = np.exp(drift_models(1.0).prior)


def bank_with(likelihood: FloatArray, prior: FloatArray = DEFAULT, *, jumps: float = 0.0, periods: int = 10) -> Bank:
    """A bank whose rows gave the drift models this likelihood."""
    bank = first_bank(np.zeros(1), 0.01, 0.1)
    bank = replace(bank, models=replace(bank.models, prior=np.log(prior)), jumps=jumps, periods=periods)
    shares = prior * likelihood
    return replace(bank, shares=shares / shares.sum())


def likelihoods(count: int, favoured: int, factor: float) -> list[FloatArray]:
    made = np.ones((count, len(DEFAULT)))
    made[:, favoured] = factor
    return list(made)


def followed(steps: FloatArray, rng: np.random.Generator, noise: float = 0.02) -> Bank:
    """A bank of one coordinate that saw a path with these steps."""
    bank, place = first_bank(np.zeros(1), noise, 0.1), 0.0
    for step in steps:
        place += step
        bank = predict(bank)
        view = prediction_of(bank, 1.0)
        seen = place + np.sqrt(noise) * rng.standard_normal()
        total = view.variance + noise
        logs = np.log(view.shares) - 0.5 * np.log(total) - 0.5 * (seen - view.mean[:, 0]) ** 2 / total
        shares = np.exp(logs - logs.max())
        mean = view.mean + (view.variance / total)[:, None] * (seen - view.mean)
        bank = update(bank, view, shares / shares.sum(), mean, view.variance * noise / total)
    return bank


def test_another_prior_keeps_what_rows_said_and_can_be_taken_back() -> None:
    bank = bank_with(np.random.default_rng(0).uniform(0.1, 1.0, len(DEFAULT)))
    prior = np.random.default_rng(1).dirichlet(np.ones(len(DEFAULT)))
    there = with_prior(bank, np.log(prior), 2.0)
    assert np.allclose(
        there.shares / prior / (there.shares[0] / prior[0]), bank.shares / DEFAULT / (bank.shares[0] / DEFAULT[0])
    )
    assert there.chance_of_jump == (2.0 + bank.jumps) / (JUMPS[1] + bank.periods)
    back = with_prior(there, bank.models.prior, bank.expected_jumps)
    assert np.allclose(back.shares, bank.shares, rtol=1e-12)
    twice = with_prior(there, np.log(prior), 2.0)
    assert np.allclose(twice.shares, there.shares, rtol=1e-12)


def test_what_all_segments_show_becomes_the_prior_and_a_part_of_the_default_is_kept() -> None:
    learned = learn_drift([bank_with(one) for one in likelihoods(60, 3, 30.0)])
    priors = np.exp(learned.priors)
    assert np.allclose(priors.sum(axis=1), 1.0)
    assert (priors[:, 3] > 0.99 * (1.0 - KEPT)).all()
    assert (priors >= KEPT * DEFAULT * (1.0 - 1e-12)).all()
    assert not learned.freed.any()


def test_a_prior_does_not_depend_on_which_one_was_lent_before() -> None:
    rng = np.random.default_rng(2)
    seen = rng.uniform(0.01, 1.0, (20, len(DEFAULT)))
    plain = learn_drift([bank_with(one) for one in seen])
    lent = learn_drift([bank_with(one, np.exp(prior)) for one, prior in zip(seen, plain.priors, strict=True)])
    assert np.allclose(lent.priors, plain.priors, rtol=1e-9)
    assert np.allclose(lent.odd, plain.odd, rtol=1e-9)


def test_a_segment_has_no_part_in_its_own_prior() -> None:
    rng = np.random.default_rng(3)
    seen = rng.uniform(0.3, 1.0, (12, len(DEFAULT)))
    before = learn_drift([bank_with(one) for one in seen], free=False)
    favoured = seen[0].copy()
    favoured[7] *= 20.0
    after = learn_drift([bank_with(favoured), *(bank_with(one) for one in seen[1:])], free=False)
    assert (after.priors[0] == before.priors[0]).all()
    assert (after.priors[1:10, 7] > before.priors[1:10, 7] + 0.1).all()  # those of its own fold left out


def test_a_small_fleet_keeps_more_of_the_default() -> None:
    few, many = (learn_drift([bank_with(one) for one in likelihoods(count, 3, 1e6)]) for count in (6, 200))
    kept = FEW / (FEW + 6)
    assert (np.exp(few.priors) >= kept * DEFAULT * (1.0 - 1e-12)).all()
    assert np.exp(few.priors[0, 3]) < np.exp(many.priors[0, 3])


def test_an_odd_segment_is_freed_and_has_the_default_again() -> None:
    odd = np.full(len(DEFAULT), 1e-9)
    odd[30] = 1.0
    banks = [bank_with(one) for one in likelihoods(60, 0, 1e3)]
    learned = learn_drift([*banks, bank_with(odd)])
    assert learned.freed.tolist() == [False] * 60 + [True]
    assert np.allclose(np.exp(learned.priors[-1]), DEFAULT)
    bound = learn_drift([*banks, bank_with(odd)], free=False)  # the control: the prior of the fleet says no
    assert bound.odd[-1] >= ODD
    assert np.exp(bound.priors[-1, 30]) < 1.01 * KEPT * DEFAULT[30]


def test_without_the_default_an_odd_segment_would_need_far_more_evidence() -> None:
    seen = np.ones(len(DEFAULT))
    seen[30] = 1e4
    banks = [bank_with(one) for one in likelihoods(200, 0, 1e6)]
    kept = learn_drift([*banks, bank_with(seen)], free=False)
    dropped = learn_drift([*banks, bank_with(seen)], kept=0.0, free=False)

    def believed(log_prior: FloatArray) -> float:
        shares = np.exp(log_prior) * seen
        return float(shares[30] / shares.sum())

    assert believed(kept.priors[-1]) > 0.7
    assert believed(dropped.priors[-1]) < 0.5 * believed(kept.priors[-1])


def test_a_segment_of_which_little_is_known_keeps_much_of_the_default() -> None:
    """A segment that begins to move needs at most 1/0.3 times the evidence that it needs alone."""
    banks = [*(bank_with(one) for one in likelihoods(60, 0, 50.0)), bank_with(np.ones(len(DEFAULT)))]
    learned = learn_drift(banks)
    assert np.exp(learned.priors[-1, 0]) > 0.4
    assert not learned.freed[-1]
    moves = np.arange(len(DEFAULT)) != 0
    assert (np.exp(learned.priors[-1]) >= 0.3 * DEFAULT)[moves].all()
    sure = learn_drift(banks, kept=0.05)  # the control
    assert (np.exp(sure.priors[-1]) < 0.3 * DEFAULT)[moves].all()


@pytest.mark.parametrize(("jumps", "many"), [(0.0, False), (3.0, True)])
def test_the_chance_of_a_jump_is_that_of_segments_like_it(jumps: float, many: bool) -> None:
    still = likelihoods(1, 0, 100.0)[0]
    banks = [bank_with(still, periods=20) for _ in range(90)]
    banks += [bank_with(still, jumps=5.0, periods=20) for _ in range(10)]
    own = bank_with(still, jumps=jumps, periods=20)
    learned = learn_drift([*banks, own])
    chance = with_prior(own, learned.priors[-1], learned.expected_jumps[-1]).chance_of_jump
    assert (chance > 0.1) if many else (0.1 * own.chance_of_jump < chance < 0.75 * own.chance_of_jump)


@pytest.mark.statistical
def test_the_learned_prior_finds_what_part_of_the_segments_moves() -> None:
    rng = np.random.default_rng(4)
    moves = np.arange(80) < 24
    banks = [followed(0.3 * move * rng.standard_normal(25), rng) for move in moves]
    learned = learn_drift(banks)
    after = [with_prior(bank, prior, JUMPS[0]) for bank, prior in zip(banks, learned.priors, strict=True)]
    models = after[0].models
    slow = (models.step + models.wobble) <= 0.1 / 16
    quiet = np.array([bank.shares[slow].sum() for bank in after])
    before = np.array([bank.shares[slow].sum() for bank in banks])
    assert quiet[~moves].mean() > before[~moves].mean() + 0.05  # what stands still is known sooner
    assert quiet[moves].mean() < 0.1  # and what moves is not taken for it
    assert np.exp(learned.priors).mean(axis=0)[slow].sum() == pytest.approx(0.7, abs=0.2)
