"""A check of the contract of learners."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, norm

from driftpace import validation
from driftpace.bounds.base import RiskBound
from driftpace.constraints import Ball, ConstraintSet, WholeSpace
from driftpace.learners.protocol import Learner
from driftpace.losses import Loss, SquaredLoss
from driftpace.records import Constants, Fit
from driftpace.synthetic import GaussianRegression, SyntheticPopulation
from driftpace.typing import FloatArray

FALSE_ALARM = 1e-6


def check_learner(  # noqa: PLR0913  public API
    learner: Learner,
    *,
    loss: Loss | None = None,
    features: int = 3,
    world: SyntheticPopulation | None = None,
    domain: ConstraintSet | None = None,
    distances: Sequence[float] = (0.3, 1.0),
    samples: Sequence[int] = (1, 4, 16, 64),
    runs: int = 1_000,
    rng: np.random.Generator | int | None = None,
) -> None:
    """Check a learner against the contract of :class:`driftpace.learners.Learner`.

    * Without rows it returns the start, a gradient of zeros and no updates.
    * It does not mutate the start or the rows, and is deterministic.
    * ``gradient`` is the mean gradient at ``coef`` over the first ``rows`` rows (to 1e-9 of the rows' gradients).
    * The model is in the constraint set, also where the set is a ball that does not contain the minimiser.
    * The bound is true: the mean excess risk over ``runs`` draws of the ``world``, from starts at each of the ``distances``
      in the directions of largest and of smallest curvature, is at most bound(distance, K) for each K of ``samples``, where
      the learner gets the bound's ``used`` of the K rows. The false alarm rate of all these comparisons together is 1e-6;
      a bound too small by about a fifth is detected.

    Parameters
    ----------
    learner : Learner
        The learner to check.
    loss : Loss, optional
        The loss; squared by default.
    features : int, default 3
        The number of features of the default world.
    world : SyntheticPopulation, optional
        The data; by default Gaussian regression with identity covariance and noise variance 0.5. Give another for another
        kind of loss. The constants are those of the world.
    domain : ConstraintSet, optional
        The constraint set; the whole space by default.
    distances, samples : sequence
        Initial distances and sample sizes at which the bound is compared with the simulation.
    runs : int, default 1000
        Draws for each comparison.
    rng : Generator or int, optional
        The source of randomness.

    Raises
    ------
    AssertionError
        If a property fails; the message names it.

    Examples
    --------
    >>> from driftpace.learners import AnchoredErm
    >>> check_learner(AnchoredErm(), runs=200, rng=0)
    """
    validation.count("check_learner", least=1, features=features)
    validation.count("check_learner", least=2, runs=runs)
    rng = np.random.default_rng(rng)
    loss = SquaredLoss() if loss is None else loss
    domain = WholeSpace() if domain is None else domain
    if world is None:
        coef = rng.standard_normal(features)
        world = GaussianRegression(coef=coef / np.linalg.norm(coef), covariance=1.0, noise=0.5)
    _claim(isinstance(learner, Learner), "does not have every member of driftpace.learners.Learner")
    constants = world.constants(loss, domain)
    problem = _Problem(loss=loss, domain=domain, world=world, constants=constants)
    _check_conduct(learner, problem, rng)
    bound = learner.bound(constants, world.features)
    _claim(isinstance(bound, RiskBound), "has a bound that is not a driftpace.bounds.RiskBound")
    _check_bound(learner, bound, problem, sorted(distances), sorted(samples), runs, rng)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Problem:
    loss: Loss
    domain: ConstraintSet
    world: SyntheticPopulation
    constants: Constants


def _claim(holds: bool, sentence: str) -> None:
    if not holds:
        raise AssertionError(f"The learner {sentence}.")


def _check_conduct(learner: Learner, problem: _Problem, rng: np.random.Generator) -> None:
    loss, domain, world = problem.loss, problem.domain, problem.world
    features = world.features
    best = world.minimiser(loss)
    start = domain.project(best + rng.standard_normal(features) / math.sqrt(features))
    X, y = world.draw(37, rng=rng)

    def fit(where: ConstraintSet, begin: FloatArray, X: FloatArray, y: FloatArray) -> Fit:
        return learner.fit(loss, where, begin, X, y, constants=problem.constants, distance=1.0)

    nothing = fit(domain, start, X[:0], y[:0])
    _claim(np.array_equal(nothing.coef, start), "does not return the start when there are no rows")
    _claim(not nothing.gradient.any(), "has a gradient when there are no rows")
    _claim((nothing.rows, nothing.updates) == (0, 0), "counts rows or updates when there are none")

    before = start.copy(), X.copy(), y.copy()
    first = fit(domain, start, X, y)
    kept = all(np.array_equal(was, now) for was, now in zip(before, (start, X, y), strict=True))
    _claim(kept, "changes its start or its rows")
    second = fit(domain, start, X, y)
    same = np.array_equal(first.coef, second.coef) and np.array_equal(first.gradient, second.gradient)
    _claim(same, "gives two answers to the same call")
    _claim(first.coef.shape == (features,), f"returns coefficients of shape {first.coef.shape}, not ({features},)")
    _claim(0 < first.rows <= len(y), f"says that it used {first.rows} of {len(y)} rows")
    _claim(not np.shares_memory(first.coef, start), "returns the very array it was given as its start")
    _check_gradient(first, loss, X, y)
    _claim(domain.contains(first.coef), "returns coefficients outside the set")

    tight = Ball(0.5 * float(np.linalg.norm(best - start)) + 1e-3, center=start)  # the minimiser is not in it
    held = fit(tight, start, X, y)
    _claim(tight.contains(held.coef, tolerance=1e-9), "returns coefficients outside the set")
    _check_gradient(held, loss, X, y)


def _check_gradient(fitted: Fit, loss: Loss, X: FloatArray, y: FloatArray) -> None:
    X, y = X[: fitted.rows], y[: fitted.rows]
    size = float(np.linalg.norm(loss.row_gradients(fitted.coef, X, y), axis=1).mean())
    off = float(np.linalg.norm(fitted.gradient - loss.gradient(fitted.coef, X, y)))
    _claim(off <= 1e-9 * size, f"has a gradient that is {off:.3g} from the mean gradient at its coefficients")


def _check_bound(
    learner: Learner,
    bound: RiskBound,
    problem: _Problem,
    distances: Sequence[float],
    samples: Sequence[int],
    runs: int,
    rng: np.random.Generator,
) -> None:
    loss, domain, world = problem.loss, problem.domain, problem.world
    best = world.minimiser(loss)
    values, vectors = np.linalg.eigh(world.hessian(loss))
    flattest, steepest = vectors[:, 0], vectors[:, -1]
    alike = values[-1] <= values[0] * (1.0 + 1e-9)
    directions = [_any_direction(world.features, rng)] if alike else [steepest, flattest]
    cases = list(itertools.product(distances, directions, samples))
    z = float(norm.isf(FALSE_ALARM / max(len(cases), 1)))
    for distance, direction, count in cases:
        start = domain.project(best + distance * direction)
        promised, used = bound(distance, count), bound.used(distance, count)
        _claim(0 <= used <= count, f"has a bound that uses {used} of {count} samples")
        X, y = world.draw_batch(runs, used, rng=rng)
        fits = [
            learner.fit(loss, domain, start, X[run], y[run], constants=problem.constants, distance=distance)
            for run in range(runs)
        ]
        risks = np.asarray(world.excess_risk(loss, np.array([fitted.coef for fitted in fits])))
        mean, error = float(risks.mean()), float(risks.std(ddof=1)) / math.sqrt(runs)
        _claim(
            mean - z * error <= promised * (1.0 + 1e-9),
            f"promises a mean excess risk of {promised:.4g} after {count} samples from {distance:.4g} away, and has "
            f"{mean:.4g} +- {error:.2g} over {runs} runs",
        )
        _check_rare(risks, promised, count, distance, FALSE_ALARM / max(len(cases), 1))


def _check_rare(risks: FloatArray, promised: float, count: int, distance: float, alarm: float) -> None:
    """Judge what a mean and its error cannot see, a few runs that are beyond all measure: P(risk > c b) <= 1/c (Markov)."""
    for times in (1e2, 1e4, 1e6):
        beyond = int((risks > times * promised * (1.0 + 1e-9)).sum())
        allowed = int(binom.ppf(1.0 - alarm / 3.0, len(risks), 1.0 / times))
        _claim(
            beyond <= allowed,
            f"promises a mean excess risk of {promised:.4g} after {count} samples from {distance:.4g} away, and is above "
            f"{times:g} times that in {beyond} of {len(risks)} runs; {allowed} are allowed",
        )


def _any_direction(features: int, rng: np.random.Generator) -> FloatArray:
    direction = rng.standard_normal(features)
    return np.asarray(direction / np.linalg.norm(direction))
