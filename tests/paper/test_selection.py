"""Cross-validation of the penalty: what the experiment finds, and that its claims hold for fresh runs."""

import os

import numpy as np
import pytest

from paper import RunSettings
from paper.runs import paired, standard_error
from paper.selection import find
from paper.selection.study import EPSILON, PERIODS, TWO, Job, Runs, constants_of, follow, population_of

WIDE = (0.001, 0.3, 30.0)
RUNS = 12


@pytest.fixture(scope="module")
def wide() -> Runs:
    """Three penalties, as in the paper, twelve runs."""
    seed = 7 + int(os.environ.get("DRIFTPACE_TEST_SEED", "0"))
    return Runs.of(WIDE, [follow(Job(method="paper", grid=WIDE, run=run, seed=seed)) for run in range(RUNS)])


@pytest.mark.statistical
def test_the_choice_is_within_one_standard_error_of_the_best_fixed_penalty(wide: Runs) -> None:
    """Twelve runs. The mean gap may exceed one standard error of the best by three standard errors of the gap itself (p < 0.002).

    The control: each of the two wrong penalties is further away than that.
    """
    each = wide.each.mean(axis=1)
    best = each[:, wide.best]
    gap = paired(wide.risk.mean(axis=1), best)
    assert gap.mean <= standard_error(best) + 3.0 * gap.error
    for wrong in {0, 2} - {wide.best}:
        off = paired(each[:, wrong], best)
        assert off.mean > standard_error(best) + 3.0 * gap.error


@pytest.mark.statistical
def test_the_excess_risk_without_a_penalty_is_below_the_target(wide: Runs) -> None:
    """Four standard errors over runs. The control: the heaviest penalty, kept, is above it at the end (twice as high)."""
    risk = wide.risk.mean(axis=1)
    assert risk.mean() + 4.0 * standard_error(risk) <= EPSILON
    assert wide.each[:, -5:, 2].mean() > EPSILON


@pytest.mark.statistical
def test_lighter_penalties_are_chosen_as_the_coefficients_grow(wide: Runs) -> None:
    """The log of the choice falls by more than three standard errors between the first and the last five periods."""
    choice = np.log10(wide.chosen_l2)
    assert paired(choice[:, -5:].mean(axis=1), choice[:, :5].mean(axis=1)).z < -3.0


def test_the_curvature_of_each_branch_has_its_penalty_in_it() -> None:
    population = population_of(0, 0)
    assert [constants_of(population, l2).safe("m") for l2 in (0.0, 0.1, 1.0)] == pytest.approx([1.0, 1.1, 2.0])
    assert constants_of(population, 1.0).safe("A") > constants_of(population, 0.0).safe("A")


def test_a_run_is_a_function_of_its_job() -> None:
    job = Job(method="practical", grid=TWO, run=1, seed=3)
    first, same = follow(job), follow(job)
    assert np.array_equal(first.risk, same.risk)
    assert np.array_equal(first.chosen, same.chosen)
    assert first.each.shape == (PERIODS, 2)
    at = np.arange(PERIODS), first.chosen.astype(int)
    assert np.array_equal(first.risk, first.each[at])  # the model of the period is that of the chosen candidate


def test_the_finding_is_whole() -> None:
    finding = find(RunSettings(runs=2, seed=1, workers=1))
    assert finding.name == "selection"
    assert [figure.key for figure in finding.figures] == [
        "selection_risk_two",
        "selection_choice_two",
        "selection_samples_two",
        "selection_risk_ten",
        "selection_choice_ten",
        "selection_samples_ten",
    ]
    assert len(finding.comparisons) == 6
    assert {claim.holds for claim in finding.claims} <= {True, False}
    assert all(constant.why for constant in finding.constants)
    assert len(finding.sensitivity[1].rows) == 11
