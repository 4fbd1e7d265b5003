"""Fleets for benchmarks: synthetic ones with known truth, and tables whose best models are known because every row is labelled."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from benchmarks.tables import SHARED
from driftpace import SquaredLoss
from driftpace.backtest.population import Population, find_population, mean_losses
from driftpace.fleet import FleetOrders
from driftpace.losses import LogisticLoss
from driftpace.losses.linear import LinearLoss
from driftpace.typing import FloatArray

Rows = tuple[FloatArray, FloatArray]

HELD_OUT = 0.2
"""The share of the rows of a table that are never drawn, as in a backtest, where its periods have enough."""


class FleetSource(Protocol):
    """Segments with rows to label in every period."""

    loss: LinearLoss
    epsilon: float

    @property
    def periods(self) -> int:
        """The number of periods."""

    @property
    def names(self) -> tuple[str, ...]:
        """The segments of the open period."""

    def pool(self) -> dict[str, int] | None:
        """How many rows each segment has."""

    def label(self, orders: FleetOrders) -> dict[str, Any]:
        """Labelled rows for orders, as columns."""

    def excess(self, name: str, model: FloatArray) -> float:
        """The excess risk of a model, the intercept last."""

    def held_out(self, name: str, model: FloatArray) -> float:
        """The excess risk of a model in the world that the rows are a sample of, estimated without bias."""

    def kind(self, name: str) -> str:
        """The kind of a segment."""

    def draw(self, name: str, count: int) -> Rows:
        """Rows of a segment and their targets, at most so many."""

    def next_period(self) -> None:
        """Go on to the next period."""


def as_columns(rows: Mapping[str, Rows]) -> dict[str, Any]:
    """Return rows of segments as the columns of one table."""
    names = np.repeat(list(rows), [len(y) for _, y in rows.values()])
    X = np.concatenate([X for X, _ in rows.values()])
    y = np.concatenate([y for _, y in rows.values()])
    return {"segment": names} | {f"x{j}": X[:, j] for j in range(X.shape[1])} | {"y": y}


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """What a synthetic fleet is like: y = level + x'slopes + noise, with x and noise standard normal.

    ``shares`` are those of segments that stand still, walk and follow a line, each step costing a stale model ``cost``. The ``odd``
    ones have slopes unlike all others and jump by ``odd_cost`` every ``odd_every`` periods. Levels scatter by ``level`` and slopes
    by ``slopes`` about common ones. All levels but those of odd segments move together in a random walk whose steps cost
    ``common``. ``joins`` segments appear in period ``join_at``.
    """

    segments: int = 300
    features: int = 4
    shares: tuple[float, float, float] = (0.6, 0.3, 0.1)
    cost: float = 0.05
    odd: int = 0
    odd_cost: float = 0.5
    odd_every: int = 4
    level: float = 1.0
    slopes: float = 0.15
    common: float = 0.0
    joins: int = 0
    join_at: int = 10


@dataclass(slots=True)
class SyntheticFleet:
    """A fleet of a :class:`World`, whose truth moves with :meth:`next_period`."""

    made: World
    seed: int
    epsilon: float = 0.05
    periods: int = 16
    loss: LinearLoss = field(default_factory=SquaredLoss)
    period: int = 1
    rng: np.random.Generator = field(init=False)
    kinds: list[str] = field(init=False)
    truth: FloatArray = field(init=False)
    _direction: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        made = self.made
        self.rng = rng = np.random.default_rng([self.seed, 18])
        count, size = made.segments, made.features + 1
        usual = count - made.odd
        ends = np.round(np.cumsum(made.shares) * usual).astype(int)
        kinds = ["still"] * ends[0] + ["walk"] * (ends[1] - ends[0]) + ["line"] * (usual - ends[1]) + ["odd"] * made.odd
        self.kinds = [kinds[place] for place in rng.permutation(count)]
        common = rng.standard_normal(made.features) / math.sqrt(made.features)
        self.truth = np.empty((count, size))
        self.truth[:, 0] = made.level * rng.standard_normal(count)
        self.truth[:, 1:] = common + made.slopes * rng.standard_normal((count, made.features))
        odd = np.array([kind == "odd" for kind in self.kinds])
        self.truth[odd, 1:] = rng.standard_normal((made.odd, made.features))
        direction = rng.standard_normal((count, size))
        self._direction = direction / np.linalg.norm(direction, axis=1, keepdims=True)

    @property
    def names(self) -> tuple[str, ...]:
        """The segments that exist in the period."""
        count = self.made.segments - (self.made.joins if self.period < self.made.join_at else 0)
        return tuple(f"s{place:04d}" for place in range(count))

    def pool(self) -> dict[str, int] | None:
        """Without limit."""
        return None

    def kind(self, name: str) -> str:
        """Whether a segment stands still, walks, follows a line or is odd."""
        return self.kinds[int(name[1:])]

    def next_period(self) -> None:
        """Move the truth by one period."""
        made, rng = self.made, self.rng
        self.period += 1
        count, size = self.truth.shape
        steps = rng.standard_normal((count, size))
        steps /= np.linalg.norm(steps, axis=1, keepdims=True)
        together = math.sqrt(2.0 * made.common) * rng.standard_normal()
        jump = self.period % made.odd_every == 0
        for place, kind in enumerate(self.kinds):
            if kind == "walk":
                self.truth[place] += math.sqrt(2.0 * made.cost) * steps[place]
            elif kind == "line":
                self.truth[place] += math.sqrt(2.0 * made.cost) * self._direction[place]
            elif kind == "odd":
                self.truth[place] += math.sqrt(2.0 * made.odd_cost) * jump * steps[place]
            if kind != "odd":
                self.truth[place, 0] += together

    def draw(self, name: str, count: int) -> Rows:
        """Return rows of a segment."""
        truth = self.truth[int(name[1:])]
        X = self.rng.standard_normal((count, self.made.features))
        return X, truth[0] + X @ truth[1:] + self.rng.standard_normal(count)

    def label(self, orders: FleetOrders) -> dict[str, Any]:
        """Return labelled rows for orders."""
        return as_columns({order.segment: self.draw(order.segment, order.samples) for order in orders})

    def excess(self, name: str, model: FloatArray) -> float:
        """Return the excess risk of a model."""
        return 0.5 * float(np.square(np.roll(model, 1) - self.truth[int(name[1:])]).sum())

    def held_out(self, name: str, model: FloatArray) -> float:
        """Return the excess risk, which is known."""
        return self.excess(name, model)


@dataclass(slots=True)
class TableFleet:
    """A table of which every row is labelled: (rows, targets) of each segment in each period, drawn without replacement.

    A share of the rows of each period, ``test``, is never drawn.
    """

    rows: dict[str, list[Rows]]
    loss: LinearLoss
    epsilon: float
    seed: int
    test: float = HELD_OUT
    period: int = 1
    _order: dict[str, Any] = field(init=False, default_factory=dict)
    _taken: dict[str, int] = field(init=False, default_factory=dict)
    _best: dict[str, Population] = field(init=False, default_factory=dict)
    _rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng([self.seed, 19])
        self._shuffle()

    @property
    def periods(self) -> int:
        """The number of periods."""
        return max(len(each) for each in self.rows.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The segments that have begun."""
        return tuple(name for name, each in self.rows.items() if any(len(y) for _, y in each[: self.period]))

    def pool(self) -> dict[str, int] | None:
        """Return the rows that each segment has in the period, but for those that are held out."""
        return {name: self._pool(len(self.rows[name][self.period - 1][1])) for name in self.names}

    def kind(self, name: str) -> str:  # noqa: ARG002
        """Return one kind for all."""
        return "all"

    def next_period(self) -> None:
        """Go on to the next period."""
        self.period += 1
        if self.period <= self.periods:
            self._shuffle()

    def draw(self, name: str, count: int) -> Rows:
        """Return the next rows of a segment."""
        X, y = self.rows[name][self.period - 1]
        begin = self._taken[name]
        self._taken[name] = end = min(begin + count, self._pool(len(y)))
        places = self._order[name][begin:end]
        return X[places], y[places]

    def label(self, orders: FleetOrders) -> dict[str, Any]:
        """Return labelled rows for orders."""
        return as_columns({order.segment: self.draw(order.segment, order.samples) for order in orders})

    def excess(self, name: str, model: FloatArray) -> float:
        """Return by how much the loss of a model on all rows of the period exceeds that of the best one; NaN without rows."""
        population = self._population(name)
        return math.nan if population is None else float(population.excess_risk(model)[0])

    def held_out(self, name: str, model: FloatArray) -> float:
        """Return the same on the rows that were not drawn, less how uncertain the best model of the rows is itself."""
        population = self._population(name)
        if population is None or not self.test:
            return math.nan
        rest = self._order[name][self._taken[name] :]
        X, y, models = population.X[rest], population.y[rest], np.stack([model, population.best])
        own, best = mean_losses(population.loss, models, X, y)
        return float(own - best - population.model_error)

    def _pool(self, rows: int) -> int:
        """Return how many rows can be drawn of so many."""
        return rows - math.ceil(self.test * rows)

    def _population(self, name: str) -> Population | None:
        X, y = self.rows[name][self.period - 1]
        if not len(y):
            return None
        if name not in self._best:
            self._best[name] = find_population(name, self.loss, X, y)
        return self._best[name]

    def _shuffle(self) -> None:
        for name, each in self.rows.items():
            self._order[name] = self._rng.permutation(len(each[self.period - 1][1]))
        self._taken = dict.fromkeys(self.rows, 0)
        self._best = {}


