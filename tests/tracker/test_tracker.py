"""The loop: idempotent, tolerant of what really comes, and replayable to the bit."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from driftpace import Ball, Constants, LogisticLoss, SmoothedHinge, SquaredLoss, Tracker, WholeSpace
from driftpace.errors import DataError, ParameterError, ProtocolError, StateFileError
from driftpace.records import DriftEstimate, Outcome
from driftpace.storage import encode, write_state
from driftpace.tracker.codec import to_body
from driftpace.tracker.composed_context import ComposedState
from driftpace.tracker.composed_method import ComposedMethod
from driftpace.tracker.events import AskEvent, CloseEvent, Event, ForgetEvent, replay
from driftpace.tracker.method import TellEvent
from tests.reference.paper_world import KNOWN, paper_tracker

TRUTH = np.array([1.0, -2.0])


def rows(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 2))
    return X, X @ TRUTH + 0.2 * rng.normal(size=count)


def fingerprint(tracker: Tracker) -> str:
    """Everything a tracker remembers, the clock aside."""
    body = to_body(tracker._method, tracker._state, tracker._reports)
    for report in body["history"]:
        report["fields"].pop("seconds")
    return json.dumps(body, sort_keys=True)


def after(periods: int, **changes: Any) -> Tracker:
    tracker = paper_tracker(0, **changes)
    for period in range(periods):
        tracker.ask()
        tracker.tell(*rows(50, seed=period))
    return tracker


def test_asking_again_gives_the_same_answer() -> None:
    tracker = after(3)
    assert tracker.ask() == tracker.ask()
    with pytest.raises(ProtocolError, match=r"^ask\(pool=\.\.\.\) must be the same as when period 4 was sized"):
        tracker.ask(pool=1)  # the decision of a period is made once


def test_parts_of_a_period_are_taken_off_the_request() -> None:
    tracker = after(3)
    asked = tracker.ask().samples
    X, y = rows(asked + 5, seed=9)
    assert tracker.tell(X[:4], y[:4], final=False) is None
    assert tracker.ask().samples == asked - 4
    tracker.tell(X[4:], y[4:], final=False)
    assert tracker.ask().samples == 0
    report = tracker.tell()
    assert report is not None
    assert (report.asked, report.samples) == (asked, asked + 5)

    whole = after(3)
    whole.ask()
    assert whole.tell(X, y) == report
    np.testing.assert_array_equal(whole.coef, tracker.coef)


@pytest.mark.parametrize("count", [0, 1, 3, 500])
def test_every_received_row_is_accounted_for(count: int) -> None:
    tracker = after(3)
    tracker.ask()
    report = tracker.tell(*rows(count, seed=5))
    assert report is not None
    assert report.samples == count
    assert (report.outcome is Outcome.SHORT) == (count < 4)
    assert np.isfinite(report.risk_bound)
    assert tracker.period == 5
    tracker.ask()


def test_more_rows_never_promise_less() -> None:
    bounds = []
    for count in (0, 2, 5, 10, 20, 50, 200, 1000):
        tracker = after(4)
        tracker.ask()
        report = tracker.tell(*rows(count, seed=8))
        assert report is not None
        bounds.append(report.risk_bound)
    # the drift estimate moves with the rows, so only the large picture is monotone
    assert bounds[0] > bounds[3] > bounds[-1]


def test_step_is_the_whole_loop() -> None:
    by_hand, by_step = after(2), after(2)
    request = by_hand.ask()
    expected = by_hand.tell(*rows(request.samples, seed=3))
    assert by_step.step(lambda count: rows(count, seed=3)) == expected
    assert fingerprint(by_hand) == fingerprint(by_step)


def test_step_tops_up_until_the_pool_is_dry() -> None:
    tracker = after(2)
    supply = [rows(3, seed=1), rows(2, seed=2), rows(0)]
    report = tracker.step(lambda count: supply.pop(0))
    assert report.samples == 5
    assert report.outcome in (Outcome.SHORT, Outcome.MET)


def test_nothing_is_asked_that_the_pool_cannot_give() -> None:
    tracker = after(3)
    request = tracker.ask(pool=4)
    assert request.samples == 4
    assert request.outcome is Outcome.POOL
    assert "pool of this period has 4" in request.reason
    assert paper_tracker(0, pool=7).ask().samples == 7


def test_the_cap_is_reported() -> None:
    tracker = after(3, cap=5)
    request = tracker.ask()
    assert request.samples == 5
    assert request.outcome is Outcome.CAPPED
    assert not request.outcome.promised


def test_a_replay_gives_the_same_bits() -> None:
    assert fingerprint(after(6)) == fingerprint(after(6))
    assert fingerprint(after(6)) != fingerprint(after(5))


def test_a_log_of_events_folds_to_the_same_state() -> None:
    tracker = paper_tracker(0)
    log: list[Event] = []
    for period in range(6):
        X, y = rows(20, seed=period)
        events: tuple[Event, ...] = (
            AskEvent(),
            TellEvent(X=X[:5], y=y[:5]),
            ForgetEvent(),
            AskEvent(),
            TellEvent(X=X[:9], y=y[:9]),
            TellEvent(X=X[9:], y=y[9:]),
            CloseEvent(),
        )
        log += events
        tracker.ask()
        tracker.tell(X[:5], y[:5], final=False)
        tracker.forget()
        tracker.tell(X[:9], y[:9], final=False)
        tracker.tell(X[9:], y[9:])
    state, reports = replay(tracker._method, log)
    assert isinstance(state, ComposedState)
    assert isinstance(tracker._state, ComposedState)
    assert reports == list(tracker.history)
    assert encode(state.coef) == encode(tracker._state.coef)
    assert encode(state.drift) == encode(tracker._state.drift)
    assert encode(state.rule) == encode(tracker._state.rule)


def test_a_refused_period_gives_back_what_step_drew() -> None:
    """A fit that overflows is found at closing; the tracker goes on with the next, sound rows."""
    tracker = after(3, domain=WholeSpace())
    tracker.ask()
    before = fingerprint(tracker)
    with pytest.raises(DataError, match="rescale"):
        tracker.step(lambda count: (1e70 * rows(count)[0], rows(count)[1]))
    assert fingerprint(tracker) == before
    assert tracker.step(lambda count: rows(count)).period == 4


def test_a_failed_draw_keeps_earlier_rows() -> None:
    tracker = after(3)
    supply = [rows(3)]
    with pytest.raises(IndexError):
        tracker.step(lambda count: supply.pop())
    assert tracker._state.gathered == 3
    with pytest.raises(ParameterError, match=r"draw=...\) must return a pair"):
        tracker.step(lambda count: None)  # type: ignore[arg-type, return-value]


def test_a_bad_delivery_can_be_taken_back() -> None:
    tracker = after(3, domain=WholeSpace())
    asked = tracker.ask().samples
    X, y = rows(6)
    tracker.tell(1e70 * X, y, final=False)
    with pytest.raises(DataError, match="rescale"):
        tracker.tell()
    tracker.forget()
    assert tracker.ask().samples == asked
    assert tracker.tell(X, y) is not None


def test_the_order_of_visits_is_redrawn_each_period_and_run() -> None:
    assert not np.array_equal(after(3).coef, after(3, rng=1).coef)


@pytest.mark.parametrize("stop", ["fresh", "asked", "part", "told"])
@pytest.mark.parametrize("rule", ["do-not-update", "update-past"])
def test_save_and_load_go_on_to_the_bit(tmp_path: Path, stop: str, rule: str) -> None:
    tracker = paper_tracker(0, rule=rule) if stop == "fresh" else after(4, rule=rule)
    if stop in ("asked", "part"):
        tracker.ask()
    if stop == "part":
        tracker.tell(*rows(3, seed=1), final=False)
    tracker.save(tmp_path / "state")
    loaded = Tracker.load(tmp_path / "state")
    assert fingerprint(loaded) == fingerprint(tracker)
    assert loaded.history == tracker.history
    for period in range(3):
        assert loaded.ask() == tracker.ask()
        assert loaded.tell(*rows(12, seed=period)) == tracker.tell(*rows(12, seed=period))
    assert fingerprint(loaded) == fingerprint(tracker)


def test_estimated_constants_survive_a_save(tmp_path: Path) -> None:
    tracker = after(3, constants=None)
    tracker.save(tmp_path / "state")
    loaded = Tracker.load(tmp_path / "state")
    assert loaded.ask() == tracker.ask()
    assert fingerprint(loaded) == fingerprint(tracker)


@dataclass(frozen=True)
class OwnDrift:
    """A drift estimator of the user's own, whose state is a dict, or something that cannot be written."""

    state: Any = field(default_factory=dict)
    held_out: float = 0.0

    def init(self, features: int) -> Any:
        return self.state

    def update(self, state: Any, seen: Any, loss: Any) -> Any:
        return state

    def estimate(self, state: Any) -> DriftEstimate:
        return DriftEstimate(value=1.0, upper=1.0, steps=0, measures="rho", account="own")


