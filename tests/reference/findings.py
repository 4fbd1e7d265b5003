"""Made-up findings with the shape of real ones, and experiments that find them: for what shows them, not for any claim."""

from dataclasses import replace

import numpy as np

from driftpace.typing import FloatArray
from paper import (
    Claim,
    Comparison,
    Figure,
    Finding,
    Measured,
    OpenConstant,
    RunSettings,
    Sensitivity,
    Series,
)
from paper.runs import map_runs


def curve(label: str, role: str, y: FloatArray, width: float = 0.0, **more: object) -> Series:
    """Return a curve over periods 1, 2, ... with an interval of that half width, where there is one."""
    around = {"low": y - width, "high": y + width} if width else {}
    return Series(label=label, role=role, x=np.arange(1.0, y.size + 1.0), y=y, **around, **more)  # type: ignore[arg-type]


def made_up(name: str = "regression", *, runs: int = 20, seed: int = 0, periods: int = 25) -> Finding:
    """Return a finding with every kind of figure and table."""
    rng = np.random.default_rng((seed, periods))
    n = np.arange(1.0, periods + 1.0)
    settling = 1.0 + 0.5 / n + 0.02 * rng.normal(size=periods)
    settling[:1] = np.nan
    samples = np.where(n <= 2, 50.0, np.round(14.0 + 10.0 / n))
    turn = np.pi * (n - 1.0) / periods
    figures = (
        Figure(
            key="rho",
            title="Estimate of rho",
            caption="Both estimates settle above the truth, rho = 1.",
            alt="Two falling curves that level off at about 1.1, above a dashed line at 1.",
            x_label="period n",
            y_label="estimate of rho",
            series=(
                curve("as in the paper", "paper", settling, 0.06),
                curve("default method", "practical", 0.9 * settling + 0.1, 0.05),
                curve("truth", "truth", np.ones(periods)),
            ),
            paper="figure 1",
        ),
        Figure(
            key="samples",
            title="Samples K_n",
            caption="K_n settles after the two periods whose size is given.",
            alt="Two staircases that fall from 50 to 14.",
            x_label="period n",
            y_label="samples K_n",
            series=(
                curve("as in the paper", "paper", samples, 3.0, steps=True),
                curve("default method", "practical", samples - 4.0, 2.0, steps=True),
                curve("all up front", "other", np.where(n == 1.0, samples.sum(), 0.0), steps=True),
            ),
            paper="figure 2",
        ),
        Figure(
            key="loss",
            title="Test loss, in $",
            caption="Buying up front goes stale; the others do not.",
            alt="One curve climbs from 0.1 to 300, four stay below 1.",
            x_label="period n",
            y_label="test loss",
            series=(
                curve("as in the paper", "paper", 0.1 + 0.01 * rng.normal(size=periods), 0.02),
                curve("default method", "practical", 0.09 + 0.01 * rng.normal(size=periods), 0.02),
                curve("all up front", "other", 0.5 * n**2 - 0.4, 0.3),
                curve("every five periods", "second", 0.3 + 0.2 * (n % 5.0), 0.05),
                curve("the same every period", "third", 0.2 + 0.02 * n),
                curve("target", "target", np.full(periods, 0.15)),
            ),
            log_y=True,
        ),
        Figure(
            key="means",
            title="Class means",
            caption="The means go round half a circle.",
            alt="Points on a unit circle.",
            x_label="first feature",
            y_label="second feature",
            series=(
                Series(label="class 1", role="paper", x=np.cos(turn), y=np.sin(turn), marks=True),
                Series(label="class 2", role="practical", x=-np.cos(turn), y=-np.sin(turn), marks=True),
            ),
            equal=True,
        ),
        Figure(
            key="overshoot",
            title="Overshoot as epsilon shrinks",
            caption="Measured below bound.",
            alt="Two falling lines.",
            x_label="target epsilon",
            y_label="overshoot of the estimate",
            series=(
                Series(
                    label="bound", role="truth", x=np.array([0.3, 0.1, 0.03, 0.01]), y=np.array([3.0, 1.7, 1.0, 0.55])
                ),
                Series(
                    label="measured",
                    role="paper",
                    x=np.array([0.3, 0.1, 0.03, 0.01]),
                    y=np.array([0.3, 0.2, 0.1, 0.05]),
                    low=np.array([0.25, 0.15, 0.08, 0.0]),
                    high=np.array([0.35, 0.25, 0.12, 0.1]),
                ),
            ),
            log_y=True,
        ),
    )
    return Finding(
        name=name,
        title=f"Synthetic {name}",
        question="How many samples does it take to follow a line that moves by rho = 1 each period?",
        answer="About 14 a period as in the paper, 10 by default; both keep the excess risk below epsilon = 0.1.",
        runs=runs,
        seed=seed,
        figures=figures,
        comparisons=(
            Comparison(
                what="mean excess risk",
                paper="2.797e-2 +- 1.071e-2",
                as_in_paper=Measured(value=0.0281, error=0.0012, note="± is the standard deviation over n"),
                practical=Measured(value=0.0642, error=0.0031),
                note="target 0.1",
            ),
            Comparison(what="K_25", paper=None, as_in_paper=Measured(value=13.4, unit="samples"), practical=None),
        ),
        constants=(
            OpenConstant(name="noise variance", chosen="0.08", why="small enough that the start distance matters."),
            OpenConstant(name="K_1, K_2", chosen="50", why="enough for a first estimate of rho."),
        ),
        sensitivity=(
            Sensitivity(
                title="How much the noise matters",
                columns=("noise variance", "excess risk", "K_25"),
                rows=(("0.03", "0.0263", "11"), ("0.08", "0.0282", "13.4"), ("0.3", "0.031", "22")),
                reading="Ten times the noise moves the excess risk by a fifth.",
            ),
        ),
        claims=(
            Claim(says="The estimate is above rho in general.", holds=True, measured="above in 24 of 25 periods"),
            Claim(says="Up front is as good.", holds=False, measured="its loss is 3,000 times as large at n = 25"),
        ),
        notes=("Averages are over runs & periods.",),
    )


