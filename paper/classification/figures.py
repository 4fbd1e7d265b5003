"""Figures and sensitivity tables of the classification experiment."""

import math
from collections.abc import Mapping

import numpy as np

from driftpace.typing import FloatArray
from paper.classification.study import Gathered, Setting
from paper.records import Figure, Role, Sensitivity, Series
from paper.runs import standard_errors


def means(gathered: Gathered) -> Figure:
    """Return the class means, one point for each period."""
    setting = gathered.setting
    path = np.array([setting.population.period(n).mean[:2] for n in range(1, setting.periods + 1)])
    classes: tuple[tuple[str, Role, FloatArray], ...] = (
        ("class 1", "paper", path[1:]),
        ("class -1", "practical", -path[1:]),
        ("period 1: class 1 right, class -1 left", "other", np.array([path[0], -path[0]])),
    )
    return Figure(
        key="means",
        title="Class means",
        caption=(
            f"The means of both classes in periods 1 to {setting.periods}. They stay opposite each other and turn by "
            f"{np.degrees(setting.angle):.1f} degrees per period: half a turn in {setting.periods} periods, so the "
            "model of period 1 ends up confusing the classes."
        ),
        alt="Points on the unit circle: one class goes round the upper half, the other the lower half.",
        x_label="first feature",
        y_label="second feature",
        series=tuple(Series(label=label, role=role, x=at[:, 0], y=at[:, 1], marks=True) for label, role, at in classes),
        paper="Evolution of Class Means (section V-B)",
        equal=True,
    )


def drift(paper: Gathered, practical: Gathered) -> Figure:
    """Return the drift as estimated after each period, with the truth."""
    return Figure(
        key="rho",
        title="Estimate of the drift",
        caption=(
            "How far the best model moves each period, as estimated from the rows, and the truth. The direct "
            "estimate adds the noise of two gradients to the movement, so it lies above. The default method "
            "measures in the norm of the Hessian, in which the same movement is shorter, so its true "
            "value differs. Bands are two standard errors."
        ),
        alt="Two estimates over periods, both above the dashed line of the true drift; the paper's falls and levels off.",
        x_label="period n",
        y_label="rho",
        series=(
            _curve("as in the paper", "paper", paper, paper.rho_estimate, band=True),
            _curve("default method", "practical", practical, practical.rho_estimate, band=True),
            _level("truth", "truth", paper, paper.rho),
            _level("truth in the practical norm", "truth", practical, practical.rho),
        ),
        paper="rho estimate for synthetic classification",
    )


def test_loss(paper: Gathered, practical: Gathered) -> Figure:
    """Return the test loss of both methods and of what each buys up front."""
    return Figure(
        key=_key("test-loss", paper),
        title=f"Test loss, epsilon = {paper.setting.epsilon:g}",
        caption=(
            "Mean loss on fresh rows, exactly. The same number of rows taken up front makes a better model of "
            "period 1, which becomes outdated; no error bars, as in the paper: they would be thinner than "
            "the lines."
        ),
        alt="Tracking stays level near the best possible loss; up front rises to ten times as much.",
        x_label="period n",
        y_label="test loss",
        series=(
            *_pairs(paper, practical, "loss", "front_loss"),
            _level("best possible", "truth", paper, paper.least),
            _level("best possible + epsilon", "target", paper, paper.least + paper.setting.epsilon),
        ),
        paper="Test loss for synthetic classification" if _is_the_papers(paper) else None,
        log_y=not _is_the_papers(paper),
    )


def area(paper: Gathered, practical: Gathered) -> Figure:
    """Return the area under the receiver operating characteristic."""
    return Figure(
        key=_key("auc", paper),
        title=f"Area under the curve, epsilon = {paper.setting.epsilon:g}",
        caption=(
            "The chance that a row of class 1 is scored above one of class -1, exactly. One half is guessing; what "
            "was learnt up front falls below it after a quarter turn, when it ranks the classes the wrong way round."
        ),
        alt="Tracking stays at 0.97; up front falls from 0.98 through one half to nearly zero.",
        x_label="period n",
        y_label="AUC",
        series=(
            *_pairs(paper, practical, "auc", "front_auc"),
            _level("best possible", "truth", paper, paper.best_auc),
        ),
        paper="Area Under the Curve for synthetic classification" if _is_the_papers(paper) else None,
    )


def rows(paper: Gathered, practical: Gathered) -> Figure:
    """Return the rows that were bought."""
    return Figure(
        key=_key("samples", paper),
        title=f"Rows bought, epsilon = {paper.setting.epsilon:g}",
        caption=(
            "K_n, the mean over runs. The paper's rule starts with its two given periods, overshoots while the "
            "drift is hardly known, and settles; the default method sizes its fits by their own risk rather than "
            "by a bound for the worst case."
        ),
        alt="Rows by period on a logarithmic axis: the paper's in the hundreds and falling slowly, the practical ones far below.",
        x_label="period n",
        y_label="K_n",
        series=(
            _curve("as in the paper", "paper", paper, paper.samples, steps=True),
            _curve("default method", "practical", practical, practical.samples, steps=True),
        ),
        log_y=True,
    )