def test_a_custom_estimator_is_saved_when_its_state_is_plain(tmp_path: Path) -> None:
    custom = OwnDrift(state={"count": 3, "sums": np.ones(2)})
    tracker = after(3, drift=custom)
    tracker.save(tmp_path / "state")
    assert Tracker.load(tmp_path / "state", drift=custom).ask() == tracker.ask()
    with pytest.raises(ParameterError, match=r"save\(\) must be able to write the state of drift: .* but object"):
        after(3, drift=OwnDrift(state=object())).save(tmp_path / "other")
    assert not (tmp_path / "other").exists()


def _edited(body: Any, path: tuple[str, ...], value: Any) -> Any:
    if not path:
        return value
    return {**body, path[0]: _edited(body[path[0]], path[1:], value)}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param(("state",), 3, id="state"),
        pytest.param(("state", "fields", "period"), "x", id="period"),
        pytest.param(("state", "fields", "period"), 7, id="another-period"),
        pytest.param(("method", "fields", "epsilon"), -1.0, id="epsilon"),
        pytest.param(("method", "type"), "method.adaptive", id="another-method"),
        pytest.param(("method", "type"), "guess", id="no-method"),
        pytest.param(("method",), 3, id="method"),
        pytest.param(("method", "fields", "spec", "fields", "loss"), encode(Ball(1.0)), id="loss"),
        pytest.param(("method", "fields", "spec", "fields", "domain", "fields", "radius"), -1.0, id="radius"),
        pytest.param(("method", "fields", "spec"), {}, id="spec"),
        pytest.param(("state", "fields", "coef", "data"), "AAAA", id="bytes"),
        pytest.param(("history",), [3], id="history"),
    ],
)
def test_a_state_no_tracker_wrote_is_refused_even_with_a_checksum(
    tmp_path: Path, path: tuple[str, ...], value: Any
) -> None:
    tracker = after(2)
    body = to_body(tracker._method, tracker._state, tracker._reports)
    write_state(tmp_path / "state", _edited(body, path, value))
    with pytest.raises(StateFileError):
        Tracker.load(tmp_path / "state")


