"""Tracker.as_in_paper keeps the paper's promise on the paper's synthetic regression."""

import math

import numpy as np
import pytest
from scipy import stats

from driftpace.drift import Direct, Drift, MeanChange, NoMargin
from driftpace.rules import sizes_when_known
from driftpace.tracker.composed_method import ComposedMethod
from tests.reference.paper_world import EPSILON, KNOWN, follow, paper_tracker

Z = float(stats.norm.isf(1e-6))  # one false alarm in a million


def above(risk: np.ndarray, limit: float) -> bool:
    """Whether the mean over runs (each averaged over its periods) is above the limit beyond the error budget."""
    means = risk.mean(axis=1)
    return bool(means.mean() - Z * means.std(ddof=1) / math.sqrt(len(means)) > limit)


def below(risk: np.ndarray, limit: float) -> bool:
    """Whether the mean over runs is below the limit by more than the error budget."""
    means = risk.mean(axis=1)
    return bool(means.mean() + Z * means.std(ddof=1) / math.sqrt(len(means)) < limit)


@pytest.mark.statistical
def test_the_synthetic_regression_of_section_v(seed: int) -> None:
    """20 runs x 25 periods: mean excess risk in [0.017, 0.039], rho above 1 on average, K settles (theory 6.1)."""
    risk, samples, drift = follow(paper_tracker, runs=20, periods=25, seed=seed)
    assert 0.017 <= risk.mean() <= 0.039
    assert below(risk, EPSILON)
    assert drift[:, -1].mean() > 1.0
    late, end = samples[:, 9:17].mean(), samples[:, 17:].mean()
    assert abs(late - end) < 0.15 * end  # it settles ...
    assert samples[:, 2].mean() > end > 10  # ... from above, and not at nothing


@pytest.mark.statistical
@pytest.mark.parametrize("rule", ["do-not-update", "update-past"])
@pytest.mark.parametrize("rho", [1.0, 1.5, None], ids=["known", "over-estimated", "learnt"])
def test_both_rules_hold_the_target(rule: str, rho: float | None, seed: int) -> None:
    first = (50, 50) if rho is None else (400,)
    risk, _, _ = follow(
        lambda run: paper_tracker(run, rule=rule, rho=rho, first_samples=first), runs=60, periods=25, seed=seed
    )
    assert below(risk[:, 1:], EPSILON)


@pytest.mark.statistical
@pytest.mark.parametrize("rule", ["do-not-update", "update-past"])
def test_an_under_estimated_drift_breaks_the_promise(rule: str, seed: int) -> None:
    """The control: told that the world hardly moves, both rules buy too little and the target is missed."""
    risk, _, _ = follow(
        lambda run: paper_tracker(run, rule=rule, rho=0.2, first_samples=(400,)), runs=60, periods=25, seed=seed
    )
    assert above(risk[:, 5:], EPSILON)


@pytest.mark.statistical
def test_the_promise_of_each_period_is_above_the_truth(seed: int) -> None:
    """With rho known, risk_bound bounds the mean excess risk in every period, and is within a factor of six of it."""
    runs, periods = 200, 12
    trackers = {}

    def make(run: int):  # type: ignore[no-untyped-def]
        trackers[run] = paper_tracker(run, rho=1.0, first_samples=(60,))
        return trackers[run]

    risk, _, _ = follow(make, runs=runs, periods=periods, seed=seed)
    promised = np.array([[report.risk_bound for report in trackers[run].history] for run in range(runs)])
    budget = Z * risk.std(axis=0, ddof=1) / math.sqrt(runs)
    assert (risk.mean(axis=0) <= promised[0] + budget).all()
    assert (promised[0] * 0.3 < risk.mean(axis=0) + budget)[3:].any()  # a third of the bound would not do everywhere
    assert (promised[0, 3:] <= 6.0 * risk.mean(axis=0)[3:]).all()


def test_with_rho_known_the_request_is_k_star() -> None:
    tracker = paper_tracker(0, rho=1.0, first_samples=None)
    assert isinstance(tracker._method, ComposedMethod)
    bound = tracker._method.learner.bound(KNOWN, 2)
    sizes = sizes_when_known(bound, rho=1.0, epsilon=EPSILON, m=1.0, diameter=100.0)
    assert tracker.ask().samples == sizes.first.samples
    rng = np.random.default_rng(0)
    X = rng.normal(size=(sizes.first.samples, 2))
    tracker.tell(X, X @ [1.0, -1.0])
    assert tracker.ask().samples == sizes.steady.samples == 11  # theory 0, first row of its table


def test_no_drift_and_a_good_model_ask_for_nothing() -> None:
    """Section II-C: with rho = 0 the first model is enough for ever, and zero is the answer (theory I22)."""
    tracker = paper_tracker(0, rho=0.0, first_samples=None)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(tracker.ask().samples, 2))
    tracker.tell(X, X @ [1.0, -1.0] + 0.1 * rng.normal(size=len(X)))
    for _ in range(5):
        request = tracker.ask()
        assert request.samples == 0
        assert "still within" in request.reason
        report = tracker.tell()
        assert report is not None
        assert report.outcome.promised


def test_without_a_margin_the_request_is_smaller() -> None:
    plain = Drift(one_step=Direct(), combine=MeanChange(), margin=NoMargin())
    with_margin, without = paper_tracker(0), paper_tracker(0, drift=plain)
    rng = np.random.default_rng(1)
    for _ in range(3):
        X = rng.normal(size=(50, 2))
        y = X @ [1.0, 2.0]
        for tracker in (with_margin, without):
            tracker.ask()
            tracker.tell(X, y)
    assert without.ask().samples < with_margin.ask().samples
