"""A tracker with a budget saved, loaded and replayed goes on to the bit, and to the cent."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace import Budget, LinearCost, TieredCost, Tracker
from driftpace.errors import ParameterError, StateFileError
from driftpace.planning import CustomCost, LargestRun
from driftpace.records import Money
from driftpace.storage import write_state
from driftpace.tracker.codec import to_body
from driftpace.tracker.events import AskEvent, CloseEvent, Event, ForgetEvent, replay
from driftpace.tracker.method import TellEvent
from tests.reference.budgeted import draws, in_paper, learning, practical
from tests.tracker.test_tracker import fingerprint

MAKERS: dict[str, Callable[..., Tracker]] = {"practical": practical, "known": in_paper, "learning": learning}
every_kind = pytest.mark.parametrize("make", list(MAKERS.values()), ids=list(MAKERS))


def rows(count: int, seed: int) -> tuple[Any, Any]:
    return draws(seed)(1)(count)


@every_kind
@pytest.mark.parametrize("stop", ["fresh", "asked", "part", "asked-again", "told"])
def test_save_and_load_give_the_same_plan(tmp_path: Path, make: Callable[..., Tracker], stop: str) -> None:
    tracker = make("350.5", 6, cost=TieredCost(tiers=((1, "0.75"), (21, "0.6")), fixed="12.25", currency="EUR"))
    for seed in range(0 if stop == "fresh" else 2):
        tracker.ask()
        tracker.tell(*rows(25, seed))
    if stop in ("asked", "part", "asked-again"):
        tracker.ask()
    if stop in ("part", "asked-again"):
        tracker.tell(*rows(3, 9), final=False)
    if stop == "asked-again":
        tracker.ask()
    tracker.save(tmp_path / "state")
    loaded = Tracker.load(tmp_path / "state")
    assert fingerprint(loaded) == fingerprint(tracker)
    assert (loaded.history, loaded.budget, loaded.money_left) == (tracker.history, tracker.budget, tracker.money_left)
    for seed in range(2):
        assert loaded.ask() == tracker.ask()
        assert loaded.tell(*rows(9, seed)) == tracker.tell(*rows(9, seed))
    assert fingerprint(loaded) == fingerprint(tracker)


def test_in_the_middle_of_a_pilot_too(tmp_path: Path) -> None:
    tracker = practical()
    tracker.ask()
    tracker.tell(*rows(10, 0), final=False)
    tracker.save(tmp_path / "pilot")
    planned = tracker.ask()
    tracker.save(tmp_path / "planned")
    assert planned.plan is not None
    assert (
        Tracker.load(tmp_path / "pilot").ask() == planned == Tracker.load(tmp_path / "planned").ask() == tracker.ask()
    )


@every_kind
def test_a_log_of_events_folds_to_the_same_state(make: Callable[..., Tracker]) -> None:
    tracker = make(320, 4)
    log: list[Event] = []
    for seed in range(3):
        X, y = rows(30, seed)
        log += [
            AskEvent(),
            TellEvent(X=X[:5], y=y[:5]),
            AskEvent(),
            ForgetEvent(),
            AskEvent(),
            TellEvent(X=X[:12], y=y[:12]),
        ]
        log += [AskEvent(), TellEvent(X=X[12:], y=y[12:]), CloseEvent()]
        tracker.ask()
        tracker.tell(X[:5], y[:5], final=False)
        tracker.ask()
        tracker.forget()
        tracker.ask()
        tracker.tell(X[:12], y[:12], final=False)
        tracker.ask()
        tracker.tell(X[12:], y[12:])
    state, reports = replay(tracker._method, log)
    assert reports == list(tracker.history)
    body = to_body(tracker._method, tracker._state, tracker._reports)["state"]
    assert json.dumps(to_body(tracker._method, state, reports)["state"]) == json.dumps(body)


@every_kind
def test_asking_again_gives_the_same_answer_and_plans_nothing(
    make: Callable[..., Tracker], monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker = make(300, 4)
    for seed in range(3):
        request = tracker.ask()
        with monkeypatch.context() as patched:
            patched.setattr("driftpace.planning.plan_exact", _never)
            assert tracker.ask() == request
        tracker.tell(*rows(12, seed))


def test_taking_rows_back_restarts_a_pilot_and_keeps_a_plan() -> None:
    tracker = practical(400, 4)
    first = tracker.ask()
    tracker.tell(*rows(10, 0), final=False)
    assert tracker.ask().plan is not None
    tracker.forget()
    pilot = tracker.ask()
    assert (pilot.samples, pilot.plan) == (first.samples, None)  # the number of columns is forgotten with the rows
    tracker.tell(*rows(20, 1))
    second = tracker.ask()
    assert second.samples > 0
    tracker.tell(*rows(second.samples, 2), final=False)
    assert tracker.ask().samples == 0
    tracker.forget()
    assert tracker.ask() == second


def test_plans_are_not_kept_in_the_history() -> None:
    tracker, draw = in_paper(400, 6), draws(3)
    sizes = []
    for period in range(1, 7):
        tracker.step(draw(period))
        body = to_body(tracker._method, tracker._state, tracker._reports)
        sizes.append(len(json.dumps(body["state"])))
        assert "samples" not in json.dumps(body["state"]["fields"]["inner"]["fields"]["order"])
    assert max(sizes) < 1.2 * min(sizes)


def test_a_custom_price_list_must_be_given_again(tmp_path: Path) -> None:
    cost = CustomCost(lambda samples: 0.5 * samples + 10 * (samples > 0), currency="EUR")
    tracker = in_paper(100, 4, cost=cost)
    tracker.ask()
    tracker.tell(*rows(20, 0))
    request = tracker.ask()
    tracker.save(tmp_path / "state")
    with pytest.raises(
        ParameterError, match=r"Tracker.load\(budget=...\) must be given, since the saved one could not be written"
    ):
        Tracker.load(tmp_path / "state")
    assert Tracker.load(tmp_path / "state", budget=tracker.budget).ask() == request


def test_a_larger_budget_is_given_when_a_tracker_is_loaded(tmp_path: Path) -> None:
    tracker = in_paper(100, 4)
    tracker.ask()
    tracker.tell(*rows(40, 0))
    tracker.save(tmp_path / "state")
    more = Budget(total=500, horizon=8, cost=LinearCost(fixed="20.50", currency="EUR"))
    loaded = Tracker.load(tmp_path / "state", budget=more)
    assert loaded.money_left == Money.of(440, "EUR")
    assert loaded.ask().plan.horizon == 7
    assert Tracker.load(tmp_path / "state", budget=None).ask().cost is None
    with pytest.raises(StateFileError, match=r"Tracker.load\(budget=...\) must be a Budget; got 3."):
        Tracker.load(tmp_path / "state", budget=3)


def test_a_goal_with_weights_comes_back(tmp_path: Path) -> None:
    tracker = in_paper(100, 3, gap=LargestRun((1.0, 2.0, 3.0)))
    tracker.save(tmp_path / "state")
    assert Tracker.load(tmp_path / "state").budget == tracker.budget


@pytest.mark.parametrize("damage", ["amount", "horizon", "gap"])
def test_a_budget_no_tracker_wrote_is_refused(tmp_path: Path, damage: str) -> None:
    body = to_body(*_everything(in_paper(100, 3)))
    held = body["method"]["fields"]["budget"]["fields"]
    if damage == "amount":
        held["total"]["fields"]["amount"] = {"!": "decimal", "value": "a lot"}
    else:
        held[damage] = 0
    write_state(tmp_path / "state", body)
    with pytest.raises(StateFileError):
        Tracker.load(tmp_path / "state")


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_costs_become_columns_of_a_table(backend: str) -> None:
    tracker = in_paper(100, 3)
    tracker.ask()
    tracker.tell(*rows(15, 0))
    tracker.ask()
    tracker.tell()
    columns = tracker.history.columns()
    assert (columns["cost"], columns["currency"]) == ([35.0, 0.0], ["EUR", "EUR"])
    assert len(tracker.history.to_frame(backend)) == 2


def test_without_a_budget_there_is_no_column_of_costs() -> None:
    tracker = Tracker(in_paper()._method.spec.loss, epsilon=0.1, rng=0)
    tracker.ask()
    tracker.tell(*rows(15, 0))
    assert "cost" not in tracker.history.columns()


def test_money_is_exact_however_often_it_is_saved(tmp_path: Path) -> None:
    tracker = in_paper(10, 20, cost=LinearCost(per_sample="0.1", currency="EUR"))
    for seed in range(3):
        tracker.ask()
        tracker.tell(*rows(1, seed))
        tracker.save(tmp_path / "state")
        tracker = Tracker.load(tmp_path / "state")
    assert tracker._state.spent == Decimal("0.3")
    assert str(tracker.money_left) == "9.7 EUR"
    assert np.isfinite(tracker.coef).all()


def _everything(tracker: Tracker) -> tuple[Any, Any, Any]:
    return tracker._method, tracker._state, tracker._reports


def _never(*_: object, **__: object) -> None:
    raise AssertionError("a plan was made where none was needed")
