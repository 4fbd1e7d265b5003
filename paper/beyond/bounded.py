"""Changes that are bounded rather than constant: the windowed estimate of Theorem 2, the mean and the largest (theory 3.2).

The bound rho on the changes is what a promise needs and no one sees. The mean of one-step estimates is about the mean change; the
largest so far is driven up by noise, longer and longer; the windowed estimate averages (W+1)/W times the largest of W = 3, which
for changes spread evenly over [0, rho] has the mean rho. Each is tried on the paper's direct one-step estimates, which have a
floor, and on debiased ones, which have none. Changes that are rare and large are not what h_W was made for.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from driftpace.constraints import Ball
from driftpace.drift import Combine, DebiasedDifference, Direct, Drift, MeanChange, OneStep, RootMargin, WindowedChange
from driftpace.records import Constants
from driftpace.tracker import Tracker
from paper.beyond.study import RARE, SURE, LargestChange, Law, Part, RandomChanges, Runs, RunTrace, lead
from paper.cost.study import LOSS
from paper.records import Claim, Comparison, Figure, OpenConstant, Role, Sensitivity, Series
from paper.runs import RunSettings, curve, measured, paired, run_seed

RHO, NOISE, EPSILON, PERIODS, WINDOW, SETTLED = 1.0, 0.5, 0.1, 40, 3, 10
FIRST = (50,) * (WINDOW + 1)  # the first full window has seen WINDOW changes
LAWS: tuple[Law, ...] = ("even", "rare")

How = Literal["mean", "windowed", "largest"]
Step = Literal["direct", "debiased"]
Arm = tuple[Step, How] | None

COMBINE: dict[How, Combine] = {
    "mean": MeanChange(),
    "windowed": WindowedChange(window=WINDOW, h="max"),
    "largest": LargestChange(),
}
STEPS: dict[Step, OneStep] = {"direct": Direct(), "debiased": DebiasedDifference()}
ARMS: tuple[Arm, ...] = (*((step, how) for step in STEPS for how in COMBINE), None)
"""One-step estimate and combination; None is the default method."""
NAMES: dict[How, tuple[str, Role]] = {
    "mean": ("mean of one-steps", "paper"),
    "windowed": (f"windowed, W = {WINDOW}", "second"),
    "largest": ("largest so far", "third"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class BoundedJob:
    """One run of one estimator under one distribution of changes."""

    law: Law
    arm: Arm
    run: int
    seed: int

    def follow(self) -> RunTrace:
        """Return the result."""
        number = run_seed(self.seed, self.run)
        population = RandomChanges(rho=RHO, law=self.law, noise=NOISE, rng=number)
        return lead(tracker_of(self.arm, number), population.period, PERIODS, number)


def tracker_of(arm: Arm, number: int) -> Tracker:
    """Return the paper's tracker with this estimate of the drift, or the default method."""
    if arm is None:
        return Tracker(LOSS, epsilon=EPSILON, fit_intercept=False, features=2, rng=number)
    known = RandomChanges(rho=RHO, law="even", noise=NOISE, rng=0).period(1).constants(LOSS)
    step, how = arm
    return Tracker.as_in_paper(
        LOSS,
        epsilon=EPSILON,
        domain=Ball(radius=50.0),
        constants=Constants.given(**{name: known.safe(name) for name in ("m", "M", "A", "B")}),
        drift=Drift(one_step=STEPS[step], combine=COMBINE[how], margin=RootMargin()),
        first_samples=FIRST,
        features=2,
        rng=number,
    )


def jobs(asked: RunSettings) -> list[BoundedJob]:
    """Return every run of every arm."""
    return [
        BoundedJob(law=law, arm=arm, run=run, seed=asked.seed)
        for law in LAWS
        for arm in ARMS
        for run in range(asked.runs)
    ]


