"""Constants estimated or known: the cost of not knowing m, M, A and B.

The paper leaves their estimation to its predecessor. Here what is not given is estimated with a confidence margin on the side that
asks for more (theory 2), pooled over all periods, so that the price of not knowing falls as rows come in.
"""

from dataclasses import dataclass

import numpy as np

from driftpace.constraints import Ball
from driftpace.records import Constants
from driftpace.synthetic import DriftingRegression, GaussianRegression
from driftpace.tracker import Tracker
from driftpace.typing import FloatArray
from paper.beyond.study import SURE, Part, Runs, RunTrace, lead
from paper.cost.study import EPSILON, LOSS, NOISE, PERIODS, RHO
from paper.records import Claim, Comparison, Figure, OpenConstant, Role, Sensitivity, Series
from paper.runs import RunSettings, curve, measured, paired, run_seed

FIRST, SETTLED, EARLY = 50, 10, 5
Place = tuple[int, float]
"""Number of features and condition number of their covariance."""
PAPER: Place = (2, 1.0)
PLACES: tuple[Place, ...] = (PAPER, (5, 1.0), (2, 4.0))
Arm = str | None
ARMS: tuple[Arm, ...] = ("mMAB", "mM", "AB", "", None)
"""The constants that are given, by their letters; None is the default method."""
NAMES: dict[Arm, tuple[str, Role]] = {
    "mMAB": ("m, M, A, B given", "paper"),
    "mM": ("A, B estimated", "second"),
    "AB": ("m, M estimated", "third"),
    "": ("all estimated", "other"),
    None: ("default method", "practical"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ConstantsJob:
    """One run with some of the constants given."""

    place: Place
    arm: Arm
    run: int
    seed: int

    def follow(self) -> RunTrace:
        """Return the result."""
        number = run_seed(self.seed, self.run)
        features, _ = self.place
        population = DriftingRegression(
            features=features, rho=RHO, noise=NOISE, covariance=covariance(self.place), rng=number
        )
        return lead(tracker_of(self.place, self.arm, number), population.period, PERIODS, number)


def covariance(place: Place) -> FloatArray:
    """Return variances that fall from 1 to 1/condition."""
    features, condition = place
    return np.diag(np.geomspace(1.0, 1.0 / condition, features))


def tracker_of(place: Place, arm: Arm, number: int) -> Tracker:
    """Return the tracker of an arm."""
    features, _ = place
    if arm is None:
        return Tracker(LOSS, epsilon=EPSILON, fit_intercept=False, features=features, rng=number)
    truth = GaussianRegression(coef=np.zeros(features), covariance=covariance(place), noise=NOISE).constants(LOSS)
    return Tracker.as_in_paper(
        LOSS,
        epsilon=EPSILON,
        domain=Ball(radius=50.0),
        constants=Constants.given(**{name: truth.safe(name) for name in arm}) if arm else None,
        first_samples=(FIRST, FIRST),
        features=features,
        rng=number,
    )


def jobs(asked: RunSettings) -> list[ConstantsJob]:
    """Return every run of every arm; in the places beside the paper's all constants are given, or none."""
    return [
        ConstantsJob(place=place, arm=arm, run=run, seed=asked.seed)
        for place in PLACES
        for arm in ARMS
        if place == PAPER or arm in ("mMAB", "", None)
        for run in range(asked.runs)
    ]


def summarise(found: dict[ConstantsJob, RunTrace]) -> Part:
    """Return what the study says."""
    groups: dict[tuple[Place, Arm], list[RunTrace]] = {}
    for job, one in found.items():
        groups.setdefault((job.place, job.arm), []).append(one)
    arms = {what: Runs.of(runs) for what, runs in groups.items()}
    known, unknown, default = arms[PAPER, "mMAB"], arms[PAPER, ""], arms[PAPER, None]
    return Part(
        sentence=(
            f"Constants: with none of them given the paper's rule buys {unknown.labels.mean() / known.labels.mean():.1f} times "
            f"the labels ({unknown.labels.mean():.0f} against {known.labels.mean():.0f}), and the default method, which is "
            f"given none either, {default.labels.mean():.0f}."
        ),
        figures=_figures(arms),
        comparisons=(
            Comparison(
                what="labels, all constants estimated",
                paper=None,
                as_in_paper=measured(unknown.labels),
                practical=measured(default.labels),
                note=f"Given: {known.labels.mean():.0f}.",
            ),
            Comparison(
                what="excess risk, all constants estimated",
                paper=None,
                as_in_paper=measured(unknown.risk()),
                practical=measured(default.risk()),
                note=f"Given: {known.risk().mean():.4f}.",
            ),
            Comparison(
                what=f"samples per period after period {SETTLED}, all constants estimated",
                paper=None,
                as_in_paper=measured(unknown.size(SETTLED)),
                practical=measured(default.size(SETTLED)),
                note=f"Given: {known.size(SETTLED).mean():.1f}.",
            ),
        ),
        claims=_claims(known, unknown, default),
        sensitivity=(_table(arms),),
        constants=(
            OpenConstant(
                name="m, M, A, B",
                chosen="given in every other experiment as in the paper; here estimated too",
                why=(
                    "The paper does not state whether they were known. Where they are, its number is reproduced; this shows "
                    "their value."
                ),
            ),
        ),
    )


def _figures(arms: dict[tuple[Place, Arm], Runs]) -> tuple[Figure, ...]:
    n = np.arange(1.0, PERIODS + 1.0)
    return (
        Figure(
            key="beyond_constants_samples",
            title="Constants given or estimated: samples",
            caption=(
                "The margins of estimated constants make the first periods expensive and shrink as rows are pooled; the axis is "
                "logarithmic."
            ),
            alt=(
                "Samples over 25 periods on a logarithmic axis, highest with all constants estimated, lowest for the "
                "default method."
            ),
            x_label="period n",
            y_label="samples K_n",
            series=tuple(curve(*NAMES[arm], n, arms[PAPER, arm].samples, steps=True, band=False) for arm in ARMS),
            log_y=True,
        ),
        Figure(
            key="beyond_constants_risk",
            title="Constants given or estimated: excess risk",
            caption="More samples than needed give less risk than the target; every arm stays below the target.",
            alt="Excess risk over 25 periods on a logarithmic axis, all arms below the target.",
            x_label="period n",
            y_label="excess risk",
            series=(
                *(curve(*NAMES[arm], n, arms[PAPER, arm].risks, band=False) for arm in ARMS),
                Series(label="target", role="target", x=n, y=np.full(PERIODS, EPSILON)),
            ),
            log_y=True,
        ),
    )


def _claims(known: Runs, unknown: Runs, default: Runs) -> tuple[Claim, ...]:
    target = np.full(len(known.labels), EPSILON)
    early, late = (
        np.log(unknown.samples[:, part].sum(axis=1) / known.samples[:, part].sum(axis=1))
        for part in (slice(2, EARLY), slice(SETTLED, None))
    )
    fewer = paired(np.log(known.labels), np.log(default.labels))
    falling, dearer = paired(early, late), paired(late, np.zeros(len(late)))
    return (
        Claim(
            says="With estimated constants the target is met.",
            holds=paired(unknown.risk(), target).z < -SURE,
            measured=f"Mean excess risk {unknown.risk().mean():.4f} for {EPSILON:g}; given {known.risk().mean():.4f}.",
        ),
        Claim(
            says="Estimating the constants costs labels, fewer and fewer as rows arrive.",
            holds=falling.z > SURE and dearer.z > SURE,
            measured=(
                f"{np.exp(early.mean()):.1f} times the labels in periods 3 to {EARLY}, {np.exp(late.mean()):.2f} times after "
                f"period {SETTLED} (logarithm of the ratio falls by {falling})."
            ),
        ),
        Claim(
            says="The default method, given no constant, needs fewer labels than the paper's rule with all of them.",
            holds=fewer.z > SURE and paired(default.risk(), target).z < -SURE,
            measured=(
                f"{default.labels.mean():.0f} against {known.labels.mean():.0f}, with a mean excess risk of "
                f"{default.risk().mean():.4f}."
            ),
        ),
    )


def _table(arms: dict[tuple[Place, Arm], Runs]) -> Sensitivity:
    rows = tuple(
        (
            f"{features} features, condition {condition:g}: {NAMES[arm][0]}",
            f"{runs.samples[:, 2].mean():.0f}",
            f"{runs.size(SETTLED).mean():.1f}",
            f"{runs.labels.mean():.0f}",
            f"{runs.risk(2).mean():.4f}",
        )
        for ((features, condition), arm), runs in arms.items()
    )
    return Sensitivity(
        title="Constants given or estimated, on other data",
        columns=(
            "data and constants",
            "K_3",
            f"K_n after period {SETTLED}",
            "labels in all",
            "excess risk from period 3",
        ),
        rows=rows,
        reading=(
            "The condition number of the features costs the paper's bound far more than estimating the constants; the "
            "default method does not depend on it."
        ),
    )
