"""What levels have in common is found where there is something, and nothing is told where there is not."""

import math

import numpy as np
import pytest

from driftpace.fleet.common_movement import (
    UNLIKE,
    UNSEEN,
    CommonMovement,
    LevelGap,
    after_period,
    common_step,
    odds_of,
)
from driftpace.fleet.lent import LEAST_SEGMENTS
from driftpace.typing import FloatArray

COUNT, OWN, ROWS = 40, 0.01, 8


def gaps_of(shifts: FloatArray, rng: np.random.Generator) -> list[LevelGap]:
    variance = OWN + 1.0 / ROWS
    seen = shifts + math.sqrt(variance) * rng.standard_normal(len(shifts))
    return [LevelGap(gap=float(gap), variance=variance, own=OWN, noise=1.0) for gap in seen]


@pytest.mark.statistical
def test_steps_of_all_are_told_as_exactly_as_stated() -> None:
    rng = np.random.default_rng(11)
    errors, stated, sizes = [], [], []
    for _ in range(60):
        steps = 0.3 * rng.standard_normal(8)
        movement = CommonMovement()
        for step in steps:
            gaps = gaps_of(np.full(COUNT, step), rng)
            found = common_step(movement, gaps, np.ones(COUNT, dtype=np.bool_), 1.0)
            movement = after_period(movement, found, 0.1, 1.0)
            errors.append(found.means[0] - step)
            stated.append(found.variances[0])
            sizes.append(step**2)
    ratio = np.square(errors).mean() / np.mean(stated)
    assert 0.8 < ratio < 1.25  # 480 squares: a standard error of 6.5 %
    assert np.square(errors).mean() < 0.1 * np.mean(sizes)  # the control: without, the step itself is the error


@pytest.mark.statistical
def test_where_nothing_moves_together_hardly_anything_is_told() -> None:
    rng = np.random.default_rng(12)
    movement, told = CommonMovement(), []
    for _ in range(30):
        found = common_step(movement, gaps_of(np.zeros(COUNT), rng), np.ones(COUNT, dtype=np.bool_), 1.0)
        movement = after_period(movement, found, 0.1, 1.0)
        told.append(float(np.square(found.means).mean()))
    plain = (OWN + 1.0 / ROWS) / COUNT
    assert np.mean(told[10:]) < 0.5 * plain  # less than the mean of the gaps, which is what there is to see
    assert movement.bank is not None
    assert movement.bank.shares[0] > 2.0 * math.exp(movement.bank.models.prior[0])  # it stands still


def test_a_segment_that_stays_is_found_and_is_told_no_more() -> None:
    rng = np.random.default_rng(13)
    movement, odds, moves = CommonMovement(), np.zeros(COUNT), np.arange(COUNT) < COUNT - 3
    for step in 0.5 * rng.standard_normal(20):
        gaps = gaps_of(step * moves, rng)
        found = common_step(movement, gaps, odds > UNLIKE, 1.0)
        odds = odds_of(odds, gaps, found)
        movement = after_period(movement, found, 0.1, 1.0)
    assert (odds[-3:] <= UNLIKE).all()
    assert (odds[:-3] > 0.0).all()


def test_jumps_of_segments_do_not_move_the_others() -> None:
    rng = np.random.default_rng(14)
    shifts = np.full(COUNT, 0.2)
    shifts[:4] = 50.0
    found = common_step(CommonMovement(), gaps_of(shifts, rng), np.ones(COUNT, dtype=np.bool_), 1.0)
    assert abs(found.means[10] - 0.2) < 0.25
    assert found.variances[10] >= (OWN + 1.0 / ROWS) / COUNT


def test_what_a_segment_is_told_does_not_depend_on_its_own_rows() -> None:
    rng = np.random.default_rng(15)
    gaps = gaps_of(np.zeros(COUNT), rng)
    moved = [LevelGap(gap=gaps[0].gap + 0.1, variance=gaps[0].variance, own=OWN, noise=1.0), *gaps[1:]]
    every = np.ones(COUNT, dtype=np.bool_)
    before, after = (common_step(CommonMovement(), one, every, 1.0) for one in (gaps, moved))
    changed = np.abs(after.means - before.means)
    assert changed[0] < 0.05 * changed[1:].max()


def test_few_segments_have_nothing_in_common() -> None:
    rng = np.random.default_rng(16)
    gaps = [*gaps_of(np.full(LEAST_SEGMENTS, 5.0), rng), *[UNSEEN] * 10]
    found = common_step(CommonMovement(), gaps, np.ones(len(gaps), dtype=np.bool_), 1.0)
    assert not found.seen
    assert not found.means.any()
    assert after_period(CommonMovement(), found, 0.1, 1.0).bank is None


def test_a_period_without_rows_is_predicted_with_the_variance_that_has_grown() -> None:
    rng = np.random.default_rng(17)
    movement, every = CommonMovement(), np.ones(COUNT, dtype=np.bool_)
    for _ in range(6):
        movement = after_period(
            movement, common_step(movement, gaps_of(np.full(COUNT, 0.3), rng), every, 1.0), 0.1, 1.0
        )
    unseen = [UNSEEN] * COUNT
    once = common_step(movement, unseen, every, 1.0)
    later = common_step(after_period(movement, once, 0.1, 1.0), unseen, every, 1.0)
    assert once.means[0] > 0.1  # a line goes on
    assert later.variances[0] > once.variances[0]
    assert np.isfinite(later.variances).all()
