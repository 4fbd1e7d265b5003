"""A default tracker saved, loaded and replayed goes on to the bit."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace import LogisticLoss, SquaredLoss, Tracker
from driftpace.errors import StateFileError
from driftpace.losses import Loss
from driftpace.storage import write_state
from driftpace.tracker.codec import to_body
from driftpace.tracker.events import AskEvent, CloseEvent, Event, ForgetEvent, replay
from driftpace.tracker.method import TellEvent
from driftpace.typing import FloatArray
from tests.tracker.test_adaptive_method import after, default, rows
from tests.tracker.test_tracker import fingerprint


@pytest.mark.parametrize("stop", ["fresh", "asked", "part", "asked-again", "told"])
@pytest.mark.parametrize("loss", [SquaredLoss(), LogisticLoss(l2=0.1)], ids=["squared", "logistic"])
def test_save_and_load_go_on_to_the_bit(tmp_path: Path, stop: str, loss: Loss) -> None:
    def give(count: int, seed: int) -> tuple[FloatArray, FloatArray]:
        X, y = rows(count, seed)
        return X, y if isinstance(loss, SquaredLoss) else np.sign(y)

    tracker = Tracker(loss, tolerance=0.2, confidence=0.8, certificate_level=0.9, rng=0)
    for seed in range(0 if stop == "fresh" else 3):
        tracker.ask()
        tracker.tell(*give(40, seed))
    if stop in ("asked", "part", "asked-again"):
        tracker.ask(pool=200)
    if stop in ("part", "asked-again"):
        tracker.tell(*give(5, 9), final=False)
    if stop == "asked-again":
        tracker.ask()
    tracker.save(tmp_path / "state")
    loaded = Tracker.load(tmp_path / "state")
    assert fingerprint(loaded) == fingerprint(tracker)
    assert loaded.history == tracker.history
    for seed in range(3):
        assert loaded.ask() == tracker.ask()
        assert loaded.tell(*give(15, seed)) == tracker.tell(*give(15, seed))
    assert fingerprint(loaded) == fingerprint(tracker)


def test_a_log_of_events_folds_to_the_same_state() -> None:
    tracker = default()
    log: list[Event] = []
    for seed in range(4):
        X, y = rows(40, seed)
        log += [
            AskEvent(),
            TellEvent(X=X[:5], y=y[:5]),
            AskEvent(),
            ForgetEvent(),
            AskEvent(),
            TellEvent(X=X[:9], y=y[:9]),
        ]
        log += [AskEvent(), TellEvent(X=X[9:], y=y[9:]), CloseEvent()]
        tracker.ask()
        tracker.tell(X[:5], y[:5], final=False)
        tracker.ask()
        tracker.forget()
        tracker.ask()
        tracker.tell(X[:9], y[:9], final=False)
        tracker.ask()
        tracker.tell(X[9:], y[9:])
    state, reports = replay(tracker._method, log)
    assert reports == list(tracker.history)
    body = to_body(tracker._method, tracker._state, tracker._reports)["state"]
    assert json.dumps(to_body(tracker._method, state, reports)["state"]) == json.dumps(body)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param(("method", "type"), "method.composed", id="parts"),
        pytest.param(("method", "fields", "config", "fields", "epsilon"), None, id="no-target"),
        pytest.param(("method", "fields", "config", "fields", "certificate_level"), 2.0, id="level"),
        pytest.param(("state", "fields", "period"), 9, id="period"),
    ],
)
def test_a_state_no_tracker_wrote_is_refused(tmp_path: Path, path: tuple[str, ...], value: Any) -> None:
    tracker = after(2)
    body = to_body(tracker._method, tracker._state, tracker._reports)
    inner = body
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    write_state(tmp_path / "state", body)
    with pytest.raises(StateFileError):
        Tracker.load(tmp_path / "state")


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_the_history_becomes_a_table_of_any_kind(backend: str) -> None:
    columns = after(2).history.columns()
    assert columns["assumptions"][1].startswith("curvature: pass; ")
    assert len(after(2).history.to_frame(backend)) == 2


def test_many_columns_go_on_with_the_same_bits(tmp_path: Path) -> None:
    """Products of larger matrices depend on their order in memory, which a file does not keep."""
    rng = np.random.default_rng(0)
    coef = 0.5 * rng.standard_normal(17)
    whole = Tracker(LogisticLoss(l2=0.001), epsilon=0.1, rng=0)
    resumed = Tracker(LogisticLoss(l2=0.001), epsilon=0.1, rng=0)
    for _ in range(3):
        X = rng.standard_normal((120, 17))
        y = (rng.random(120) < 1.0 / (1.0 + np.exp(-X @ coef))).astype(int)
        for tracker in (whole, resumed):
            tracker.ask()
            tracker.tell(X, y)
        resumed.save(tmp_path / "state.json")
        resumed = Tracker.load(tmp_path / "state.json")
        np.testing.assert_array_equal(resumed.coef, whole.coef)
        assert resumed.history[-1].certificate == whole.history[-1].certificate
