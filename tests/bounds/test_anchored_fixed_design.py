import math

import numpy as np
import pytest

from driftpace.bounds import AnchoredFixedDesign
from driftpace.errors import ParameterError
from driftpace.testing import check_bound
from driftpace.typing import FloatArray
from tests.reference.bound_checks import hold


@pytest.mark.parametrize("strength", [0.0, 0.05, 20.0])
def test_is_a_bound(strength: float) -> None:
    check_bound(AnchoredFixedDesign(noise=0.5, strength=strength, eigenvalues=(1.0, 0.01)))


def rows(eigenvalues: FloatArray, samples: int, rng: np.random.Generator) -> FloatArray:
    """Rows X with X'X/K = diag(eigenvalues) exactly."""
    orthogonal = np.linalg.qr(rng.standard_normal((samples, eigenvalues.size)))[0]
    design: FloatArray = math.sqrt(samples) * orthogonal * np.sqrt(eigenvalues)
    return design


@pytest.mark.statistical
@pytest.mark.parametrize("features", [2, 10, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize("condition", [1.0, 100.0])
@pytest.mark.parametrize("strength", [0.0, 0.05, 1.0])
def test_on_given_rows(features: int, condition: float, strength: float, rng: np.random.Generator) -> None:
    """Error budget of a fast case: at most 3 comparisons at 4.9 standard errors of 2,000 runs or more: 4e-6 (Student t)."""
    eigenvalues = np.geomspace(1.0, 1.0 / condition, features)
    bound = AnchoredFixedDesign(noise=0.5, strength=strength, eigenvalues=tuple(eigenvalues))
    worst = int(np.argmax(strength**2 * eigenvalues / (eigenvalues + strength) ** 2))
    risks = {}
    for samples in (features, 100, 1_000):
        X = rows(eigenvalues, samples, rng)
        noise = math.sqrt(0.5) * (2.0 * rng.integers(0, 2, size=(2_000, samples)) - 1.0)
        anchor = np.eye(features)[worst]
        W = anchor + (noise @ X / samples - eigenvalues * anchor) / (eigenvalues + strength)
        risks[samples] = 0.5 * W**2 @ eigenvalues
    held = hold(bound, 1.0, risks)
    assert held.equals()  # attained in the worst direction
    assert not held.equals(factor=0.8)


def test_never_above_an_eighth_of_the_strength() -> None:
    for strength in (1e-3, 0.1, 1.0, 30.0):
        bound = AnchoredFixedDesign(noise=0.5, strength=strength, eigenvalues=(3.0, 1.0, 0.2, 0.0))
        factors = bound.factors(7)
        assert factors.alpha <= strength / 8.0 + 1e-15
        assert factors.beta == pytest.approx(0.5 / 14.0 * sum((h / (h + strength)) ** 2 for h in (3.0, 1.0, 0.2)))
        assert bound.floor(2.0) == pytest.approx(4.0 * factors.alpha)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"eigenvalues=...\) must be zero or more"):
        AnchoredFixedDesign(noise=0.5, strength=0.1, eigenvalues=(1.0, -1.0))
    with pytest.raises(ParameterError, match=r"eigenvalues=...\) must be positive"):
        AnchoredFixedDesign(noise=0.5, strength=0.1, eigenvalues=(0.0,))
    with pytest.raises(ParameterError, match=r"strength=...\) must be zero or more"):
        AnchoredFixedDesign(noise=0.5, strength=-0.1, eigenvalues=(1.0,))


def test_a_flat_direction_has_no_reach() -> None:
    assert AnchoredFixedDesign(noise=0.5, strength=0.1, eigenvalues=(1.0, 0.0)).reach(0.1) == math.inf
