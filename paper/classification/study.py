"""Settings, runs and gathered results of the classification experiment."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import t as student

from driftpace.constraints import Ball
from driftpace.losses import SmoothedHinge
from driftpace.metrics import auc
from driftpace.records import Constants
from driftpace.synthetic import DriftingClasses, TwoClasses, library
from driftpace.tracker import Tracker
from driftpace.typing import FloatArray
from paper.records import Measured
from paper.runs import measured, run_seed, standard_errors

Method = Literal["paper", "practical"]
Curvature = Literal["local", "global"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One way to run the experiment: a method, its target, and the values of theory 6.2 unless others are given.

    ``angle`` is how far the class means rotate each period, ``variance`` that of a class, ``first`` is K_1 = K_2. ``curvature``
    chooses the m given to the paper's method: the "local" one, the smallest eigenvalue of the Hessian at the minimiser, or the
    "global" one, the penalty alone, which is all that is proven everywhere. ``tested`` rows per period evaluate models if it is
    not zero; otherwise their exact risk does.

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
    def population(self) -> DriftingClasses:
        """Two Gaussian classes opposite each other on the unit circle."""
        return library.classification(features=self.features, angle=self.angle, variance=self.variance)

    @property
    def domain(self) -> Ball:
        """A ball that holds every minimiser: l2 ||w*||^2/2 <= f(w*) <= f(0) = 1/2, so ||w*|| <= 1/sqrt(l2)."""
        return Ball(radius=1.0 / math.sqrt(self.l2))

    def constants(self) -> Constants:
        """Return the constants given to the paper's method: the same in every period, each being a rotated copy of the first."""
        period = self.population.period(1)
        return period.local_constants(self.loss) if self.curvature == "local" else period.constants(self.loss)

    def rho(self) -> float:
        """Return how far the minimiser moves each period, in the norm in which the method estimates it.

        The paper's is Euclidean; the default method works in coordinates where the Hessian is the identity, so its drift is
        sqrt(move' H move).

        >>> Setting(epsilon=0.1).rho(), Setting(epsilon=0.1, method="practical").rho()
        (0.1017, 0.0655)
        """
        before, now = (self.population.period(n) for n in (1, 2))
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


_STREAM = 3  # this experiment's own draws
_UP_FRONT, _TEST = 0, 1_000  # the periods' draws are numbered 1, 2, ...; these are not among them


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Course:
    """What a run came to, a number for each period: rows bought, drift as estimated (NaN before there is one), and judgement.

    ``loss`` is the exact risk of the model, penalty included, ``auc`` the area under its curve; ``front_loss`` and ``front_auc``
    those of the model fitted to all the rows in period 1.
    """

    samples: FloatArray
    rho: FloatArray
    loss: FloatArray
    auc: FloatArray
    front_loss: FloatArray
    front_auc: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """Run number ``number`` of a setting. All settings meet the same streams of random numbers, so they are compared in pairs."""

    setting: Setting
    seed: int
    number: int

    def stream(self, part: int) -> np.random.Generator:
        """Return the random numbers of a period, or of another part of the run."""
        return np.random.default_rng((self.seed, _STREAM, self.number, part))


def follow(run: Run) -> Course:
    """Return what the method did in each period, and how the model fitted once in period 1 fared.

    >>> course = follow(Run(setting=Setting(epsilon=0.1, periods=3), seed=0, number=0))
    >>> course.samples[:2], course.loss.shape
    (array([100., 100.]), (3,))
    """
    setting, population = run.setting, run.setting.population
    tracker = setting.tracker(rng=run_seed(run.seed, run.number))
    models, samples, rho = [], [], []
    for n in range(1, setting.periods + 1):
        period, rng = population.period(n), run.stream(n)
        report = tracker.step(lambda rows, period=period, rng=rng: period.draw(rows, rng=rng))  # type: ignore[misc]
        models.append(tracker.coef)
        samples.append(float(report.samples))
        rho.append(np.nan if report.rho is None else report.rho)
    kept = up_front(run, int(sum(samples)))
    judged = [
        _judged(run, population.period(n), n, np.stack([model, kept])) for n, model in enumerate(models, start=1)
    ]  # (periods, loss and auc, following and up front)
    loss, area = np.moveaxis(np.array(judged), 1, 0)
    return Course(
        samples=np.array(samples),
        rho=np.array(rho),
        loss=loss[:, 0],
        auc=area[:, 0],
        front_loss=loss[:, 1],
        front_auc=area[:, 1],
    )


