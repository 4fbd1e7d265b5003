"""Bad input gets one sentence and changes nothing; ordinary life is not an error."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from driftpace import Ball, Box, Constants, HuberLoss, SquaredLoss, Tracker, WholeSpace
from driftpace.drift import Direct, Drift, MeanChange, RootMargin
from driftpace.errors import DataError, DriftpaceError, ParameterError, ProtocolError
from driftpace.learners import Sgd
from driftpace.records import Outcome, Verdict
from driftpace.rules import DoNotUpdate
from tests.reference.paper_world import KNOWN, paper_tracker
from tests.tracker.test_tracker import after, fingerprint, rows

GOOD_X, GOOD_Y = rows(6)


def with_(X: np.ndarray, row: int, column: int, value: float) -> np.ndarray:
    changed = X.copy()
    changed[row, column] = value
    return changed


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        pytest.param(with_(GOOD_X, 2, 1, np.inf), GOOD_Y, "column 1 has inf in row 2", id="inf-x"),
        pytest.param(GOOD_X, np.full(6, np.nan), "must be finite; got nan", id="nan-y"),
        pytest.param(GOOD_X, np.full(6, -np.inf), "must be finite; got -inf", id="inf-y"),
        pytest.param(GOOD_X[:, :1], GOOD_Y, "must have 2 columns; got 1", id="width"),
        pytest.param(GOOD_X, GOOD_Y[:5], "each of the 6 rows", id="length"),
        pytest.param(
            pl.DataFrame({"a": ["x"] * 6, "b": [1.0] * 6}),
            GOOD_Y,
            "feature 'a' must be numeric; row 1 has 'x'",
            id="text",
        ),
        pytest.param(with_(GOOD_X, 0, 0, 1e300), GOOD_Y, "column 0 reaches 1e[+]300", id="huge-x"),
        pytest.param(GOOD_X, np.full(6, 1e300), "got 1e[+]300", id="huge-y"),
        pytest.param(GOOD_X, None, "together", id="no-y"),
        pytest.param(None, GOOD_Y, "together", id="no-x"),
    ],
)
@pytest.mark.parametrize("final", [True, False])
def test_bad_rows_change_nothing(X: Any, y: Any, message: str, final: bool) -> None:
    tracker = after(3)
    tracker.ask()
    before = fingerprint(tracker)
    with pytest.raises(DataError, match=message) as refusal:
        tracker.tell(X, y, final=final)
    assert "\n" not in str(refusal.value)
    assert fingerprint(tracker) == before
    tracker.tell(GOOD_X, GOOD_Y)


def test_a_fit_that_overflows_changes_nothing() -> None:
    tracker = after(3, domain=WholeSpace())
    tracker.ask()
    before = fingerprint(tracker)
    with pytest.raises(DataError, match="rescale the columns"):
        tracker.tell(1e70 * GOOD_X, GOOD_Y)
    assert fingerprint(tracker) == before
    tracker.tell(GOOD_X, GOOD_Y)


def test_switches_are_true_or_false() -> None:
    tracker = after(3)
    tracker.ask()
    with pytest.raises(ParameterError, match=r"final=...\) must be True or False; got 'no'"):
        tracker.tell(GOOD_X, GOOD_Y, final="no")  # type: ignore[arg-type]


def test_a_loss_class_is_not_a_loss() -> None:
    with pytest.raises(ParameterError, match=r"Tracker\(loss=...\) must be an object"):
        Tracker.as_in_paper(SquaredLoss, epsilon=0.1, domain=Ball(1.0), constants=KNOWN, first_samples=(9,))  # type: ignore[arg-type]


def test_tell_before_ask_is_refused() -> None:
    tracker = after(3)
    before = fingerprint(tracker)
    with pytest.raises(ProtocolError, match=r"tell\(\) was called before ask\(\) in period 4"):
        tracker.tell(GOOD_X, GOOD_Y)
    assert fingerprint(tracker) == before


@pytest.mark.parametrize("epsilon", [0, -1.0, np.nan, np.inf, "0.1", None, True])
def test_epsilon_must_be_a_positive_number(epsilon: Any) -> None:
    with pytest.raises(ParameterError, match=r"Tracker\(epsilon=...\) must be positive and finite; got"):
        paper_tracker(0, epsilon=epsilon)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"cap": 0}, r"cap=", id="cap"),
        pytest.param({"pool": -1}, r"pool=", id="pool"),
        pytest.param({"features": 0}, r"features=", id="features"),
        pytest.param({"rng": "seed"}, r"rng=", id="rng"),
        pytest.param({"rng": -1}, r"rng=", id="negative-rng"),
        pytest.param({"rule": "sometimes"}, r"rule=", id="rule"),
        pytest.param({"rho": -0.5}, r"rho=", id="rho"),
        pytest.param({"first_samples": (0, 5)}, r"first_samples=", id="first"),
        pytest.param({"first_samples": None, "constants": None}, r"first_samples=", id="pilot"),
        pytest.param({"first_samples": None, "features": None}, r"first_samples=", id="no-features"),
        pytest.param({"start": [1.0, np.nan]}, r"start=", id="start"),
        pytest.param({"learner": 3}, r"learner=", id="learner"),
        pytest.param({"learner": Sgd}, r"learner=", id="learner-class"),
        pytest.param({"rule": DoNotUpdate}, r"rule=", id="rule-class"),
        pytest.param({"rule": DoNotUpdate(), "first_samples": (5,)}, r"first_samples=", id="rule-and-first"),
        pytest.param({"drift": Drift}, r"drift=", id="drift-class"),
        pytest.param({"domain": "ball"}, r"domain=", id="domain"),
        pytest.param({"domain": None}, r"domain=", id="no-domain"),
        pytest.param({"domain": Ball}, r"domain=", id="domain-class"),
        pytest.param({"constants": {"m": 1.0}}, r"constants=", id="constants"),
        pytest.param({"first_samples": 50}, r"first_samples=", id="first-number"),
        pytest.param({"first_samples": "50"}, r"first_samples=", id="first-text"),
        pytest.param({"features": "2"}, r"as_in_paper\(features=", id="features-text"),
        pytest.param({"start": [0.0, 0.0, 0.0]}, r"features=.* start has, 3", id="start-size"),
        pytest.param({"domain": Box(low=-np.ones(3), high=np.ones(3))}, r"features=.*fit the set", id="set-size"),
        pytest.param({"rng": True}, r"rng=", id="rng-bool"),
        pytest.param(
            {"drift": Drift(one_step=Direct(), combine=MeanChange(), margin=RootMargin()), "rho": 1.0},
            "both",
            id="both",
        ),
    ],
)
def test_bad_parameters_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DriftpaceError, match=message) as refusal:
        paper_tracker(0, **changes)
    assert isinstance(refusal.value, ParameterError)


@pytest.mark.parametrize("m", [0.0, -1.0, np.nan])
def test_m_given_as_zero_is_refused(m: float) -> None:
    with pytest.raises(ParameterError, match=r"Constants.given\(m=...\) must be positive and finite"):
        Constants.given(m=m, M=1.0, A=1.0, B=1.0)


def test_m_estimated_as_zero_promises_nothing_and_asks_again() -> None:
    """Fewer rows than features: the curvature is not seen yet, which is said and is not an error."""
    tracker = Tracker.as_in_paper(SquaredLoss(), epsilon=0.1, domain=Ball(5.0), first_samples=(3, 40), rng=0)
    rng = np.random.default_rng(0)
    tracker.ask()
    X = rng.normal(size=(3, 8))
    report = tracker.tell(X, X.sum(axis=1))
    assert report is not None
    assert report.outcome is Outcome.PILOT
    request = tracker.ask()
    assert request.samples == 40
    assert {item.name: item.verdict for item in request.assumptions}["curvature"] is Verdict.FAIL
    X = rng.normal(size=(400, 8))
    tracker.tell(X, X.sum(axis=1))
    assert {item.name: item.verdict for item in tracker.ask().assumptions}["curvature"] is not Verdict.FAIL


@pytest.mark.parametrize("constants", [None, KNOWN], ids=["estimated", "given"])
def test_collinear_columns_are_named(constants: Constants | None) -> None:
    tracker = Tracker.as_in_paper(
        SquaredLoss(), epsilon=0.1, domain=Ball(5.0), first_samples=(20, 20), constants=constants, rng=0
    )
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    frame = pl.DataFrame({"age": X[:, 0], "income": X[:, 1], "total": X.sum(axis=1)})
    tracker.ask()
    tracker.tell(frame[:15], X[:15, 0])  # too few rows to say
    tracker.ask()
    before = fingerprint(tracker)
    with pytest.raises(DataError, match=r"l2=0; .* column 'age' and column 'income' and column 'total' are collinear"):
        tracker.tell(frame, X[:, 0])
    assert fingerprint(tracker) == before
    tracker.tell(frame.with_columns(total=pl.Series(rng.normal(size=60))), X[:, 0])  # the next delivery is sound


def test_with_a_penalty_collinear_columns_are_fine() -> None:
    tracker = Tracker.as_in_paper(SquaredLoss(l2=0.1), epsilon=0.1, domain=Ball(5.0), first_samples=(60, 60), rng=0)
    X = np.random.default_rng(0).normal(size=(60, 2))
    tracker.ask()
    assert tracker.tell(np.column_stack([X, X.sum(axis=1)]), X[:, 0]) is not None


def test_a_constant_column_in_a_few_rows_is_ordinary_life() -> None:
    tracker = after(3)
    tracker.ask()
    X, y = rows(4)
    X[:, 0] = 1.0
    report = tracker.tell(X, y)
    assert report is not None
    assert np.isfinite(tracker.coef).all()


def test_duplicate_rows_and_a_single_row_are_ordinary_life() -> None:
    tracker = after(3)
    tracker.ask()
    assert tracker.tell(np.ones((5, 2)), np.ones(5)) is not None
    tracker.ask()
    assert tracker.tell([[1.0, 2.0]], [1.0]) is not None


def test_the_set_must_fit_the_columns() -> None:
    tracker = Tracker.as_in_paper(
        SquaredLoss(), epsilon=0.1, domain=Box(low=-np.ones(3), high=np.ones(3)), constants=KNOWN, first_samples=(5, 5)
    )
    tracker.ask()
    with pytest.raises(DataError, match="must fit the set"):
        tracker.tell(GOOD_X, GOOD_Y)


@pytest.mark.parametrize("name", ["learner", "drift", "rule", "constants"])
def test_a_missing_part_is_filled_in(name: str) -> None:
    """One part makes a method of parts, and the others have a default that works."""
    given: dict[str, Any] = {
        "learner": Sgd(),
        "drift": Drift(one_step=Direct(), combine=MeanChange(), margin=RootMargin()),
        "rule": DoNotUpdate(),
        "constants": KNOWN,
    }
    for parts in ({name: given[name]}, {other: part for other, part in given.items() if other != name}):
        tracker = Tracker(SquaredLoss(), epsilon=0.1, domain=Ball(50.0), fit_intercept=False, rng=0, **parts)
        assert all(getattr(tracker._method, other) is part for other, part in parts.items())
        assert tracker.ask().samples > 0
        assert tracker.tell(GOOD_X, GOOD_Y) is not None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"epsilon": None}, r"Tracker\(epsilon=...\) must be positive", id="no-epsilon"),
        pytest.param(
            {"tolerance": 0.05}, r"Tracker\(tolerance=...\) must be None .* \(learner, rule\); got 0.05", id="tolerance"
        ),
        pytest.param(
            {"confidence": 0.9},
            r"Tracker\(confidence=...\) must be None .* \(learner, rule\); got 0.9",
            id="confidence",
        ),
    ],
)
def test_what_parts_cannot_promise_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Tracker(SquaredLoss(), **{"epsilon": 0.1, "learner": Sgd(), "rule": DoNotUpdate(), **changes})


@pytest.mark.parametrize(("loss", "most"), [(SquaredLoss(), "200,000"), (HuberLoss(), "5,000")])
def test_more_columns_than_rows_may_have_are_refused_at_once(loss: Any, most: str) -> None:
    problem = rf"Tracker\(features=\.\.\.\) must be at most {most}.*got 1,000,000"
    with pytest.raises(ParameterError, match=problem):
        Tracker(loss, epsilon=0.2, features=10**6)
    assert Tracker(loss, epsilon=0.2, features=4).ask().samples > 0