def summarise(found: dict[BoundedJob, RunTrace]) -> Part:
    """Return what the study says."""
    arms = {
        (law, arm): Runs.of([one for job, one in found.items() if (job.law, job.arm) == (law, arm)])
        for law in LAWS
        for arm in ARMS
    }
    windowed, mean = arms["even", ("debiased", "windowed")], arms["even", ("debiased", "mean")]
    return Part(
        sentence=(
            f"Bounded change: with steps spread evenly up to {RHO:g} the windowed estimate ends at "
            f"{_last(windowed).mean():.2f}, the mean at {_last(mean).mean():.2f} (debiased one-steps); the target is met "
            f"either way, for {windowed.labels.mean():.0f} and {mean.labels.mean():.0f} labels."
        ),
        figures=tuple(_figure(arms, step) for step in STEPS),
        comparisons=_comparisons(arms),
        claims=_claims(arms),
        sensitivity=tuple(_table(arms, law) for law in LAWS),
        constants=(
            OpenConstant(
                name="bounded change: data",
                chosen=(
                    f"changes even over [0, {RHO:g}], or {RHO:g} with probability {RARE:g}; bounded rows, noise variance "
                    f"{NOISE:g}, epsilon {EPSILON:g}, {PERIODS} periods"
                ),
                why=(
                    "The paper has the theorem and no experiment. Bounded rows meet its assumptions; more noise than in "
                    "section V makes K_n depend on rho."
                ),
            ),
            OpenConstant(
                name="bounded change: window",
                chosen=f"W = {WINDOW}, h_W = (W+1)/W times the largest",
                why="The largest of noisy values grows with W, so W is kept small.",
            ),
        ),
    )


def _last(runs: Runs) -> np.ndarray:
    return np.asarray(runs.drifts[:, -1])


def _figure(arms: dict[tuple[Law, Arm], Runs], step: Step) -> Figure:
    shown = slice(WINDOW, None)  # from the first full window on
    n = np.arange(1.0, PERIODS + 1.0)[shown]
    curves = [curve(label, role, n, arms["even", (step, how)].drifts[:, shown]) for how, (label, role) in NAMES.items()]
    floor = "have a floor: even the mean is lifted well above the mean change" if step == "direct" else "have no floor"
    return Figure(
        key=f"beyond_bounded_{step}",
        title=f"Estimates of a bounded change, {step} one-steps",
        caption=(
            f"Changes are spread evenly over [0, {RHO:g}]. The mean looks for the mean change, the windowed estimate for the "
            f"bound, and the largest so far grows as long as one waits. {step.capitalize()} one-step estimates {floor}."
        ),
        alt=(
            f"Three estimates of the drift over {PERIODS} periods from {step} one-step estimates, with the bound and the mean "
            "change."
        ),
        x_label="period n",
        y_label="estimate of rho",
        series=(
            *curves,
            Series(label="bound on the changes", role="truth", x=n, y=np.full(n.size, RHO)),
            Series(label="mean change", role="target", x=n, y=np.full(n.size, RHO / 2.0)),
        ),
    )


def _comparisons(arms: dict[tuple[Law, Arm], Runs]) -> tuple[Comparison, ...]:
    mean, windowed, default = arms["even", ("direct", "mean")], arms["even", ("direct", "windowed")], arms["even", None]
    later = f"periods after {SETTLED}"
    return (
        Comparison(
            what="bounded change: labels, mean of direct one-steps",
            paper=None,
            as_in_paper=measured(mean.labels),
            practical=measured(default.labels),
            note=f"{PERIODS} periods; the default asks for no first samples.",
        ),
        Comparison(
            what="bounded change: labels, windowed direct one-steps",
            paper=None,
            as_in_paper=measured(windowed.labels),
            practical=measured(default.labels),
        ),
        Comparison(
            what=f"bounded change: excess risk, windowed, {later}",
            paper=f"at most {EPSILON:g} in the limit",
            as_in_paper=measured(windowed.risk(SETTLED)),
            practical=measured(default.risk(SETTLED)),
        ),
    )


