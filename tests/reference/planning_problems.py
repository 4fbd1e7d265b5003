"""Random planning problems of every kind, small enough for brute force."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace.bounds import (
    Anchored,
    ConstantStep,
    FormulaBound,
    GaussianLeastSquares,
    LastIterate,
    LeastBound,
    Nature,
    NoiseModel,
    OrdinaryLeastSquares,
    RiskBound,
)
from driftpace.planning.costs import Cost, CustomCost, LinearCost, TieredCost
from driftpace.planning.gaps import Gap, LargestGap, LargestRun, MeanGap
from driftpace.planning.problem import Outlook, Problem, Steps
from driftpace.records import Money
from driftpace.schedules import InverseTime
from driftpace.typing import IntArray

Rng = np.random.Generator


@dataclass(frozen=True, kw_only=True, slots=True)
class Powers(FormulaBound):
    """b = c1 d^2/K^2 + c2/K, and (M/2) d^2 for the start: a user's own formula."""

    c1: float = 4.0
    c2: float = 1.0
    m: float = 1.0
    M: float = 1.0

    name: ClassVar[str] = "two powers of K"
    nature: ClassVar[Nature] = Nature.UPPER
    rate: ClassVar[float] = -1.0
    conditions: ClassVar[tuple[str, ...]] = ("an example",)

    def start(self, distance: float) -> float:
        return 0.5 * self.M * distance * distance

    def raw(self, distance: float, samples: int) -> float:
        return self.c1 * distance * distance / samples**2 + self.c2 / samples

    def reach(self, risk: float) -> float:
        return math.sqrt(2.0 * risk / self.m)


@dataclass(frozen=True, kw_only=True, slots=True)
class Harmonic(FormulaBound):
    """b = 1/(1/s + K/c): the risk s = M d^2/2 of the start and the risk c/K of the rows, combined; one formula from K = 0 on."""

    c: float = 1.0
    m: float = 1.0
    M: float = 1.0

    name: ClassVar[str] = "start and rows combined"
    nature: ClassVar[Nature] = Nature.UPPER
    rate: ClassVar[float] = -1.0
    conditions: ClassVar[tuple[str, ...]] = ("an example",)

    def start(self, distance: float) -> float:
        return 0.5 * self.M * distance * distance

    def raw(self, distance: float, samples: int) -> float:
        start = self.start(distance)
        return self.c * start / (self.c + samples * start)

    def reach(self, risk: float) -> float:
        return math.sqrt(2.0 * risk / self.m)


def _powers(rng: Rng) -> RiskBound:
    m = _log_uniform(rng, 0.5, 2.0)
    return Powers(
        c1=_log_uniform(rng, 0.2, 6.0), c2=_log_uniform(rng, 0.1, 1.5), m=m, M=m * float(rng.choice([1.0, 1.0, 1.7]))
    )


def _last_iterate(rng: Rng) -> RiskBound:
    m = _log_uniform(rng, 0.5, 2.0)
    noise = NoiseModel(A=_log_uniform(rng, 0.02, 1.0), B=_log_uniform(rng, 1.0, 6.0) * m * m)
    schedule = InverseTime(scale=2.0 / m, shift=float(rng.uniform(0.0, 10.0)))
    return LastIterate(
        m=m, M=m * float(rng.choice([1.0, 2.5])), noise=noise, schedule=schedule, batch=int(rng.choice([1, 1, 3]))
    )


def _constant_step(rng: Rng) -> RiskBound:
    noise = NoiseModel(A=_log_uniform(rng, 0.02, 1.0), B=4.0)
    batch = int(rng.choice([1, 1, 2]))
    return ConstantStep(
        m=1.0, M=float(rng.choice([1.0, 2.0])), noise=noise, step=float(rng.uniform(0.05, 0.4)), batch=batch
    )


def _anchored(rng: Rng) -> RiskBound:
    noise, features = _log_uniform(rng, 0.05, 2.0), int(rng.integers(1, 5))
    return Anchored(noise=noise, features=features, h=_log_uniform(rng, 0.5, 2.0))


def _fresh_rows(rng: Rng) -> RiskBound:
    m, noise, features = _log_uniform(rng, 0.5, 2.0), _log_uniform(rng, 0.05, 2.0), int(rng.integers(1, 4))
    return OrdinaryLeastSquares(noise=noise, features=features, m=m, M=m * float(rng.choice([1.0, 3.0])))


def _gaussian(rng: Rng) -> RiskBound:
    eigenvalues = ((1.0, 1.0), (1.0, 0.5), (2.0, 1.0, 0.5))[rng.integers(3)]
    schedule = InverseTime(scale=2.0 / eigenvalues[-1], shift=float(rng.uniform(8.0, 20.0)))
    return GaussianLeastSquares(eigenvalues=eigenvalues, noise=_log_uniform(rng, 0.02, 0.5), schedule=schedule)


def _least(rng: Rng) -> RiskBound:
    return LeastBound(bounds=(_fresh_rows(rng), _constant_step(rng), _anchored(rng))[: int(rng.integers(2, 4))])


BOUNDS: dict[str, Callable[[Rng], RiskBound]] = {
    "powers": _powers,
    "last iterate": _last_iterate,
    "constant step": _constant_step,
    "anchored": _anchored,
    "fresh rows": _fresh_rows,
    "gaussian": _gaussian,
    "least": _least,
}


