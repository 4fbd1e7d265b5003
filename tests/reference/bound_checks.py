"""Holding a bound against the truth: never above it, a control that fails, and how much there is to spare."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from driftpace.bounds import FormulaBound
from driftpace.typing import FloatArray
from tests.reference.monte_carlo import Measured, measure


@dataclass(frozen=True, kw_only=True)
class Held:
    """What came of one bound at one distance: the raw formula and the truth at each number of samples."""

    formula: Mapping[int, float]
    truth: Mapping[int, Measured]

    def holds(self, shrink: float = 1.0) -> bool:
        """Whether the truth can be at most the formula, times ``shrink``, at every number of samples."""
        return all(self.truth[K].at_most(shrink * self.formula[K]) for K in self.truth)

    def equals(self, factor: float = 1.0) -> bool:
        """Whether the truth can be the formula, times ``factor``, at every number of samples."""
        return all(self.truth[K].equal_to(factor * self.formula[K]) for K in self.truth)

    def spare(self, samples: int) -> float:
        """The formula over the truth."""
        return self.formula[samples] / self.truth[samples].mean


def hold(bound: FormulaBound, distance: float, risks: Mapping[int, FloatArray]) -> Held:
    """Hold ``bound`` against the risks of many runs after each number of samples (0: of the start)."""
    return Held(
        formula={K: bound.raw(distance, K) if K else bound.start(distance) for K in risks},
        truth={K: measure(np.asarray(values)) for K, values in risks.items()},
    )


@dataclass(frozen=True, kw_only=True)
class Squares:
    """Gaussian least squares with a given condition number, in its eigenbasis, the minimiser at zero."""

    features: int
    condition: float
    noise: float = 0.5

    @property
    def eigenvalues(self) -> FloatArray:
        """From 1 down to 1/condition, evenly spaced in the logarithm."""
        values: FloatArray = np.geomspace(1.0, 1.0 / self.condition, self.features)
        return values

    @property
    def m(self) -> float:
        """The smallest eigenvalue."""
        return float(self.eigenvalues.min())

    @property
    def trace(self) -> float:
        """The sum of the eigenvalues."""
        return float(self.eigenvalues.sum())

    @property
    def R2(self) -> float:
        """E||x||^2 xx' <= R2 H for Gaussian rows: 2 lambda_max + tr H."""
        return 2.0 + self.trace

    def start(self, distance: float, *, steepest: bool) -> FloatArray:
        """A start so far off, along the eigenvector of the largest or of the smallest eigenvalue."""
        w = np.zeros(self.features)
        w[0 if steepest else -1] = distance
        return w

    def draw(self, runs: int, rows: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """X (runs, rows, features) and y (runs, rows)."""
        X = rng.standard_normal((runs, rows, self.features)) * np.sqrt(self.eigenvalues)
        return X, np.sqrt(self.noise) * rng.standard_normal((runs, rows))

    def risk(self, W: FloatArray) -> FloatArray:
        """Excess risk of each model."""
        value: FloatArray = 0.5 * W**2 @ self.eigenvalues
        return value


SQUARES = tuple(Squares(features=d, condition=c) for d in (2, 10, 50) for c in (1.0, 100.0))
