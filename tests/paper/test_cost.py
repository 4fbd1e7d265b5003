"""The cost experiment: the plan stays within its money, and spends it better than all at once or at fixed intervals."""

import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

from driftpace.executors import one_thread
from paper import RunSettings, experiment
from paper.cost.study import COST, EPSILON, FIRST, PERIODS, TOTAL, Job, Method, Taken, follow
from paper.records import Finding
from paper.runs import curve, paired

RUNS = 7


@cache
def taken(method: Method, seed: int, runs: int = RUNS) -> Taken:
    with one_thread():
        return Taken.of([follow(Job(method=method, run=run, seed=seed)) for run in range(runs)])


@cache
def found() -> Finding:
    return experiment("cost")(RunSettings(runs=2, seed=0, workers=1))


def sure(each: np.ndarray) -> bool:
    """Whether a mean over runs is above zero, with one false alarm in a thousand (Student, since runs are few)."""
    limit = float(stats.t.isf(1e-3, len(each) - 1))
    return bool(each.mean() > limit * each.std(ddof=1) / math.sqrt(len(each)))


@pytest.mark.slow
@pytest.mark.statistical
def test_the_plan_is_within_its_budget_in_every_run(seed: int) -> None:
    """No error budget: it is true of every run, and the control, the rule that has no budget, is over it in every run."""
    plan, rule = taken("plan", seed), taken("rule", seed)
    assert (plan.spent <= TOTAL).all()
    assert (plan.spent >= 0.95 * TOTAL).all()  # and it is not thrifty: the target is out of reach, so the money is used
    assert (rule.spent > TOTAL).all()
    for made in (plan, rule):
        assert (made.prices == COST.units(made.samples.astype(np.int64))).all()


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(("other", "times"), [("up front", 3.0), ("every five", 2.0)])
def test_the_plan_is_better_than_the_other_two(other: Method, times: float, seed: int) -> None:
    """The logarithm of the ratio of two losses, run by run: sure of a ratio above 1, and on average above ``times``."""
    ratios = np.log(taken(other, seed).loss / taken("plan", seed).loss)
    assert sure(ratios)
    assert math.exp(ratios.mean()) > times
    assert not sure(-ratios)


@pytest.mark.slow
@pytest.mark.statistical
def test_half_the_money_of_the_rule_is_not_enough_for_its_loss(seed: int) -> None:
    """What the paper says of an unknown budget is not so at 250, and the finding must say so."""
    plan, rule = taken("plan", seed), taken("rule", seed)
    assert sure(np.log(plan.risk / rule.risk) - math.log(2.0))
    assert sure(np.log(plan.risk / EPSILON))  # the target itself is out of reach of this money
    similar = next(claim for claim in found().claims if "similar" in claim.says)
    assert not similar.holds


@pytest.mark.slow
@pytest.mark.statistical
def test_some_periods_are_left_empty_and_never_alone_is_one_bought(seed: int) -> None:
    """Empty periods exist in every run, and samples have a neighbour in time, by which the drift is seen (section IV-A)."""
    samples = taken("plan", seed).samples
    assert (samples == 0).any(axis=1).all()
    assert (samples[:, : len(FIRST)] == FIRST).all()
    bought = np.pad(samples > 0, ((0, 0), (1, 1)))
    alone = bought[:, 1:-1] & ~bought[:, :-2] & ~bought[:, 2:]
    assert not alone[:, len(FIRST) : -1].any()
    assert not (taken("rule", seed).samples == 0).any()  # the control buys in every period


@pytest.mark.slow
@pytest.mark.statistical
def test_the_default_holds_the_target_within_the_same_money(seed: int) -> None:
    """The logarithm of the excess risk against the target, 20 runs; and less than the plan's in each of the same 7 (1 in 128)."""
    default = taken("default", seed, 20)
    assert (default.spent <= TOTAL).all()
    assert sure(np.log(EPSILON / default.risk))
    assert (taken("plan", seed).risk > default.first(RUNS).risk).all()


