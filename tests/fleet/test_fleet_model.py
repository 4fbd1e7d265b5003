"""A new segment is expected where the others are: as near as they are to each other, not nearer."""

from dataclasses import replace

import numpy as np
import pytest

from driftpace.adaptive.coordinates import blocks
from driftpace.adaptive.noise import NoiseSums
from driftpace.fleet.fleet_model import GRID, KEPT, SegmentModel, find_fleet_model
from driftpace.fleet.lent import LEAST_SEGMENTS
from driftpace.typing import FloatArray

SIZE = 4
PARTS = blocks(SIZE, True)


def segment_model(truth: FloatArray, known: float, rng: np.random.Generator, *, noise: float = 1.0) -> SegmentModel:
    return SegmentModel(
        model=truth + np.sqrt(known) * rng.standard_normal(SIZE),
        place=np.zeros(SIZE - 1),
        factor=np.eye(SIZE),
        variances=np.full(2, known),
        noise=NoiseSums(rows=50.0, total=50.0 * noise, squares=150.0 * noise * noise, losses=25.0 * noise),
    )


def fleet_of(
    count: int, rng: np.random.Generator, *, level: float, slopes: float, known: float = 0.02
) -> tuple[FloatArray, list[SegmentModel]]:
    center = rng.standard_normal(SIZE)
    spread = np.array([level, *[slopes] * (SIZE - 1)])
    truths = center + spread * rng.standard_normal((count + 1, SIZE))
    return truths[-1], [segment_model(truth, known, rng) for truth in truths[:-1]]


@pytest.mark.statistical
@pytest.mark.parametrize("spread", [0.05, 0.3, 1.0])
def test_the_variance_of_a_new_segment_is_that_which_it_has(spread: float) -> None:
    rng = np.random.default_rng(5)
    ratios, alone = [], []
    for _ in range(150):
        truth, models = fleet_of(25, rng, level=1.0, slopes=spread)
        fleet = find_fleet_model(models, PARTS, True)
        assert fleet is not None
        lent = fleet.lend()
        assert lent.start is not None
        assert lent.expected is not None
        variances, shares = lent.expected.variances[1], lent.expected.shares[1]
        stated = float(shares[:-1] @ variances[:-1] / shares[:-1].sum())
        far = float(np.square(truth[1:] - lent.start[1:]).mean())
        ratios.append((far, stated))
        alone.append(far / (0.02 / 25))  # the control: as if all were alike, and only the center were unknown
    far, stated = np.array(ratios).T
    assert far.mean() <= 1.15 * stated.mean()  # 150 runs of 3 coordinates: a standard error of 7 %
    assert stated.mean() <= (1.6 if spread > 0.1 else 4.0) * far.mean()  # models are known within 0.14 only
    assert np.mean(alone) > 3.0


def test_what_is_unlike_the_others_does_not_move_their_center() -> None:
    rng = np.random.default_rng(6)
    _, models = fleet_of(30, rng, level=0.5, slopes=0.1)
    odd = [segment_model(np.full(SIZE, 30.0), 0.02, rng) for _ in range(3)]
    plain, mixed = find_fleet_model(models, PARTS, True), find_fleet_model([*models, *odd], PARTS, True)
    assert plain is not None
    assert mixed is not None
    one, other = plain.lend(), mixed.lend()
    assert one.start is not None
    assert other.start is not None
    assert np.abs(one.start - other.start).max() < 0.15
    assert other.expected is not None
    assert other.expected.shares[1][-1] == pytest.approx(KEPT)  # of the default


def test_columns_with_other_means_say_the_same_of_the_intercept() -> None:
    rng = np.random.default_rng(7)
    slopes, level = np.array([2.0, -1.0, 0.5]), 3.0
    models = []
    for _ in range(12):
        place = rng.normal(size=3)
        plain = np.append(level, slopes)
        plain[0] += place @ slopes
        one = segment_model(plain, 1e-6, rng)
        models.append(
            SegmentModel(model=one.model, place=place, factor=one.factor, variances=one.variances, noise=one.noise)
        )
    fleet = find_fleet_model(models, PARTS, True)
    assert fleet is not None
    start = fleet.lend().start
    assert start is not None
    assert start == pytest.approx([level, *slopes], abs=0.01)


def test_a_segment_is_told_of_the_others_only() -> None:
    rng = np.random.default_rng(8)
    _, models = fleet_of(8, rng, level=0.5, slopes=0.2)
    fleet = find_fleet_model(models, PARTS, True)
    assert fleet is not None
    own = fleet.lend(2, level=False)
    every = fleet.lend()
    assert own.start is not None
    assert every.start is not None
    away = np.sign(models[2].model[1:] - every.start[1:])
    assert (away * (own.start[1:] - every.start[1:]) < 0.0).all()
    assert own.expected is not None
    assert own.expected.shares[0].tolist() == [0.0] * len(GRID) + [1.0]  # nothing is said of its level
    assert np.isinf(own.expected.variances[0, -1])


def test_what_a_segment_is_told_is_that_of_a_fleet_without_its_rows() -> None:
    rng = np.random.default_rng(11)
    _, models = fleet_of(9, rng, level=0.5, slopes=0.2)
    unseen = replace(models[3], noise=NoiseSums())
    fleet = find_fleet_model([*models[:3], unseen, *models[4:]], PARTS, True)
    assert fleet is not None
    for place in range(len(models)):
        told = fleet.lend(place, level=False)
        others = np.arange(len(models)) != place
        first, slopes = fleet.models[others].sum(axis=0), fleet.weights[others].sum(axis=0)
        assert told.start == pytest.approx(np.append(first[:1] / slopes[0], first[1:] / slopes[1]), rel=1e-12)
        assert told.expected is not None
        logs = fleet.evidence[1][others].sum(axis=0) + 0.5 * np.log(GRID)
        shares = np.exp(logs - logs.max())
        kept = told.expected.shares[1][-1]
        assert told.expected.shares[1][:-1] == pytest.approx((1.0 - kept) * shares / shares.sum(), rel=1e-9)
        noises = fleet.noises[others & (fleet.noises[:, 0] > 0.0)]
        logs = np.log(noises[:, 1])
        between = max(float(np.var(logs, ddof=1) - noises[:, 4].mean()), 1e-6)
        level = told.expected.noise.total / told.expected.noise.rows
        assert level == pytest.approx(np.exp(logs.mean() + 0.5 * between), rel=1e-9)


def test_noise_stands_for_few_rows_and_for_fewer_where_segments_differ() -> None:
    rng = np.random.default_rng(9)
    alike = [segment_model(np.zeros(SIZE), 0.1, rng) for _ in range(20)]
    unlike = [segment_model(np.zeros(SIZE), 0.1, rng, noise=float(rng.lognormal(0.0, 2.0))) for _ in range(20)]
    rows = []
    for models in (alike, unlike):
        fleet = find_fleet_model(models, PARTS, True)
        assert fleet is not None
        lent = fleet.lend()
        assert lent.expected is not None
        rows.append(lent.expected.noise.rows)
    assert rows[0] == 10.0
    assert rows[1] < 1.0


def test_few_segments_say_nothing() -> None:
    rng = np.random.default_rng(10)
    _, models = fleet_of(LEAST_SEGMENTS - 1, rng, level=0.5, slopes=0.2)
    assert find_fleet_model(models, PARTS, True) is None
