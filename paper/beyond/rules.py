"""Update past risk bounds or do not (section II-E of the paper): two rules that request the same in the long run.

Do-not-update sizes a period as if the last model just met the target; update-past revises what is proven of every past model with
the newest drift and sizes from that. So it buys more while the first periods wear off, and can prove its target sooner.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from driftpace.constraints import Ball
from driftpace.tracker import Tracker
from driftpace.typing import FloatArray
from paper.beyond.study import SURE, Part, Runs, RunTrace, lead
from paper.cost.study import EPSILON, KNOWN, LOSS, PERIODS, population_of
from paper.records import Claim, Comparison, Figure, OpenConstant, Role, Sensitivity, Series
from paper.runs import RunSettings, curve, measured, paired, run_seed

FIRST, SETTLED, RADIUS = 50, 10, 50.0
SIZES = (5, 20, 50, 200)
Rule = Literal["do-not-update", "update-past"]
RULES: tuple[Rule, ...] = ("do-not-update", "update-past")
Arm = tuple[Rule, int] | None
ARMS: tuple[Arm, ...] = (*((rule, first) for first in SIZES for rule in RULES), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleJob:
    """One run of one rule with K_1 = K_2 fixed, or of the default method (None)."""

    arm: Arm
    run: int
    seed: int

    def follow(self) -> RunTrace:
        """Return the result in the synthetic regression of section V-A."""
        number = run_seed(self.seed, self.run)
        return lead(tracker_of(self.arm, number), population_of(number).period, PERIODS, number)


def tracker_of(arm: Arm, number: int) -> Tracker:
    """Return the tracker of an arm."""
    if arm is None:
        return Tracker(LOSS, epsilon=EPSILON, fit_intercept=False, features=2, rng=number)
    rule, first = arm
    return Tracker.as_in_paper(
        LOSS,
        epsilon=EPSILON,
        domain=Ball(radius=RADIUS),
        constants=KNOWN,
        rule=rule,
        first_samples=(first, first),
        features=2,
        rng=number,
    )


def jobs(asked: RunSettings) -> list[RuleJob]:
    """Return every run of every arm."""
    return [RuleJob(arm=arm, run=run, seed=asked.seed) for arm in ARMS for run in range(asked.runs)]


def proven_from(runs: Runs) -> FloatArray:
    """Return, for each run, the first period from which on the promised risk is within the target.

    >>> promised = np.array([[9.0, 0.2, 0.09, 0.08], [9.0, 0.05, 0.2, 0.1]])
    >>> proven_from(Runs(risks=promised, samples=promised, drifts=promised, promised=promised))
    array([3., 4.])
    """
    over = runs.promised > EPSILON
    last = np.where(over.any(axis=1), over.shape[1] - np.argmax(over[:, ::-1], axis=1), 0)
    return np.asarray(last + 1.0)


def summarise(found: dict[RuleJob, RunTrace]) -> Part:
    """Return what the study says."""
    arms = {arm: Runs.of([one for job, one in found.items() if job.arm == arm]) for arm in ARMS}
    plain, past, default = arms["do-not-update", FIRST], arms["update-past", FIRST], arms[None]
    return Part(
        sentence=(
            f"Past bounds: updating them proves the target from period {np.median(proven_from(past)):.0f} on instead of "
            f"{np.median(proven_from(plain)):.0f}, for {past.labels.mean():.0f} labels instead of {plain.labels.mean():.0f}; "
            "later both request the same."
        ),
        figures=_figures(plain, past, default),
        comparisons=(
            Comparison(
                what="labels, do-not-update",
                paper=None,
                as_in_paper=measured(plain.labels),
                practical=measured(default.labels),
                note=f"{PERIODS} periods",
            ),
            Comparison(
                what="labels, update-past",
                paper=None,
                as_in_paper=measured(past.labels),
                practical=measured(default.labels),
            ),
            Comparison(
                what="excess risk, update-past",
                paper=f"at most {EPSILON:g} in the limit",
                as_in_paper=measured(past.risk()),
                practical=measured(default.risk()),
                note=f"Do-not-update: {plain.risk().mean():.4f}.",
            ),
            Comparison(
                what="period from which on the target is proven, update-past",
                paper=None,
                as_in_paper=measured(proven_from(past)),
                practical=None,
                note=f"Do-not-update: {proven_from(plain).mean():.1f} on average. The default promises by another bound.",
            ),
        ),
        claims=_claims(plain, past),
        sensitivity=(_table(arms),),
        constants=(
            OpenConstant(
                name="rules: K_1 = K_2 and the diameter",
                chosen=f"{FIRST}, and 2 x {RADIUS:g}",
                why=(
                    "As in the regression experiment. The difference of the rules is made by what is proven of the first two "
                    "models, so the sizes are varied."
                ),
            ),
        ),
    )


def _figures(plain: Runs, past: Runs, default: Runs) -> tuple[Figure, ...]:
    n = np.arange(1.0, PERIODS + 1.0)
    named: tuple[tuple[str, Role, Runs], ...] = (
        ("do-not-update", "paper", plain),
        ("update-past", "second", past),
    )
    return (
        Figure(
            key="beyond_rules_samples",
            title="Update past bounds or do not: samples",
            caption=(
                "Update-past buys more in period 3, where little is proven of the first two models; from then on both rules "
                "request the same."
            ),
            alt="Samples over 25 periods for both rules: they differ in period 3 only. The default method is lower throughout.",
            x_label="period n",
            y_label="samples K_n",
            series=(
                *(curve(label, role, n, runs.samples, steps=True, band=False) for label, role, runs in named),
                curve("default method", "practical", n, default.samples, steps=True, band=False),
            ),
        ),
        Figure(
            key="beyond_rules_promise",
            title="Update past bounds or do not: what is proven",
            caption=(
                "The excess risk that is promised for each period's model (mean over runs), and its true risk. "
                "Update-past promises its target at once, do-not-update after a few periods; the models are equally good."
            ),
            alt=(
                "Promised risk on a logarithmic axis: update-past falls to the target in period 3, do-not-update some periods "
                "later; true risks are alike."
            ),
            x_label="period n",
            y_label="excess risk",
            series=(
                *(
                    curve(f"{label}: promised", role, n[2:], runs.promised[:, 2:], band=False)
                    for label, role, runs in named
                ),
                curve("do-not-update: true", "other", n[2:], plain.risks[:, 2:], band=False),
                curve("update-past: true", "third", n[2:], past.risks[:, 2:], band=False),
                Series(label="target", role="target", x=n[2:], y=np.full(PERIODS - 2, EPSILON)),
            ),
            log_y=True,
        ),
    )


def _claims(plain: Runs, past: Runs) -> tuple[Claim, ...]:
    target = np.full(len(plain.labels), EPSILON)
    held = [paired(runs.risk(), target) for runs in (plain, past)]
    later = paired(past.size(SETTLED), plain.size(SETTLED))
    share = abs(later.mean) / plain.size(SETTLED).mean()
    sooner, more = paired(proven_from(plain), proven_from(past)), paired(past.labels, plain.labels)
    return (
        Claim(
            says="Both rules meet the target.",
            holds=all(each.z < -SURE for each in held),
            measured=(
                f"Mean excess risk {plain.risk().mean():.4f} (do not update) and {past.risk().mean():.4f} (update past) for "
                f"{EPSILON:g}."
            ),
        ),
        Claim(
            says="Update-past proves its target sooner.",
            holds=sooner.z > SURE,
            measured=(
                f"Sooner by {sooner} periods; from period {proven_from(past).max():.0f} at the latest, do-not-update from "
                f"{proven_from(plain).max():.0f}."
            ),
        ),
        Claim(
            says="This costs labels in the first periods only: later both request the same.",
            holds=more.z > SURE and share < 0.05,
            measured=f"{more} labels more in all; after period {SETTLED} {later} per period, {share:.1%} of K_n.",
        ),
    )


def _table(arms: dict[Arm, Runs]) -> Sensitivity:
    rows = []
    for first in SIZES:
        for rule in RULES:
            runs = arms[rule, first]
            rows.append(
                (
                    f"{first}, {rule}",
                    f"{runs.samples[:, 2].mean():.0f}",
                    f"{runs.size(SETTLED).mean():.1f}",
                    f"{runs.labels.mean():.0f}",
                    f"{np.median(proven_from(runs)):.0f}",
                    f"{runs.risk(2).mean():.4f}",
                )
            )
    return Sensitivity(
        title="The two rules after first periods of other sizes",
        columns=(
            "K_1 = K_2, rule",
            "K_3",
            f"K_n after period {SETTLED}",
            "labels in all",
            "proven from period",
            "excess risk from period 3",
        ),
        rows=tuple(rows),
        reading=(
            "The less is proven of the first models, the more update-past buys in period 3; what it promises then, it can "
            "prove. The true risk is alike."
        ),
    )
