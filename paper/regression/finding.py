"""The first experiment, whole."""

from paper.asked import Asked
from paper.montecarlo import Courses
from paper.records import Finding
from paper.regression.figures import figures
from paper.regression.following import Followed, followed
from paper.regression.judging import claims, comparisons
from paper.regression.measuring import groups
from paper.regression.open_constants import OPEN
from paper.regression.sensitivity import sensitivity
from paper.regression.settings import MANY, PAPER_RISK, PAPER_SPREAD, STUDY


def find(asked: Asked) -> Finding:
    """Return what the synthetic regression of section V-A comes to: both trackers on the same worlds, and a thousand runs more."""
    found = followed(asked)
    many = STUDY.run(MANY, seed=asked.seed, threads=asked.workers)
    paper, practical = found.paper, found.practical
    judged = claims(found, many)
    return Finding(
        name="regression",
        title="Synthetic regression",
        question=(
            "The best coefficients move by 1 each period, which the method is not told. Does it learn how fast they "
            "move, does it settle on a number of samples, and is the excess risk below 0.1?"
        ),
        answer=(
            f"{'Yes' if all(claim.holds for claim in judged) else 'Not in everything'}. As in the paper the mean "
            f"excess risk is {paper.mean_risk:.4f} (the paper: {PAPER_RISK}) with {_labels(paper):.0f} labels in 25 "
            f"periods; the practical default, which is told nothing but the target, has {practical.mean_risk:.4f} "
            f"with {_labels(practical):.0f} labels."
        ),
        runs=asked.runs,
        seed=asked.seed,
        figures=figures(found, many),
        comparisons=comparisons(found, asked.seed, asked.workers),
        constants=OPEN,
        sensitivity=sensitivity(asked),
        claims=judged,
        notes=_notes(found, many),
    )


def _labels(courses: Courses) -> float:
    return float(courses.samples.sum(axis=1).mean())


def _notes(found: Followed, many: Courses) -> tuple[str, ...]:
    twenty = groups(many)
    low, _, high = twenty.risk
    less, _, more = twenty.spread
    return (
        (
            f"The curves of {MANY:,} runs come from a compiled engine that repeats the method of Tracker.as_in_paper "
            f"number for number (a test feeds both the same rows); its mean excess risk is {many.mean_risk:.4f} +- "
            f"{many.mean_risk_error:.4f}, that of the {found.paper.runs} tracker runs {found.paper.mean_risk:.4f} +- "
            f"{found.paper.mean_risk_error:.4f}."
        ),
        (
            f"Of {MANY // 20} groups of 20 runs each, as the paper has one, the middle 80 % have means from {low:.4f} to "
            f"{high:.4f} and standard deviations over n from {less:.4f} to {more:.4f}; the paper has {PAPER_RISK} and "
            f"{PAPER_SPREAD}."
        ),
        (
            "Where the slack to the target comes from: the margin, the estimate being above the drift, and most of all "
            "the triangle inequality, by which the rule takes every step to lead straight away from the last model. "
            "With the drift told the mean is still half the target."
        ),
        (
            "In this experiment a step costs five times the target (m rho^2 / 2 = 0.5), so there is little to keep from "
            "the last model: a least squares fit of 4 fresh rows a period would do. Warm starts pay where the world "
            "moves less."
        ),
    )
