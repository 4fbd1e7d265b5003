"""Worlds that move, by exactly what they say."""

import math

import numpy as np
import pytest

from driftpace.errors import ParameterError
from driftpace.losses import LinearLoss, LogisticLoss, SmoothedHinge, SquaredLoss
from driftpace.synthetic import DriftingClasses, DriftingRegression


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
