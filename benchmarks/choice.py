"""Which rows to label: informative, stratified and uniform draws side by side, and informative ones without their weights.

python -m benchmarks choice [--runs 4] [--periods 12] [--only NAME ...]

Worlds of rare classes (four columns and an intercept, a slow walk), a skewed column and tables of ``real_tables``; all rows of a
period are its pool.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.real_tables import markdown
from benchmarks.tables import tables
from driftpace import Tracker
from driftpace.backtest.population import Population, find_population
from driftpace.losses import LogisticLoss, Loss, SquaredLoss
from driftpace.typing import FloatArray

RARE = (0.004, 0.01, 0.03, 0.1)
"""Shares of positives."""

CURVE = 0.5
"""How strongly the square of the first column enters the score, where it does."""

TURN = 0.8
"""How strongly the square of the skewed column lowers the score of the second class."""

TARGET = 0.03
"""The target in worlds of rare classes, as a share of the best loss."""

POOL = 20_000
TABLES = {"gss_income": 0.02, "psid7682": 0.03, "bike_hourly": 0.02, "flights logistic": 0.02}
WAYS = ("uniform", "stratified", "informative", "informative, no weights")
HEADS = ("data", "target", "rows", "labels/period", "over uniform", "risk/eps", "effective/rows")
LEGEND = """
- labels/period: the mean over runs and periods, the first one included; over uniform: divided by those of uniform draws.
- risk/eps: mean true excess risk over the target, on all rows of the period.
- effective/rows: (sum w)^2 / sum w^2 of the labelled rows over their number.
- no weights: the control. The same draws told without their weights must miss the target.
"""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class World:
    """Populations of periods, the loss, and the target."""

    name: str
    loss: Loss
    epsilon: float
    periods: tuple[Population, ...]


def rare_world(share: float, periods: int, *, curve: float = 0.0, seed: int = 0) -> World:
    """Return a world in which a share of the rows is positive, and the model walks slowly.

    A ``curve`` is something that no linear model has: where the model is exactly right, weights are not needed.
    """
    rng = np.random.default_rng((seed, round(1e4 * share)))
    loss = LogisticLoss(l2=1e-4)
    coef, level = np.array([1.0, -0.7, 0.5, 0.0]), 0.0
    populations = []
    for period in range(periods):
        X = rng.standard_normal((POOL, 4))
        scores = X @ coef + curve * (np.square(X[:, 0]) - 1.0)
        if period == 0:
            level = _level(scores, share)
        y = np.where(rng.random(POOL) < 1.0 / (1.0 + np.exp(-(scores + level))), 1.0, -1.0)
        populations.append(find_population(str(period), loss, X, y))
        coef, level = coef + 0.05 * rng.standard_normal(4), level + 0.05 * float(rng.standard_normal())
    epsilon = TARGET * float(np.mean([population.least for population in populations]))
    name = f"{100 * share:g} % positive" + (", a curve" if curve else "")
    return World(name=name, loss=loss, epsilon=epsilon, periods=tuple(populations))


def skewed_world(periods: int, seed: int = 0) -> World:
    """Return a regression on three columns, one of which is skewed and enters with its square: the control's worst case."""
    rng = np.random.default_rng(seed)
    coef = np.array([0.5, -0.5, 0.3])
    populations = []
    for period in range(periods):
        X = rng.standard_normal((POOL, 3))
        X[:, 0] = (np.exp(0.6 * X[:, 0]) - 1.2) / 0.8
        y = X @ coef + 0.3 * np.square(X[:, 0]) + rng.standard_normal(POOL)
        populations.append(find_population(str(period), SquaredLoss(), X, y))
        coef = coef + 0.05 * rng.standard_normal(3)
    return World(name="a skewed column", loss=SquaredLoss(), epsilon=0.03, periods=tuple(populations))


