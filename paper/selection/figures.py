"""Risk, choice and samples over time, for two penalties and for ten."""

import numpy as np

from paper.records import Figure, Role, Series
from paper.runs import curve
from paper.selection.study import EPSILON, PERIODS, Method, Runs

N = np.arange(1.0, PERIODS + 1.0)
METHODS: tuple[tuple[Method, str, Role], ...] = (
    ("paper", "as in the paper", "paper"),
    ("practical", "default method", "practical"),
)


def figures_of(two: dict[Method, Runs], ten: dict[Method, Runs]) -> tuple[Figure, ...]:
    """Return every figure of the experiment."""
    return (_risk(two, "two"), _share(two), _samples(two, "two"), _risk(ten, "ten"), _path(ten), _samples(ten, "ten"))


def _risk(runs: dict[Method, Runs], key: str) -> Figure:
    paper, default = runs["paper"], runs["practical"]
    last = len(paper.grid) - 1
    fixed: list[tuple[int, Role]] = [(0, "second"), (last, "third")]
    if last > 1:
        fixed.append((paper.best, "other"))
    return Figure(
        key=f"selection_risk_{key}",
        title=f"Excess risk with {key} penalties",
        caption=(
            "Thin lines: a fixed penalty, with the same rows. The coefficients move away from zero: a strong penalty is "
            "good at first and bad later. The selected model is near the better one throughout. All risks are without a penalty."
        ),
        alt=f"Excess risk over 25 periods of the chosen model among {key} penalties, and of fixed penalties beside it.",
        x_label="period n",
        y_label="excess risk without a penalty",
        series=(
            curve("chosen, as in the paper", "paper", N, paper.risk),
            curve("chosen, default method", "practical", N, default.risk, band=False),
            *(
                curve(f"always {paper.grid[index]:g}", role, N, paper.each[:, :, index], band=False)
                for index, role in fixed
            ),
            Series(label="target", role="target", x=N, y=np.full(PERIODS, EPSILON)),
        ),
    )


def _share(two: dict[Method, Runs]) -> Figure:
    heavy = two["paper"].grid[-1]
    return Figure(
        key="selection_choice_two",
        title="Which of two penalties is chosen",
        caption=(
            f"Share of runs that choose the stronger penalty, {heavy:g}: nearly all at first, fewer and fewer as the coefficients "
            "grow."
        ),
        alt="Share of runs choosing the stronger of two penalties, falling over 25 periods.",
        x_label="period n",
        y_label=f"share of runs choosing {heavy:g}",
        series=tuple(
            Series(label=label, role=role, x=N, y=(two[name].chosen == 1.0).mean(axis=0))
            for name, label, role in METHODS
        ),
    )


def _path(ten: dict[Method, Runs]) -> Figure:
    series = []
    for name, label, role in METHODS:
        chosen = ten[name].chosen_l2
        low, middle, high = (np.quantile(chosen, level, axis=0, method="nearest") for level in (0.1, 0.5, 0.9))
        series.append(
            Series(label=f"{label}: median, 10-90 %", role=role, x=N, y=middle, low=low, high=high, steps=True)
        )
    grid = np.array(ten["paper"].grid)
    best = grid[ten["paper"].each.mean(axis=0).argmin(axis=1)]
    series.append(Series(label="best in hindsight, period by period", role="truth", x=N, y=best, marks=True))
    return Figure(
        key="selection_choice_ten",
        title="Which of ten penalties is chosen",
        caption="The selected penalty falls with the best one of each period, which is unknown; the band is over runs.",
        alt="Chosen penalty on a logarithmic axis over 25 periods, median and band over runs, beside the best in hindsight.",
        x_label="period n",
        y_label="chosen penalty",
        series=tuple(series),
        log_y=True,
    )


def _samples(runs: dict[Method, Runs], key: str) -> Figure:
    return Figure(
        key=f"selection_samples_{key}",
        title=f"Samples with {key} penalties: the largest request",
        caption="Every penalty needs its own number of samples, and the largest is requested.",
        alt=f"Number of samples over 25 periods with {key} penalties, mean over runs.",
        x_label="period n",
        y_label="samples K_n",
        series=tuple(curve(label, role, N, runs[name].samples) for name, label, role in METHODS),
    )
