"""The synthetic regression: each sentence of the paper about it, with its error budget, and what the finding is made of."""

import math
import os
from dataclasses import replace

import numpy as np
import pytest

from paper import Finding, RunSettings, experiment
from paper.montecarlo import Courses, RegressionStudy
from paper.regression import find
from paper.regression.figures import sensitivity
from paper.regression.finding import claims
from paper.regression.study import (
    BAND,
    MANY,
    PAPER_RISK,
    STUDY,
    Followed,
    best_constant_sgd,
    best_constant_squares,
    follow,
    followed,
    groups,
    joined,
    paper_tracker,
    settled,
)

Z = 4.9  # about one false alarm in a million for each number that is looked at
ABOVE, SETTLES, ACHIEVED, NUMBER = range(4)


def mean_and_error(each: np.ndarray) -> tuple[float, float]:
    return float(each.mean()), float(each.std(ddof=1)) / math.sqrt(len(each))


def below(risk: np.ndarray, limit: float) -> bool:
    """Whether the mean over runs, each averaged over its periods, is below the limit beyond the error budget."""
    mean, error = mean_and_error(risk.mean(axis=1))
    return mean + Z * error < limit


def many(study: RegressionStudy, seed: int) -> Courses:
    return study.run(MANY, seed=seed, threads=1)


def judged(paper: Courses, curve: Courses) -> list[bool]:
    return [claim.holds for claim in claims(Followed(paper=paper, practical=paper), curve)]


@pytest.fixture(scope="module")
def twenty() -> Courses:
    """The paper's twenty runs, by the tracker."""
    seed = int(os.environ.get("DRIFTPACE_TEST_SEED", "0"))
    return joined([follow(paper_tracker(run), run, seed) for run in range(20)])


@pytest.mark.statistical
def test_the_drift_estimate_is_above_the_drift_on_average(twenty: Courses, seed: int) -> None:
    """Z standard errors over 20 runs of the tracker, and in each period over 1,000 runs of the engine; below rho + 0.3 too."""
    mean, error = mean_and_error(np.nanmean(twenty.rho, axis=1))
    assert mean - Z * error > STUDY.rho
    rho = many(STUDY, seed).rho[:, 1:]
    error = rho.std(axis=0, ddof=1) / math.sqrt(MANY)
    assert (rho.mean(axis=0) - Z * error > STUDY.rho).all()
    assert (rho.mean(axis=0) < STUDY.rho + 0.3).all()
    control = many(replace(STUDY, given_rho=0.95), seed)  # one that is told too little does not count as above
    assert not judged(control, control)[ABOVE]


@pytest.mark.statistical
def test_sample_sizes_settle(twenty: Courses, seed: int) -> None:
    """In the last five periods run averages move by under 5 % per period, in one direction by under 1 % (Z errors on top)."""
    curve = many(STUDY, seed)
    assert settled(twenty).holds  # its slope has an error of 0.02 and 1 % is 0.13, so a false alarm is 5 errors away
    still = settled(curve)
    assert still.holds
    assert abs(still.slope) + Z * still.slope_error < 0.01 * still.samples
    sizes = curve.samples.mean(axis=0)
    assert sizes[2] > sizes[9] > sizes[-1] > 11.0  # from above, and not below what is needed with the drift known
    control = many(replace(STUDY, margin=60.0), seed)  # a margin that still falls fast in the last periods
    assert not settled(control).holds
    assert not judged(control, control)[SETTLES]


@pytest.mark.statistical
def test_the_excess_risk_is_at_most_the_target(twenty: Courses, seed: int) -> None:
    """Z standard errors over 20 tracker runs, and for every period over 1,000 engine runs."""
    assert below(twenty.risk, STUDY.epsilon)
    risk = many(STUDY, seed).risk
    error = risk.std(axis=0, ddof=1) / math.sqrt(MANY)
    assert (risk.mean(axis=0) + Z * error < STUDY.epsilon).all()


