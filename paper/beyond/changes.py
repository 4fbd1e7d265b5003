"""A regression whose best coefficients move by a random length each period, never by more than rho."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from driftpace import validation
from driftpace.drift import Combined
from driftpace.drift.one_step import Step
from driftpace.synthetic import BoundedRegression
from driftpace.typing import FloatArray

Law = Literal["even", "rare"]
RARE = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class RandomChanges:
    """Changes rho_n spread evenly over [0, rho] ("even"), or rho in one period of twenty and else none ("rare"), any direction.

    Rows and noise are bounded (:class:`~driftpace.synthetic.BoundedRegression`), so that a largest gradient exists and the
    assumptions of Theorem 2 can hold, which they do not for Gaussian rows (theory I23). The first period is at zero.

    >>> world = RandomChanges(rho=1.0, law="even", noise=0.5, rng=0)
    >>> moved = world.period(7).coef - world.period(6).coef
    >>> bool(abs(np.linalg.norm(moved) - world.changes(7)[-1]) < 1e-12)
    True
    """

    rho: float
    law: Law
    noise: float
    rng: int

    def __post_init__(self) -> None:
        validation.nonnegative("RandomChanges", rho=self.rho, noise=self.noise)
        validation.choice("RandomChanges", ("even", "rare"), law=self.law)
        validation.count("RandomChanges", rng=self.rng)

    def changes(self, periods: int) -> FloatArray:
        """Return rho_2 .. rho_periods, the lengths of the moves into each period."""
        spread = np.random.default_rng([self.rng, 2]).random(periods - 1)
        return self.rho * (spread if self.law == "even" else (spread < RARE).astype(np.float64))

    def period(self, n: int) -> BoundedRegression:
        """Return the world of period n = 1, 2, ..."""
        validation.count("RandomChanges.period", least=1, n=n)
        directions = np.random.default_rng([self.rng, 3]).standard_normal((n - 1, 2))
        moves = directions / np.linalg.norm(directions, axis=1, keepdims=True) * self.changes(n)[:, None]
        return BoundedRegression(coef=moves.sum(axis=0), covariance=1.0, noise=self.noise)


@dataclass(frozen=True, kw_only=True, slots=True)
class LargestChange:
    """The largest one-step estimate so far: what one would try first for a bound, and what noise drives up for ever.

    >>> largest = LargestChange()
    >>> state = largest.init()
    >>> for value in (1.0, 3.0, 2.0):
    ...     state = largest.add(state, Step(value=value), squared=False)
    >>> largest.combined(state, squared=False).value
    3.0
    """

    @property
    def account(self) -> str:
        """A few words for people."""
        return "largest over all periods"

    def init(self) -> tuple[float, ...]:
        """Return the state before the first estimate: nothing; later the largest, and how many there were."""
        return ()

    def add(self, state: Any, step: Step, *, squared: bool) -> tuple[float, ...]:
        """Return the state with one more estimate."""
        del squared
        return (max(state[0], step.value), state[1] + 1.0) if state else (step.value, 1.0)

    def combined(self, state: Any, *, squared: bool) -> Combined | None:
        """Return the largest so far, or None before the first estimate."""
        if not state:
            return None
        return Combined(
            mean=state[0],
            count=1,
            steps=int(state[1]),
            squared=squared,
            window=1,
            weights=1.0,
            stretch=1.0,
            autocovariances=(0.0,),
            step_error=None,
        )
