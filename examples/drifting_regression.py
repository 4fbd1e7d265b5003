"""Track a regression whose best model moves by 1 every period: a table in the terminal, and a figure.

    python examples/drifting_regression.py --out out

The tracker is the paper's method with the constants of its synthetic experiment. The table shows one run; the figure also shows
the mean over all runs, because the promise is about the mean. The yardstick is the smallest constant size that would have met the
target, which is known only in hindsight.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from driftpace import Ball, Constants, SquaredLoss, Tracker
from driftpace.learners import Sgd
from driftpace.synthetic import DriftingRegression
from driftpace.typing import FloatArray

EPSILON, RHO, NOISE, PERIODS = 0.1, 1.0, 0.08, 25
LOSS, DOMAIN, FIRST = SquaredLoss(), Ball(radius=30.0), (50, 50)
CONSTANTS = Constants.given(m=1.0, M=1.0, A=2 * NOISE, B=4.0)
INK, ACCENT, FAINT = "#1f3a5f", "#c8553d", "#8fa3b8"


@dataclass(frozen=True)
class Run:
    """One run of 25 periods: sample sizes, estimates, promised and true risks."""

    samples: FloatArray
    rho: FloatArray
    rho_upper: FloatArray
    promised: FloatArray
    true: FloatArray
    outcomes: list[str]


def follow(run: int) -> Run:
    """Run the loop: ask, draw that many rows of the period, tell, and compare with the truth."""
    population = DriftingRegression(features=2, rho=RHO, noise=NOISE, rng=run)
    rows = np.random.default_rng([run, 1])
    tracker = Tracker.as_in_paper(
        LOSS,
        epsilon=EPSILON,
        domain=DOMAIN,
        constants=CONSTANTS,
        first_samples=FIRST,
        rng=run,
    )
    true = []
    for period in range(1, PERIODS + 1):
        now = population.period(period)
        request = tracker.ask()
        X, y = now.draw(request.samples, rng=rows)
        tracker.tell(X, y)
        true.append(now.excess_risk(LOSS, tracker.coef))
    history = tracker.history
    return Run(
        samples=np.array([report.samples for report in history], dtype=float),
        rho=np.array([np.nan if report.rho is None else report.rho for report in history]),
        rho_upper=np.array([np.nan if report.rho_upper is None else report.rho_upper for report in history]),
        promised=np.array([report.risk_bound for report in history]),
        true=np.array(true),
        outcomes=[report.outcome.value for report in history],
    )


def constant_risk(run: int, samples: int) -> float:
    """Return the mean true risk after the first two periods of the same learner with a constant size."""
    population = DriftingRegression(features=2, rho=RHO, noise=NOISE, rng=run)
    rows, coef, risks = np.random.default_rng([run, 1]), np.zeros(2), []
    for period in range(1, PERIODS + 1):
        now = population.period(period)
        X, y = now.draw(FIRST[period - 1] if period <= len(FIRST) else samples, rng=rows)
        coef = Sgd().fit(LOSS, DOMAIN, coef, X, y, constants=CONSTANTS, distance=RHO).coef
        risks.append(now.excess_risk(LOSS, coef))
    return float(np.mean(risks[len(FIRST) :]))


def best_constant(runs: int) -> int:
    """Return the smallest constant size whose mean risk over runs and periods is within the target, in hindsight."""
    return next(
        size for size in range(1, 1000) if np.mean([constant_risk(run, size) for run in range(runs)]) <= EPSILON
    )


def show_table(console: Console, first: Run) -> None:
    table = Table(
        title=f"A regression that moves by {RHO:g} each period; target: within {EPSILON:g} of the best possible loss"
    )
    for heading in ("period", "samples", "rho estimate", "upper limit", "promised risk", "true risk"):
        table.add_column(heading, justify="right")
    table.add_column("outcome")
    for index in range(PERIODS):
        drift = "" if np.isnan(first.rho[index]) else f"{first.rho[index]:.3f}"
        upper = "" if np.isnan(first.rho_upper[index]) else f"{first.rho_upper[index]:.3f}"
        table.add_row(
            str(index + 1),
            f"{first.samples[index]:.0f}",
            drift,
            upper,
            f"{first.promised[index]:.4f}",
            f"{first.true[index]:.4f}",
            first.outcomes[index],
        )
    console.print(table)


def draw_figure(path: Path, runs: list[Run], constant: int) -> None:
    first, periods = runs[0], np.arange(1, PERIODS + 1)

    def mean(read: Callable[[Run], FloatArray]) -> FloatArray:
        return np.asarray(np.mean([read(run) for run in runs], axis=0))

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.9), layout="constrained")
    left.bar(periods, first.samples, color=FAINT, label="one run")
    left.plot(periods, mean(lambda run: run.samples), color=INK, lw=2, label=f"mean of {len(runs)} runs")
    left.axhline(constant, color=ACCENT, ls="--", label="best constant size, in hindsight")
    left.set(title="Requested samples", ylabel="samples", ylim=(0, None))
    middle.axhline(RHO, color=ACCENT, ls="--", label="the truth")
    middle.fill_between(
        periods, first.rho, first.rho_upper, color=FAINT, alpha=0.4, label="up to the upper limit, one run"
    )
    middle.plot(periods, mean(lambda run: run.rho), color=INK, lw=2, label="estimate, mean of runs")
    middle.set(title="Estimated drift", ylabel="movement per period", ylim=(0, None))
    right.axhline(EPSILON, color=ACCENT, ls="--", label="the target")
    right.plot(periods, first.promised, color=FAINT, lw=2, label="promised, one run")
    right.plot(periods, first.true, ".", color=INK, alpha=0.5, label="true, one run")
    right.plot(periods, mean(lambda run: run.true), color=INK, lw=2, label="true, mean of runs")
    right.set(title="Promised and true risk", ylabel="excess risk", yscale="log", ylim=(1e-3, None))
    for axes in (left, middle, right):
        axes.set_xlabel("period")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8.5)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description="Track a drifting regression for 25 periods.")
    parser.add_argument("--out", type=Path, default=Path("out"), help="directory of the figure")
    parser.add_argument("--runs", type=int, default=20, help="runs behind the means in the figure")
    chosen = parser.parse_args()
    console = Console()
    runs = [follow(run) for run in track(range(chosen.runs), description="Runs", console=console)]
    show_table(console, runs[0])
    risk = np.mean([run.true for run in runs])
    samples = np.mean([run.samples[len(FIRST) :].mean() for run in runs])
    constant = best_constant(len(runs))
    console.print(
        f"\nMean over {len(runs)} runs and {PERIODS} periods: true excess risk {risk:.4f}, target {EPSILON:g}.\n"
        f"Samples per period after the first two: {samples:.1f}; the best constant size in hindsight is {constant}, "
        f"so this is {samples / constant:.2f} times as many."
    )
    chosen.out.mkdir(parents=True, exist_ok=True)
    path = chosen.out / "follow.png"
    draw_figure(path, runs, constant)
    console.print(f"The figure is in {path}")


if __name__ == "__main__":
    main()
