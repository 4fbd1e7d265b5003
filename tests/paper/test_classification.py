"""The synthetic classification: what it finds, that it repeats, and that each thing it claims is true beyond its error budget."""

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import stats

from driftpace.typing import FloatArray
from paper import Finding, RunSettings, experiment
from paper.classification.figures import CHANGED
from paper.classification.finding import EPSILONS
from paper.classification.study import Course, Gathered, Lead, Run, Setting, follow, gather, in_errors, up_front
from paper.runs import map_runs, measured, standard_errors

RUNS = {"paper": 24, "practical": 16}
FALSE_ALARM = 1e-4
Z = {method: float(stats.t.isf(FALSE_ALARM, runs - 1)) for method, runs in RUNS.items()}
"""The budget: standard errors over runs that a mean may be off by chance, once in ten thousand."""
FIELDS = ("samples", "rho", "loss", "auc", "front_loss", "front_auc")


@cache
def gathered(setting: Setting, seed: int, runs: int | None = None) -> Gathered:
    """The runs of a setting, worked out once for all tests."""
    each = [Run(setting=setting, seed=seed, number=r) for r in range(runs or RUNS[setting.method])]
    return gather(setting, map_runs(RunSettings(workers=1), follow, each, "runs"))


FEW = dict([*CHANGED.items()][:2])
"""Two rows of the sensitivity table; the others are run by a slow test."""


