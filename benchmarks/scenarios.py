"""Scenarios with known truth, in a half that the method may be tuned on and a half that is only reported.

The tuned half has the shapes of drift that were known to be hard when the audit was written; the held-out half has shapes that
no constant of the method was chosen by. Runs of the tuned half have even seeds, those of the held-out half odd ones. The grid
of ``benchmarks/synthetic_cases.py`` belongs to the tuned half. What happens when is the same in all runs of a scenario, so that
the average of a period over runs says how bad that period is; directions, starts and rows differ between runs.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol
from zlib import crc32

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from driftpace import SquaredLoss
from driftpace.losses import LinearLoss, LogisticLoss, SmoothedHinge
from driftpace.synthetic.paths import Path, Shape
from driftpace.typing import FloatArray

Half = Literal["tuned", "held-out"]
EPSILON, FEATURES = 0.05, 10
CLASS_EPSILON, CLASS_FEATURES = 0.02, 12
BLOCK = 400
SHARES = (0.07, 0.49)
NODES = np.linspace(-6.5, 6.5, 131)
NODE_WEIGHTS = np.exp(-0.5 * NODES**2) / np.exp(-0.5 * NODES**2).sum()


class PeriodTruth(Protocol):
    """One period: rows, and the excess risk of a model whose intercept is last."""

    @property
    def minimiser(self) -> FloatArray: ...

    def draw(self, rows: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]: ...

    def excess_risk(self, coef: FloatArray) -> float: ...


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LinearPeriod:
    """y = x'slopes + intercept + sum_j curve_j (x_j^2 - 1) + noise, judged by the squared loss.

    ``coef`` has the intercept last. The columns are independent with mean ``center`` and variance 1, normal or Student with
    five degrees of freedom; or, with ``levels``, the indicators of one-hot factors whose first level is left out. Clusters are
    of ``cluster`` consecutive rows, in which noise and columns have the correlation ``together``.

    The best linear model of x^2 under N(m, 1) is 2 m x + 1 - m^2: where the truth is curved, moving columns move it.
    """

    coef: FloatArray
    noise: float = 1.0
    center: FloatArray | float = 0.0
    curve: FloatArray | float = 0.0
    student: bool = False
    levels: tuple[FloatArray, ...] = ()
    cluster: int = 1
    together: float = 0.0

    @property
    def features(self) -> int:
        return self.coef.size - 1

    @property
    def minimiser(self) -> FloatArray:
        center, curve = self.center + np.zeros(self.features), self.curve + np.zeros(self.features)
        return self.coef + np.append(2.0 * curve * center, -curve @ center**2)

    @property
    def second_moment(self) -> FloatArray:
        """E zz' of a row with a one at its end."""
        moment = np.eye(self.features + 1)
        mean = self.center + np.zeros(self.features)
        if self.levels:
            mean = np.concatenate([shares[1:] for shares in self.levels])
            moment[:-1, :-1] = np.outer(mean, mean)
            first = 0
            for shares in self.levels:
                part = slice(first, first + len(shares) - 1)
                moment[part, part] = np.diag(shares[1:])
                first = part.stop
        else:
            moment[:-1, :-1] += np.outer(mean, mean)
        moment[:-1, -1] = moment[-1, :-1] = mean
        return moment

    def draw(self, rows: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return whole clusters: ``rows`` must be a multiple of their size."""
        X = self._columns(rows, rng)
        xi = self._clustered(rng.standard_normal((rows, 1)), rng)[:, 0]
        y = X @ self.coef[:-1] + self.coef[-1] + (X**2 - 1.0) @ (self.curve + np.zeros(self.features))
        return X, y + math.sqrt(self.noise) * xi

    def _columns(self, rows: int, rng: np.random.Generator) -> FloatArray:
        if self.levels:
            drawn = [rng.choice(len(shares), size=rows, p=shares) for shares in self.levels]
            columns = [at[:, None] == np.arange(1, len(shares)) for at, shares in zip(drawn, self.levels, strict=True)]
            return np.hstack(columns).astype(np.float64)
        if self.student:
            return np.asarray(self.center + math.sqrt(3.0 / 5.0) * rng.standard_t(5.0, (rows, self.features)))
        return self.center + self._clustered(rng.standard_normal((rows, self.features)), rng)

    def _clustered(self, normal: FloatArray, rng: np.random.Generator) -> FloatArray:
        if self.cluster == 1:
            return normal
        shared = rng.standard_normal((len(normal) // self.cluster, normal.shape[1])).repeat(self.cluster, axis=0)
        return math.sqrt(self.together) * shared + math.sqrt(1.0 - self.together) * normal

    def excess_risk(self, coef: FloatArray) -> float:
        off = coef - self.minimiser
        return 0.5 * float(off @ self.second_moment @ off)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ClassPeriod:
    """x ~ N(0, I), P(y = 1 | x) = 1/(1 + exp(-x'slopes - intercept)), y in {-1, 1}; ``coef`` has the intercept last.

    By the symmetry of the rows the best slopes are a multiple of the true ones, whatever the loss and its penalty: the
    minimiser is a minimum over two numbers. Risks are sums over a grid of 131 or 131^2 points.
    """

    coef: FloatArray
    loss: LinearLoss
    minimiser: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "minimiser", self._minimiser())

    @property
    def odds(self) -> tuple[float, float]:
        """The length of the slopes, and the intercept."""
        return float(np.linalg.norm(self.coef[:-1])), float(self.coef[-1])

    def draw(self, rows: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        X = rng.standard_normal((rows, self.coef.size - 1))
        positive = rng.random(rows) < expit(X @ self.coef[:-1] + self.coef[-1])
        return X, np.where(positive, 1.0, -1.0)

    def _minimiser(self) -> FloatArray:
        if isinstance(self.loss, LogisticLoss) and self.loss.l2 == 0.0:
            return self.coef
        length, level = self.odds
        share, ones = expit(level + length * NODES), np.ones_like(NODES)
        curve, l2 = self.loss.curve, self.loss.l2

        def risk(at: FloatArray) -> tuple[float, FloatArray]:
            score = at[0] * NODES + at[1]
            values = share * curve.phi(score, ones) + (1.0 - share) * curve.phi(score, -ones)
            slopes = NODE_WEIGHTS * (share * curve.slope(score, ones) + (1.0 - share) * curve.slope(score, -ones))
            value = float(NODE_WEIGHTS @ values) + 0.5 * l2 * float(at[0]) ** 2
            return value, np.array([slopes @ NODES + l2 * at[0], slopes.sum()])

        best = minimize(risk, np.array([0.5, 0.0]), jac=True, method="BFGS", options={"gtol": 1e-9}).x
        return np.append(best[0] * self.coef[:-1] / length, best[1])

    def _risk(self, coef: FloatArray) -> float:
        length, level = self.odds
        along = float(coef[:-1] @ self.coef[:-1]) / length
        across = math.sqrt(max(float(coef[:-1] @ coef[:-1]) - along**2, 0.0))
        share = expit(level + length * NODES)[:, None]
        score = coef[-1] + along * NODES[:, None] + across * NODES
        ones, curve = np.ones_like(score), self.loss.curve
        values = share * curve.phi(score, ones) + (1.0 - share) * curve.phi(score, -ones)
        return float(NODE_WEIGHTS @ values @ NODE_WEIGHTS) + 0.5 * self.loss.l2 * float(coef[:-1] @ coef[:-1])

    def excess_risk(self, coef: FloatArray) -> float:
        return self._risk(coef) - self._risk(self.minimiser)


class RowStream:
    """The rows of one period in a fixed order, whatever the sizes of the deliveries."""

    def __init__(self, truth: PeriodTruth, seed: list[int]) -> None:
        self._truth, self._rng, self._blocks = truth, np.random.default_rng(seed), list[tuple[FloatArray, FloatArray]]()
        self._given = self.deliveries = 0

    def __call__(self, samples: int) -> tuple[Any, ...]:
        first, last = self._given, self._given + samples
        while len(self._blocks) * BLOCK < last:
            self._blocks.append(self._truth.draw(BLOCK, self._rng))
        X, y = (np.concatenate(part) for part in zip(*self._blocks, strict=True))
        self._given, self.deliveries = last, self.deliveries + 1
        return X[first:last], y[first:last]


Build = Callable[["Scenario", np.random.Generator, np.random.Generator, int], list[PeriodTruth]]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Scenario:
    """A shape of drift. ``build`` gets the scenario, a generator of events, one of directions, and the number of periods."""

    name: str
    half: Half
    build: Build
    loss: LinearLoss = field(default_factory=SquaredLoss)
    features: int = FEATURES
    epsilon: float = EPSILON

    @property
    def seed(self) -> int:
        return crc32(self.name.encode())

    def run_seed(self, run: int) -> int:
        """Even seeds for the tuned half, odd ones for the held-out half."""
        return 2 * run + (self.half == "held-out")

    def truths(self, run: int, periods: int) -> list[PeriodTruth]:
        """Return the periods of a run."""
        events = np.random.default_rng([self.seed, 0])
        directions = np.random.default_rng([self.seed, 1, self.run_seed(run)])
        return self.build(self, events, directions, periods)

    def stream(self, truth: PeriodTruth, run: int, period: int) -> RowStream:
        """Return the rows of a period of a run."""
        return RowStream(truth, [self.seed, 2, self.run_seed(run), period])


def _unit(rng: np.random.Generator, size: int) -> FloatArray:
    normal = rng.standard_normal(size)
    return np.asarray(normal / np.linalg.norm(normal))


def _steps(moves: FloatArray, start: FloatArray) -> FloatArray:
    """Return the places (periods, coordinates) of a path with these moves into periods 2, 3, ..."""
    return start + np.vstack([np.zeros_like(start), np.cumsum(moves, axis=0)])


def _walk(scenario: Scenario, rng: np.random.Generator, costs: FloatArray) -> FloatArray:
    """Return a walk of slopes and intercept whose step into period n + 1 costs ``costs[n]``."""
    size = scenario.features + 1
    moves = [math.sqrt(2.0 * cost) * _unit(rng, size) for cost in costs]
    return _steps(np.array(moves), _unit(rng, size))


def _linear(places: FloatArray, **kind: Any) -> list[PeriodTruth]:
    return [LinearPeriod(coef=place, **kind) for place in places]


def _path(shape: Shape, cost: float, turn: int = 12, **kind: Any) -> Build:
    def build(
        scenario: Scenario, events: np.random.Generator, rng: np.random.Generator, periods: int
    ) -> list[PeriodTruth]:
        del events
        start = _unit(rng, scenario.features + 1)
        path = Path(shape=shape, size=math.sqrt(2.0 * cost), start=start, rng=int(rng.integers(2**31)), turn=turn)
        return _linear(path.upto(periods), **kind)

    return build


def _paced_walk(cost_of: Callable[[int], float], **kind: Any) -> Build:
    """A walk whose step into period n (from 2) costs ``cost_of(n)``."""

    def build(
        scenario: Scenario, events: np.random.Generator, rng: np.random.Generator, periods: int
    ) -> list[PeriodTruth]:
        del events
        return _linear(_walk(scenario, rng, np.array([cost_of(n) for n in range(2, periods + 1)])), **kind)

    return build


def _swing(cost: float, turn: int) -> Build:
    """A sine along one direction whose steps cost ``cost`` in the mean."""

    def build(
        scenario: Scenario, events: np.random.Generator, rng: np.random.Generator, periods: int
    ) -> list[PeriodTruth]:
        del events
        reach = math.sqrt(2.0 * cost) / (math.sqrt(2.0) * math.sin(math.pi / turn))
        start, direction = _unit(rng, scenario.features + 1), _unit(rng, scenario.features + 1)
        lengths = reach * np.sin(2.0 * math.pi * np.arange(periods) / turn)
        return _linear(start + np.outer(lengths, direction))

    return build


def _bursts(
    scenario: Scenario, events: np.random.Generator, rng: np.random.Generator, periods: int
) -> list[PeriodTruth]:
    """In three periods of ten one or two coefficients are off by a cost of 3 epsilon, and back in the next."""
    start = _unit(rng, scenario.features + 1)
    places = np.tile(start, (periods, 1))
    for place in places[1:]:
        if events.random() < 0.3:
            moved = rng.choice(scenario.features + 1, size=1 + int(events.random() < 0.5), replace=False)
            place[moved] += rng.choice([-1.0, 1.0], size=moved.size) * math.sqrt(6.0 * scenario.epsilon / moved.size)
    return _linear(places)


def _small_jumps(
    scenario: Scenario, events: np.random.Generator, rng: np.random.Generator, periods: int
) -> list[PeriodTruth]:
    """Every sixth period a jump that costs 2 epsilon."""
    del events
    costs = [2.0 * scenario.epsilon if n % 6 == 0 else 0.0 for n in range(2, periods + 1)]
    return _linear(_walk(scenario, rng, np.array(costs)))


def _regimes(events: np.random.Generator, count: int, periods: int) -> list[int]:
    """Return which of ``count`` regimes each period has: stretches of three to six periods, then another regime."""
    regimes, now = list[int](), 0
    while len(regimes) < periods:
        regimes += [now] * int(events.integers(3, 7))
        now = (now + int(events.integers(1, count))) % count
    return regimes[:periods]


def _returning(
    scenario: Scenario, events: np.random.Generator, rng: np.random.Generator, periods: int
) -> list[PeriodTruth]:
    """Three sets of coefficients, each about 10 epsilon from the others."""
    start = _unit(rng, scenario.features + 1)
    sets = [start + math.sqrt(10.0 * scenario.epsilon) * _unit(rng, scenario.features + 1) for _ in range(3)]
    return _linear(np.array([sets[at] for at in _regimes(events, 3, periods)]))


def _one_moves(
    scenario: Scenario, events: np.random.Generator, rng: np.random.Generator, periods: int
) -> list[PeriodTruth]:
    """One coefficient walks, each step costing epsilon; the others stand still."""
    del events
    moves = np.zeros((periods - 1, scenario.features + 1))
    moves[:, 3] = rng.choice([-1.0, 1.0], size=periods - 1) * math.sqrt(2.0 * scenario.epsilon)
    return _linear(_steps(moves, _unit(rng, scenario.features + 1)))


def _moving_columns(
    scenario: Scenario, events: np.random.Generator, rng: np.random.Generator, periods: int
) -> list[PeriodTruth]:
    """Three columns enter by their squares as well; the mean of all columns walks by 0.25 in each, bounded by 1.5."""
    del events
    curve, center, truths = np.zeros(scenario.features), np.zeros(scenario.features), list[PeriodTruth]()
    curve[:3] = 0.3
    coef = _unit(rng, scenario.features + 1)
    for _ in range(periods):
        truths.append(LinearPeriod(coef=coef, center=center, curve=curve))
        center = np.clip(center + 0.25 * rng.standard_normal(scenario.features), -1.5, 1.5)
    return truths


def _noise_changes(before: float, after: float, at: int) -> Build:
    def build(
        scenario: Scenario, events: np.random.Generator, rng: np.random.Generator, periods: int
    ) -> list[PeriodTruth]:
        del events
        places = _walk(scenario, rng, np.full(periods - 1, 0.2 * scenario.epsilon))
        return [LinearPeriod(coef=place, noise=before if n < at else after) for n, place in enumerate(places, start=1)]

    return build


def _one_hot(
    scenario: Scenario, events: np.random.Generator, rng: np.random.Generator, periods: int
) -> list[PeriodTruth]:
    """Two factors of five and seven levels, some rare; in every period one effect is drawn again."""
    levels = (np.array([0.5, 0.25, 0.15, 0.07, 0.03]), np.array([0.3, 0.25, 0.2, 0.1, 0.08, 0.05, 0.02]))
    coef, truths = 0.7 * rng.standard_normal(scenario.features + 1), list[PeriodTruth]()
    for _ in range(periods):
        truths.append(LinearPeriod(coef=coef, levels=levels))
        coef = coef.copy()
        coef[int(events.integers(scenario.features + 1))] = 0.7 * rng.standard_normal()
    return truths


def _level_of(share: float, length: float) -> float:
    """Return the intercept at which a share of rows is positive, with slopes of this length (the probit approximation)."""
    return float(logit(share)) * math.sqrt(1.0 + length**2 * math.pi / 8.0)


def _classes(scenario: Scenario, places: FloatArray) -> list[PeriodTruth]:
    return [ClassPeriod(coef=place, loss=scenario.loss) for place in places]


def _wobble(
    scenario: Scenario, events: np.random.Generator, rng: np.random.Generator, periods: int
) -> list[PeriodTruth]:
    """The level and one or two slopes, other ones each period, move out and back; the share of positives is 0.07 to 0.49."""
    start = _unit(rng, scenario.features)
    places = np.empty((periods, scenario.features + 1))
    for place in places:
        place[:-1] = start
        moved = rng.choice(scenario.features, size=1 + int(events.random() < 0.5), replace=False)
        place[moved] += rng.choice([-1.0, 1.0], size=moved.size) * 0.6
        share = events.uniform(*SHARES) if events.random() < 0.5 else 0.2
        place[-1] = _level_of(share, float(np.linalg.norm(place[:-1])))
    return _classes(scenario, places)


def _class_swing(
    scenario: Scenario, events: np.random.Generator, rng: np.random.Generator, periods: int
) -> list[PeriodTruth]:
    """Slopes swing along one direction with a period of twelve, by 0.8 to either side."""
    del events
    start, direction = _unit(rng, scenario.features + 1), _unit(rng, scenario.features + 1)
    return _classes(scenario, start + np.outer(0.8 * np.sin(2.0 * math.pi * np.arange(periods) / 12.0), direction))


def _class_turn(
    scenario: Scenario, events: np.random.Generator, rng: np.random.Generator, periods: int
) -> list[PeriodTruth]:
    """Slopes of length 2 turn by 0.1 a period."""
    del events
    path = Path(
        shape="line", size=0.1, start=2.0 * _unit(rng, scenario.features), rng=int(rng.integers(2**31)), sphere=True
    )
    return _classes(scenario, np.column_stack([path.upto(periods), np.zeros(periods)]))


def _class_regimes(
    scenario: Scenario, events: np.random.Generator, rng: np.random.Generator, periods: int
) -> list[PeriodTruth]:
    """Three models with 10, 25 and 45 % positives that return."""
    slopes = [_unit(rng, scenario.features) for _ in range(3)]
    sets = np.array(
        [np.append(one, _level_of(share, 1.0)) for one, share in zip(slopes, (0.1, 0.25, 0.45), strict=True)]
    )
    return _classes(scenario, sets[_regimes(events, 3, periods)])


def _rising_share(
    scenario: Scenario, events: np.random.Generator, rng: np.random.Generator, periods: int
) -> list[PeriodTruth]:
    """The slopes stand still while the share of positives rises from 0.07 to 0.49."""
    del events
    slopes = _unit(rng, scenario.features)
    levels = [_level_of(share, 1.0) for share in np.linspace(*SHARES, periods)]
    return _classes(scenario, np.array([np.append(slopes, level) for level in levels]))


def scenarios() -> Iterator[Scenario]:
    """Yield every scenario, the tuned half first."""
    hinge, logistic = SmoothedHinge(l2=0.1), LogisticLoss()
    classes: dict[str, Any] = {"features": CLASS_FEATURES, "epsilon": CLASS_EPSILON}

    def tuned(name: str, build: Build, **changed: Any) -> Scenario:
        return Scenario(name=name, half="tuned", build=build, **changed)

    def held_out(name: str, build: Build, **changed: Any) -> Scenario:
        return Scenario(name=name, half="held-out", build=build, **changed)

    yield tuned("season of 12", _swing(EPSILON, 12))
    yield tuned("clusters of 5, correlation 0.4", _paced_walk(lambda n: 0.4 * EPSILON, cluster=5, together=0.4))  # noqa: ARG005
    yield tuned("still, then fast", _paced_walk(lambda n: 6.0 * EPSILON if n > 15 else 0.0))
    yield tuned("slow line from the start", _path("line", 0.1 * EPSILON))
    yield tuned("small jumps", _small_jumps)
    yield tuned("sparse bursts", _bursts)
    yield tuned("wobble, smoothed hinge", _wobble, loss=hinge, **classes)
    yield tuned("swing, logistic", _class_swing, loss=logistic, features=20, epsilon=EPSILON)
    yield tuned("slow turn, logistic", _class_turn, loss=logistic, **classes)
    yield held_out("regimes that return", _returning)
    yield held_out("one coefficient of 40", _one_moves, features=40)
    yield held_out("columns move, truth curved", _moving_columns)
    yield held_out("curved truth", _paced_walk(lambda n: 0.4 * EPSILON, curve=0.2))  # noqa: ARG005
    yield held_out("noise triples", _noise_changes(1.0, 3.0, 12))
    yield held_out("noise falls", _noise_changes(2.0, 0.5, 12))
    yield held_out("heavy-tailed columns", _paced_walk(lambda n: 0.4 * EPSILON, student=True))  # noqa: ARG005
    yield held_out("one-hot columns", _one_hot)
    yield held_out("fast, then still", _paced_walk(lambda n: 3.0 * EPSILON if n <= 12 else 0.0))
    yield held_out("growing steps", _paced_walk(lambda n: 0.05 * EPSILON * 2.0 ** (n // 4)))
    yield held_out("season of 7", _swing(EPSILON, 7))
    yield held_out("clusters of 8, correlation 0.25", _paced_walk(lambda n: 0.4 * EPSILON, cluster=8, together=0.25))  # noqa: ARG005
    yield held_out("wobble, logistic", _wobble, loss=logistic, **classes)
    yield held_out("regimes that return, smoothed hinge", _class_regimes, loss=hinge, **classes)
    yield held_out("share of positives rises, logistic", _rising_share, loss=logistic, **classes)
