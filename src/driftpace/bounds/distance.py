"""Bounds on the distance to the minimiser, turned into bounds on the risk by smoothness."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from driftpace import validation
from driftpace.bounds.base import FormulaBound
from driftpace.bounds.noise import NoiseModel
from driftpace.bounds.protocol import Nature
from driftpace.errors import ParameterError


@dataclass(frozen=True, kw_only=True, slots=True)
class DistanceBound(FormulaBound):
    """What the last-iterate bounds share: b = (M/2) times a bound on E||w - w*||^2 (theory 1.1, S1).

    ``m`` and ``M`` are strong convexity and smoothness of the risk, ``noise`` the noise model of one row's gradient and
    ``batch`` the number of rows in a step.
    """

    m: float
    M: float
    noise: NoiseModel
    batch: int = 1

    nature: ClassVar[Nature] = Nature.UPPER

    def __post_init__(self) -> None:
        owner = type(self).__name__
        validation.positive(owner, m=self.m, M=self.M)
        validation.count(owner, least=1, batch=self.batch)
        if self.m > self.M:
            raise ParameterError(f"must be at most M={self.M!r}; got {self.m!r}.", owner=owner, name="m")
        self._check()

    def _check(self) -> None:
        """Refuse what a subclass cannot work with."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """Strong convexity and smoothness, those of the noise model, and the steps."""
        return (
            f"the risk is {self.m:.4g}-strongly convex and {self.M:.4g}-smooth",
            *self.noise.conditions,
            f"{self.steps_in_words}, each step on {self.batch} fresh row{'s' if self.batch > 1 else ''}",
        )

    @property
    @abstractmethod
    def steps_in_words(self) -> str:
        """The step lengths, in words."""

    @property
    def batch_noise(self) -> NoiseModel:
        """The noise model of one step's mean gradient (theory 1.7)."""
        return self.noise.batched(self.batch)

    def start(self, distance: float) -> float:
        """Return (M/2) d0^2, the bound on the risk of the start."""
        return 0.5 * self.M * distance * distance

    def reach(self, risk: float) -> float:
        """Return sqrt(2 risk/M): the squared distance itself was bounded, by 2 risk/M (theory S1)."""
        validation.nonnegative(f"{type(self).__name__}.reach", risk=risk)
        return math.sqrt(2.0 * risk / self.M)
