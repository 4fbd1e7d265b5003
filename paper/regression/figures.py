"""Figures and sensitivity tables of the regression experiment."""

from dataclasses import replace

import numpy as np

from driftpace.typing import FloatArray
from paper.montecarlo import Courses, RegressionStudy
from paper.records import Figure, Role, Sensitivity, Series
from paper.regression.study import BAND, MANY, PAPER_RISK, STUDY, Followed, groups
from paper.runs import RunSettings, standard_errors


def figures(found: Followed, many: Courses) -> tuple[Figure, ...]:
    """Return all three, each with twice the standard error of a curve's mean around it."""
    runs = found.paper.runs
    n = np.arange(1.0, STUDY.periods + 1.0)
    constant = np.ones(STUDY.periods)

    def curves(name: str) -> tuple[Series, ...]:
        return (
            _curve(f"as in the paper, {runs} runs", "paper", getattr(found.paper, name)),
            _curve(f"as in the paper, {MANY:,} runs", "second", getattr(many, name), interval=False),
            _curve(f"default method, {runs} runs", "practical", getattr(found.practical, name)),
        )

    return (
        Figure(
            key="rho",
            title="Estimate of the drift",
            caption=(
                "The mean of the direct estimates so far, without its margin, lies above the true drift and stays "
                "there. The default method removes the noise of its models from its estimate, which therefore "
                "falls to the truth, and ends slightly below it."
            ),
            alt=(
                "Drift estimates over 25 periods: as in the paper they rise from about 1.05 to 1.16, above the "
                "dashed line of the true drift at 1."
            ),
            x_label="period n",
            y_label="estimate of rho",
            series=(*curves("rho"), Series(label="truth, rho = 1", role="truth", x=n, y=STUDY.rho * constant)),
            paper="rho estimate for synthetic regression",
        ),
        Figure(
            key="samples",
            title="Samples in each period",
            caption=(
                "After two periods of fixed size the number of samples falls with the margin and settles. The "
                "default method, which fits by least squares and needs no fixed first sizes, buys fewer."
            ),
            alt="Samples over 25 periods: 50 in the first two, 18 in the third, then falling slowly to about 13.",
            x_label="period n",
            y_label="K_n",
            series=curves("samples"),
            paper="K_n for synthetic regression",
        ),
        Figure(
            key="risk",
            title="Excess risk in each period",
            caption=(
                "The excess risk, exact for each model and averaged over runs, stays below the target in every period."
            ),
            alt=(
                "Excess risk over 25 periods on a logarithmic axis: between 0.02 and 0.04 from the third period on, "
                "below the line of the target at 0.1."
            ),
            x_label="period n",
            y_label="excess risk, mean over runs",
            series=(
                *curves("risk"),
                Series(label="target, epsilon = 0.1", role="target", x=n, y=STUDY.epsilon * constant),
            ),
            log_y=True,
        ),
    )


def _curve(label: str, role: Role, values: FloatArray, *, interval: bool = True) -> Series:
    values = np.asarray(values, dtype=np.float64)
    mean = values.mean(axis=0)
    n = np.arange(1.0, mean.size + 1.0)
    if not interval:
        return Series(label=label, role=role, x=n, y=mean)
    reach = 2.0 * standard_errors(values)
    low = np.maximum(mean - reach, 0.2 * mean)  # on a logarithmic axis nothing may be below zero
    return Series(label=label, role=role, x=n, y=mean, low=low, high=mean + reach)


COLUMNS = ("what is changed", "mean excess risk", "sd over n, 20 runs", "K, last period", "rho estimate, last period")
_CHOSEN = " (chosen)"

Table = tuple[str, str, tuple[tuple[str, RegressionStudy], ...]]