def _linear(rng: Rng) -> Cost:
    fixed = rng.choice(["0", "1", "2.5", "6", "15"])
    return LinearCost(fixed=str(fixed), per_sample=str(rng.choice(["1", "0.5", "0.07"])), currency=_currency(rng))


def _minimum_order(rng: Rng) -> Cost:
    fixed = str(rng.choice(["0", "2", "5"]))
    return LinearCost(fixed=fixed, per_sample="0.5", minimum=int(rng.integers(2, 9)), currency=_currency(rng))


def _tiered(rng: Rng) -> Cost:
    second, third = sorted(rng.choice(np.arange(2, 14), size=2, replace=False).tolist())
    prices = rng.choice(["0.4", "0.5", "1", "1.5", "2.25"], size=3)
    tiers = tuple((start, str(price)) for start, price in zip((1, second, third), prices, strict=True))
    minimum = int(rng.choice([0, 0, 4]))
    return TieredCost(tiers=tiers, fixed=str(rng.choice(["0", "3"])), minimum=minimum, currency=_currency(rng))


def _own(rng: Rng) -> Cost:
    boxes, power = int(rng.integers(2, 6)), float(rng.choice([0.7, 1.0, 1.6]))
    each = float(rng.choice([0.5, 1.0, 3.0]))

    def by_the_box(samples: int) -> float:
        return float(each * math.ceil(samples / boxes) ** power)

    return CustomCost(by_the_box, unit=str(rng.choice(["0.01", "0.25"])), currency=_currency(rng))  # type: ignore[arg-type]


COSTS: dict[str, Callable[[Rng], Cost]] = {
    "linear": _linear,
    "minimum order": _minimum_order,
    "tiered": _tiered,
    "own": _own,
}

GAPS: dict[str, Callable[[tuple[float, ...] | None], Gap]] = {
    "mean": lambda weights: MeanGap(weights=weights),
    "largest": lambda weights: LargestGap(weights=weights),
    "run": lambda weights: LargestRun(weights=weights),
}


STEPS: tuple[Steps, ...] = ("worst", "walk", "printed")


def random_problem(rng: Rng, *, bound: str, gap: str, adjacent: bool, plans: int = 25_000) -> Problem:
    """Draw everything but the kind of bound, of gap and of plan; at most ``plans`` plans are within the budget."""
    horizon = int(rng.choice([1, 2, 3, 4, 5], p=[0.05, 0.15, 0.25, 0.25, 0.3]))
    cost = COSTS[rng.choice(list(COSTS))](rng)
    budget, most = _budget(rng, cost, horizon, int(_log_uniform(rng, 50.0, plans)))
    promises = BOUNDS[bound](rng)
    start = _log_uniform(rng, 0.3, 4.0)
    outlook = Outlook(
        bound=promises,
        rho=0.0 if rng.random() < 0.1 else _log_uniform(rng, 0.02, 2.0),
        start=start,
        diameter=math.inf if rng.random() < 0.5 else start * float(rng.uniform(0.7, 2.0)),
        m=None if rng.random() < 0.7 else 2.0 * promises(1.0, 0) * float(rng.uniform(0.4, 1.0)),
        steps=STEPS[rng.choice(3, p=[0.4, 0.3, 0.3])],
    )
    low, high = promises(outlook.rho + 0.1, max(most, 1)), promises(outlook.first_distance(horizon - 1), 0)
    return Problem(
        outlook=outlook,
        epsilon=_log_uniform(rng, 0.5 * min(low, high), 0.6 * high) if rng.random() < 0.96 else 1.2 * high,
        budget=budget,
        horizon=horizon,
        cost=cost,
        gap=GAPS[gap](_weights(rng, horizon)),
        adjacent=adjacent,
        bought_before=adjacent and bool(rng.random() < 0.4),
        first_period=int(rng.integers(1, 4)),
    )


def _budget(rng: Rng, cost: Cost, horizon: int, plans: int) -> tuple[Money, int]:
    """Return a budget within which there are at most ``plans`` plans, and the most samples of an order."""
    prices: IntArray = cost.units(np.arange(250))
    units = most_units(prices, horizon, plans)
    kind = rng.random()
    if kind < 0.04:
        units = int(prices[1] * rng.random())  # not even one order
    elif kind < 0.4:
        units = int(units * rng.uniform(0.3, 1.0))
    crumbs = cost.unit * 3 / 8 if rng.random() < 0.2 else 0  # below the smallest amount
    return Money.of(units * cost.unit + crumbs, cost.currency), int((prices <= units).sum()) - 1


def most_units(prices: IntArray, horizon: int, plans: int) -> int:
    """Return the largest budget, below the last price, within which at most ``plans`` plans over the horizon are."""
    ways = np.zeros(int(prices[-1]), dtype=np.int64)
    ways[0] = 1
    for _ in range(horizon):
        before, ways = ways, np.zeros_like(ways)
        for price in prices[prices < len(ways)].tolist():
            ways[price:] += before[: len(before) - price]
        ways = np.minimum(ways, plans + 1)
    return int((np.cumsum(ways) <= plans).sum()) - 1


def _weights(rng: Rng, horizon: int) -> tuple[float, ...] | None:
    if rng.random() < 0.5:
        return None
    weights = rng.choice([0.0, 0.5, 1.0, 2.0, 3.3], size=horizon)
    weights[rng.integers(horizon)] = 1.0
    return tuple(weights.tolist())


def _currency(rng: Rng) -> str:
    return str(rng.choice(["", "EUR"]))


def _log_uniform(rng: Rng, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))
