"""The exact recursion of the last iterate of SGD (theory 1.1), the bound used by default, with its checkpoint tables."""

import math
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import ClassVar, NamedTuple

import numpy as np

from driftpace import validation
from driftpace.bounds.base import Factors
from driftpace.bounds.closed_form import ConstantStep, DistanceBound, geometric
from driftpace.errors import ParameterError
from driftpace.schedules import ConstantSteps, InverseTime
from driftpace.typing import FloatArray


class RecursionNumbers(NamedTuple):
    """The recursion's numbers, which are all that a table depends on; the k-th step is scale / (grow k + shift)."""

    m: float
    A: float
    B: float
    scale: float
    grow: float
    shift: float


def step_numbers(schedule: InverseTime | ConstantSteps) -> tuple[float, float, float]:
    """Return scale, grow and shift of a schedule: its k-th step is scale / (grow k + shift).

    Examples
    --------
    >>> step_numbers(InverseTime(scale=2.0, shift=8.0)), step_numbers(ConstantSteps(step=0.1))
    ((2.0, 1.0, 8.0), (0.1, 0.0, 1.0))
    """
    if isinstance(schedule, ConstantSteps):
        return schedule.step, 0.0, 1.0
    return schedule.scale, 1.0, schedule.shift


class CheckpointTable:
    """Checkpoints of (a, s) of the recursion R, and searches between them (theory 1.10).

    E||w - w*||^2 <= a_k d0^2 + s_k after k steps, for every d0: one table serves every distance and every target. It grows
    by doubling when a query reaches past its end, about 2 ns a step; a query costs a bisection and one short replay.

    Examples
    --------
    >>> table = CheckpointTable(RecursionNumbers(m=1.0, A=0.16, B=4.0, scale=2.0, grow=1.0, shift=8.0))
    >>> table.at(1)
    (0.753086, 0.00790123)
    >>> table.first(squared=2.25, half_M=0.5, epsilon=0.1, cap=1_000)
    11
    >>> table.nbytes < 10_000
    True
    """

    __slots__ = ("_columns", "_kernels", "_lock", "_numbers", "_recent")

    def __init__(self, numbers: RecursionNumbers) -> None:
        from driftpace.bounds.kernels import recursion

        self._kernels = recursion
        self._numbers = numbers
        self._columns = (np.ones(1), np.zeros(1), 0)  # a, s, last index filled; replaced as one, never changed
        self._recent: dict[int, tuple[float, float]] = {}
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        """Memory of the checkpoints."""
        return self._columns[0].nbytes + self._columns[1].nbytes

    def at(self, steps: int) -> tuple[float, float]:
        """Return a_k, s_k after ``steps`` steps."""
        recent = self._recent.get(steps)
        if recent is not None:
            return recent
        alphas, betas, filled = self._columns
        index = self._kernels.index_before(steps)
        if filled < index:  # some more than asked, so that many queries in a row extend it few times
            further = self._kernels.position(filled) // 4 * 5
            alphas, betas = self._covering(max(index, self._kernels.index_before(further)))
        a, s = self._kernels.at(alphas, betas, steps, *self._numbers)
        return float(a), float(s)

    def first(self, squared: float, half_M: float, epsilon: float, cap: int) -> int | None:
        """Return the least k in 1 .. cap with half_M (a_k squared + s_k) <= epsilon, or None; the start must miss epsilon."""
        while True:
            alphas, betas, filled = self._columns
            k, a, s, a_before, s_before = self._kernels.first(
                alphas, betas, filled, squared, half_M, epsilon, cap, *self._numbers
            )
            if k > 0:
                self._recent = {k: (a, s), k - 1: (a_before, s_before)}  # the next query is often about these
                return int(k)
            if k < 0:
                return None
            further = max(2 * self._kernels.position(filled), 4096)  # twice the steps, as far as the cap
            self._covering(self._kernels.index_before(min(further, cap)))

    def _covering(self, index: int) -> tuple[FloatArray, FloatArray]:
        alphas, betas, filled = self._columns
        if filled < index:
            with self._lock:
                alphas, betas, filled = self._columns
                if filled < index:
                    more = np.zeros(index - filled)
                    alphas, betas = np.concatenate([alphas, more]), np.concatenate([betas, more])
                    self._kernels.extend(alphas, betas, filled, index, *self._numbers)
                    self._columns = (alphas, betas, index)
        return alphas, betas


