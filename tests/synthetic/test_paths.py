"""Paths: each shape does what it says, in the flat and on the sphere."""

import math
from typing import get_args

import numpy as np
import pytest

from driftpace.synthetic.paths import Path, Shape, random_start
from driftpace.typing import FloatArray

SHAPES = get_args(Shape)
MOVING: tuple[Shape, ...] = ("line", "walk", "seasonal", "jump")


def made(
    shape: Shape, seed: int, *, features: int = 4, size: float = 0.3, sphere: bool = False, turn: int = 12
) -> Path:
    start = random_start(features, 2.0, seed)
    return Path(shape=shape, size=size, start=start, rng=seed, sphere=sphere, turn=turn, jump_at=7)


def lengths(path: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(np.diff(path, axis=0), axis=1))


def angles(path: FloatArray) -> FloatArray:
    unit = path / np.linalg.norm(path, axis=1, keepdims=True)
    return np.asarray(2.0 * np.arcsin(0.5 * np.linalg.norm(np.diff(unit, axis=0), axis=1)))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("sphere", [False, True])
def test_periods_come_in_any_order_and_start_at_the_start(shape: Shape, sphere: bool, seed: int) -> None:
    late, early = made(shape, seed, sphere=sphere), made(shape, seed, sphere=sphere)
    far = late.at(700)
    near = [early.at(n).copy() for n in (3, 30, 90)]
    np.testing.assert_array_equal(near, [late.at(n) for n in (3, 30, 90)])
    np.testing.assert_array_equal(far, early.upto(700)[-1])
    np.testing.assert_allclose(late.at(1), random_start(4, 2.0, seed), rtol=1e-14)
    other = made(shape, seed + 1, sphere=sphere)
    assert not np.allclose(other.at(30), late.at(30))
    with pytest.raises(ValueError, match="read-only"):
        late.at(1)[0] = 1.0


@pytest.mark.parametrize("shape", ["line", "walk", "seasonal"])
@pytest.mark.parametrize("features", [2, 3, 50])
def test_every_step_in_the_flat_has_the_length_asked(shape: Shape, features: int, seed: int) -> None:
    np.testing.assert_allclose(lengths(made(shape, seed, features=features).upto(50)), 0.3, rtol=1e-9)


@pytest.mark.parametrize("turn", [3, 5, 12])
def test_a_season_of_one_coordinate_has_the_mean_squared_step_asked(turn: int, seed: int) -> None:
    path = made("seasonal", seed, features=1, turn=turn).upto(2 * turn + 1)
    assert np.mean(lengths(path) ** 2) == pytest.approx(0.09, rel=1e-12)
    np.testing.assert_allclose(path[turn:], path[: turn + 1], atol=1e-13)


@pytest.mark.parametrize("sphere", [False, True])
def test_a_season_repeats_after_its_length_and_not_sooner(sphere: bool, seed: int) -> None:
    path = made("seasonal", seed, sphere=sphere).upto(37)
    np.testing.assert_allclose(path[12:], path[:-12], atol=1e-13)
    assert np.linalg.norm(path[6] - path[0]) > 0.0
    assert np.linalg.matrix_rank(path - path[0], tol=1e-9) == 2  # it stays in a plane


@pytest.mark.parametrize("sphere", [False, True])
def test_a_jump_is_one_step_and_still_is_none(sphere: bool, seed: int) -> None:
    path = made("jump", seed, sphere=sphere).upto(40)
    moved = lengths(path)
    chord = 2.0 * math.sqrt(2.0) * math.sin(0.15) if sphere else 0.3
    assert moved[5] == pytest.approx(chord, rel=1e-12)  # from period 6 to period 7
    assert np.count_nonzero(moved) == 1
    assert not lengths(made("still", seed, sphere=sphere).upto(40)).any()


def test_a_line_is_straight_and_a_walk_is_not(seed: int) -> None:
    line = made("line", seed).upto(41)
    assert np.linalg.norm(line[-1] - line[0]) == pytest.approx(40 * 0.3)
    walks = [made("walk", 1000 * seed + i).upto(41) for i in range(40)]
    assert np.mean([np.linalg.norm(walk[-1] - walk[0]) for walk in walks]) < 20 * 0.3


@pytest.mark.parametrize("shape", ["line", "walk"])
@pytest.mark.parametrize("features", [2, 10])
@pytest.mark.parametrize("size", [0.3, 3.0])
def test_on_the_sphere_the_length_stays_and_the_angle_is_the_size(
    shape: Shape, features: int, size: float, seed: int
) -> None:
    path = made(shape, seed, features=features, size=size, sphere=True).upto(200)
    np.testing.assert_allclose((path**2).sum(axis=1), 2.0, rtol=1e-12)
    np.testing.assert_allclose(angles(path), size, rtol=1e-9)


def test_a_swing_reaches_its_size_to_either_side_of_its_middle(seed: int) -> None:
    path = made("seasonal", seed, sphere=True, turn=400).upto(401)
    assert 2.0 * angles(path).sum() / 4.0 == pytest.approx(2.0 * 0.3, rel=1e-3)  # there and back is four times the size
    np.testing.assert_allclose((path**2).sum(axis=1), 2.0, rtol=1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize("shape", MOVING)
def test_directions_are_uniform(shape: Shape, seed: int) -> None:
    """Of 2000 worlds the mean first move and its second moments; five standard errors on 3 + 6 numbers for each shape."""
    start = np.zeros(3)
    moves = []
    for i in range(2000):
        path = Path(shape=shape, size=1.0, start=start, rng=10_000 * seed + i, jump_at=2)
        moves.append(path.at(2) - path.at(1))
    unit = np.array(moves)
    np.testing.assert_allclose((unit**2).sum(axis=1), 1.0, rtol=1e-9)
    assert np.abs(unit.mean(axis=0)).max() * math.sqrt(3 * 2000) < 5.2
    outer = np.einsum("ki,kj->kij", unit, unit)
    assert np.abs(outer.mean(axis=0) - np.eye(3) / 3.0).max() < 5.2 * outer.std(axis=0).max() / math.sqrt(2000)