def births(seed: int) -> TableFleet:
    """Return births in 51 states by day, a period a year: log births against weekday and season, noise 1 in the first year."""
    import pandas as pd

    table = pd.read_csv(SHARED / "births.csv.gz")
    day = pd.to_datetime(table["date"]).dt.dayofyear.to_numpy() * (2.0 * math.pi / 365.25)
    X = np.column_stack(
        [(table["wday"] == name).to_numpy(float) for name in ("Mon", "Tues", "Thurs", "Fri", "Sat", "Sun")]
        + [np.sin(day), np.cos(day)]
    )
    y = np.log(np.maximum(table["births"].to_numpy(float), 0.5)) - table["log_start"].to_numpy()
    rows = _by_segment(table["state"].to_numpy(str), table["period"].to_numpy(), X, y)
    return TableFleet(rows=_noise_one(rows), loss=SquaredLoss(), epsilon=0.05, seed=seed)


def flights(seed: int) -> TableFleet:
    """Return flights by destination, a period four weeks, at least 40 rows in each: late or not, against weather and hour."""
    import pandas as pd

    table = pd.read_csv(SHARED / "flights.csv.gz").dropna(subset=["late"])
    names = ["hour", "temp", "humid", "wind_speed", "visib", "rain"]
    X = table[names].to_numpy(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    rows = _by_segment(table["dest"].to_numpy(str), table["period"].to_numpy() // 4, X, table["late"].to_numpy(float))
    rows = {name: each for name, each in rows.items() if min(len(y) for _, y in each) >= 40}
    return TableFleet(rows=rows, loss=LogisticLoss(l2=0.01), epsilon=0.05, seed=seed)


def employment(seed: int) -> TableFleet:
    """Return the growth of 148 series of employment from 1978 on, a period four years, against earlier growth; noise 1 at first.

    None of the 48 rows of a period is held out: they are few, and follow each other.
    """
    import pandas as pd

    table = pd.read_csv(SHARED / "us_employment.csv.gz").dropna()
    table = table[table["period"] >= 468]
    X = table[["growth_1", "growth_12", "growth_mean12"]].to_numpy(float)
    period = (table["period"].to_numpy() - 468) // 48
    rows = _by_segment(table["series"].to_numpy(str), period, X, table["growth"].to_numpy(float))
    scaled = {}
    for name, each in rows.items():
        first = next(X for X, y in each if len(y))
        spread = np.maximum(first.std(axis=0), 1e-6)
        scaled[name] = [(X / spread, y) for X, y in each]
    return TableFleet(rows=_noise_one(scaled), loss=SquaredLoss(), epsilon=0.1, seed=seed, test=0.0)


def _by_segment(names: Any, periods: Any, X: FloatArray, y: FloatArray) -> dict[str, list[Rows]]:
    count = int(periods.max()) + 1
    found = {}
    for name in np.unique(names):
        own = names == name
        found[str(name)] = [(X[own & (periods == n)], y[own & (periods == n)]) for n in range(count)]
    return found


def _noise_one(rows: dict[str, list[Rows]]) -> dict[str, list[Rows]]:
    """Return rows whose targets are divided by the root of their noise in the first period that has rows."""
    found = {}
    for name, each in rows.items():
        X, y = next((X, y) for X, y in each if len(y) > 2 * X.shape[1])
        X = np.column_stack([X, np.ones(len(X))])
        left = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
        spread = math.sqrt(max(float(left @ left) / (len(y) - X.shape[1]), 1e-12))
        found[name] = [(X, y / spread) for X, y in each]
    return found