def up_front(run: Run, total: int) -> FloatArray:
    """Return the model of a fresh tracker of the same method that gets ``total`` rows in period 1."""
    tracker = run.setting.tracker(rng=run_seed(run.seed, run.number))
    tracker.ask()
    tracker.tell(*run.setting.population.period(1).draw(total, rng=run.stream(_UP_FRONT)))
    return tracker.coef


def _judged(run: Run, period: TwoClasses, n: int, models: FloatArray) -> tuple[FloatArray, FloatArray]:
    loss = run.setting.loss
    if run.setting.tested == 0:
        return period.risk(loss, models), period.auc(models)
    X, y = period.draw(run.setting.tested, rng=run.stream(_TEST + n))
    return (
        np.array([loss.value(model, X, y) for model in models]),
        np.array([auc(y, X @ model) for model in models]),
    )


FALSE_AHEAD = 0.001
"""The chance that one period is called ahead when it is not (one-sided t test over runs)."""


@dataclass(frozen=True, slots=True, eq=False)
class Lead:
    """By how much tracking beats buying up front: ``gain`` (runs, periods), positive where tracking is better.

    >>> lead = Lead(np.array([[-1.0, 2.0, 3.0], [-1.5, 2.1, 3.1], [-0.5, 2.1, 3.2]]))
    >>> lead.since, lead.overall.value
    (2, 1.3888)
    """

    gain: FloatArray

    @property
    def mean(self) -> FloatArray:
        """The mean over runs, for each period."""
        return np.asarray(self.gain.mean(axis=0))

    @property
    def z(self) -> FloatArray:
        """The mean over runs in standard errors of the paired differences, for each period."""
        return self.mean / np.maximum(standard_errors(self.gain), 1e-300)

    @property
    def since(self) -> int | None:
        """The first period from which on tracking is ahead in every one, each by a t test over runs; None if there is none."""
        clear = self.z > student.isf(FALSE_AHEAD, len(self.gain) - 1)
        behind = np.flatnonzero(~clear)
        first = 1 if behind.size == 0 else int(behind[-1]) + 2
        return first if first <= clear.size else None

    @property
    def overall(self) -> Measured:
        """The mean over runs and periods, with its standard error over runs."""
        return measured(self.gain.mean(axis=1))

    @property
    def overall_z(self) -> float:
        """The mean over runs and periods in standard errors."""
        return in_errors(self.overall)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Gathered:
    """All runs of a setting, (runs, periods) each; ``rho``, in the norm of the method, and ``least`` are the truth."""

    setting: Setting
    samples: FloatArray
    rho_estimate: FloatArray
    loss: FloatArray
    auc: FloatArray
    front_loss: FloatArray
    front_auc: FloatArray
    rho: float
    least: float
    best_auc: float

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.samples)

    @property
    def periods(self) -> FloatArray:
        """1, 2, ..."""
        return np.arange(1.0, self.setting.periods + 1.0)

    @property
    def excess(self) -> FloatArray:
        """The exact excess risk, (runs, periods)."""
        return self.loss - self.least

    @property
    def loss_lead(self) -> Lead:
        """Tracking against up front, in test loss."""
        return Lead(self.front_loss - self.loss)

    @property
    def auc_lead(self) -> Lead:
        """Tracking against up front, in area under the curve."""
        return Lead(self.auc - self.front_auc)

    @property
    def above(self) -> Measured:
        """By how much the drift estimate is above the truth, the mean over periods 2, 3, ... and runs."""
        return measured(self.rho_estimate[:, 1:].mean(axis=1) - self.rho)

    @property
    def above_z(self) -> float:
        """The same in standard errors."""
        return in_errors(self.above)


def gather(setting: Setting, courses: Sequence[Course]) -> Gathered:
    """Return the runs of a setting together with its truth, the same in each period: each is a rotated copy of the first."""
    loss, first = setting.loss, setting.population.period(1)
    best = first.minimiser(loss)
    return Gathered(
        setting=setting,
        samples=np.array([course.samples for course in courses]),
        rho_estimate=np.array([course.rho for course in courses]),
        loss=np.array([course.loss for course in courses]),
        auc=np.array([course.auc for course in courses]),
        front_loss=np.array([course.front_loss for course in courses]),
        front_auc=np.array([course.front_auc for course in courses]),
        rho=setting.rho(),
        least=float(first.risk(loss, best)),
        best_auc=float(first.auc(best)),
    )


def in_errors(number: Measured) -> float:
    """Return a number as a multiple of its standard error."""
    assert number.error is not None
    return number.value / max(number.error, 1e-300)
