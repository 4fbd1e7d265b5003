"""The library of drifting worlds: each says its minimiser, its risk and its rho, and rows agree."""

import inspect
import math

import numpy as np
import pytest
from scipy import stats

from driftpace.constraints import WholeSpace
from driftpace.errors import ParameterError
from driftpace.learners.newton import minimise
from driftpace.losses import LinearLoss, LogisticLoss, SmoothedHinge, SquaredLoss
from driftpace.synthetic import DriftingPopulation, ShapedClasses, ShapedRegression, SyntheticPopulation, library
from driftpace.typing import FloatArray
from tests.reference.row_checks import FALSE_ALARM, allowed, standard_errors_off

ROWS = 60_000
SEEDED = [name for name, make in library.POPULATIONS.items() if "rng" in inspect.signature(make).parameters]


def make(name: str, seed: int, **more: object) -> DriftingPopulation:
    """The world of this name, from the seed where it has one, with what is seen of it soon."""
    seeded = {"rng": seed} if name in SEEDED else {}
    early = {"jump_at": 4} if name == "jump" else {}
    return library.POPULATIONS[name](**(seeded | early | more))


def losses(name: str) -> list[LinearLoss]:
    return [SquaredLoss(l2=0.1), *([SmoothedHinge(l2=0.1), LogisticLoss(l2=0.1)] if name == "classification" else [])]


def test_the_dictionary_has_every_world_of_the_module() -> None:
    public = {
        name for name, made in vars(library).items() if inspect.isfunction(made) and made.__module__ == library.__name__
    }
    assert public == set(library.POPULATIONS)
    for made in library.POPULATIONS.values():
        assert made.__doc__ is not None
        assert ">>>" in made.__doc__


@pytest.mark.parametrize("name", library.POPULATIONS)
def test_each_is_a_drifting_world_of_worlds(name: str, seed: int) -> None:
    world = make(name, seed)
    assert isinstance(world, DriftingPopulation)
    for n in (1, 2, 7):
        period = world.period(n)
        assert isinstance(period, SyntheticPopulation)
        X, y = period.draw(5, rng=seed)
        assert (X.shape, y.shape, period.features) == ((5, world.features), (5,), world.features)


@pytest.mark.statistical
@pytest.mark.parametrize("name", library.POPULATIONS)
def test_minimiser_and_risk_are_those_of_rows(name: str, seed: int) -> None:
    """One false alarm in a million for each mean of 60,000 rows. Controls: a model or a risk that is a fifth off is caught."""
    world = make(name, seed)
    for loss in losses(name):
        for n in (1, 5):
            period = world.period(n)
            best = period.minimiser(loss)
            X, y = period.draw(ROWS, rng=np.random.default_rng((seed, n)))
            assert standard_errors_off(loss.row_gradients(best, X, y), 0.0) < allowed(2)
            assert standard_errors_off(loss.row_gradients(best + 0.2, X, y), 0.0) > allowed(2)
            other = best + np.array([0.3, -0.4])
            for model in (best, other):
                values = loss.row_values(model, X, y)
                assert standard_errors_off(values, period.risk(loss, model)) < allowed(1)
                assert standard_errors_off(values, 1.2 * period.risk(loss, model)) > allowed(1)
            excess = period.risk(loss, other) - period.risk(loss, best)
            assert period.excess_risk(loss, other) == pytest.approx(excess, rel=1e-9)


def moved_in_rows(world: DriftingPopulation, loss: LinearLoss, n: int, seed: int, told: float) -> float:
    """How far off, as a chi-square with one degree of freedom for each feature, a told multiple of the true move is from fits."""
    fits, spread = [], np.zeros((world.features, world.features))
    for k in (n - 1, n):
        period = world.period(k)
        X, y = period.draw(ROWS, rng=np.random.default_rng((seed, k)))
        fits.append(minimise(loss, WholeSpace(), np.zeros(world.features), X, y, 0.0)[0])
        inverse = np.linalg.inv(period.hessian(loss))
        spread += inverse @ period.gradient_covariance(loss) @ inverse / ROWS
    move: FloatArray = world.period(n).minimiser(loss) - world.period(n - 1).minimiser(loss)
    assert np.linalg.norm(move) == pytest.approx(world.rho_at(loss, n), rel=1e-9, abs=1e-12)
    off = fits[1] - fits[0] - told * move
    return float(off @ np.linalg.solve(spread, off))