def excess(paper: Gathered, practical: Gathered) -> Figure:
    """Return the excess risk against the target."""
    return Figure(
        key=_key("excess", paper),
        title=f"Excess risk, epsilon = {paper.setting.epsilon:g}",
        caption="The risk above the least possible, exactly: the mean over runs, and the target it is to stay below.",
        alt="Excess risk by period, logarithmic: the paper's far below the target line, the practical one nearer to it.",
        x_label="period n",
        y_label="excess risk",
        series=(
            _curve("as in the paper", "paper", paper, paper.excess, band=True),
            _curve("default method", "practical", practical, practical.excess, band=True),
            _level("epsilon", "target", paper, paper.setting.epsilon),
        ),
        log_y=True,
    )


def _is_the_papers(gathered: Gathered) -> bool:
    return gathered.setting.epsilon == 0.1


def _key(name: str, gathered: Gathered) -> str:
    return name if _is_the_papers(gathered) else f"{name}-{gathered.setting.epsilon:g}".replace(".", "")


def _pairs(paper: Gathered, practical: Gathered, followed: str, kept: str) -> tuple[Series, ...]:
    return (
        _curve("as in the paper", "paper", paper, getattr(paper, followed)),
        _curve("as in the paper, up front", "other", paper, getattr(paper, kept)),
        _curve("default method", "practical", practical, getattr(practical, followed)),
        _curve("default method, up front", "second", practical, getattr(practical, kept)),
    )


def _curve(
    label: str, role: Role, gathered: Gathered, values: FloatArray, *, band: bool = False, steps: bool = False
) -> Series:
    mean, error = values.mean(axis=0), 2.0 * standard_errors(values)
    low, high = (np.maximum(mean - error, 1e-3 * mean), mean + error) if band else (None, None)
    return Series(label=label, role=role, x=gathered.periods, y=mean, low=low, high=high, steps=steps)


def _level(label: str, role: Role, gathered: Gathered, value: float) -> Series:
    return Series(label=label, role=role, x=gathered.periods, y=np.full(gathered.setting.periods, value))


_ANGLE = math.pi / 25.0
CHANGED: Mapping[str, Setting] = {
    "as chosen": Setting(epsilon=0.1),
    "m global, 0.1": Setting(epsilon=0.1, curvature="global"),
    "sigma^2 = 0.25": Setting(epsilon=0.1, variance=0.25),
    "sigma^2 = 1": Setting(epsilon=0.1, variance=1.0),
    "angle pi/50": Setting(epsilon=0.1, angle=0.5 * _ANGLE),
    "angle 2 pi/25": Setting(epsilon=0.1, angle=2.0 * _ANGLE),
    "no turn at all": Setting(epsilon=0.1, angle=0.0),
    "d = 5": Setting(epsilon=0.1, features=5),
    "d = 20": Setting(epsilon=0.1, features=20),
    "K_1 = K_2 = 50": Setting(epsilon=0.1, first=50),
    "K_1 = K_2 = 200": Setting(epsilon=0.1, first=200),
    "epsilon = 0.01": Setting(epsilon=0.01),
    "epsilon = 0.01, m global": Setting(epsilon=0.01, curvature="global"),
    "epsilon = 0.001": Setting(epsilon=0.001),
    "T_n = 10,000 test rows": Setting(epsilon=0.1, tested=10_000),
}
"""What is changed, one thing at a time; "no turn at all" is the control, where up front is the right thing to do."""


def sensitivity(found: Mapping[str, Gathered]) -> Sensitivity:
    """Return the table, from the runs of each setting of :data:`CHANGED`."""
    local, everywhere = found["as chosen"], found["m global, 0.1"]
    times = everywhere.samples.mean() / local.samples.mean()
    return Sensitivity(
        title="As in the paper, one thing changed at a time",
        columns=(
            "changed",
            "rho",
            "its estimate, n = 25",
            "K_25",
            "rows in all",
            "excess risk",
            "loss lead, mean",
            "since",
            "AUC lead, mean",
            "since (AUC)",
        ),
        rows=tuple(_row(what, gathered) for what, gathered in found.items()),
        reading=(
            f"Tracking is ahead in loss from some period on {_where(found)}. The size of the lead depends on the data: "
            "how far and how fast the classes rotate. The constants of the method decide the cost: the m that is proven "
            f"everywhere requires {times:.0f} times the rows, and a smaller epsilon or more features require more, but a "
            "faster rotation hardly, because the start that is allowed for, sqrt(2 epsilon/m), is much longer than rho."
        ),
    )


def _where(found: Mapping[str, Gathered]) -> str:
    """Return for which settings tracking ends ahead, in words; without rotation it should not."""
    never = [what for what, gathered in found.items() if gathered.loss_lead.since is None]
    return f"with every choice but: {', '.join(never)}" if never else "with every choice"


def _row(what: str, gathered: Gathered) -> tuple[str, ...]:
    return (
        what,
        f"{gathered.rho:.4f}",
        f"{gathered.rho_estimate[:, -1].mean():.3f}",
        f"{gathered.samples[:, -1].mean():.0f}",
        f"{gathered.samples.sum(axis=1).mean():,.0f}",
        f"{gathered.excess.mean():.5f}",
        f"{gathered.loss_lead.overall.value:.3f}",
        _since(gathered.loss_lead.since),
        f"{gathered.auc_lead.overall.value:.3f}",
        _since(gathered.auc_lead.since),
    )


def _since(period: int | None) -> str:
    return "never" if period is None else f"n = {period}"
