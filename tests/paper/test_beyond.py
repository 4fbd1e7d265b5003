"""Beyond the paper: what each of the four studies says, with an error budget and a control that must fail.

Means over runs are compared at z = 4.5 standard errors (Student with 11 degrees of freedom: one false alarm in two thousand).
"""

import math
from functools import cache

import numpy as np
import pytest

from driftpace import Ball, Constants, SquaredLoss, Tracker
from driftpace.drift import DebiasedDifference, Drift, NoMargin, WindowedChange
from driftpace.drift.one_step import Step
from driftpace.errors import ParameterError
from driftpace.executors import one_thread
from paper import RunSettings, experiment
from paper.beyond import bounded, given, overshoot, rules
from paper.beyond.bounded import BoundedJob
from paper.beyond.given import PAPER, ConstantsJob
from paper.beyond.overshoot import OvershootJob, Settled, settled
from paper.beyond.rules import RuleJob, proven_from
from paper.beyond.study import LargestChange, Law, RandomChanges, Runs, lead, run_job
from paper.cost.study import EPSILON, KNOWN, PERIODS, population_of
from paper.records import Finding
from paper.runs import run_seed

RUNS, Z = 12, 4.5


def z(each: np.ndarray, limit: float = 0.0) -> float:
    """By how many standard errors the mean over runs is above a limit."""
    return float((each.mean() - limit) / (each.std(ddof=1) / math.sqrt(len(each))))


@cache
def bounded_runs(arm: bounded.Arm, seed: int, law: Law = "even", runs: int = RUNS) -> Runs:
    with one_thread():
        return Runs.of([BoundedJob(law=law, arm=arm, run=run, seed=seed).follow() for run in range(runs)])


@cache
def rule_runs(arm: rules.Arm, seed: int) -> Runs:
    with one_thread():
        return Runs.of([RuleJob(arm=arm, run=run, seed=seed).follow() for run in range(RUNS)])


@cache
def constants_runs(arm: given.Arm, seed: int) -> Runs:
    with one_thread():
        return Runs.of([ConstantsJob(place=PAPER, arm=arm, run=run, seed=seed).follow() for run in range(RUNS)])


@cache
def overshoots(learner: str, epsilon: float, seed: int) -> Settled:
    jobs = [OvershootJob(learner=learner, epsilon=epsilon, run=run, seed=seed) for run in range(RUNS)]
    with one_thread():
        return settled(learner, epsilon, Runs.of([job.follow() for job in jobs]))


@cache
def found() -> Finding:
    return experiment("beyond")(RunSettings(runs=2, seed=0, workers=1))


# Bounded change


@pytest.mark.statistical
def test_the_window_is_exact_for_even_changes_that_are_seen_without_noise(seed: int) -> None:
    """E (W+1)/W max = rho: 12 runs of 400 changes. The control: the same of rare changes is far below."""
    means = {}
    for law in ("even", "rare"):
        each = []
        for run in range(RUNS):
            window = WindowedChange(window=3)
            state = window.init()
            for change in RandomChanges(rho=2.0, law=law, noise=0.5, rng=run_seed(seed, run)).changes(400):
                state = window.add(state, Step(value=float(change)), squared=False)
            combined = window.combined(state, squared=False)
            assert combined is not None
            each.append(combined.value)
        means[law] = np.array(each)
    assert abs(z(means["even"], 2.0)) < Z
    assert z(means["rare"], 1.0) < -Z  # (4/3) rho (1 - 0.95^3) = 0.38


@pytest.mark.slow
@pytest.mark.statistical
def test_the_windowed_estimate_finds_the_bound_and_the_mean_does_not(seed: int) -> None:
    last = {
        arm: bounded_runs(arm, seed).drifts[:, -1] for arm in bounded.ARMS if arm is not None and arm[1] != "largest"
    }
    assert z(last["direct", "windowed"], bounded.RHO) > Z  # from a floor, well above
    assert z(last["debiased", "windowed"], bounded.RHO) > -Z  # without one, at the bound
    assert last["debiased", "windowed"].mean() < 1.3 * bounded.RHO  # and near it
    assert z(last["debiased", "mean"], bounded.RHO) < -Z
    assert last["debiased", "mean"].mean() == pytest.approx(
        bounded.RHO / math.sqrt(3.0), abs=0.15
    )  # the root mean square


@pytest.mark.slow
@pytest.mark.statistical
def test_the_window_falls_short_of_rare_changes(seed: int) -> None:
    """48 runs, since most of what differs between runs is how many changes there were."""
    assert z(bounded_runs(("debiased", "windowed"), seed, "rare", 48).drifts[:, -1], bounded.RHO) < -Z