class OwnLoss(SquaredLoss):
    """A user's own class: it is not written to files."""


def test_a_custom_part_must_be_given_again(tmp_path: Path) -> None:
    tracker = Tracker.as_in_paper(OwnLoss(), epsilon=0.1, domain=Ball(5.0), constants=KNOWN, first_samples=(9,))
    tracker.save(tmp_path / "state")
    with pytest.raises(ParameterError, match=r"Tracker.load\(loss=...\) must be given"):
        Tracker.load(tmp_path / "state")
    assert isinstance(Tracker.load(tmp_path / "state", loss=OwnLoss())._method.spec.loss, OwnLoss)
    with pytest.raises(ParameterError, match="must be one of loss"):
        Tracker.load(tmp_path / "state", colour="blue")


def test_a_damaged_state_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    after(2).save(path)
    path.write_text(path.read_text().replace('"period": 3', '"period": 4'))
    with pytest.raises(StateFileError, match="edited or damaged"):
        Tracker.load(path)


def test_history_is_a_tuple_and_a_table() -> None:
    tracker = after(3)
    assert isinstance(tracker.history, tuple)
    assert [report.period for report in tracker.history] == [1, 2, 3]
    frame = tracker.history.to_frame("polars")
    assert isinstance(frame, pl.DataFrame)
    assert frame["samples"].to_list() == [50, 50, 50]
    assert set(frame["outcome"]) <= {outcome.value for outcome in Outcome}
    assert list(tracker.history.to_frame("pandas")["period"]) == [1, 2, 3]
    assert len(tracker.history[:2].to_frame("pandas")) == 2
    with pytest.raises(ParameterError, match=r"to_frame\(backend=...\) must be one of"):
        tracker.history.to_frame("json")
    assert tracker.history.to_frame("pyarrow").num_rows == 3


