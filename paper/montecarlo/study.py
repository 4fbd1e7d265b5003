"""A compiled Monte Carlo study of the regression experiment over many runs."""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from driftpace import validation
from driftpace.bounds import RiskBound
from driftpace.errors import ParameterError
from driftpace.executors import cores
from driftpace.learners import Sgd
from driftpace.records import Constants
from driftpace.schedules import InverseTime
from driftpace.typing import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Courses:
    """What each run did in each period: ``risk``, ``samples``, ``rho`` are (runs, periods), ``coef``, ``truth`` have features too.

    ``risk`` is the true excess risk of the period's model, ``rho`` the drift as estimated after the period (NaN before the first
    estimate, or the given one), ``truth`` the best coefficients.
    """

    risk: FloatArray
    samples: IntArray
    rho: FloatArray
    coef: FloatArray
    truth: FloatArray

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return len(self.risk)

    @property
    def mean_risk(self) -> float:
        """The mean excess risk over all runs and periods."""
        return float(self.risk.mean())

    @property
    def mean_risk_error(self) -> float:
        """The standard error of :attr:`mean_risk` over runs, each averaged over its periods; NaN for one run."""
        if self.runs == 1:
            return math.nan
        return float(self.risk.mean(axis=1).std(ddof=1)) / math.sqrt(self.runs)

    @property
    def spread_over_periods(self) -> float:
        """The standard deviation over n of the excess risk averaged over runs: what the paper's "+-" may be (theory 6.1)."""
        return float(self.risk.mean(axis=0).std(ddof=1)) if self.risk.shape[1] > 1 else math.nan


_OWNER = "RegressionStudy"
_CAP = 10**6
_BLOCK = 128


