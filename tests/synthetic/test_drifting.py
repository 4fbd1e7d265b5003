"""Drifting and rotating populations move their minimiser by exactly rho."""

import math

import numpy as np
import pytest

from driftpace.errors import ParameterError
from driftpace.losses import LinearLoss, LogisticLoss, SmoothedHinge, SquaredLoss
from driftpace.synthetic import DriftingClasses, DriftingRegression, RotatingFeatures
from tests.reference.row_checks import allowed, centred_products, standard_errors_off


@pytest.mark.parametrize("shape", ["walk", "line"])
@pytest.mark.parametrize("rho", [0.0, 0.02, 1.0])
def test_the_minimiser_moves_by_rho_each_period(shape: str, rho: float, seed: int) -> None:
    world = DriftingRegression(features=3, rho=rho, noise=0.1, shape=shape, rng=seed, start=np.array([1.0, 2.0, 3.0]))
    path = world.path(30)
    np.testing.assert_allclose(np.linalg.norm(np.diff(path, axis=0), axis=1), rho, atol=1e-13)
    np.testing.assert_array_equal(path[0], [1.0, 2.0, 3.0])
    minimisers = [world.period(n).minimiser(SquaredLoss()) for n in (1, 5, 30)]
    np.testing.assert_array_equal(minimisers, path[[0, 4, 29]])


def test_a_line_is_straight_and_a_walk_is_not(seed: int) -> None:
    line = DriftingRegression(features=3, rho=0.5, noise=0.1, shape="line", rng=seed).path(41)
    assert np.linalg.norm(line[-1] - line[0]) == pytest.approx(20.0)
    walks = [DriftingRegression(features=3, rho=0.5, noise=0.1, rng=1000 * seed + i).path(41) for i in range(20)]
    assert np.mean([np.linalg.norm(walk[-1] - walk[0]) for walk in walks]) < 10.0


@pytest.mark.statistical
def test_directions_of_a_walk_are_uniform(seed: int) -> None:
    """The mean of 4000 unit vectors has squared length about 1/4000; of their outer products, I/3."""
    moves = np.diff(DriftingRegression(features=3, rho=1.0, noise=0.1, rng=seed).path(4001), axis=0)
    assert np.abs(moves.mean(axis=0)).max() * math.sqrt(3 * 4000) < 5.2
    outer = np.einsum("ki,kj->kij", moves, moves)
    assert np.abs(outer.mean(axis=0) - np.eye(3) / 3.0).max() < 5.2 * outer.std(axis=0).max() / math.sqrt(4000)
    assert np.abs(moves[1:] * moves[:-1]).mean() > 0.1
    assert (
        abs((moves[1:] * moves[:-1]).sum(axis=1).mean()) * math.sqrt(3 * 3999) < 5.2
    )  # one move says nothing of the next


def test_periods_come_in_any_order_and_repeat(seed: int) -> None:
    world = DriftingRegression(features=2, rho=1.0, noise=0.1, rng=seed)
    late = world.period(9).coef
    assert np.array_equal(world.period(3).coef, DriftingRegression(features=2, rho=1.0, noise=0.1, rng=seed).path(9)[2])
    assert np.array_equal(world.period(9).coef, late)
    assert not np.array_equal(DriftingRegression(features=2, rho=1.0, noise=0.1, rng=seed + 1).period(9).coef, late)


def test_a_penalty_slows_the_minimiser(seed: int) -> None:
    world = DriftingRegression(features=3, rho=1.0, noise=0.1, covariance=np.diag([3.0, 1.0, 0.2]), rng=seed)
    path = np.array([world.period(n).minimiser(SquaredLoss(l2=0.1)) for n in range(1, 20)])
    assert (np.linalg.norm(np.diff(path, axis=0), axis=1) < 1.0).all()


@pytest.mark.parametrize("loss", [SmoothedHinge(l2=0.1), LogisticLoss(l2=0.1), SquaredLoss()], ids=repr)
@pytest.mark.parametrize("features", [2, 4])
def test_turning_classes_move_the_minimiser_by_rho(loss: LinearLoss, features: int) -> None:
    world = DriftingClasses(features=features, angle=0.3)
    path = np.array([world.period(n).minimiser(loss) for n in range(1, 8)])
    np.testing.assert_allclose(np.linalg.norm(np.diff(path, axis=0), axis=1), world.rho(loss), rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(path, axis=1), np.linalg.norm(path[0]), rtol=1e-10)


