"""The paper's synthetic classification (section V-B), with everything that it leaves open as a number that can be changed."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from driftpace.constraints import Ball
from driftpace.losses import SmoothedHinge
from driftpace.records import Constants
from driftpace.synthetic import DriftingClasses, library
from driftpace.tracker import Tracker

Method = Literal["paper", "practical"]
Curvature = Literal["local", "global"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One way to run the experiment: a method, its target, and the values of theory 6.2 unless others are given.

    ``angle`` is how far the class means turn each period, ``variance`` that of a class, ``first`` is K_1 = K_2. ``curvature`` says
    which m the paper's method is told: the "local" one, the smallest eigenvalue of the Hessian at the minimiser, or the "global"
    one, the penalty alone, which is all that is proven everywhere. ``tested`` rows a period judge models where it is not zero; else
    they are judged by their exact risk.

    >>> setting = Setting(epsilon=0.1)
    >>> setting.constants().safe("m"), Setting(epsilon=0.1, curvature="global").constants().safe("m")
    (0.415, 0.1)
    >>> setting.domain
    Ball(radius=3.162, center=None)
    """

    epsilon: float
    method: Method = "paper"
    curvature: Curvature = "local"
    angle: float = math.pi / 25.0
    variance: float = 0.5
    features: int = 2
    l2: float = 0.1
    first: int = 100
    periods: int = 25
    tested: int = 0

    @property
    def loss(self) -> SmoothedHinge:
        """(1 - y x'w)_+^2/2 + l2 ||w||^2/2, the paper's smoothed hinge."""
        return SmoothedHinge(l2=self.l2)

    @property
    def world(self) -> DriftingClasses:
        """Two Gaussian classes opposite each other on the unit circle."""
        return library.classification(features=self.features, angle=self.angle, variance=self.variance)

    @property
    def domain(self) -> Ball:
        """A ball that holds every minimiser: l2 ||w*||^2/2 <= f(w*) <= f(0) = 1/2, so ||w*|| <= 1/sqrt(l2)."""
        return Ball(radius=1.0 / math.sqrt(self.l2))

    def constants(self) -> Constants:
        """Return what the paper's method is told: the same in every period, each being a turned copy of the first."""
        period = self.world.period(1)
        return period.local_constants(self.loss) if self.curvature == "local" else period.constants(self.loss)

    def rho(self) -> float:
        """Return how far the minimiser moves each period, in the norm in which the method estimates it.

        The paper's is Euclidean; the practical default works in coordinates where the Hessian is the identity, so its drift is
        sqrt(move' H move).

        >>> Setting(epsilon=0.1).rho(), Setting(epsilon=0.1, method="practical").rho()
        (0.1017, 0.0655)
        """
        before, now = (self.world.period(n) for n in (1, 2))
        move = now.minimiser(self.loss) - before.minimiser(self.loss)
        metric = np.eye(self.features) if self.method == "paper" else now.hessian(self.loss)
        return math.sqrt(float(move @ metric @ move))

    def tracker(self, rng: int) -> Tracker:
        """Return a fresh tracker of the method."""
        if self.method == "practical":
            return Tracker(self.loss, epsilon=self.epsilon, fit_intercept=False, rng=rng)
        return Tracker.as_in_paper(
            self.loss,
            epsilon=self.epsilon,
            domain=self.domain,
            constants=self.constants(),
            first_samples=(self.first, self.first),
            features=self.features,
            rng=rng,
        )
