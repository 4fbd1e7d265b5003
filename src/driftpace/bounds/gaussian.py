"""The exact risk of the last iterate of SGD on Gaussian least squares (theory 1.1g)."""

import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import ClassVar

import numpy as np

from driftpace import validation
from driftpace.bounds.base import Factors, FormulaBound, Nature
from driftpace.bounds.noise import NoiseModel
from driftpace.bounds.recursion import LastIterate, step_numbers
from driftpace.errors import ParameterError
from driftpace.schedules import ConstantSteps, InverseTime
from driftpace.typing import FloatArray

WORK = 2**28  # the largest steps x groups^2: a few tenths of a second
LONGEST = 2**20  # the largest number of steps kept: 16 MB


def horizon(groups: int) -> int:
    """Return the number of steps that are followed for so many distinct eigenvalues.

    Examples
    --------
    >>> horizon(1), horizon(10), horizon(100)
    (1048576, 1048576, 26843)
    """
    return min(LONGEST, WORK // groups**2)


class GaussianTable:
    """The risk after k steps is alpha_k d0^2 + beta_k for the worst direction of the start (theory 1.1g).

    The values may rise and fall more than once, so questions look at all of them, skipping blocks that cannot matter.

    Examples
    --------
    >>> table = GaussianTable((1.0, 0.5), (1, 1), noise=0.1, batch=1, scale=2.0, grow=1.0, shift=10.0)
    >>> table.at(0), table.at(1)
    ((0.5, 0.0), (0.37190, 0.0020661))
    >>> table.first(1.0, 0.2, 100), table.least(1.0, 100)
    (4, (0.0036942, 100))
    """

    def __init__(
        self,
        eigenvalues: tuple[float, ...],
        counts: tuple[int, ...],
        noise: float,
        batch: int,
        scale: float,
        grow: float,
        shift: float,
    ) -> None:
        from driftpace.bounds.kernels import gaussian

        groups = len(eigenvalues)
        self.horizon = horizon(groups)
        self._kernels = gaussian
        self._numbers = (np.array(eigenvalues), np.array(counts, float), noise, float(batch), scale, grow, shift)
        self._states = np.vstack([np.eye(groups), np.zeros((1, groups))])
        start = 0.5 * max(eigenvalues)
        self._columns: tuple[FloatArray, FloatArray, FloatArray, FloatArray] = (
            np.array([start]),
            np.zeros(1),
            np.array([start]),
            np.zeros(1),
        )
        self._lock = Lock()

    def at(self, steps: int) -> tuple[float, float]:
        """Return alpha, beta after ``steps`` steps, or after the horizon where that is fewer."""
        alphas, betas, _, _ = self._covering(min(steps, self.horizon))
        k = min(steps, self.horizon)
        return float(alphas[k]), float(betas[k])

    def first(self, squared: float, epsilon: float, cap: int) -> int | None:
        """Return the least k in 1 .. cap with alpha_k squared + beta_k <= epsilon, or None."""
        end, begin = min(cap, self.horizon), 1
        while begin <= end:
            columns = self._covering(min(end, max(1023, 2 * begin)))
            last = min(end, columns[0].size - 1)
            k = int(self._kernels.first(*columns, squared, epsilon, begin, last))
            if k > 0:
                return k
            begin = last + 1
        return None

    def least(self, squared: float, steps: int) -> tuple[float, int]:
        """Return the least value over 0 .. ``steps`` (the horizon where that is fewer) and where it is."""
        end = min(steps, self.horizon)
        value, at = self._kernels.least(*self._covering(end), squared, end)
        return float(value), int(at)

    def _covering(self, steps: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        with self._lock:
            alphas, betas, alpha_blocks, beta_blocks = self._columns
            filled = alphas.size - 1
            if filled < steps:
                until = min(self.horizon, max(steps, filled + filled // 2))
                blocks = (until >> self._kernels.BLOCK_BITS) + 1
                alphas, betas = _longer(alphas, until + 1, 0.0), _longer(betas, until + 1, 0.0)
                alpha_blocks, beta_blocks = _longer(alpha_blocks, blocks, np.inf), _longer(beta_blocks, blocks, np.inf)
                self._kernels.extend(
                    self._states, alphas, betas, alpha_blocks, beta_blocks, filled, until, *self._numbers
                )
                self._columns = (alphas, betas, alpha_blocks, beta_blocks)
            return self._columns


def _longer(column: FloatArray, size: int, fill: float) -> FloatArray:
    return np.concatenate([column, np.full(size - column.size, fill)])


@lru_cache(maxsize=8)
def gaussian_table(
    eigenvalues: tuple[float, ...],
    counts: tuple[int, ...],
    noise: float,
    batch: int,
    scale: float,
    grow: float,
    shift: float,
) -> GaussianTable:
    """Return the table of these numbers, shared between equal problems."""
    return GaussianTable(eigenvalues, counts, noise, batch, scale, grow, shift)


@dataclass(frozen=True, kw_only=True, slots=True)
class GaussianLeastSquares(FormulaBound):
    """Exact mean excess risk of SGD on Gaussian least squares, for the worst direction of the start (theory 1.1g).

    For x ~ N(0, C), y = x'w* + noise. With c_i = E(delta_i^2) along the eigenvectors of C (eigenvalues lam_i), minibatches of q
    rows and independent noise of variance ``noise``, one step of length mu makes

        c_i <- ((1 - mu lam_i)^2 + (mu^2/q) lam_i^2) c_i + (mu^2/q) lam_i (sum_j lam_j c_j + noise),

    and the risk is (1/2) sum lam_i c_i. It is linear in the start, so it factors, with the largest alpha over directions.
    Equal eigenvalues share a state, g states in all. With one distinct eigenvalue this is the recursion R with equality
    (m = M = lam, A = d lam noise, B = lam^2 (d + 2)) and any number of samples is followed; otherwise :attr:`horizon` samples
    are, and no more than those are used. An incomplete last batch is used with one distinct eigenvalue only.

    Parameters
    ----------
    eigenvalues : tuple[float, ...]
        Eigenvalues of the covariance of the features.
    noise : float
        Variance of the residual y - x'w*.
    schedule : InverseTime | ConstantSteps
        Step lengths.
    batch : int, default 1
        Rows in one step.

    Examples
    --------
    >>> bound = GaussianLeastSquares(eigenvalues=(1.0, 1.0), noise=0.08, schedule=InverseTime(scale=2.0, shift=8.0))
    >>> bound.smallest(1.4472136, 0.1, cap=10**9), bound.horizon
    (11, inf)
    >>> steep = GaussianLeastSquares(eigenvalues=(1.0, 0.1), noise=0.08, schedule=InverseTime(scale=20.0, shift=40.0))
    >>> steep.smallest(1.4472136, 0.1, cap=10**9), steep.horizon
    (11, 1048576.0)
    """

    eigenvalues: tuple[float, ...]
    noise: float
    schedule: InverseTime | ConstantSteps
    batch: int = 1

    name: ClassVar[str] = "last iterate of SGD, exact for Gaussian least squares"
    nature: ClassVar[Nature] = Nature.EXACT

    def __post_init__(self) -> None:
        values = validation.vector("GaussianLeastSquares", eigenvalues=self.eigenvalues)
        if values.size == 0 or not values.min() > 0.0:
            raise ParameterError(
                "must be one or more numbers, all above zero.",
                owner="GaussianLeastSquares",
                name="eigenvalues",
            )
        object.__setattr__(self, "eigenvalues", tuple(sorted(values.tolist(), reverse=True)))
        validation.nonnegative("GaussianLeastSquares", noise=self.noise)
        validation.count("GaussianLeastSquares", least=1, batch=self.batch)
        if not isinstance(self.schedule, InverseTime | ConstantSteps):
            raise ParameterError(
                f"must be InverseTime or ConstantSteps; got {self.schedule!r}.",
                owner="GaussianLeastSquares",
                name="schedule",
            )

    @property
    def unconstrained(self) -> bool:
        """Whether it holds only where no set holds the iterates back: a projection contracts distances, not this risk."""
        return min(self.eigenvalues) < max(self.eigenvalues)

    @property
    def rate(self) -> float:
        """-1 with steps c/(k + s), or -2 lam_min c where that is slower; 0 with a constant step, which levels off."""
        if isinstance(self.schedule, ConstantSteps):
            return -math.inf if self.noise == 0.0 and self._contracts(self.schedule.step) else 0.0
        forgetting = 2.0 * self.eigenvalues[-1] * self.schedule.scale
        return -forgetting if self.noise == 0.0 else -min(1.0, forgetting)

    @property
    def conditions(self) -> tuple[str, ...]:
        """Gaussian features, independent noise, squared loss, no projection."""
        return (
            "rows are independent draws of the period's distribution, each used once",
            "features are Gaussian with mean zero and a covariance with these eigenvalues",
            f"y - x'w* is independent of x, with mean zero and variance {self.noise:.4g}",
            "squared loss without penalty, and no projection is active",
        )

    @property
    def horizon(self) -> float:
        """The number of samples that are followed; more are not used."""
        return math.inf if self._isotropic else float(self._table().horizon * self.batch)

    def start(self, distance: float) -> float:
        """Return (lam_max/2) d0^2."""
        return 0.5 * self.eigenvalues[0] * distance * distance

    def floor(self, distance: float) -> float:
        """Return where it stays: at the horizon, or where a constant step levels off with one eigenvalue."""
        if self._isotropic:
            return self._scalar().floor(distance)
        return self._table().least(distance * distance, self._table().horizon)[0]

    @property
    def floor_reason(self) -> str:
        """Why it stays there."""
        if self._isotropic:
            return self._scalar().floor_reason
        return f"the exact recursion is followed for {self.horizon:.0f} samples only and is then"

    def raw(self, distance: float, samples: int) -> float:
        """Return the risk after ``samples`` samples, from the worst direction."""
        factors = self.factors(samples)
        value = factors.alpha * (distance * distance) + factors.beta
        return value if value == value else math.inf

    def factors(self, samples: int) -> Factors:
        """Return the largest alpha over directions, and beta; past the horizon, those at the horizon."""
        if self._isotropic:
            return self._scalar().factors(samples)
        validation.count("GaussianLeastSquares.factors", samples=samples)
        alpha, beta = self._table().at(samples // self.batch)
        return Factors(alpha=alpha, beta=beta)

    def smallest(self, distance: float, epsilon: float, cap: int) -> int | None:
        """Return the least K <= cap with bound(distance, K) <= epsilon, or None."""
        if self._isotropic:
            return self._scalar().smallest(distance, epsilon, cap)
        validation.distance("GaussianLeastSquares.smallest", distance=distance)
        if self.start(distance) <= epsilon:
            return 0
        steps = self._table().first(distance * distance, epsilon, cap // self.batch)
        return None if steps is None else steps * self.batch

    def reach(self, risk: float) -> float:
        """Return sqrt(2 risk/lam_min): the risk was followed, not the distance, so the flattest direction decides."""
        validation.nonnegative("GaussianLeastSquares.reach", risk=risk)
        return math.sqrt(2.0 * risk / self.eigenvalues[-1])

    def _best(self, distance: float, samples: int) -> tuple[float, int]:
        if self._isotropic:
            scalar = self._scalar()
            return scalar(distance, samples), scalar.used(distance, samples)
        validation.distance("GaussianLeastSquares", distance=distance)
        validation.count("GaussianLeastSquares", samples=samples)
        value, steps = self._table().least(distance * distance, samples // self.batch)
        return value, steps * self.batch

    @property
    def _isotropic(self) -> bool:
        return self.eigenvalues[0] == self.eigenvalues[-1]

    def _contracts(self, step: float) -> bool:
        groups, counts = (np.array(part) for part in _grouped(self.eigenvalues))
        each = step**2 / self.batch
        one_step = np.diag((1.0 - step * groups) ** 2 + each * groups**2) + each * np.outer(counts * groups, groups)
        return bool(np.abs(np.linalg.eigvals(one_step)).max() < 1.0)

    def _scalar(self) -> LastIterate:
        lam, d = self.eigenvalues[0], len(self.eigenvalues)
        noise = NoiseModel(A=d * lam * self.noise, B=lam**2 * (d + 2), A_kept=0.0, B_kept=lam**2)  # theory 1.1g
        return LastIterate(m=lam, M=lam, noise=noise, schedule=self.schedule, batch=self.batch)

    def _table(self) -> GaussianTable:
        return gaussian_table(*_grouped(self.eigenvalues), self.noise, self.batch, *step_numbers(self.schedule))


@lru_cache(maxsize=64)
def _grouped(eigenvalues: tuple[float, ...]) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Return the distinct eigenvalues and how many times each is there."""
    counts = Counter(eigenvalues)
    return tuple(counts), tuple(counts.values())