def hostile(evil: str) -> Finding:
    """Return a finding with that text everywhere, and numbers that are none."""
    finding = made_up(periods=4)
    gaps = np.array([np.nan, 1.0, np.inf, -1.0])
    figure = Figure(
        key="odd",
        title=evil,
        caption=evil,
        alt=evil,
        x_label=evil,
        y_label=evil,
        series=(
            curve(evil, "paper", gaps, 0.1),
            curve(evil, "paper", np.full(4, np.nan)),
            curve(evil, "truth", np.zeros(4), marks=True),
        ),
        paper=evil,
    )
    return replace(
        finding,
        title=evil,
        question=evil,
        answer=evil,
        figures=(figure, replace(figure, key="odd-log", log_y=True), replace(figure, key="odd-equal", equal=True)),
        comparisons=(
            Comparison(
                what=evil,
                paper=evil,
                as_in_paper=Measured(value=np.nan, unit=evil, note=evil),
                practical=None,
                note=evil,
            ),
        ),
        constants=(OpenConstant(name=evil, chosen=evil, why=evil),),
        sensitivity=(Sensitivity(title=evil, columns=(evil,), rows=((evil,),), reading=evil),),
        claims=(Claim(says=evil, holds=False, measured=evil),),
        notes=(evil,),
    )


def mean_of_run(item: tuple[int, int]) -> float:
    """Return a number that depends on seed and run alone."""
    return float(np.random.default_rng(item).normal(size=(200, 200)).mean())


def find(asked: RunSettings) -> Finding:
    """Find something that depends on runs and seed."""
    means = map_runs(asked, mean_of_run, [(asked.seed, run) for run in range(asked.runs)], "runs")
    finding = made_up(runs=asked.runs, seed=asked.seed)
    figure = replace(finding.figures[0], key="runs", series=(curve("mean of a run", "paper", np.array(means)),))
    value = Measured(value=float(np.mean(means)), error=float(np.std(means)))
    return replace(
        finding,
        figures=(figure,),
        comparisons=(Comparison(what="mean", paper=None, as_in_paper=value, practical=None),),
    )
