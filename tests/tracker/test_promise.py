"""What a report promises is true: the mean excess risk over runs is not above the mean of risk_bound.

One regression for each way in which it once was not.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from driftpace import Ball, Constants, HuberLoss, SquaredLoss, Tracker, WholeSpace
from driftpace.drift import DebiasedDifference, Drift, GradientMmd, KnownDrift, Prequential, RecentChange
from driftpace.errors import ParameterError
from driftpace.learners import AnchoredErm, GradientPasses, Sgd
from driftpace.records import Outcome
from driftpace.rules import DoNotUpdate
from driftpace.synthetic import DriftingRegression

Z = float(stats.norm.isf(1e-6))
LOSS = SquaredLoss()
NOISY = Constants.given(m=1.0, M=1.0, A=2.0, B=4.0, noise=1.0)


def promised_and_true(
    make: Callable[[int], Tracker],
    *,
    seed: int,
    runs: int,
    periods: int,
    rows: Callable[[int, int], int] = lambda period, asked: asked,
    **world: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """Return risk_bound and true excess risk, each (runs, periods); ``rows(period, asked)`` is how many rows come."""
    promised, true = np.empty((runs, periods)), np.empty((runs, periods))
    for run in range(runs):
        moving = DriftingRegression(**{"features": 2, "noise": 1.0, "rng": 1_000_003 * seed + run, **world})
        rng, tracker = np.random.default_rng([seed, run]), make(run)
        for index in range(periods):
            now = moving.period(index + 1)
            report = tracker.tell(*now.draw(rows(index + 1, tracker.ask().samples), rng=rng))
            assert report is not None
            promised[run, index] = report.risk_bound
            true[run, index] = now.excess_risk(LOSS, tracker.coef)
    return promised, true


def assert_kept(promised: np.ndarray, true: np.ndarray) -> None:
    """Fail where, in some period, the truth is above the promise beyond a false alarm in a million."""
    gap = true - np.where(np.isfinite(promised), promised, np.inf)
    finite = np.isfinite(gap).all(axis=0)
    mean, error = gap[:, finite].mean(axis=0), gap[:, finite].std(axis=0, ddof=1) / math.sqrt(len(gap))
    assert (mean <= Z * error + 1e-12).all(), (mean, error)


@pytest.mark.statistical
@pytest.mark.parametrize("rule", ["do-not-update", "update-past"])
@pytest.mark.parametrize("learner", [AnchoredErm(), Sgd(steps="greedy"), Sgd()], ids=["anchored", "greedy", "plain"])
def test_fits_that_are_tuned_to_a_distance_rely_on_a_proven_one(rule: Any, learner: Any, seed: int) -> None:
    """From a bad first model (one row, far away): the next fits may not assume that it met the target."""
    promised, true = promised_and_true(
        lambda run: Tracker.as_in_paper(
            LOSS,
            epsilon=0.1,
            domain=Ball(4.0),
            constants=NOISY,
            first_samples=(1,),
            rho=0.1,
            start=[-4.0, 0.0],
            learner=learner,
            rule=rule,
            rng=run,
        ),
        seed=seed,
        runs=60,
        periods=6,
        rho=0.1,
        start=np.array([2.9, 0.0]),
        shape="line",
    )
    assert_kept(promised, true)
    assert np.median(promised[:, -1]) < 0.5  # and it recovers


@pytest.mark.statistical
def test_few_rows_move_the_model_or_widen_the_promise(seed: int) -> None:
    promised, true = promised_and_true(
        lambda run: Tracker.as_in_paper(
            LOSS, epsilon=0.1, domain=Ball(30.0), constants=NOISY, first_samples=(400, 400), rho=1.0, rng=run
        ),
        seed=seed,
        runs=40,
        periods=10,
        rows=lambda period, asked: 400 if period <= 2 else 2,
        rho=1.0,
    )
    assert_kept(promised, true)


@pytest.mark.statistical
def test_unused_rows_are_no_evidence_of_a_stationary_world(seed: int) -> None:
    """Rows the bound has no use for once reached the direct estimate as a fit with no gradient, and rho went to 0."""
    promised, true = promised_and_true(
        lambda run: Tracker.as_in_paper(
            LOSS, epsilon=0.05, domain=Ball(30.0), constants=NOISY, first_samples=(4000, 4000), drift=Drift(), rng=run
        ),
        seed=seed,
        runs=15,
        periods=40,
        rows=lambda period, asked: 4000 if period <= 3 else 8,
        rho=0.05,
        shape="line",
    )
    assert_kept(promised, true)


@pytest.mark.statistical
@pytest.mark.parametrize("one_step", [Prequential(), DebiasedDifference()], ids=["prequential", "debiased"])
def test_a_drift_estimate_is_not_starved(one_step: Any, seed: int) -> None:
    """Every order is large enough for the next estimate, so that no rule can lock itself into too few rows."""
    drift = Drift(one_step=one_step, combine=RecentChange(window=5))
    learner = AnchoredErm() if isinstance(one_step, Prequential) else Sgd()
    _, true = promised_and_true(
        lambda run: Tracker.as_in_paper(
            LOSS,
            epsilon=0.1,
            domain=Ball(30.0),
            constants=Constants.given(m=1.0, M=1.0, A=0.16, B=4.0, noise=0.08),
            first_samples=(50, 50),
            drift=drift,
            learner=learner,
            rng=run,
        ),
        seed=seed,
        runs=40,
        periods=30,
        rho=0.5,
        noise=0.08,
    )
    assert true[:, 10:].mean() < 0.1


@pytest.mark.statistical
def test_an_estimated_diameter_does_not_limit_later_periods(seed: int) -> None:
    """It says where the first minimiser was; once it capped every later distance and zero was asked for ever."""
    promised, true = promised_and_true(
        lambda run: Tracker(
            LOSS,
            epsilon=0.1,
            learner=Sgd(),
            drift=KnownDrift(1.0),
            rule=DoNotUpdate(first_samples=(500,)),
            fit_intercept=False,
            rng=run,
        ),
        seed=seed,
        runs=15,
        periods=10,
        rho=1.0,
        noise=0.08,
    )
    assert_kept(promised, true)
    assert true[:, -1].mean() < 0.1


def test_a_short_first_period_is_made_up_for() -> None:
    tracker = Tracker.as_in_paper(
        LOSS,
        epsilon=0.1,
        domain=Ball(5.0),
        rho=0.0,
        features=2,
        rng=0,
        constants=Constants.given(m=1.0, M=1.0, A=0.16, B=4.0),
    )
    X = np.random.default_rng(0).normal(size=(60, 2))
    tracker.ask()
    report = tracker.tell(X[:3], X[:3] @ [1.0, 1.0])
    assert report is not None
    assert report.outcome is Outcome.SHORT
    asked = tracker.ask().samples
    assert asked > 20
    report = tracker.tell(X[:asked], X[:asked] @ [1.0, 1.0])
    assert report is not None
    assert report.outcome is Outcome.MET
    assert tracker.ask().samples == 0


def test_the_request_promises_no_more_than_the_report() -> None:
    tracker = Tracker.as_in_paper(
        LOSS, epsilon=0.1, domain=Ball(30.0), constants=NOISY, first_samples=(10, 10), features=2, rng=0
    )
    X = np.random.default_rng(0).normal(size=(2000, 2))
    for _ in range(3):
        request = tracker.ask()
        rows = X[: request.samples]
        report = tracker.tell(rows, rows @ [1.0, 1.0])
        assert report is not None
        assert request.risk_bound == report.risk_bound
        assert request.outcome.promised == report.outcome.promised


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"drift": Drift(one_step=GradientMmd(kernel="gaussian"))}, "monitor", id="monitor"),
        pytest.param({"learner": AnchoredErm(form="fixed-design", strength=0.1)}, "about new rows", id="these-rows"),
        pytest.param({"learner": AnchoredErm(), "constants": None}, "m = M|alike", id="unequal-curvature"),
        pytest.param({"drift": Drift(correction=True)}, "must have sigma", id="no-sigma"),
    ],
)
def test_what_can_never_promise_is_refused_before_a_label_is_bought(changes: dict[str, Any], message: str) -> None:
    parts: dict[str, Any] = {"domain": Ball(4.0), "constants": NOISY, "first_samples": (9, 9), **changes}
    with pytest.raises(ParameterError, match=message):
        Tracker.as_in_paper(LOSS, epsilon=0.1, **parts)


@pytest.mark.parametrize(
    ("learner", "changes", "message"),
    [
        pytest.param(
            Sgd(steps="constant", output="uniform", form="least-squares"),
            {"domain": Ball(4.0)},
            "WholeSpace",
            id="held-back",
        ),
        pytest.param(Sgd(form="least-squares"), {"loss": SquaredLoss(l2=0.1)}, "without l2", id="penalty"),
        pytest.param(Sgd(form="gaussian"), {"loss": HuberLoss(), "constants": NOISY}, "SquaredLoss", id="not-squares"),
        pytest.param(AnchoredErm(form="penalised"), {}, "m_rows", id="no-penalty"),
    ],
)
def test_a_bound_about_another_problem_is_refused(learner: Any, changes: dict[str, Any], message: str) -> None:
    parts: dict[str, Any] = {"loss": LOSS, "domain": Ball(4.0), "constants": None, "first_samples": (9, 9), **changes}
    with pytest.raises(ParameterError, match=message):
        Tracker.as_in_paper(parts.pop("loss"), epsilon=0.1, learner=learner, **parts)


@pytest.mark.parametrize(
    ("loss", "learner"),
    [
        pytest.param(SquaredLoss(), Sgd(), id="second-moment"),
        pytest.param(SquaredLoss(), Sgd(form="least-squares"), id="least-squares"),
        pytest.param(SquaredLoss(), Sgd(form="variance"), id="variance"),
        pytest.param(SquaredLoss(), AnchoredErm(form="ols"), id="ols"),
        pytest.param(SquaredLoss(), AnchoredErm(form="m-estimation", strength=0.0), id="m-estimation"),
        pytest.param(SquaredLoss(l2=0.1), AnchoredErm(form="penalised"), id="penalised"),
        pytest.param(SquaredLoss(l2=0.5), GradientPasses(20), id="passes"),
        pytest.param(HuberLoss(l2=0.1), Sgd(), id="huber"),
    ],
)
def test_every_form_gets_going_from_nothing(loss: Any, learner: Any) -> None:
    """Constants estimated, no first sizes, not even the number of columns: a few small pilots, then real requests."""
    tracker = Tracker(
        loss,
        epsilon=0.5,
        domain=Ball(3.0),
        learner=learner,
        drift=KnownDrift(0.01),
        rule=DoNotUpdate(),
        fit_intercept=False,
        cap=3000,
        rng=0,
    )
    rng = np.random.default_rng(0)

    def draw(count: int) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(count, 3))
        return X, X.sum(axis=1) + 0.3 * rng.normal(size=count)

    pilots = 0
    while tracker.step(draw).outcome is Outcome.PILOT:
        pilots += 1
        assert pilots < 6
    assert np.linalg.norm(tracker.coef - 1.0) < 1.5


def test_the_whole_space_is_honest() -> None:
    """Without a diameter nothing limits the first start, and no finite number is made up."""
    tracker = Tracker.as_in_paper(
        LOSS, epsilon=0.1, domain=WholeSpace(), constants=NOISY, first_samples=(50, 50), rng=0
    )
    X = np.random.default_rng(0).normal(size=(50, 2))
    tracker.ask()
    report = tracker.tell(X, X @ [1.0, 1.0])
    assert report is not None
    assert report.risk_bound == math.inf
    assert report.outcome is Outcome.PILOT
