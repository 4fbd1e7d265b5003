"""The paper's cost experiment (section V, its figures of test loss and K_n): what the same money does, the drift unknown.

The world is the synthetic regression of theory 6.1, the money that of its last paragraph: 25 periods, P0 = 5, P1 = 1. The
optimal plan is made anew in every period, with the drift as estimated by then: by the exact planner, which is what a tracker
with a budget does, and by the paper's relaxation, rounded. Against them: all up front, every five periods, and the rule that
has no budget.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from driftpace import Ball, Budget, Constants, LinearCost, SquaredLoss, Tracker
from driftpace.planning import MeanGap, Problem, affordable
from driftpace.planning.relaxed import plan_relaxed
from driftpace.records import Money
from driftpace.typing import FloatArray
from driftpace.worlds import DriftingRegression

LOSS, NOISE, EPSILON, PERIODS, EVERY = SquaredLoss(), 0.08, 0.1, 25, 5
COST = LinearCost(fixed=5, per_sample=1)
FIRST = (20, 20)
KNOWN = Constants.given(m=1.0, M=1.0, A=2 * NOISE, B=4.0)


def tracker_of(run: int, budget: Budget | None) -> Tracker:
    """Return the paper's tracker; the sizes of its first two periods are fixed, as there."""
    return Tracker.as_in_paper(
        LOSS,
        epsilon=EPSILON,
        domain=Ball(radius=50.0),
        constants=KNOWN,
        first_samples=FIRST,
        features=2,
        rng=run,
        budget=budget,
    )


def relaxed_size(tracker: Tracker, total: int) -> int:
    """Return K_n of the relaxation over the periods left, with the money left."""
    spent = sum(int(COST.units([report.samples])[0]) for report in tracker.history)
    period = tracker.period
    if period <= len(FIRST):
        return FIRST[period - 1]
    problem = Problem(
        outlook=tracker.outlook(),
        epsilon=EPSILON,
        budget=Money.of(total - spent),
        horizon=PERIODS - period + 1,
        cost=COST,
        gap=MeanGap(),
        adjacent=True,
        bought_before=tracker.history[-1].samples > 0,
        first_period=period,
    )
    return plan_relaxed(problem, starts=1, rows="corrected").samples[0]


def up_front_size(tracker: Tracker, total: int) -> int:
    """Return everything in the first period."""
    return affordable(COST, Money.of(total)) if tracker.period == 1 else 0


def periodic_size(tracker: Tracker, total: int) -> int:
    """Return an even share of the money every five periods (theory I17)."""
    share = total // -(-PERIODS // EVERY)
    return affordable(COST, Money.of(share)) if (tracker.period - 1) % EVERY == 0 else 0


METHODS = ("exact plan", "relaxed plan (IPOPT)", "all up front", "every five periods", "the rule, no budget")


@dataclass(frozen=True)
class Course:
    """True excess risk and samples of each period of one run, and what they cost."""

    risks: list[float]
    samples: list[int]
    spent: int


def follow(method: str, total: int, gap: str, run: int) -> Course:
    """Return what one run of a method does, on the rows of this run's world."""
    world, rows = DriftingRegression(features=2, rho=1.0, noise=NOISE, rng=run), np.random.default_rng([run, 1])
    budget = Budget(total=total, horizon=PERIODS, cost=COST, gap=gap) if method == "exact plan" else None
    tracker = tracker_of(run, budget)
    sizes = {"relaxed plan (IPOPT)": relaxed_size, "all up front": up_front_size, "every five periods": periodic_size}
    risks, samples = [], []
    for period in range(1, PERIODS + 1):
        now = world.period(period)
        if method in sizes:
            size = sizes[method](tracker, total)
            tracker.ask()
            report = tracker.tell(*now.draw(size, rng=rows)) if size else tracker.tell()
        else:
            report = tracker.step(lambda wanted, now=now: now.draw(wanted, rng=rows))  # type: ignore[misc]
        assert report is not None
        risks.append(now.excess_risk(LOSS, tracker.coef))
        samples.append(report.samples)
    return Course(risks, samples, int(COST.units(samples).sum()))


def main(options: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks cost_experiment")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--relaxed-runs", type=int, default=200, help="runs of the relaxed plan, which takes longest")
    parser.add_argument("--run-goal", type=int, default=20, help="runs of the goal phi_3, whose plans take longer")
    parser.add_argument("--budgets", type=int, nargs="+", default=[250, 400])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=None, help="a folder for the two figures")
    given = parser.parse_args([] if options is None else options)
    print(f"\nThe paper's cost experiment: {PERIODS} periods, P0 = 5, P1 = 1, target {EPSILON}, drift 1 and unknown")
    print(f"{given.runs} runs")
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
        for total in given.budgets:
            print(
                f"\nbudget {total}\n{'':26}{'excess risk':>20}{'periods 6-25':>14}{'samples':>9}{'zero':>7}{'most spent':>12}"
            )
            found: dict[str, list[Course]] = {}
            for method, gap, runs in (
                *((method, "mean", given.relaxed_runs if "relaxed" in method else given.runs) for method in METHODS),
                ("exact plan", "run", given.run_goal),
            ):
                courses = list(pool.map(partial(follow, method, total, gap), range(runs), chunksize=4))
                name = method if gap == "mean" else "exact plan, phi_3"
                found[name] = courses
                print(_line(name, courses, total if method != METHODS[-1] else None), flush=True)
            if given.out is not None:
                _draw(given.out, total, found)


def _line(name: str, courses: list[Course], total: int | None) -> str:
    risks = np.array([course.risks for course in courses])
    samples = np.array([course.samples for course in courses])
    each = risks.mean(axis=1)
    most = max(course.spent for course in courses)
    within = "  no budget" if total is None else ("  within" if most <= total else "  OVER")
    error = each.std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else float("nan")
    return (
        f"{name:26}{each.mean():>12.4f} +- {error:.4f}{risks[:, 5:].mean():>13.4f}{samples.mean():>9.2f}"
        f"{np.mean(samples == 0):>7.2f}{most:>12}{within}, {len(courses)} runs"
    )


def _draw(out: Path, total: int, found: dict[str, list[Course]]) -> None:
    """Draw the paper's two figures: test loss, and K_n."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    out.mkdir(parents=True, exist_ok=True)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    periods = np.arange(1, PERIODS + 1)

    def mean(courses: list[Course], what: str) -> FloatArray:
        return np.asarray(np.mean([getattr(course, what) for course in courses], axis=0))

    for index, (name, courses) in enumerate(found.items()):
        style = {"label": name, "marker": ".", "color": f"C{index}"}
        left.plot(periods, mean(courses, "risks") + NOISE / 2, **style)
        if "plan" in name or "rule" in name:
            right.plot(periods, mean(courses, "samples"), **style)
    left.set(yscale="log", xlabel="period", ylabel="test loss", title=f"Test loss, budget {total}")
    right.set(yscale="symlog", xlabel="period", ylabel="samples, mean over runs", title="Samples")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    figure.savefig(out / f"cost_experiment_{total}.png", dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