@pytest.mark.slow
@pytest.mark.statistical
def test_the_bound_costs_more_labels_than_the_mean_and_both_hold_the_target(seed: int) -> None:
    """The control: given a drift of zero, the same tracker buys nothing and misses the target."""
    for step in bounded.STEPS:
        windowed, mean = bounded_runs((step, "windowed"), seed), bounded_runs((step, "mean"), seed)
        more = windowed.labels / mean.labels - 1.0
        assert z(more) > Z
        assert more.mean() < 0.5
        assert z(windowed.risk(bounded.SETTLED), bounded.EPSILON) < -Z
    reported = []
    for run in range(RUNS):
        number = run_seed(seed, run)
        population = RandomChanges(rho=1.0, law="even", noise=bounded.NOISE, rng=number)
        constants = Constants.given(m=1.0, M=1.0, A=2 * bounded.NOISE, B=2.0)
        tracker = Tracker.as_in_paper(
            SquaredLoss(),
            epsilon=bounded.EPSILON,
            domain=Ball(radius=50.0),
            constants=constants,
            rho=0.0,
            first_samples=bounded.FIRST,
            features=2,
            rng=number,
        )
        reported.append(lead(tracker, population.period, bounded.PERIODS, number))
    assert z(np.log(Runs.of(reported).risk(bounded.SETTLED) / bounded.EPSILON)) > Z


def test_changes_never_exceed_the_bound_and_are_the_lengths_of_the_moves() -> None:
    for law in ("even", "rare"):
        population = RandomChanges(rho=0.7, law=law, noise=0.5, rng=3)
        path = np.array([population.period(n).coef for n in range(1, 31)])
        assert np.linalg.norm(np.diff(path, axis=0), axis=1) == pytest.approx(population.changes(30))
        assert (population.changes(30) <= 0.7).all()
        assert (population.changes(20) == population.changes(30)[:19]).all()
    assert set(population.changes(400)) == {0.0, 0.7}


@pytest.mark.parametrize("bad", [{"law": "odd"}, {"rho": -1.0}, {"noise": math.nan}, {"rng": -1}])
def test_invalid_changes_are_rejected(bad: dict[str, object]) -> None:
    parts: dict[str, object] = {"rho": 1.0, "law": "even", "noise": 0.5, "rng": 0}
    with pytest.raises(ParameterError, match=r"RandomChanges\(\w+=\.\.\.\) must be"):
        RandomChanges(**(parts | bad))  # type: ignore[arg-type]


def test_the_largest_change_is_the_largest() -> None:
    largest = LargestChange()
    state = largest.init()
    assert largest.combined(state, squared=True) is None
    for value in (-2.0, 9.0, 4.0):
        state = largest.add(state, Step(value=value), squared=True)
    combined = largest.combined(state, squared=True)
    assert combined is not None
    assert combined.value == 3.0
    assert combined.steps == 3
    assert Drift(one_step=DebiasedDifference(), combine=largest, margin=NoMargin()).measures == "rho"


# Past bounds


@pytest.mark.statistical
def test_updating_past_bounds_proves_the_target_sooner_and_costs_labels_once(seed: int) -> None:
    plain, past = rule_runs(("do-not-update", 50), seed), rule_runs(("update-past", 50), seed)
    assert (proven_from(past) <= 3).all()
    assert (proven_from(plain) > 3).all()
    assert z((past.samples - plain.samples)[:, :5].sum(axis=1)) > Z
    assert z(past.samples[:, 2] - plain.samples[:, 2]) > Z
    later = past.size(rules.SETTLED) - plain.size(rules.SETTLED)
    assert abs(z(later)) < Z
    assert abs(later.mean()) < 0.05 * plain.size(rules.SETTLED).mean()
    for runs in (plain, past):
        assert z(runs.risk(), EPSILON) < -Z


@pytest.mark.slow
@pytest.mark.statistical
def test_the_smaller_the_first_periods_the_more_the_update_buys_in_the_third(seed: int) -> None:
    third = [rule_runs(("update-past", first), seed).samples[:, 2].mean() for first in rules.SIZES]
    assert third == sorted(third, reverse=True)
    for rule in rules.RULES:  # the control: where everything is proven already the rules are the same
        assert (rule_runs((rule, 200), seed).samples == rule_runs(("do-not-update", 200), seed).samples).all()


# Constants


@pytest.mark.slow
@pytest.mark.statistical
def test_unknown_constants_cost_fewer_labels_over_time(seed: int) -> None:
    known, unknown = constants_runs("mMAB", seed), constants_runs("", seed)
    early, late = (
        np.log(unknown.samples[:, part].sum(axis=1) / known.samples[:, part].sum(axis=1))
        for part in (slice(2, given.EARLY), slice(given.SETTLED, None))
    )
    assert z(late) > Z
    assert z(early - late) > Z
    assert math.exp(late.mean()) < 3.0
    for arm in ("mM", "AB"):  # something in between when some are given
        assert z(unknown.labels - constants_runs(arm, seed).labels) > Z
        assert z(constants_runs(arm, seed).labels - known.labels) > Z
    assert z(unknown.risk(), EPSILON) < -Z