@pytest.fixture(scope="module")
def finding() -> Iterator[Finding]:
    """The experiment, with as few runs as there can be and two rows of its sensitivity table."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("paper.classification.finding.CHANGED", FEW)
        yield experiment("classification")(RunSettings(runs=2, seed=5, workers=1))


@pytest.mark.slow
def test_the_table_has_every_change() -> None:
    (table,) = experiment("classification")(RunSettings(runs=2, seed=5, workers=1)).sensitivity
    assert [row[0] for row in table.rows] == list(CHANGED)


def test_every_figure_is_there_and_whole(finding: Finding) -> None:
    keys = [figure.key for figure in finding.figures]
    each = ["test-loss", "auc", "samples", "excess"]
    assert keys == ["means", "rho", *each, *(f"{key}-001" for key in each)]
    assert [figure.key for figure in finding.figures if figure.paper] == ["means", "rho", "test-loss", "auc"]
    for figure in finding.figures[1:]:
        for series in figure.series:
            np.testing.assert_array_equal(series.x, np.arange(1.0, 26.0))
            assert np.isfinite(series.y[1:]).all()
    roles = {figure.key: [series.role for series in figure.series] for figure in finding.figures}
    assert roles["rho"] == ["paper", "practical", "truth", "truth"]
    assert roles["test-loss"] == ["paper", "other", "practical", "second", "truth", "target"]


def test_class_means_are_on_the_circle_and_half_way_round(finding: Finding) -> None:
    figure = finding.figures[0]
    assert figure.equal
    for series in figure.series:
        np.testing.assert_allclose(np.hypot(series.x, series.y), 1.0, rtol=1e-12)
    first, other, begin = figure.series
    assert (first.x.size, other.x.size, begin.x.size) == (24, 24, 2)
    np.testing.assert_allclose([first.x, first.y], [-other.x, -other.y], atol=1e-15)
    turned = np.unwrap(np.append(0.0, np.arctan2(first.y, first.x)))
    np.testing.assert_allclose(np.diff(turned), math.pi / 25.0, rtol=1e-12)


def test_it_states_what_a_finding_needs(finding: Finding) -> None:
    assert (finding.name, finding.runs, finding.seed) == ("classification", 2, 5)
    assert len(finding.comparisons) == 2 * 7
    assert all(row.as_in_paper is not None and row.practical is not None for row in finding.comparisons)
    assert len(finding.claims) == 2 * 2 * 5
    assert {name.split(",")[0] for name in (constant.name for constant in finding.constants)} >= {
        "features d", "means", "sigma^2", "m", "K_1", "T_n"
    }  # fmt: skip
    (table,) = finding.sensitivity
    assert [row[0] for row in table.rows] == list(FEW)


def test_figures_and_comparisons_agree(finding: Finding) -> None:
    figures = {figure.key: figure for figure in finding.figures}
    reported = {row.what: row for row in finding.comparisons}
    for epsilon, key in zip(EPSILONS, ("samples", "samples-001"), strict=True):
        row = reported[f"rows in a period, mean (epsilon {epsilon:g})"]
        for measured_, series in zip((row.as_in_paper, row.practical), figures[key].series, strict=True):
            assert measured_ is not None
            assert measured_.value == pytest.approx(series.y.mean(), rel=1e-12)


def as_plain(course: Course) -> str:
    return json.dumps({field: getattr(course, field).tolist() for field in FIELDS})


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_run_is_a_function_of_its_seed_and_number_alone(workers: int) -> None:
    """Whatever came before, and on any number of processes, to the last bit."""
    runs = [
        Run(setting=Setting(epsilon=0.1, method=method, periods=6), seed=2, number=r)
        for method in ("paper", "practical")
        for r in (0, 1)
    ]
    alone = [as_plain(course) for course in map_runs(RunSettings(workers=1), follow, runs, "runs")]
    assert alone == [as_plain(course) for course in map_runs(RunSettings(workers=workers), follow, runs, "runs")]
    assert as_plain(follow(runs[1])) == alone[1]
    assert len(set(alone)) == 4
    assert as_plain(follow(replace(runs[0], seed=3))) != alone[0]


@pytest.mark.parametrize("method", ["paper", "practical"])
def test_up_front_learns_period_one_and_nothing_else(method: str) -> None:
    """All the rows at once make a model of period 1 within twice the best rate spread/(2 K) of its least risk, in the mean."""
    setting = Setting(epsilon=0.1, method=method)  # type: ignore[arg-type]
    population, loss, total = setting.population, setting.loss, 2_000
    models = np.array([up_front(Run(setting=setting, seed=0, number=r), total) for r in range(12)])
    at_best = 0.5 * setting.constants().safe("spread") / total
    assert population.period(1).excess_risk(loss, models).mean() < 3.0 * at_best
    assert population.period(10).excess_risk(loss, models).min() > 1_000.0 * at_best


def test_followed_and_kept_use_the_same_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[int] = []

    def counted(run: Run, total: int) -> FloatArray:
        reported.append(total)
        return up_front(run, total)

    monkeypatch.setattr("paper.classification.study.up_front", counted)
    for method in ("paper", "practical"):
        course = follow(Run(setting=Setting(epsilon=0.1, method=method, periods=5), seed=1, number=0))
        assert reported[-1] == course.samples.sum()


@pytest.mark.slow
@pytest.mark.statistical
def test_test_rows_agree_with_the_exact_truth(seed: int) -> None:
    """The same models judged on 1,000 rows per period: the difference, a mean over rows, is nothing beyond the budget."""
    setting = Setting(epsilon=0.1)
    exact, tested = gathered(setting, seed), gathered(replace(setting, tested=1_000), seed)
    np.testing.assert_array_equal(exact.samples, tested.samples)
    for field in ("loss", "front_loss", "auc", "front_auc"):
        off = (getattr(tested, field) - getattr(exact, field)).mean(axis=1)
        assert abs(in_errors(measured(off))) < Z["paper"]
        assert in_errors(measured(off + 0.01)) > Z["paper"]  # the control: a hundredth more is seen


@pytest.mark.statistical
@pytest.mark.parametrize("method", ["paper", "practical"])
@pytest.mark.parametrize("epsilon", [EPSILONS[0], pytest.param(EPSILONS[1], marks=pytest.mark.slow)])
def test_following_beats_up_front(method: str, epsilon: float, seed: int) -> None:
    """At the latest when the best model of period 1 costs three times the target: ahead in loss and AUC in every period since.

    Each period by the paired t test of ``Lead`` (one in a thousand); in the last by more than 1 of loss and 0.7 of AUC, beyond the
    budget. As in the paper, whose fits are far better than asked, from period 4 on at both targets.
    """
    setting = Setting(epsilon=epsilon, method=method)  # type: ignore[arg-type]
    runs, population, loss = gathered(setting, seed), setting.population, setting.loss
    stale = np.array(
        [population.period(n).excess_risk(loss, population.period(1).minimiser(loss)) for n in range(1, 26)]
    )
    latest = 4 if method == "paper" else int(np.argmax(stale > 3.0 * epsilon)) + 1
    for lead, least in ((runs.loss_lead, 1.0), (runs.auc_lead, 0.7)):
        assert lead.since is not None
        assert lead.since <= latest
        assert (lead.mean - Z[method] * standard_errors(lead.gain))[-1] > least


@pytest.mark.statistical
@pytest.mark.parametrize("method", ["paper", "practical"])
def test_where_nothing_turns_up_front_is_better(method: str, seed: int) -> None:
    """The control: in a population that stands still the same test finds no lead, and up front ahead beyond the budget."""
    runs = gathered(Setting(epsilon=0.1, method=method, angle=0.0), seed)  # type: ignore[arg-type]
    assert runs.loss_lead.since is None
    assert runs.loss_lead.overall.value < 0.0
    assert runs.auc_lead.overall.value < 0.0
    if method == "paper":
        assert runs.loss_lead.overall_z < -Z["paper"]


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_estimate_of_the_drift_is_above_it_but_not_by_much(epsilon: float, seed: int) -> None:
    """In the mean over periods by more than the budget, in every period's mean, and in the end by less than the double."""
    runs = gathered(Setting(epsilon=epsilon), seed)
    assert runs.above_z > Z["paper"]
    assert (runs.rho_estimate[:, 1:].mean(axis=0) > runs.rho).all()
    assert runs.rho_estimate[:, -1].mean() + Z["paper"] * standard_errors(runs.rho_estimate[:, -1]) < 2.0 * runs.rho
    over = measured(runs.rho_estimate[:, 1:].mean(axis=1) - 3.0 * runs.rho)
    assert (
        in_errors(over) < -Z["paper"]
    )  # the control: of a drift three times as large it would be said that it is not above