def test_one_run_of_the_plan_is_within_its_budget_and_the_rule_is_not() -> None:
    """True of every run, so there is no error budget; the control is the rule, which has no budget."""
    plan, rule = taken("plan", 0, 1), taken("rule", 0, 1)
    assert (plan.spent >= 0.95 * TOTAL).all()
    assert (plan.spent <= TOTAL).all()
    assert (rule.spent > TOTAL).all()
    assert (plan.prices == COST.units(plan.samples.astype(np.int64))).all()


@pytest.mark.slow
def test_a_short_run_of_the_experiment_states_its_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs, no other budgets and no IPOPT; the control, the rule without a budget, spends more than the budget."""
    monkeypatch.setattr("paper.cost.finding.BUDGETS", ())
    monkeypatch.setattr("paper.cost.finding.find_spec", lambda name: None)
    finding = experiment("cost")(RunSettings(runs=2, seed=0, workers=1))
    holds = {claim.says: claim.holds for claim in finding.claims}
    assert next(held for says, held in holds.items() if "within" in says)
    assert not next(held for says, held in holds.items() if "similar" in says)
    assert (taken("rule", 0, 2).spent > TOTAL).all()


def test_a_run_is_a_function_of_its_number_and_seed() -> None:
    first, again = (follow(Job(method="rule", run=1, seed=2)) for _ in range(2))
    assert (first.risks == again.risks).all()
    assert (first.samples == again.samples).all()
    for other in (Job(method="rule", run=2, seed=2), Job(method="rule", run=1, seed=3)):
        assert (follow(other).risks != first.risks).any()


def test_baselines_spend_as_described() -> None:
    front, every = (follow(Job(method=method, run=0, total=400)) for method in ("up front", "every five"))
    assert front.samples.tolist() == [395] + [0] * (PERIODS - 1)
    assert every.samples.tolist() == [75, 0, 0, 0, 0] * 5
    assert front.spent == every.spent == 400


@pytest.mark.slow
def test_the_finding_says_what_was_measured() -> None:
    finding = found()
    assert (finding.name, finding.runs, finding.seed) == ("cost", 2, 0)
    keys = [figure.key for figure in finding.figures]
    assert keys == ["cost_test_loss", "cost_samples", "cost_samples_one_run", "cost_budget"]
    loss, samples = finding.figures[:2]
    assert loss.log_y
    assert loss.paper is not None
    drawn = {series.label: series for series in (*loss.series, *samples.series)}
    rule = taken("rule", 0, 2)
    assert drawn["the rule, no budget"].y == pytest.approx(rule.samples.mean(axis=0))
    reported = next(
        each for each in finding.comparisons if each.what == "test loss of the rule without a budget"
    ).as_in_paper
    assert reported is not None
    assert reported.value == pytest.approx(rule.loss.mean())
    money = next(claim for claim in finding.claims if "within" in claim.says)
    assert money.holds
    budgets = finding.sensitivity[0]
    assert [row[0] for row in budgets.rows] == ["250", "300", "400", "500"]
    risks = [float(row[1]) for row in budgets.rows]
    assert risks == sorted(risks, reverse=True)  # more money, less risk
    assert all(int(row[4]) <= int(row[0]) for row in budgets.rows)


def test_a_band_stays_within_the_observed_range() -> None:
    values = np.array([[1.0, 5.0], [1.2, 90.0], [0.9, 4.0]])
    drawn = curve("x", "paper", np.array([1.0, 2.0]), values)
    assert drawn.low is not None
    assert drawn.high is not None
    assert (drawn.low >= values.min(axis=0)).all()
    assert (drawn.high <= values.max(axis=0)).all()
    assert (drawn.low <= drawn.y).all()
    assert (drawn.y <= drawn.high).all()


def test_equal_differences_have_an_infinite_z() -> None:
    ones = np.ones(3)
    assert paired(2.0 * ones, ones).z == math.inf
    assert paired(ones, 2.0 * ones).z == -math.inf
    assert paired(ones, ones).z == 0.0