@dataclass(frozen=True, kw_only=True, slots=True)
class RegressionStudy:
    """Section V-A of the paper as it is filled in by theory 6.1, to be repeated many times.

    x ~ N(0, ``variance`` I), y = x'w*_n + N(0, ``noise``), w*_1 = 0, and w* moves by ``rho`` each period, in a uniformly random
    direction ("walk") or always in the same one ("line"). Each run follows it by the paper's method, which knows m, M, A, B: SGD
    in one pass with steps 2/(m(k+s)), its last iterate or the average with weights k+s-1, from w_0 = 0; the direct estimate of
    the drift, averaged, plus t = ``margin``/sqrt(n-1) ("falling") or ``margin`` ("constant"); the do-not-update rule.
    ``given_rho`` is the drift where it is not estimated. ``first_samples`` are K_1, K_2, ..; as many as periods fix every size.

    It is the method of ``Tracker.as_in_paper`` without a projection: ``diameter`` bounds what is known of the start, and is meant
    to be too wide to be reached. Normals come from a stream for each run that is read by number, so results depend on the seed
    and the run alone, to the last bit: not on threads, nor on what else is run.

    >>> study = RegressionStudy()
    >>> courses = study.run(200, seed=0)
    >>> courses.mean_risk < study.epsilon
    True
    >>> float(courses.samples[:, -1].mean()), float(courses.rho[:, -1].mean())
    (13.4, 1.17)
    """

    features: int = 2
    rho: float = 1.0
    noise: float = 0.08
    variance: float = 1.0
    path: Literal["walk", "line"] = "walk"
    periods: int = 25
    epsilon: float = 0.1
    first_samples: tuple[int, ...] = (50, 50)
    margin: float = 1.0
    margin_shape: Literal["falling", "constant"] = "falling"
    given_rho: float | None = None
    output: Literal["last", "weighted"] = "last"
    diameter: float = 100.0

    def __post_init__(self) -> None:
        validation.count(_OWNER, least=1, features=self.features, periods=self.periods)
        validation.positive(_OWNER, variance=self.variance, epsilon=self.epsilon, diameter=self.diameter)
        validation.nonnegative(_OWNER, rho=self.rho, noise=self.noise, margin=self.margin)
        validation.choice(_OWNER, ("walk", "line"), path=self.path)
        validation.choice(_OWNER, ("falling", "constant"), margin_shape=self.margin_shape)
        validation.choice(_OWNER, ("last", "weighted"), output=self.output)
        if self.given_rho is not None:
            validation.nonnegative(_OWNER, given_rho=self.given_rho)
        first = validation.counts(_OWNER, least=1, first_samples=self.first_samples)
        object.__setattr__(self, "first_samples", first[: self.periods])

    @property
    def constants(self) -> Constants:
        """The constants of isotropic Gaussian rows (theory 1.1g), for which the recursion is exact."""
        v, d = self.variance, self.features
        return Constants.given(m=v, M=v, A=d * v * self.noise, B=(d + 2) * v * v)

    @property
    def learner(self) -> Sgd:
        """The learner of the study."""
        return Sgd(output=self.output)

    @property
    def bound(self) -> RiskBound:
        """What the learner promises."""
        return self.learner.bound(self.constants, self.features)

    def run(
        self, runs: int, *, seed: int, first_run: int = 0, threads: int | None = None, block: int = _BLOCK
    ) -> Courses:
        """Return what runs ``first_run`` .. ``first_run + runs - 1`` do, ``block`` of them at a time on ``threads`` threads.

        Threads are one for each core unless given; neither they nor blocks change a bit of the result.
        """
        validation.count(f"{_OWNER}.run", least=1, runs=runs, block=block)
        _word("run", seed=seed, first_run=first_run)
        if threads is not None:
            validation.count(f"{_OWNER}.run", least=1, threads=threads)
        from paper.montecarlo.kernels.regression import follow

        numbers = self._numbers()
        risk, sized, drift = (np.empty((runs, self.periods)) for _ in range(3))
        coef, truth = (np.empty((runs, self.periods, self.features)) for _ in range(2))

        def one_block(begin: int) -> None:
            part = slice(begin, min(begin + block, runs))
            run = np.uint64(first_run + begin)
            follow(risk[part], sized[part], drift[part], coef[part], truth[part], np.uint64(seed), run, *numbers)

        begins = range(0, runs, block)
        workers = min(cores() if threads is None else threads, len(begins))
        if workers == 1:
            for begin in begins:
                one_block(begin)
        else:
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(one_block, begins))
        return Courses(risk=risk, samples=sized.astype(np.int64), rho=drift, coef=coef, truth=truth)

    def rows(
        self, run: int, period: int, samples: int, *, seed: int, truth: Sequence[float] | FloatArray, first: int = 0
    ) -> tuple[FloatArray, FloatArray]:
        """Return rows ``first`` .. ``first + samples - 1`` of a run's period, X and y, where the best coefficients are ``truth``.

        They are the rows that :meth:`run` learns from, as many as one asks for.

        >>> study = RegressionStudy()
        >>> X, y = study.rows(7, 3, 2, seed=0, truth=[1.0, 0.0])
        >>> later, _ = study.rows(7, 3, 1, seed=0, truth=[1.0, 0.0], first=1)
        >>> X.shape, bool((later[0] == X[1]).all())
        ((2, 2), True)
        """
        owner = f"{_OWNER}.rows"
        validation.count(owner, samples=samples, first=first)
        validation.count(owner, least=1, period=period)
        _word("rows", seed=seed, run=run)
        best = validation.vector(owner, length=self.features, truth=truth)
        from paper.montecarlo.kernels.regression import fill_rows

        X, noise = np.empty((samples, self.features)), np.empty(samples)
        spreads = math.sqrt(self.variance), math.sqrt(self.noise)
        fill_rows(X, noise, np.uint64(seed), np.uint64(run), period, first, *spreads)
        return X, X @ best + noise

    def _numbers(self) -> tuple[Any, ...]:
        """Return what the kernel needs besides the seed and the run."""
        schedule = self.learner.schedule(self.constants)
        assert isinstance(schedule, InverseTime)
        alphas, betas = self._table()
        return (
            self.rho,
            self.path == "line",
            math.sqrt(self.variance),
            math.sqrt(self.noise),
            np.array(self.first_samples, dtype=np.float64),
            alphas,
            betas,
            schedule.scale,
            schedule.shift,
            self.output == "weighted",
            self.epsilon,
            self.variance,
            math.nan if self.given_rho is None else float(self.given_rho),
            self.margin,
            self.margin_shape == "falling",
            self.diameter,
        )

    def _table(self) -> tuple[FloatArray, FloatArray]:
        """Return alpha_K and beta_K, b(d0, K) = alpha_K d0^2 + beta_K, as far as a start at the diameter needs (theory 1.10)."""
        bound = self.bound
        most = 0
        if len(self.first_samples) < self.periods:
            enough = bound.smallest(self.diameter, self.epsilon, _CAP)
            if enough is None:
                raise ParameterError(
                    f"must be within reach of {_CAP} samples per period from a start at the diameter; "
                    f"got {self.epsilon!r} with diameter {self.diameter!r} and noise {self.noise!r}.",
                    owner=_OWNER,
                    name="epsilon",
                )
            most = enough
        most = max(most, *self.first_samples, 1)
        alphas, betas = np.empty(most + 1), np.zeros(most + 1)
        alphas[0] = 0.5 * self.variance
        for samples in range(1, most + 1):
            factors = bound.factors(samples)
            assert factors is not None
            alphas[samples], betas[samples] = factors.alpha, factors.beta
        return alphas, betas


def _word(method: str, **named: int) -> None:
    """Reject anything but a whole number of 63 bits, which can key a stream."""
    validation.count(f"{_OWNER}.{method}", **named)
    for name, value in named.items():
        if value >= 2**63:
            raise ParameterError(f"{_OWNER}.{method}({name}=...) must be below 2^63; got {value!r}.")