class TableCache:
    """Cache of the ``most`` last used tables, fewer when together they take more than ``limit`` bytes.

    Constants that are re-estimated each period need a new table each period: the cache must stay small.

    Examples
    --------
    >>> cache = TableCache(most=8, limit=1_000)
    >>> numbers = RecursionNumbers(m=1.0, A=0.16, B=4.0, scale=2.0, grow=1.0, shift=8.0)
    >>> cache.table(numbers) is cache.table(numbers)
    True
    """

    def __init__(self, most: int, limit: int) -> None:
        self._most = most
        self._limit = limit
        self._tables: OrderedDict[RecursionNumbers, CheckpointTable] = OrderedDict()
        self._lock = Lock()

    def table(self, numbers: RecursionNumbers) -> CheckpointTable:
        """Return the table of these numbers, the same one every time while it is kept."""
        with self._lock:
            table = self._tables.get(numbers)
            if table is not None:
                self._tables.move_to_end(numbers)
                return table
            table = self._tables[numbers] = CheckpointTable(numbers)
            while len(self._tables) > self._most or (len(self._tables) > 1 and self._weight() > self._limit):
                self._tables.popitem(last=False)
            return table

    def _weight(self) -> int:
        return sum(table.nbytes for table in self._tables.values())


TABLES = TableCache(most=64, limit=64 * 2**20)