def test_the_second_experiment_ends_upside_down() -> None:
    """Theory 6.2: half a turn in 25 periods, rho = .102."""
    world, loss = DriftingClasses(), SmoothedHinge(l2=0.1)
    assert world.rho(loss) == pytest.approx(0.102, abs=0.0006)
    np.testing.assert_allclose(world.period(26).mean, -world.period(1).mean, atol=1e-14)
    stale = world.period(1).minimiser(loss)
    assert world.period(26).excess_risk(loss, stale) > 1.0


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ({"shape": "circle"}, r"shape=\.\.\.\) must be one of 'walk', 'line'; got 'circle'"),
        ({"rho": -1.0}, r"rho=\.\.\.\) must be zero or more"),
        ({"features": 0}, r"features=\.\.\.\) must be a whole number of at least 1"),
        ({"start": np.zeros(3)}, r"start=\.\.\.\) must be a finite vector of length 2"),
        ({"rng": -1}, r"rng=\.\.\.\) must be a whole number of at least 0"),
    ],
)
def test_strange_worlds_are_refused(bad: dict[str, object], sentence: str) -> None:
    good: dict[str, object] = {"features": 2, "rho": 1.0, "noise": 0.1, "rng": 0}
    with pytest.raises(ParameterError, match=rf"^DriftingRegression\({sentence}"):
        DriftingRegression(**(good | bad))  # type: ignore[arg-type]


def test_there_is_no_period_before_the_first() -> None:
    with pytest.raises(
        ParameterError, match=r"^DriftingClasses\.period\(n=\.\.\.\) must be a whole number of at least 1; got 0"
    ):
        DriftingClasses().period(0)


COVARIANCE = np.array([[2.0, 0.3, 0.1], [0.3, 0.5, 0.0], [0.1, 0.0, 1.0]])
ROTATING = RotatingFeatures(coef=np.array([1.0, -0.5, 0.7]), covariance=COVARIANCE, noise=0.4, angle=0.3)


def test_the_relation_to_the_hidden_causes_stays() -> None:
    """Turned back, every period is the first: coefficients, covariance, minimiser, least risk."""
    first = ROTATING.period(1)
    for loss in (SquaredLoss(), SquaredLoss(l2=0.3)):
        for n in (2, 9, 30):
            turn, period = ROTATING.turned(n), ROTATING.period(n)
            np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-15)
            np.testing.assert_allclose(turn.T @ period.coef, first.coef, atol=1e-12)
            np.testing.assert_allclose(turn.T @ np.asarray(period.covariance) @ turn, COVARIANCE, atol=1e-12)
            np.testing.assert_allclose(turn.T @ period.minimiser(loss), first.minimiser(loss), atol=1e-12)
            least = period.risk(loss, period.minimiser(loss))
            assert least == pytest.approx(first.risk(loss, first.minimiser(loss)), rel=1e-12)


@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_rho_has_a_closed_form(l2: float) -> None:
    loss = SquaredLoss(l2=l2)
    in_plane = np.linalg.norm(ROTATING.period(1).minimiser(loss)[:2])
    assert ROTATING.rho(loss) == pytest.approx(2.0 * math.sin(0.15) * in_plane, rel=1e-12)
    np.testing.assert_allclose(ROTATING.rhos(loss, 12), ROTATING.rho(loss), rtol=1e-9)


def test_a_coefficient_without_penalty_makes_steps_unequal() -> None:
    """The control of the closed form: with a penalty on the first coordinate alone a turn is no symmetry."""
    rhos = ROTATING.rhos(SquaredLoss(l2=0.5, unpenalised=2), 12)
    assert rhos.max() > 1.02 * rhos.min()


@pytest.mark.statistical
def test_rows_are_turned_causes(rng: np.random.Generator) -> None:
    """One false alarm in a million for the worst of the entries, from 60,000 rows; the rows of another period are caught."""
    X, y = ROTATING.period(4).draw(60_000, rng=rng)
    hidden = X @ ROTATING.turned(4)
    assert standard_errors_off(centred_products(hidden), COVARIANCE) < allowed(6)
    assert standard_errors_off(centred_products(X), COVARIANCE) > allowed(6)
    noise = y - hidden @ ROTATING.coef
    assert standard_errors_off(noise**2, 0.4) < allowed(1)
    assert standard_errors_off(noise[:, None] * hidden, 0.0) < allowed(3)
    assert standard_errors_off((y - X @ ROTATING.coef) ** 2, 0.4) > allowed(1)


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
def test_invalid_rotations_are_refused(bad: dict[str, object], sentence: str) -> None:
    with pytest.raises(ParameterError, match=rf"^RotatingFeatures\({sentence}"):
        RotatingFeatures(**bad)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"^RotatingFeatures\.turned\(n=\.\.\.\) must be a whole number of at"):
        RotatingFeatures().turned(0)