def skewed_classes(periods: int, seed: int = 0) -> World:
    """Return two classes and a skewed column with which the second one becomes more likely, and then less: no line does both."""
    rng, loss = np.random.default_rng((seed, 1)), LogisticLoss(l2=1e-4)
    coef, populations = np.array([1.5, 0.7, -0.5]), []
    for period in range(periods):
        X = rng.standard_normal((POOL, 3))
        X[:, 0] = (np.exp(0.6 * X[:, 0]) - 1.2) / 0.8
        scores = X @ coef - 1.0 - TURN * np.square(X[:, 0])
        y = np.where(rng.random(POOL) < 1.0 / (1.0 + np.exp(-scores)), 1.0, -1.0)
        populations.append(find_population(str(period), loss, X, y))
        coef = coef + 0.05 * rng.standard_normal(3)
    return World(name="skewed classes", loss=loss, epsilon=0.002, periods=tuple(populations))


def _level(scores: FloatArray, share: float) -> float:
    """Return the intercept at which the mean probability is ``share``."""
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.mean(1.0 / (1.0 + np.exp(-(scores + middle)))) < share else (low, middle)
    return high


def worlds(periods: int, only: Sequence[str]) -> Iterator[World]:
    """Yield the worlds and the tables."""
    for share in RARE:
        for curve in (0.0, CURVE):
            if not only or f"{100 * share:g}" in only:
                yield rare_world(share, periods, curve=curve)
    if not only or "skewed" in only:
        yield skewed_world(periods)
        yield skewed_classes(periods)
    for table in tables():
        if isinstance(table, str) or table.name not in TABLES or (only and table.name not in only):
            continue
        panel = table.panel
        found = [
            find_population(label, table.loss, X, y)
            for label, X, y in list(zip(panel.periods, panel.X, panel.y, strict=True))[:periods]
        ]
        yield World(name=table.name, loss=table.loss, epsilon=TABLES[table.name], periods=tuple(found))


def follow(world: World, way: str, run: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the true excess risk, the labels and the effective rows of each period of a run."""
    rng = np.random.default_rng((run, WAYS.index(way)))
    tracker = Tracker(world.loss, epsilon=world.epsilon, rng=run)
    method, weighted = way.split(",")[0], way == "informative"
    risks, labels, effective = [], [], []
    for population in world.periods:
        X, y, left = population.X[:, :-1], population.y, np.ones(len(population.y), dtype=np.bool_)
        drawn = 0
        while (wanted := tracker.ask(pool=len(y)).samples) > 0 and left.any():
            pool = np.flatnonzero(left)
            places, weights = tracker.choose(X[pool], wanted, method=method, drawn=drawn, rng=rng)
            drawn += 0 if np.ptp(weights) == 0.0 else len(places)
            rows = pool[places]
            left[rows] = False
            tracker.tell(X[rows], y[rows], sample_weight=weights if weighted else None, final=False)
        report = tracker.tell()
        assert report is not None
        risks.append(float(population.excess_risk(np.append(tracker.coef, tracker.intercept))[0]))
        labels.append(float(report.samples))
        effective.append(report.effective_samples or float(report.samples))
    return np.array(risks), np.array(labels), np.array(effective)


def compare(world: World, runs: int) -> list[tuple[str, ...]]:
    """Return a line for each way to choose rows."""
    lines: list[tuple[str, ...]] = []
    base = 1.0
    for way in WAYS:
        found = [follow(world, way, run) for run in range(runs)]
        risk, labels, effective = (float(np.mean([one[part] for one in found])) for part in range(3))
        base = labels if way == "uniform" else base
        lines.append(
            (
                world.name,
                f"{world.epsilon:.2g}",
                way,
                f"{labels:,.0f}",
                f"{labels / base:.2f}",
                f"{risk / world.epsilon:.2f}",
                f"{effective / labels:.2f}",
            )
        )
    return lines


def main(arguments: Sequence[str] = ()) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks choice")
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--periods", type=int, default=12)
    parser.add_argument("--only", nargs="*", default=[], help="shares of positives in percent, or names of tables")
    options = parser.parse_args(arguments)
    lines = [line for world in worlds(options.periods, options.only) for line in compare(world, options.runs)]
    print(markdown(HEADS, lines))
    print(LEGEND)