@dataclass(frozen=True, kw_only=True, slots=True)
class LastIterate(DistanceBound):
    """Bound on the last iterate of SGD by its exact recursion; the default bound (theory 1.1).

    b(d0, K) = (M/2) D_n after n = K/batch steps, D_{k+1} = max(0, 1 - 2 m mu_k + B mu_k^2) D_k + A mu_k^2, D_0 = d0^2.

    When the batch does not divide K, the last step has the rows that remain, with their larger A and B (theory 1.7); where
    that step would be longer than the noise model allows for so few rows, they are not used.

    The bound rises at most once before it falls. Write c for the factor and F = A mu^2/(1 - c) (infinite where c >= 1), so
    that D_{k+1} = c_k D_k + (1 - c_k) F_k and D_{k+1} <= D_k exactly if D_k >= F_k. F is A mu/(2m - B mu), or A mu^2 where
    the factor is 0, both increasing in mu, and steps never increase: so F_{k+1} <= F_k. After a first descent, D_{k+1} is a
    mean of D_k >= F_k and F_k, so D_{k+1} >= F_k >= F_{k+1}, and the next step descends too. Hence the least value up to K is
    the start's, the last whole batch's or the value at K; and a target that the start misses is met from some K on.

    Parameters
    ----------
    m : float
        Strong convexity of the risk.
    M : float
        Smoothness of the risk.
    noise : NoiseModel
        Noise model of one row's gradient.
    batch : int, default 1
        Rows in one step.
    schedule : InverseTime | ConstantSteps
        Step lengths, decreasing or constant.

    Examples
    --------
    >>> from driftpace.bounds import NoiseModel
    >>> bound = LastIterate(m=1.0, M=1.0, noise=NoiseModel(A=0.16, B=4.0), schedule=InverseTime(scale=2.0, shift=8.0))
    >>> bound(1.4472136, 11), bound(1.4472136, 10)
    (0.08981, 0.10664)
    >>> bound.smallest(1.4472136, 0.1, cap=10**9), bound.smallest(1.4472136, 1e-6, cap=10**9)
    (11, 106666)
    """

    schedule: InverseTime | ConstantSteps

    def _check(self) -> None:
        if not isinstance(self.schedule, InverseTime | ConstantSteps):
            raise ParameterError(
                f"must be InverseTime or ConstantSteps (Greedy bounds the tuned steps); got {self.schedule!r}.",
                owner="LastIterate",
                name="schedule",
            )
        limit = self.batch_noise.step_limit
        if self._step(1) > limit * (1.0 + 1e-12):
            raise ParameterError(
                f"must have no step longer than {limit:.6g}, where the noise model ends; "
                f"its first is {self._step(1):.6g}.",
                owner="LastIterate",
                name="schedule",
            )

    name: ClassVar[str] = "last iterate of SGD, exact recursion"

    @property
    def rate(self) -> float:
        """-1 with steps c/(k + s), or -2mc where that is slower; 0 with a constant step, which levels off."""
        A = self.batch_noise.A
        if isinstance(self.schedule, ConstantSteps):
            return -math.inf if A == 0.0 and self._gain(self.schedule.step) > 0.0 else 0.0
        forgetting = 2.0 * self.m * self.schedule.scale
        return -forgetting if A == 0.0 else -min(1.0, forgetting)

    @property
    def steps_in_words(self) -> str:
        """The step lengths, in words."""
        if isinstance(self.schedule, ConstantSteps):
            return f"steps have length {self.schedule.step:.4g}"
        return f"the k-th step has length {self.schedule.scale:.4g}/(k + {self.schedule.shift:.4g})"

    def floor(self, distance: float) -> float:
        """Return where a constant step levels off, (M/2) F, or the start if that is less; 0 for falling steps."""
        if isinstance(self.schedule, InverseTime):
            return 0.0
        gain = self._gain(self.schedule.step)
        level = self.batch_noise.A * self.schedule.step**2 / gain if gain > 0.0 else math.inf
        return min(self.start(distance), 0.5 * self.M * level)

    @property
    def floor_reason(self) -> str:
        """Why it stays there."""
        if isinstance(self.schedule, ConstantSteps) and self._gain(self.schedule.step) <= 0.0:
            return "the step is too long to gain anything, so the bound stays"
        return "with a constant step the bound levels off"

    def raw(self, distance: float, samples: int) -> float:
        """Return the recursion's value at ``samples``; infinity where the rows that remain are too few for a step."""
        (a, s), squared = self._state(samples), distance * distance
        remembered = a * squared if squared > 0.0 else 0.0
        return 0.5 * self.M * (remembered + s)  # in the kernel's order, so that both round identically

    def factors(self, samples: int) -> Factors:
        """Return alpha = (M/2) a and beta = (M/2) s."""
        validation.count("LastIterate.factors", samples=samples)
        a, s = self._state(samples)
        return Factors(alpha=0.5 * self.M * a, beta=0.5 * self.M * s)

    def smallest(self, distance: float, epsilon: float, cap: int) -> int | None:
        """Return the least K <= cap with bound(distance, K) <= epsilon, or None: a bisection over checkpoints."""
        validation.distance("LastIterate.smallest", distance=distance)
        if self.start(distance) <= epsilon:
            return 0
        if cap < 1:
            return None
        steps = self._first_whole(distance, epsilon, -(-cap // self.batch))
        if steps is None or self.batch == 1:
            return steps
        samples = self._fewest_rows(distance, epsilon, steps)
        return samples if samples <= cap else None

    def candidates(self, samples: int) -> tuple[int, ...]:
        """Return the last whole batch and all the samples, where the least value can be (besides the start)."""
        rest = samples % self.batch
        return (samples - rest, samples) if rest else (samples,)

    def _fewest_rows(self, distance: float, epsilon: float, steps: int) -> int:
        misses, meets = (
            (steps - 1) * self.batch,
            steps * self.batch,
        )  # the more rows in the last batch, the lower the value
        while meets - misses > 1:
            middle = (misses + meets) // 2
            if self.raw(distance, middle) <= epsilon:
                meets = middle
            else:
                misses = middle
        return meets

    def _state(self, samples: int) -> tuple[float, float]:
        whole, rest = divmod(samples, self.batch)
        a, s = self._whole(whole)
        if rest == 0:
            return a, s
        noise, mu = self.noise.batched(rest), self._step(whole + 1)
        if mu > noise.step_limit * (1.0 + 1e-12):
            return math.inf, math.inf
        c = max(0.0, 1.0 - 2.0 * self.m * mu + noise.B * mu * mu)
        return c * a, c * s + noise.A * mu * mu

    def _whole(self, steps: int) -> tuple[float, float]:
        if isinstance(self.schedule, ConstantSteps):  # a geometric sum, which needs no table
            return geometric(self._gain(self.schedule.step), self.batch_noise.A * self.schedule.step**2, steps)
        return self._table().at(steps)

    def _first_whole(self, distance: float, epsilon: float, cap: int) -> int | None:
        if isinstance(self.schedule, ConstantSteps):
            steps = ConstantStep(m=self.m, M=self.M, noise=self.batch_noise, step=self.schedule.step)
            return steps.smallest(distance, epsilon, cap)
        return self._table().first(distance * distance, 0.5 * self.M, epsilon, cap)

    def _gain(self, mu: float) -> float:
        return min(1.0, mu * (2.0 * self.m - self.batch_noise.B * mu))

    def _step(self, k: int) -> float:
        scale, grow, shift = step_numbers(self.schedule)
        return scale / (grow * k + shift)

    def _table(self) -> CheckpointTable:
        noise = self.batch_noise
        return TABLES.table(RecursionNumbers(self.m, noise.A, noise.B, *step_numbers(self.schedule)))