@pytest.mark.statistical
@pytest.mark.parametrize("name", library.POPULATIONS)
def test_rho_is_how_far_fits_move(name: str, seed: int) -> None:
    """Fits on 60,000 rows of two periods differ by the true move and normal noise H^-1 Cov g H^-1 / 60,000 of each; budget 1e-6.

    Control: half as much again is seen, where the world moves at all.
    """
    world, limit = make(name, seed), float(stats.chi2.isf(FALSE_ALARM, 2))
    for loss in losses(name):
        assert moved_in_rows(world, loss, 4, seed, told=1.0) < limit
        if name != "still":
            assert moved_in_rows(world, loss, 4, seed, told=1.5) > limit
            assert world.rho_at(loss, 4) > 0.0


@pytest.mark.parametrize("name", library.POPULATIONS)
def test_all_steps_are_listed_at_once(name: str, seed: int) -> None:
    world, loss = make(name, seed), SquaredLoss(l2=0.1)
    np.testing.assert_allclose(
        world.rhos(loss, 6), [world.rho_at(loss, n) for n in range(2, 7)], rtol=1e-12, atol=1e-15
    )


@pytest.mark.parametrize("name", library.POPULATIONS)
def test_a_period_is_a_function_of_the_seed_and_its_number_alone(name: str, seed: int) -> None:
    forward, backward = make(name, seed), make(name, seed)
    there = {n: forward.period(n) for n in (1, 2, 3, 70, 140)}
    for n in (140, 3, 70, 1, 2):
        for mine, other in zip(there[n].draw(4, rng=1), backward.period(n).draw(4, rng=1), strict=True):
            np.testing.assert_array_equal(mine, other)
        np.testing.assert_array_equal(there[n].minimiser(SquaredLoss()), backward.period(n).minimiser(SquaredLoss()))
    if name in SEEDED:
        elsewhere = make(name, seed + 1).period(3)
        assert not np.array_equal(elsewhere.minimiser(SquaredLoss()), there[3].minimiser(SquaredLoss()))


def test_a_season_repeats_and_a_jump_is_one_step(seed: int) -> None:
    season, loss = library.seasonal(rng=seed, turn=8), SquaredLoss()
    np.testing.assert_allclose(season.period(3).coef, season.period(11).coef, atol=1e-12)
    assert season.period(7).excess_risk(loss, season.period(3).coef) > season.period(4).excess_risk(
        loss, season.period(3).coef
    )
    steps = library.jump(rng=seed, jump_at=6).rhos(loss, 10)
    assert steps[4] == pytest.approx(0.5)
    assert np.count_nonzero(steps) == 1


@pytest.mark.parametrize("shape", ["line", "walk", "seasonal", "jump", "still"])
def test_shaped_worlds_say_rho_too(shape: str, seed: int) -> None:
    """One step costs 1/2 delta'H delta, so delta lies between the lengths that the least and the largest variance give it."""
    world = ShapedRegression(features=3, cost=0.2, shape=shape, rng=seed, condition=4.0, jump_at=5)  # type: ignore[arg-type]
    rhos = world.rhos(SquaredLoss(), 8)
    moving = rhos[rhos > 1e-12]
    assert moving.size == {"jump": 1, "still": 0}.get(shape, 7)
    assert (moving <= math.sqrt(0.4) * (1.0 + 1e-9)).all()
    assert (moving >= math.sqrt(0.4) / 2.0 * (1.0 - 1e-9)).all()
    classes = ShapedClasses(features=3, cost=0.02, shape=shape, rng=seed, jump_at=5)  # type: ignore[arg-type]
    assert np.count_nonzero(classes.rhos(LogisticLoss(), 8) > 1e-9) == {"jump": 1, "still": 0}.get(shape, 7)


@pytest.mark.parametrize("name", library.POPULATIONS)
def test_there_is_no_move_into_the_first_period(name: str, seed: int) -> None:
    world = make(name, seed)
    owner = type(world).__name__
    with pytest.raises(
        ParameterError, match=rf"^{owner}\.rho_at\(n=\.\.\.\) must be a whole number of at least 2; got 1"
    ):
        world.rho_at(SquaredLoss(), 1)
    with pytest.raises(
        ParameterError, match=rf"^{owner}\.rhos\(periods=\.\.\.\) must be a whole number of at least 2; got 1"
    ):
        world.rhos(SquaredLoss(), 1)
    with pytest.raises(
        ParameterError, match=rf"^{owner}\.period\(n=\.\.\.\) must be a whole number of at least 1; got 0"
    ):
        world.period(0)