@pytest.mark.statistical
def test_the_default_is_given_no_constants_and_buys_less(seed: int) -> None:
    default, known = constants_runs(None, seed), constants_runs("mMAB", seed)
    assert z(np.log(known.labels / default.labels) - math.log(1.5)) > Z
    assert z(np.log(EPSILON / default.risk())) > Z


@pytest.mark.statistical
def test_constants_that_are_wrong_break_the_promise(seed: int) -> None:
    """The control: given a curvature five times the true one, the rule buys too little and steps too short."""
    wrong = Constants.given(m=5.0, M=5.0, A=KNOWN.safe("A"), B=KNOWN.safe("B"))
    runs = []
    for run in range(RUNS):
        number = run_seed(seed, run)
        tracker = Tracker.as_in_paper(
            SquaredLoss(),
            epsilon=EPSILON,
            domain=Ball(radius=50.0),
            constants=wrong,
            first_samples=(50, 50),
            features=2,
            rng=number,
        )
        runs.append(lead(tracker, population_of(number).period, PERIODS, number))
    assert z(np.log(Runs.of(runs).risk(given.SETTLED) / EPSILON)) > Z


# Overshoot


@pytest.mark.statistical
@pytest.mark.parametrize("learner", overshoot.LEARNERS)
@pytest.mark.parametrize("epsilon", [0.2, 0.02, 0.002])
def test_the_estimate_settles_between_rho_and_the_corrected_bound(learner: str, epsilon: float, seed: int) -> None:
    """And the control, the bound as printed, is crossed by the lagging model at every target."""
    point = overshoots(learner, epsilon, seed)
    assert z(point.over) > Z
    assert z(point.over, point.corrected) < Z
    if learner == "lagging":
        assert z(point.over, point.printed) > Z
        assert point.over.mean() > 0.35 * point.corrected  # so the corrected one is not merely huge
        assert point.risk == pytest.approx(epsilon, rel=0.05)


@pytest.mark.statistical
@pytest.mark.parametrize("learner", overshoot.LEARNERS)
def test_the_overshoot_falls_as_the_root_of_the_risk(learner: str, seed: int) -> None:
    """Three targets a hundredfold apart; a slope of 1, which the printed bound has, is out by the error budget."""
    points = [overshoots(learner, epsilon, seed) for epsilon in (0.2, 0.02, 0.002)]
    fitted = overshoot.slope(
        np.array([point.risk for point in points]),
        np.array([point.over.mean() for point in points]),
        np.array([point.above.error for point in points]),
    )
    assert abs(fitted.value - 0.5) < 0.1 + Z * fitted.error
    assert fitted.value + Z * fitted.error < 1.0


def test_a_slope_is_the_power_of_a_power_law() -> None:
    x = np.geomspace(0.01, 1.0, 7)
    result = overshoot.slope(x, 5.0 * x**0.7, np.zeros(7))
    assert result.value == pytest.approx(0.7)
    assert result.error == 0.0
    assert overshoot.slope(x, x, 0.1 * x).error > 0.0


# All of it


def test_a_run_is_a_function_of_its_number_and_seed() -> None:
    job = OvershootJob(learner="tracker", epsilon=0.1, run=1, seed=5)
    first, again, other = (
        run_job(job),
        run_job(job),
        run_job(OvershootJob(learner="tracker", epsilon=0.1, run=2, seed=5)),
    )
    assert (first.risks == again.risks).all()
    assert (first.risks != other.risks).any()


def test_a_short_run_of_the_experiment_states_its_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the four studies, two runs; the other three are run in full by slow tests."""
    monkeypatch.setattr("paper.beyond.finding.STUDIES", (rules,))
    finding = experiment("beyond")(RunSettings(runs=2, seed=0, workers=1))
    assert [figure.key.rsplit("_", 1)[0] for figure in finding.figures] == ["beyond_rules", "beyond_rules"]
    assert len(finding.claims) > 2
    labels = next(each for each in finding.comparisons if each.what == "labels, do-not-update")
    assert labels.as_in_paper is not None
    assert labels.as_in_paper.value == pytest.approx(rule_runs(("do-not-update", 50), 0).labels[:2].mean())


@pytest.mark.slow
def test_the_finding_has_every_study_in_it() -> None:
    finding = found()
    assert (finding.name, finding.runs, finding.seed) == ("beyond", 2, 0)
    keys = [figure.key for figure in finding.figures]
    assert len(set(keys)) == len(keys) == 8
    for study in ("bounded", "rules", "constants", "overshoot"):
        assert sum(run_seed.startswith(f"beyond_{study}") for run_seed in keys) == 2
    for figure in finding.figures:
        for series in figure.series:
            assert np.isfinite(series.y).all(), (figure.key, series.label)
            assert not figure.log_y or (series.y > 0).all()
    printed = next(claim for claim in finding.claims if "as printed" in claim.says)
    assert not printed.holds
    labels = next(each for each in finding.comparisons if each.what == "labels, do-not-update")
    assert labels.as_in_paper is not None
    assert labels.as_in_paper.value == pytest.approx(rule_runs(("do-not-update", 50), 0).labels[:2].mean())