@pytest.mark.statistical
def test_with_drift_far_understated_the_target_is_missed(seed: int) -> None:
    """The control: told that the population hardly moves, the same method is above the target by Z standard errors."""
    control = many(replace(STUDY, given_rho=0.2), seed)
    mean, error = mean_and_error(control.risk[:, 5:].mean(axis=1))
    assert mean - Z * error > STUDY.epsilon
    later = Courses(
        risk=control.risk[:, 5:],
        samples=control.samples[:, 5:],
        rho=control.rho[:, 5:],
        coef=control.coef[:, 5:],
        truth=control.truth[:, 5:],
    )
    assert not judged(later, later)[ACHIEVED]


@pytest.mark.statistical
def test_with_known_drift_a_quarter_of_the_target_is_missed(seed: int) -> None:
    """Tightness: with the drift known, a quarter of the target would not be kept (Z errors, from period 3 on)."""
    risk = many(replace(STUDY, given_rho=STUDY.rho), seed).risk[:, 2:]
    mean, error = mean_and_error(risk.mean(axis=1))
    assert mean - Z * error > 0.25 * STUDY.epsilon
    assert below(risk, STUDY.epsilon)


@pytest.mark.statistical
def test_the_mean_is_the_papers(twenty: Courses, seed: int) -> None:
    """The mean over 20 runs x 25 periods is in [0.017, 0.039]; its standard error is below 0.0022, so both ends are 4.5 away."""
    curve = many(STUDY, seed)
    assert math.sqrt(MANY / 20.0) * curve.mean_risk_error < 0.0022
    assert BAND[0] <= twenty.mean_risk <= BAND[1]
    assert judged(twenty, curve)[NUMBER]
    of_twenty = math.sqrt(MANY / 20.0) * curve.mean_risk_error
    assert (
        abs(curve.mean_risk - PAPER_RISK) < 2.0 * of_twenty - Z * curve.mean_risk_error
    )  # such a mean is nothing unusual
    low, middle, high = groups(curve).risk
    assert low < middle < high < low + 6.0 * of_twenty
    control = many(replace(STUDY, margin=3.0, margin_shape="constant"), seed)
    assert not judged(control, control)[NUMBER]


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("study", "reported"),
    [
        (STUDY, 0.0282),
        (replace(STUDY, noise=0.05), 0.0268),
        (replace(STUDY, noise=0.03), 0.0263),
        (replace(STUDY, noise=0.05, first_samples=(200, 200)), 0.0276),
        (replace(STUDY, noise=0.05, path="line"), 0.0305),
        (replace(STUDY, noise=0.05, given_rho=1.0), 0.043),
    ],
)
def test_the_simulations_of_the_notes(study: RegressionStudy, reported: float, seed: int) -> None:
    """Theory 6.1 reports these means from 1,000 runs of other code: within Z of the error of both, and half a last digit."""
    courses = many(study, seed)
    digit = 0.5 * 10.0 ** -len(str(reported).split(".")[1])
    assert abs(courses.mean_risk - reported) < Z * math.sqrt(2.0) * courses.mean_risk_error + digit


@pytest.mark.statistical
def test_the_tracker_and_the_engine_have_the_same_mean(twenty: Courses, seed: int) -> None:
    """Other populations, other code: the means of risk, of the last drift estimate and of the last size agree within Z errors."""
    curve = many(STUDY, seed)
    for few, all_runs in (
        (twenty.risk.mean(axis=1), curve.risk.mean(axis=1)),
        (twenty.rho[:, -1], curve.rho[:, -1]),
        (twenty.samples.sum(axis=1), curve.samples.sum(axis=1)),
    ):
        (one, error), (other, small) = mean_and_error(few), mean_and_error(all_runs)
        assert abs(one - other) < Z * math.hypot(error, small)


def test_the_best_constant_size_is_the_least(seed: int) -> None:
    samples, risk = best_constant_sgd(seed, threads=1)
    assert risk <= STUDY.epsilon
    fewer = replace(STUDY, first_samples=(samples - 1,) * STUDY.periods)
    assert many(fewer, seed).mean_risk > STUDY.epsilon
    rows, exact = best_constant_squares()
    assert rows == STUDY.features + 2
    assert exact == pytest.approx(STUDY.noise)  # sigma^2 d / (2 (K - d - 1)), theory 1.5a


