"""The paper's cost experiment (section V, figures of test loss and K_n) at equal cost, with unknown drift.

The data are the synthetic regression of theory 6.1, the money that of its last paragraph: 25 periods, P0 = 5, P1 = 1. The
optimal plan is made anew in every period, with the drift as estimated by then: by the exact planner, which is what a tracker
with a budget does, and by the paper's relaxation, rounded. Against them: all up front, every five periods, and the rule that
has no budget.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from driftpace.typing import FloatArray
from paper.cost.study import EPSILON, NOISE, PERIODS, Course, Job, Method, follow

METHODS: dict[str, Method] = {
    "exact plan": "plan",
    "relaxed plan (IPOPT)": "relaxed plan",
    "all up front": "up front",
    "every five periods": "every five",
    "the rule, no budget": "rule",
    "practical default": "default",
    "exact plan, phi_3": "run plan",
}


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
            courses_by_method: dict[str, list[Course]] = {}
            longer: dict[Method, int] = {"relaxed plan": given.relaxed_runs, "run plan": given.run_goal}
            for name, method in METHODS.items():
                runs = longer.get(method, given.runs)
                jobs = [Job(method=method, run=run, total=total) for run in range(runs)]
                courses_by_method[name] = list(pool.map(follow, jobs, chunksize=4))
                print(_line(name, courses_by_method[name], None if method == "rule" else total), flush=True)
            if given.out is not None:
                _draw(given.out, total, courses_by_method)


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


def _draw(out: Path, total: int, courses_by_method: dict[str, list[Course]]) -> None:
    """Draw the paper's two figures: test loss, and K_n."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    out.mkdir(parents=True, exist_ok=True)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    periods = np.arange(1, PERIODS + 1)

    def mean(courses: list[Course], what: str) -> FloatArray:
        return np.asarray(np.mean([getattr(course, what) for course in courses], axis=0))

    for index, (name, courses) in enumerate(courses_by_method.items()):
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