def _claims(arms: dict[tuple[Law, Arm], Runs]) -> tuple[Claim, ...]:
    bound = {arm: paired(_last(arms["even", arm]), np.full(len(_last(arms["even", arm])), RHO)) for arm in ARMS if arm}
    rare = paired(_last(arms["rare", ("debiased", "windowed")]), np.full(len(_last(arms["rare", None])), RHO))
    highest = max(arms["even", arm].risk(SETTLED).mean() for arm in ARMS)
    errors = [paired(arms["even", arm].risk(SETTLED), np.full(len(arms["even", arm].labels), EPSILON)) for arm in ARMS]
    more = {step: arms["even", (step, "windowed")].labels / arms["even", (step, "mean")].labels - 1.0 for step in STEPS}
    middle = PERIODS // 2 - 1
    grown = paired(
        _last(arms["even", ("debiased", "largest")]), arms["even", ("debiased", "largest")].drifts[:, middle]
    )
    steady = paired(
        _last(arms["even", ("debiased", "windowed")]), arms["even", ("debiased", "windowed")].drifts[:, middle]
    )
    return (
        Claim(
            says="For changes spread evenly over [0, rho] the windowed estimate is at least rho on average (Theorem 2).",
            holds=bound["direct", "windowed"].z > SURE and bound["debiased", "windowed"].z > -SURE,
            measured=(
                f"Above rho by {bound['direct', 'windowed']} from direct one-steps, {bound['debiased', 'windowed']} from "
                "debiased ones."
            ),
        ),
        Claim(
            says="The mean of one-step estimates stays below the bound: it is an estimate of the mean change.",
            holds=bound["debiased", "mean"].z < -SURE,
            measured=(
                f"Off rho by {bound['debiased', 'mean']} from debiased one-steps, by {bound['direct', 'mean']} from direct "
                "ones, whose floor fills the gap by accident."
            ),
        ),
        Claim(
            says="The largest one-step estimate so far keeps growing where the windowed estimate has settled.",
            holds=grown.z > SURE and abs(steady.z) < SURE,
            measured=f"From period {middle + 1} to {PERIODS}: largest {grown}, windowed {steady} (debiased one-steps).",
        ),
        Claim(
            says="The target is met with every estimate: the margin of the rule is larger than the differences between estimates.",
            holds=all(error.z < -SURE for error in errors),
            measured=f"Highest mean excess risk after period {SETTLED}: {highest:.3f} for a target of {EPSILON:g}.",
        ),
        Claim(
            says="Estimating the bound instead of the mean costs labels.",
            holds=all(paired(each, np.zeros(len(each))).z > SURE for each in more.values()),
            measured=", ".join(f"{each.mean():.1%} more from {step} one-steps" for step, each in more.items()) + ".",
        ),
        Claim(
            says="No window fits all changes: where they are rare and large, the windowed estimate stays below the bound.",
            holds=rare.z < -SURE,
            measured=f"Changes of rho with probability {RARE:g}: off rho by {rare} (debiased one-steps).",
        ),
    )


def _table(arms: dict[tuple[Law, Arm], Runs], law: Law) -> Sensitivity:
    rows = []
    for arm in ARMS:
        runs = arms[law, arm]
        name = "default method" if arm is None else f"{arm[0]}, {NAMES[arm[1]][0]}"
        rows.append(
            (
                name,
                "-" if arm is None else f"{_last(runs).mean():.2f}",
                f"{runs.size(SETTLED).mean():.1f}",
                f"{runs.labels.mean():.0f}",
                f"{runs.risk(SETTLED).mean():.3f}",
            )
        )
    how = f"even over [0, {RHO:g}]" if law == "even" else f"{RHO:g} with probability {RARE:g}, else none"
    return Sensitivity(
        title=f"Bounded change: one-step estimates and ways to combine them, changes {how}",
        columns=("estimate", f"at period {PERIODS}", f"K_n after period {SETTLED}", "labels in all", "excess risk"),
        rows=tuple(rows),
        reading=(
            "The bound is 1. Direct one-steps are too high by the noise of the models; debiased ones measure the changes."
            if law == "even"
            else (
                "The bound is 1 here too. Without a floor the window falls short of it; the largest so far reaches it after "
                "the first change."
            )
        ),
    )
