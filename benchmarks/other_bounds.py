"""Cases of the table in ``benchmarks.bounds``: every bound that is not of the last iterate.

Each case yields (bound, problem, distance, samples, risks of many runs); starts are one unit off unless stated otherwise.
"""

import math
from collections.abc import Iterator

import numpy as np

from driftpace.bounds import (
    Anchored,
    AnchoredFixedDesign,
    AnchoredMinimiser,
    AnchoredTuned,
    AveragedSquares,
    BachMoulines,
    ExactAverage,
    FormulaBound,
    FullPasses,
    LogarithmicAverage,
    Minimiser,
    OrdinaryLeastSquares,
    PenalisedMinimiser,
    RobustAverage,
    SecondMoment,
    StableMinimiser,
    TailAverage,
    UniformAverage,
    Weighted,
    WeightedBounded,
    WeightedClosedForm,
)
from driftpace.losses import LogisticLoss, SmoothedHinge, SquaredLoss
from driftpace.synthetic import BoundedRegression, TwoClasses
from driftpace.typing import FloatArray
from tests.reference.bound_checks import SQUARES, Squares
from tests.reference.minimisers import least_squares, newton
from tests.reference.monte_carlo import ball, gaussian_rows, sgd, squared_slope

Line = tuple[FormulaBound, str, float, int, FloatArray]
AT = (10, 100, 1_000)
RUNS = {2: 1_000, 10: 500, 50: 150}


def _name(squares: Squares) -> str:
    return f"squares, {squares.features} features, condition {squares.condition:g}"


def _averages(
    squares: Squares, steps: FloatArray, weights: FloatArray, rng: np.random.Generator, radius: float | None = None
) -> dict[int, FloatArray]:
    kept = sgd(
        gaussian_rows(squares.eigenvalues, np.zeros(squares.features), squares.noise),
        squared_slope,
        squares.start(1.0, steepest=False),
        steps,
        runs=RUNS[squares.features],
        rng=rng,
        at=[K for K in AT if steps.size >= K],
        averages={"w": weights},
        project=None if radius is None else ball(radius),
    )
    return {K: squares.risk(W) for K, W in kept["w"].items()}


def averages(rng: np.random.Generator) -> Iterator[Line]:
    """Averages of SGD on Gaussian least squares, from the flattest direction."""
    for squares in SQUARES:
        numbers = {"noise": squares.noise, "features": squares.features, "R2": squares.R2, "m": squares.m, "M": 1.0}
        moment = SecondMoment.least_squares(noise=squares.noise, trace=squares.trace, R2=squares.R2)
        G2 = moment.A + squares.R2
        weighted = Weighted(m=squares.m, M=1.0, moment=moment)
        bounded = WeightedBounded(m=squares.m, M=1.0, G2=G2)
        logarithmic = LogarithmicAverage(m=squares.m, M=1.0, G2=G2)
        quarter, half, full = 0.25 / squares.R2, 0.5 / squares.R2, 1.0 / squares.R2
        groups: list[tuple[tuple[FormulaBound, ...], FloatArray, FloatArray, float | None]] = [
            (
                (weighted, WeightedClosedForm(m=squares.m, M=1.0, moment=moment)),
                weighted.schedule.steps(AT[-1]),
                weighted.weights(AT[-1]),
                None,
            ),
            ((bounded,), bounded.schedule.steps(AT[-1]), bounded.weights(AT[-1]), 1.0),
            ((logarithmic,), logarithmic.schedule.steps(AT[-1]), np.ones(AT[-1]), 1.0),
            (
                (
                    BachMoulines(step=quarter, **numbers),  # type: ignore[arg-type]
                    AveragedSquares(step=quarter, **numbers),  # type: ignore[arg-type]
                    *((ExactAverage(noise=0.5, features=squares.features, step=quarter),) * (squares.condition == 1.0)),
                ),
                np.full(AT[-1], quarter),
                np.ones(AT[-1]),
                None,
            ),
            (
                (UniformAverage(m=squares.m, M=1.0, moment=moment, step=half),),
                np.full(AT[-1], half),
                np.ones(AT[-1]),
                None,
            ),
            ((AveragedSquares(step=full, **numbers),), np.full(AT[-1], full), np.ones(AT[-1]), None),  # type: ignore[arg-type]
        ]
        for group, steps, weights, radius in groups:
            risks = _averages(squares, steps, weights, rng, radius)
            for bound in group:
                for samples in AT:
                    yield bound, _name(squares), 1.0, samples, risks[samples]
        robust = RobustAverage(A=G2, m=squares.m, M=1.0)
        tails = (TailAverage(step=quarter, **numbers), AveragedSquares(step=quarter, skip=0.5, **numbers))  # type: ignore[arg-type]
        for samples in AT:
            steps = np.full(samples, robust.step(1.0, samples))
            yield robust, _name(squares), 1.0, samples, _averages(squares, steps, np.ones(samples), rng, 1.0)[samples]
            risks = _averages(squares, np.full(samples, quarter), tails[0].weights(samples), rng)
            for tail in tails:
                yield tail, _name(squares), 1.0, samples, risks[samples]


