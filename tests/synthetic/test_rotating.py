"""Rows that turn: the causes stay, the best coefficients do not."""

import math

import numpy as np
import pytest

from driftpace.errors import ParameterError
from driftpace.losses import SquaredLoss
from driftpace.synthetic import RotatingFeatures
from tests.reference.by_rows import allowed, centred_products, standard_errors_off

COVARIANCE = np.array([[2.0, 0.3, 0.1], [0.3, 0.5, 0.0], [0.1, 0.0, 1.0]])
WORLD = RotatingFeatures(coef=np.array([1.0, -0.5, 0.7]), covariance=COVARIANCE, noise=0.4, angle=0.3)


def test_the_relation_to_the_hidden_causes_stays() -> None:
    """Turned back, every period is the first: coefficients, covariance, minimiser, least risk."""
    first = WORLD.period(1)
    for loss in (SquaredLoss(), SquaredLoss(l2=0.3)):
        for n in (2, 9, 30):
            turn, period = WORLD.turned(n), WORLD.period(n)
            np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-15)
            np.testing.assert_allclose(turn.T @ period.coef, first.coef, atol=1e-12)
            np.testing.assert_allclose(turn.T @ np.asarray(period.covariance) @ turn, COVARIANCE, atol=1e-12)
            np.testing.assert_allclose(turn.T @ period.minimiser(loss), first.minimiser(loss), atol=1e-12)
            least = period.risk(loss, period.minimiser(loss))
            assert least == pytest.approx(first.risk(loss, first.minimiser(loss)), rel=1e-12)


@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_rho_has_a_closed_form(l2: float) -> None:
    loss = SquaredLoss(l2=l2)
    in_plane = np.linalg.norm(WORLD.period(1).minimiser(loss)[:2])
    assert WORLD.rho(loss) == pytest.approx(2.0 * math.sin(0.15) * in_plane, rel=1e-12)
    np.testing.assert_allclose(WORLD.rhos(loss, 12), WORLD.rho(loss), rtol=1e-9)


def test_a_coefficient_without_penalty_makes_steps_unequal() -> None:
    """The control of the closed form: with a penalty on the first coordinate alone a turn is no symmetry."""
    rhos = WORLD.rhos(SquaredLoss(l2=0.5, unpenalised=2), 12)
    assert rhos.max() > 1.02 * rhos.min()


@pytest.mark.statistical
def test_rows_are_turned_causes(rng: np.random.Generator) -> None:
    """One false alarm in a million for the worst of the entries, from 60,000 rows; the rows of another period are caught."""
    X, y = WORLD.period(4).draw(60_000, rng=rng)
    hidden = X @ WORLD.turned(4)
    assert standard_errors_off(centred_products(hidden), COVARIANCE) < allowed(6)
    assert standard_errors_off(centred_products(X), COVARIANCE) > allowed(6)
    noise = y - hidden @ WORLD.coef
    assert standard_errors_off(noise**2, 0.4) < allowed(1)
    assert standard_errors_off(noise[:, None] * hidden, 0.0) < allowed(3)
    assert standard_errors_off((y - X @ WORLD.coef) ** 2, 0.4) > allowed(1)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"coef": [1.0]}, r"coef=\.\.\.\) must have at least two numbers; got \[1\.0\]"),
        ({"coef": [1.0, math.nan]}, r"coef=\.\.\.\) must be a finite vector"),
        ({"angle": -0.1}, r"angle=\.\.\.\) must be zero or more"),
        ({"noise": math.inf}, r"noise=\.\.\.\) must be zero or more, and finite"),
        ({"covariance": 0.0}, r"covariance=\.\.\.\) must be positive"),
        (
            {"covariance": np.eye(3)},
            r"covariance=\.\.\.\) must be a positive number or a symmetric positive definite 2 x",
        ),
    ],
)
def test_strange_worlds_are_refused(bad: dict[str, object], sentence: str) -> None:
    with pytest.raises(ParameterError, match=rf"^RotatingFeatures\({sentence}"):
        RotatingFeatures(**bad)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"^RotatingFeatures\.turned\(n=\.\.\.\) must be a whole number of at"):
        RotatingFeatures().turned(0)
