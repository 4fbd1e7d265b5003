"""The two figures of the paper, and the excess risk that it gives as a number only."""

import numpy as np

from driftpace.typing import FloatArray
from paper.montecarlo import Courses
from paper.over_runs import errors
from paper.records import Figure, Role, Series
from paper.regression.following import Followed
from paper.regression.settings import MANY, STUDY


def figures(found: Followed, many: Courses) -> tuple[Figure, ...]:
    """Return all three, each with twice the standard error of a curve's mean around it."""
    runs = found.paper.runs
    n = np.arange(1.0, STUDY.periods + 1.0)
    constant = np.ones(STUDY.periods)

    def curves(name: str) -> tuple[Series, ...]:
        return (
            _curve(f"as in the paper, {runs} runs", "paper", getattr(found.paper, name)),
            _curve(f"as in the paper, {MANY:,} runs", "second", getattr(many, name), interval=False),
            _curve(f"practical default, {runs} runs", "practical", getattr(found.practical, name)),
        )

    return (
        Figure(
            key="rho",
            title="Estimate of the drift",
            caption=(
                "The mean of the direct estimates so far, without its margin, lies above the true drift and stays "
                "there. The practical default removes the noise of its models from its estimate, which therefore "
                "comes down to the truth, and ends a little below it."
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
                "practical default, which fits by least squares and does not need a fixed beginning, buys fewer."
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
    reach = 2.0 * errors(values)
    low = np.maximum(mean - reach, 0.2 * mean)  # on a logarithmic axis nothing may be below zero
    return Series(label=label, role=role, x=n, y=mean, low=low, high=mean + reach)
