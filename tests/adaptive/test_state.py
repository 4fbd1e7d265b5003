"""The pace between periods: coordinates may change and nothing else does; what is asked for falls as more is known."""

from dataclasses import replace

import numpy as np
import pytest

from driftpace.adaptive import AdaptiveConfig, AdaptiveState, DesignRows, certificate, drift, rows_missing
from driftpace.adaptive.bank import first_bank
from driftpace.adaptive.coordinates import coordinates
from driftpace.adaptive.memory import no_memory
from driftpace.adaptive.state import in_coordinates, judge
from driftpace.typing import FloatArray
from tests.reference.looks import make_rows, remembered


def some_pace(size: int, intercept: bool, variance: float, rng: np.random.Generator) -> AdaptiveState:
    """A pace after a first period that found zero in coordinates which are the identity."""
    pace = AdaptiveState(model=np.zeros(size), intercept=intercept, memory=remembered(size, 1.0, rng))
    return replace(
        pace,
        coordinates=coordinates(np.eye(size)),
        banks=tuple(first_bank(np.zeros(part.stop - part.start), variance, 0.02) for part in pace.parts),
    )


def no_rows(size: int) -> DesignRows:
    return make_rows(np.empty((0, size)), np.empty(0))


@pytest.mark.parametrize("intercept", [True, False])
def test_new_coordinates_say_the_same_of_every_coefficient(intercept: bool, rng: np.random.Generator) -> None:
    """The mean over models of what is foretold, as coefficients, before and after a change of coordinates."""
    pace = some_pace(4, intercept, 0.3, rng)
    pace = replace(
        pace,
        banks=tuple(
            replace(
                bank,
                place=bank.place + rng.standard_normal(bank.place.shape),
                velocity=bank.velocity + rng.standard_normal(bank.place.shape),
                shares=rng.dirichlet(np.ones(len(bank.shares))),
            )
            for bank in pace.banks
        ),
    )
    half = rng.standard_normal((4, 9))
    white = coordinates(half @ half.T)
    moved = in_coordinates(pace.banks, pace, white)

    def coefficients(banks: tuple[object, ...], name: str, plain: object) -> FloatArray:
        parts = [bank.shares @ getattr(bank, name) for bank in banks]  # type: ignore[attr-defined]
        return np.asarray(plain(np.concatenate(parts)))  # type: ignore[operator]

    assert pace.coordinates is not None
    for name in ("place", "velocity"):
        before = coefficients(pace.banks, name, pace.coordinates.plain)
        np.testing.assert_allclose(coefficients(moved, name, white.plain), before, rtol=1e-6, atol=1e-8)
    for old, new in zip(pace.banks, moved, strict=True):
        np.testing.assert_array_equal(old.shares, new.shares)


def test_the_better_it_is_known_the_fewer_rows_are_asked(rng: np.random.Generator) -> None:
    asked = []
    for variance in (1e-6, 0.01, 0.1, 1.0, 10.0):
        pace = some_pace(4, True, variance, rng)
        judgement = judge(AdaptiveConfig(epsilon=0.05), pace, no_rows(4))
        asked.append(rows_missing(AdaptiveConfig(epsilon=0.05), pace, judgement, gathered=0, seen=0, batch=0).all)
    assert asked == sorted(asked)
    assert asked[0] < asked[-1]


@pytest.mark.parametrize("epsilon", [0.005, 0.05, 0.5])
def test_a_need_adds_up(epsilon: float, rng: np.random.Generator) -> None:
    pacing = AdaptiveConfig(epsilon=epsilon)
    pace = some_pace(4, True, 0.5, rng)
    judgement = judge(pacing, pace, no_rows(4))
    wanted = rows_missing(pacing, pace, judgement, gathered=0, seen=0, batch=0)
    assert 0 <= wanted.now <= max(wanted.all, 4)
    assert wanted.low <= wanted.all <= wanted.high
    assert wanted.risk <= epsilon
    assert rows_missing(pacing, pace, judgement, gathered=0, seen=0, batch=10**3).now >= wanted.all
    tighter = AdaptiveConfig(epsilon=epsilon, confidence=0.95)
    assert rows_missing(tighter, pace, judgement, gathered=0, seen=0, batch=0).all >= wanted.all


def test_a_certificate_grows_with_its_level_and_is_above_the_risk(rng: np.random.Generator) -> None:
    pace = some_pace(4, True, 0.5, rng)
    X = rng.standard_normal((25, 3))
    rows = make_rows(X, rng.standard_normal(25), intercept=True)
    for now in (rows, no_rows(4)):
        judgement = judge(AdaptiveConfig(epsilon=0.05), pace, now)
        bounds = [
            certificate(AdaptiveConfig(epsilon=0.05, certificate_level=level), pace, judgement)
            for level in (0.5, 0.9, 0.95, 0.999)
        ]
        assert bounds == sorted(bounds)
        assert bounds[1] > 0.5 * float(pace.sizes @ judgement.variances)


def test_a_tolerance_is_a_share_of_the_best_loss(rng: np.random.Generator) -> None:
    X = rng.standard_normal((4000, 3))
    rows = make_rows(X, X.sum(axis=1) + rng.standard_normal(4000))
    pace = AdaptiveState(model=np.zeros(3), intercept=False, memory=no_memory(3))
    assert judge(AdaptiveConfig(tolerance=0.1), pace, rows).epsilon == pytest.approx(0.1 * 0.5, rel=0.12)
    assert judge(AdaptiveConfig(epsilon=0.3), pace, rows).epsilon == 0.3


def test_drift_has_an_upper_end(rng: np.random.Generator) -> None:
    pace = some_pace(4, True, 0.5, rng)
    mean, upper = drift(pace.banks)
    assert 0.0 < mean <= upper