def test_an_intercept_is_fitted_and_not_penalised() -> None:
    parts = paper_tracker(0)._method
    assert isinstance(parts, ComposedMethod)
    tracker = Tracker(
        SquaredLoss(),
        epsilon=0.1,
        learner=parts.learner,
        drift=parts.drift,
        rule=parts.rule,
        constants=KNOWN,
        domain=Ball(50.0),
        rng=0,
    )
    X, y = rows(4000)
    tracker.ask()
    tracker.tell(pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}), y + 3.0)
    np.testing.assert_allclose(tracker.coef, TRUTH, atol=0.2)
    assert tracker.intercept == pytest.approx(3.0, abs=0.2)
    swapped = pl.DataFrame({"b": X[:5, 1], "a": X[:5, 0]})
    np.testing.assert_allclose(tracker.predict(swapped), X[:5] @ tracker.coef + tracker.intercept)


def test_classes_are_learnt_and_predicted() -> None:
    tracker = Tracker.as_in_paper(
        SmoothedHinge(l2=0.1),
        epsilon=0.1,
        domain=Ball(3.0),
        constants=Constants.given(m=0.1, M=2.0, A=2.0, B=8.0),
        first_samples=(400, 100),
        rng=0,
    )
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=400)
    X = rng.normal(size=(400, 2)) + np.outer(2 * y - 1, [2.0, 0.0])
    tracker.ask()
    tracker.tell(X, y)
    assert set(tracker.predict(X)) == {-1.0, 1.0}
    assert (tracker.predict(X) == 2 * y - 1).mean() > 0.9
    tracker.ask()
    tracker.tell(X[y == 1][:7], np.ones(7))  # one class is missing from the batch: ordinary life
    tracker.ask()
    with pytest.raises(DataError, match="-1/1 or 0/1"):
        tracker.tell(X[:3], [0, 1, 2])


def test_before_the_first_rows_there_is_no_model() -> None:
    tracker = paper_tracker(0, features=None)
    with pytest.raises(ProtocolError, match="no model yet"):
        tracker.predict([[1.0, 2.0]])
    np.testing.assert_array_equal(paper_tracker(0).coef, [0.0, 0.0])
    np.testing.assert_array_equal(paper_tracker(0, start=[3.0, 4.0], domain=Ball(1.0)).coef, [0.6, 0.8])


@pytest.mark.parametrize("features", [None, 2])
def test_nothing_is_predicted_before_the_first_fit(features: int | None) -> None:
    tracker = Tracker(LogisticLoss(l2=0.1), epsilon=0.1, features=features, rng=0)
    for call in (tracker.predict, tracker.predict_proba, tracker.decision_function):
        with pytest.raises(ProtocolError, match=r"no model yet; call ask\(\) and tell\(\) first"):
            call(np.ones((2, 2)))


def test_probabilities_are_those_of_the_scores() -> None:
    tracker = Tracker(LogisticLoss(l2=0.1), epsilon=0.1, rng=0)
    tracker.ask()
    X, y = rows(60, 0)
    tracker.tell(X, np.sign(y))
    scores, probabilities = tracker.decision_function(X), tracker.predict_proba(X)
    assert scores == pytest.approx(X @ tracker.coef + tracker.intercept)
    assert probabilities[:, 1] == pytest.approx(1.0 / (1.0 + np.exp(-scores)))
    assert probabilities.sum(axis=1) == pytest.approx(1.0)
    assert (tracker.predict(X) == np.where(probabilities[:, 1] >= 0.5, 1.0, -1.0)).all()


def test_probabilities_need_a_loss_that_estimates_them() -> None:
    tracker = Tracker(SquaredLoss(), epsilon=0.1, rng=0)
    tracker.ask()
    tracker.tell(*rows(60, 0))
    with pytest.raises(
        ProtocolError, match=r"predict_proba\(\) needs a loss that estimates probabilities; got SquaredLoss"
    ):
        tracker.predict_proba(np.ones((2, 2)))


def test_targets_that_are_not_classes_are_refused_by_their_own_name() -> None:
    tracker = Tracker(LogisticLoss(l2=0.1), epsilon=0.1, rng=0)
    tracker.ask()
    with pytest.raises(
        DataError, match=r"^Tracker\.tell\(y=\.\.\.\) must be -1/1 or 0/1 for LogisticLoss; got values such as 2"
    ):
        tracker.tell(np.eye(3), np.array([0.0, 1.0, 2.0]))