@pytest.mark.slow
@pytest.mark.statistical
def test_the_practical_estimate_is_above_the_drift_and_nearer_where_there_is_more_to_see(seed: int) -> None:
    """In the norm of the Hessian: above by more than the budget at both targets, and by less at the tight one."""
    lax, tight = (gathered(Setting(epsilon=epsilon, method="practical"), seed) for epsilon in EPSILONS)
    assert lax.above_z > Z["practical"]
    assert tight.above_z > Z["practical"]
    assert in_errors(measured((lax.rho_estimate - tight.rho_estimate)[:, 1:].mean(axis=1))) > Z["practical"]
    over = measured(tight.rho_estimate[:, 1:].mean(axis=1) - 3.0 * tight.rho)
    assert (
        in_errors(over) < -Z["practical"]
    )  # the control: of a drift three times as large it would be said that it is not above


def test_the_norm_of_the_practical_estimate_is_what_a_stale_model_loses() -> None:
    """1/2 rho^2 is the excess risk of last period's best model up to the third order of a small turn; the Euclidean is not."""
    setting = Setting(epsilon=0.1, method="practical", angle=0.01)
    population, loss = setting.population, setting.loss
    cost = population.period(2).excess_risk(loss, population.period(1).minimiser(loss))
    assert 0.5 * setting.rho() ** 2 == pytest.approx(cost, rel=0.01)
    assert Setting(epsilon=0.1, angle=0.01).rho() == pytest.approx(population.rho(loss), rel=1e-9)
    assert Setting(epsilon=0.1, angle=0.01).rho() > 1.4 * setting.rho()


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_sizes_settle_as_in_the_paper(epsilon: float, seed: int) -> None:
    runs = gathered(Setting(epsilon=epsilon), seed)
    mean = runs.samples.mean(axis=0)
    assert (mean[:2] == 100.0).all()
    assert mean.argmax() == 2  # from above, once the drift has been seen once
    assert abs(mean[-5:].mean() - mean[-10:-5].mean()) < 0.05 * mean[-5:].mean()
    assert np.ptp(mean[-5:]) < 0.2 * (mean[2] - mean[-1])  # the control: it did move before


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_target_is_met_as_in_the_paper(epsilon: float, seed: int) -> None:
    """With the budget to spare, in the mean over periods and in each; what was bought up front breaks it (the control)."""
    runs = gathered(Setting(epsilon=epsilon), seed)
    assert (runs.excess.mean(axis=0) + Z["paper"] * standard_errors(runs.excess) < epsilon).all()
    kept = runs.front_loss - runs.least
    assert (kept[:, 9:].mean(axis=0) - Z["paper"] * standard_errors(kept[:, 9:]) > epsilon).all()


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [EPSILONS[0], pytest.param(EPSILONS[1], marks=pytest.mark.slow)])
def test_the_target_is_met_by_default_with_far_fewer_rows(epsilon: float, seed: int) -> None:
    """In the mean over periods it is not above epsilon by the budget (nor under a fifth of it: it is not bought blindly)."""
    runs, paper = (gathered(Setting(epsilon=epsilon, method=method), seed) for method in ("practical", "paper"))
    overall = measured(runs.excess.mean(axis=1))
    assert overall.error is not None
    assert overall.value - Z["practical"] * overall.error <= epsilon
    assert overall.value + Z["practical"] * overall.error > 0.2 * epsilon
    assert 10.0 * runs.samples.mean() < paper.samples.mean()


@pytest.mark.statistical
def test_the_global_curvature_costs_ten_times_the_rows(seed: int) -> None:
    local, everywhere = (
        gathered(Setting(epsilon=0.1, curvature=curvature), seed, runs=4) for curvature in ("local", "global")
    )
    assert everywhere.samples[:, 2:].min() > 10.0 * local.samples[:, 2:].max()


def test_the_lead_begins_after_the_last_period_that_is_not_clear() -> None:
    wobble = np.linspace(-0.1, 0.1, 10)[:, None]
    assert Lead(wobble + np.array([[1.0, 1.0, 1.0]])).since == 1
    assert Lead(wobble + np.array([[1.0, -1.0, 1.0]])).since == 3
    assert Lead(wobble + np.array([[-1.0, 1.0, 1.0]])).since == 2
    assert Lead(wobble + np.array([[1.0, 1.0, 0.0]])).since is None
    lead = Lead(wobble + np.array([[1.0, 1.0, 1.0]]))
    assert lead.overall.value == pytest.approx(1.0)
    assert lead.overall_z == pytest.approx(1.0 / standard_errors(wobble)[0])


def test_given_constants_hold_in_every_period() -> None:
    for setting in CHANGED.values():
        reported = setting.constants()
        for n in (1, 9):
            period = setting.population.period(n)
            assert setting.domain.contains(period.minimiser(setting.loss))
            assert period.constants(setting.loss).safe("M") == pytest.approx(reported.safe("M"))
            assert period.constants(setting.loss).safe("A") == pytest.approx(reported.safe("A"))
            least = np.linalg.eigvalsh(period.hessian(setting.loss))[0]
            assert reported.safe("m") == pytest.approx(least if setting.curvature == "local" else 0.1)