def least_squares_minimisers(rng: np.random.Generator) -> Iterator[Line]:
    """Plain and anchored least squares on fresh Gaussian rows, and anchored on given rows."""
    for squares in SQUARES:
        d = squares.features
        plain = OrdinaryLeastSquares(noise=squares.noise, features=d, m=squares.m)
        for samples in (2 * d + 2, 10 * d, 1_000):
            runs = max(20, 400_000 // (samples * d))
            yield plain, _name(squares), 3.0, samples, squares.risk(least_squares(*squares.draw(runs, samples, rng)))
    for d in (2, 10, 50):
        squares = Squares(features=d, condition=1.0)
        start = squares.start(1.0, steepest=True)
        for bound in (
            Anchored(noise=0.5, features=d),
            AnchoredTuned(noise=0.5, features=d, tuned=1.0),
            AnchoredTuned(noise=0.5, features=d, tuned=0.3),
        ):
            for samples in (d // 2 + 1, d + 2, 2 * d, 10 * d, 1_000):
                X, y = squares.draw(max(50, 400_000 // (samples * d)), samples, rng)
                W = least_squares(X, y, strength=bound.strength(1.0, samples), anchor=start)
                yield bound, _name(squares), 1.0, samples, squares.risk(W)
    eigenvalues, lam = np.geomspace(1.0, 0.01, 10), 0.05
    given = AnchoredFixedDesign(noise=0.5, strength=lam, eigenvalues=tuple(eigenvalues))
    worst = np.eye(10)[int(np.argmax(lam**2 * eigenvalues / (eigenvalues + lam) ** 2))]
    for samples in AT:
        X = math.sqrt(samples) * np.linalg.qr(rng.standard_normal((samples, 10)))[0] * np.sqrt(eigenvalues)
        noise = math.sqrt(0.5) * rng.standard_normal((2_000, samples))
        W = worst + (noise @ X / samples - eigenvalues * worst) / (eigenvalues + lam)
        yield given, "given rows, 10 features, condition 100", 1.0, samples, 0.5 * W**2 @ eigenvalues


def two_classes(rng: np.random.Generator) -> Iterator[Line]:
    """Minimisers of ridge logistic and smoothed hinge losses on two Gaussian classes."""
    for d in (2, 10):
        population = TwoClasses(mean=np.eye(d)[0], covariance=np.diag(np.geomspace(0.8, 0.2, d)))
        for loss in (LogisticLoss(l2=0.1), SmoothedHinge(l2=0.1)):
            name, safe = f"{type(loss).__name__}, {d} features, l2 0.1", population.constants(loss).safe
            bounds: list[FormulaBound] = [
                Minimiser(spread=safe("spread"), features=d, m=safe("m"), M=safe("M")),
                PenalisedMinimiser(m=safe("m"), M=safe("M"), trace_sigma=safe("sigma_star") ** 2),
            ]
            if isinstance(loss, LogisticLoss):
                length = 1.0 + float(np.trace(population.covariance))
                bounds.append(StableMinimiser(m=safe("m"), M=safe("M"), G=math.sqrt(length)))
            hessian = population.hessian(loss)
            anchored = AnchoredMinimiser(spread=safe("spread"), features=d)
            anchor = population.minimiser(loss) + 0.4 * np.linalg.cholesky(np.linalg.inv(hessian)) @ np.full(d, d**-0.5)
            for samples in (10 * d, 1_000):
                X, y = population.draw_batch(300_000 // (samples * d), samples, rng=rng)
                risks = population.excess_risk(loss, newton(loss, X, y))
                for bound in bounds:
                    yield bound, name, 5.0, samples, risks
                lam = anchored.strength(0.4, samples)
                W = newton(loss, X, y, anchoring=lam * hessian, anchor=anchor)
                yield anchored, name, 0.4, samples, population.excess_risk(loss, W)


def passes(rng: np.random.Generator) -> Iterator[Line]:
    """Full passes of gradient descent on bounded rows with a penalty."""
    loss = SquaredLoss(l2=0.3)
    population = BoundedRegression(
        coef=np.ones(10) / 10**0.5, covariance=np.diag(np.geomspace(1.0, 0.1, 10)), noise=0.5
    )
    safe, best = population.constants(loss).safe, population.minimiser(loss)
    for T in (10, 100):
        bound = FullPasses(m=loss.l2, M=safe("M"), L=safe("L"), trace_sigma=safe("sigma_star") ** 2, passes=T)
        for samples in AT:
            X, y = population.draw_batch(60, samples, rng=rng)
            W = np.tile(best + np.eye(10)[-1], (60, 1))
            for _ in range(T):
                residual = np.einsum("rkd,rd->rk", X, W) - y
                W = W - (np.einsum("rk,rkd->rd", residual, X) / samples + loss.l2 * W) / safe("L")
            yield bound, "ridge on bounded rows, 10 features", 1.0, samples, population.excess_risk(loss, W)


CASES = (averages, least_squares_minimisers, two_classes, passes)
