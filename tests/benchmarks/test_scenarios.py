"""Scenarios of the benchmarks: the stated truth against rows that they draw, and rows that do not depend on deliveries."""

import numpy as np
import pytest

from benchmarks.scenarios import BLOCK, Scenario, scenarios
from driftpace.typing import FloatArray
from tests.reference.row_checks import allowed, standard_errors_off

ALL = list(scenarios())
CLUSTERS = 40  # rows averaged together: whole clusters of five and of eight


def means(values: FloatArray) -> FloatArray:
    """Return the means of consecutive rows, which are independent where rows of a cluster are not."""
    return np.asarray(values.reshape(-1, CLUSTERS, *values.shape[1:]).mean(axis=1))


@pytest.mark.statistical
@pytest.mark.parametrize("scenario", ALL, ids=lambda one: one.name)
def test_stated_truth_holds_for_rows(scenario: Scenario, rng: np.random.Generator, seed: int) -> None:
    """80,000 rows; every comparison alarms falsely once in a million, and an excess risk that is a third off is found."""
    truth = scenario.truths(seed, 6)[4]
    X, y = truth.draw(80_000, rng)
    rows = np.column_stack([X, np.ones(len(y))])
    loss, best = scenario.loss.with_unpenalised(1), truth.minimiser
    gradients = loss.row_gradients(best, rows, y)
    assert standard_errors_off(means(gradients), 0.0) < allowed(best.size)
    model = best + 0.5 * rng.standard_normal(best.size) / np.sqrt(np.square(rows).mean(axis=0).sum())
    assert standard_errors_off(means(loss.row_gradients(model, rows, y)), 0.0) > allowed(best.size)
    excess = means(loss.row_values(model, rows, y) - loss.row_values(best, rows, y))
    assert standard_errors_off(excess, truth.excess_risk(model)) < allowed(1)
    assert standard_errors_off(excess, 1.33 * truth.excess_risk(model)) > allowed(1)
    assert truth.excess_risk(best) < 1e-9


@pytest.mark.parametrize("half", ["tuned", "held-out"])
def test_rows_do_not_depend_on_the_sizes_of_deliveries(half: str) -> None:
    scenario = next(one for one in ALL if one.half == half)
    truth = scenario.truths(0, 3)[2]
    at_once, in_parts = scenario.stream(truth, 0, 3), scenario.stream(truth, 0, 3)
    X, y = at_once(BLOCK + 30)
    parts = [in_parts(17), in_parts(BLOCK), in_parts(13)]
    np.testing.assert_array_equal(np.concatenate([part[0] for part in parts]), X)
    np.testing.assert_array_equal(np.concatenate([part[1] for part in parts]), y)
    assert (at_once.deliveries, in_parts.deliveries) == (1, 3)


def test_halves_share_neither_names_nor_seeds() -> None:
    names = {half: {one.name for one in ALL if one.half == half} for half in ("tuned", "held-out")}
    assert len(names["tuned"]) + len(names["held-out"]) == len(ALL)
    seeds = {half: {one.run_seed(run) for one in ALL if one.half == half for run in range(50)} for half in names}
    assert not seeds["tuned"] & seeds["held-out"]


@pytest.mark.parametrize("scenario", ALL, ids=lambda one: one.name)
def test_what_happens_is_a_function_of_scenario_and_run(scenario: Scenario) -> None:
    """A longer run begins like a shorter one, except that a share which rises over all periods rises more slowly."""
    again = [truth.minimiser for truth in scenario.truths(3, 5)]
    np.testing.assert_array_equal(again, [truth.minimiser for truth in scenario.truths(3, 5)])
    assert not np.allclose(again[0], scenario.truths(4, 5)[0].minimiser)