def tables() -> tuple[Table, ...]:
    """Return title, reading and rows of each table."""
    return (
        (
            "Noise variance",
            (
                "Most samples pay for the start, not for the noise: from no noise at all to almost four times the "
                "chosen one the mean stays in the band of theory 6.1, so the paper's number does not identify the noise."
            ),
            tuple((f"{noise:g}", replace(STUDY, noise=noise)) for noise in (0.0, 0.03, 0.05, 0.08, 0.15, 0.3, 0.5)),
        ),
        (
            "Variance of a feature, sigma_x^2",
            "It multiplies the cost of a step of length one, and the method responds with more samples.",
            tuple((f"{variance:g}", replace(STUDY, variance=variance)) for variance in (0.5, 1.0, 2.0, 4.0)),
        ),
        (
            "Sizes of the first two periods, K_1 = K_2",
            "They matter for two periods and are forgotten later.",
            tuple((f"{first}", replace(STUDY, first_samples=(first, first))) for first in (10, 20, 50, 100, 200)),
        ),
        (
            "Margin t_n on the drift estimate",
            (
                "Without a margin the target still holds: the direct estimate is above the drift by itself. A constant "
                "margin costs labels in every period."
            ),
            (
                ("none", replace(STUDY, margin=0.0)),
                ("1/sqrt(n-1)", STUDY),
                ("2/sqrt(n-1)", replace(STUDY, margin=2.0)),
                ("1, whatever n", replace(STUDY, margin=1.0, margin_shape="constant")),
                ("3, whatever n", replace(STUDY, margin=3.0, margin_shape="constant")),
            ),
        ),
        (
            "Path, average, knowledge, length",
            (
                "Steps in random directions often lead back, so a straight line is a little harder. Given the drift, the "
                "method buys less and comes closer to the target; the remainder is the triangle inequality, which takes "
                "every step to lead straight away from the last model. The weighted average has a much looser bound and "
                "buys several times the samples; with noise 1.5 and no margin it gives the paper's mean as well. 20 "
                "periods in place of 25 change little."
            ),
            (
                ("random directions, 25 periods", STUDY),
                ("straight line", replace(STUDY, path="line")),
                ("drift given", replace(STUDY, given_rho=STUDY.rho)),
                ("weighted average of the iterates", replace(STUDY, output="weighted")),
                ("weighted average, noise 1.5, no margin", replace(STUDY, output="weighted", noise=1.5, margin=0.0)),
                ("20 periods", replace(STUDY, periods=20)),
            ),
        ),
    )


def sensitivity(asked: RunSettings) -> tuple[Sensitivity, ...]:
    """Return the tables, a thousand runs for each row; the same runs everywhere, so that rows differ by what is changed."""
    found = []
    wanted = tables()
    studies = list(dict.fromkeys(study for _, _, rows in wanted for _, study in rows))
    courses = {
        study: study.run(MANY, seed=asked.seed, threads=asked.workers)
        for study in asked.over(studies, "regression: constants not stated", len(studies))
    }
    for title, reading, rows in wanted:
        cells = tuple(_row(name + _CHOSEN * (study == STUDY), courses[study]) for name, study in rows)
        found.append(Sensitivity(title=title, columns=COLUMNS, rows=cells, reading=reading))
    inside = sum(BAND[0] <= one.mean_risk <= BAND[1] for one in courses.values())
    found.append(
        Sensitivity(
            title="What the paper's number identifies",
            columns=("choices tried", f"mean within [{BAND[0]}, {BAND[1]}]", "mean below the target"),
            rows=(
                (
                    str(len(courses)),
                    str(inside),
                    str(sum(one.mean_risk < study.epsilon for study, one in courses.items())),
                ),
            ),
            reading=f"Many choices come near {PAPER_RISK}: the number does not identify the choices.",
        )
    )
    return tuple(found)


def _row(name: str, courses: Courses) -> tuple[str, ...]:
    return (
        name,
        f"{courses.mean_risk:.4f} +- {courses.mean_risk_error:.4f}",
        f"{groups(courses).spread[1]:.4f}",
        f"{courses.samples[:, -1].mean():.1f}",
        f"{courses.rho[:, -1].mean():.3f}",
    )