def test_sizes_that_stand_still_are_settled() -> None:
    shape = (3, 8)
    still = Courses(
        risk=np.zeros(shape),
        samples=np.full(shape, 12),
        rho=np.ones(shape),
        coef=np.zeros((*shape, 2)),
        truth=np.zeros((*shape, 2)),
    )
    assert settled(still).step == settled(still).slope == 0.0
    falling = replace(still, samples=np.tile(np.arange(30, 22, -1), (3, 1)))
    assert settled(falling).slope == pytest.approx(-1.0)
    assert not settled(falling).holds


@pytest.fixture(scope="module")
def finding() -> Finding:
    return find(RunSettings(runs=3, seed=5, workers=1))


def test_the_catalogue_knows_it() -> None:
    assert experiment("regression") is find


def test_the_figures_are_the_papers_and_the_risk(finding: Finding) -> None:
    assert [figure.key for figure in finding.figures] == ["rho", "samples", "risk"]
    assert [figure.paper is not None for figure in finding.figures] == [True, True, False]
    roles = [[series.role for series in figure.series] for figure in finding.figures]
    assert roles == [
        ["paper", "second", "practical", "truth"],
        ["paper", "second", "practical"],
        ["paper", "second", "practical", "target"],
    ]
    for figure in finding.figures:
        for series in figure.series:
            assert series.x.tolist() == list(range(1, 26))
            first = 1 if figure.key == "rho" and series.role != "truth" else 0  # no estimate after one period
            assert np.isnan(series.y[:first]).all()
            assert (series.y[first:] > 0.0).all()
            if series.low is not None and series.high is not None:
                assert (series.low[first:] > 0.0).all()
                assert (series.low[first:] <= series.y[first:]).all()
                assert (series.high[first:] >= series.y[first:]).all()


def test_the_numbers_stand_side_by_side(finding: Finding) -> None:
    risk, *others = finding.comparisons
    assert risk.paper == "2.797e-2 +- 1.071e-2"
    for comparison in (risk, *others):
        assert comparison.as_in_paper is not None
        assert comparison.practical is not None
    labels = next(each for each in others if each.what.startswith("labels over all"))
    curve = finding.figures[1]
    for measured, series in ((labels.as_in_paper, curve.series[0]), (labels.practical, curve.series[2])):
        assert measured is not None
        assert measured.value == pytest.approx(float(series.y.sum()))
    assert f"{risk.as_in_paper.value:.4f}" in finding.answer  # type: ignore[union-attr]
    assert len(finding.constants) >= 12
    assert all(constant.why and constant.chosen for constant in finding.constants)


def test_the_tables_begin_from_the_same_choice(finding: Finding) -> None:
    chosen = [row for table in finding.sensitivity for row in table.rows if row[0].endswith("(chosen)")]
    assert len(chosen) == 5
    assert len({row[1:] for row in chosen}) == 1
    assert [table.title for table in finding.sensitivity[:2]] == ["Noise variance", "Variance of a feature, sigma_x^2"]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_on_any_workers(finding: Finding) -> None:
    again = followed(RunSettings(runs=3, seed=5, workers=2))
    assert np.array_equal(again.paper.samples.mean(axis=0), finding.figures[1].series[0].y)
    assert np.array_equal(again.practical.samples.mean(axis=0), finding.figures[1].series[2].y)
    assert np.array_equal(again.practical.risk.mean(axis=0), finding.figures[2].series[2].y)
    assert [table.rows for table in sensitivity(RunSettings(runs=3, seed=5, workers=2))] == [
        table.rows for table in finding.sensitivity
    ]
    other = followed(RunSettings(runs=2, seed=6, workers=1))
    assert not np.array_equal(other.paper.truth, again.paper.truth[:2])
    assert np.array_equal(again.paper.truth, again.practical.truth)
