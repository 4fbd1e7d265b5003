"""Doors through which something wrong came in once: columns, groups, states, requests of trackers that choose."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from driftpace import Ball, Budget, Constants, LinearCost, LogisticLoss, SquaredLoss, Tracker
from driftpace.backtest import read_table, replay
from driftpace.errors import DataError, ParameterError, ProtocolError, StateFileError
from driftpace.learners import AnchoredErm, Sgd
from driftpace.records import Outcome
from driftpace.selection import Candidate, Selection, read_l2, select_l2
from driftpace.storage import read_state, write_state
from driftpace.tracker.candidates_method import CandidatesMethod

GRID = [0.0, 0.1, 10.0]
NARROW_FIRST = Selection(candidates=(Candidate(label="first", columns=(0,)), Candidate(label="all")))


def rows(rng: np.random.Generator, count: int = 60, features: int = 3) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((count, features))
    return X, X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(count)


def told(rng: np.random.Generator, tracker: Tracker, periods: int = 2, **groups: Any) -> Tracker:
    for _ in range(periods):
        tracker.ask()
        tracker.tell(*rows(rng), **groups)
    return tracker


def penalties(tracker: Tracker) -> list[float]:
    assert isinstance(tracker._method, CandidatesMethod)
    return [method.spec.loss.l2 for method in tracker._method.methods]


# --- columns ---


def test_columns_that_are_known_beforehand_hold_from_the_start(rng: np.random.Generator) -> None:
    tracker = Tracker(SquaredLoss(), epsilon=0.1, features=3, select=NARROW_FIRST, rng=0)
    assert tracker.coef.shape == (3,)
    assert {label: model.shape for label, model in tracker.models.items()} == {"first": (4,), "all": (4,)}
    with pytest.raises(ProtocolError, match="no model yet"):
        tracker.predict(np.ones((2, 3)))
    tracker.ask()
    before = tracker._state
    for width in (1, 5):
        with pytest.raises(DataError, match=rf"must have 3 columns; got {width}"):
            tracker.tell(*rows(rng, features=max(width, 2)) if width > 1 else (np.ones((9, 1)), np.ones(9)))
        assert tracker._state is before
    assert tracker.tell(*rows(rng)) is not None


def test_columns_by_name_have_no_model_before_the_first_rows(rng: np.random.Generator) -> None:
    select = Selection(candidates=(Candidate(label="age", columns=("age",)), Candidate(label="all")))
    tracker = Tracker(SquaredLoss(), epsilon=0.1, features=3, select=select, rng=0)
    with pytest.raises(ProtocolError, match="no model yet"):
        tracker.coef  # noqa: B018
    tracker.ask()
    X, y = rows(rng)
    tracker.tell(pd.DataFrame(X, columns=["sex", "age", "years"]), y)
    assert tracker.models["age"][[0, 2]].tolist() == [0.0, 0.0]


def test_a_column_by_name_and_by_place_is_the_same_column(rng: np.random.Generator) -> None:
    select = Selection(candidates=(Candidate(label="all"), Candidate(label="twice", columns=("a", 0))))
    tracker = Tracker(SquaredLoss(), epsilon=0.1, select=select, rng=0)
    tracker.ask()
    before = tracker._state
    X, y = rows(rng)
    with pytest.raises(
        DataError, match=r"Tracker.tell\(X=...\) must have each column that candidate 'twice' sees once"
    ):
        tracker.tell(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    assert tracker._state is before


def test_frames_in_another_order_are_put_in_order_for_every_candidate(rng: np.random.Generator) -> None:
    select = Selection(candidates=(Candidate(label="all"), Candidate(label="two", columns=("c", "b"))))
    X, y = rows(rng)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    results = []
    for second in (frame, frame[["c", "a", "b"]]):
        tracker = Tracker(SquaredLoss(), epsilon=0.1, select=select, rng=0)
        for _ in range(2):
            tracker.ask()
            tracker.tell(frame[:30], y[:30], final=False)
            tracker.tell(second[30:], y[30:])
        results.append((tracker.models, tracker.predict(second)))
    assert all(np.array_equal(results[0][0][label], results[1][0][label]) for label in select.labels)
    assert np.array_equal(results[0][1], results[1][1])


# --- groups ---


def test_a_missing_group_among_words_is_missing(rng: np.random.Generator) -> None:
    tracker = Tracker(SquaredLoss(), epsilon=0.1, l2=GRID, rng=0)
    tracker.ask()
    X, y = rows(rng, 4)
    with pytest.raises(DataError, match="must have no missing entries; got nan"):
        tracker.tell(X, y, groups=["anna", "ben", float("nan"), float("nan")])
    with pytest.raises(DataError, match=r"groups=...\) must be given together with rows; got no rows"):
        tracker.tell(groups=["anna"])
    tracker.tell(X, y, groups=["1", 1, 1.0, 2], final=False)
    report = tracker.tell()
    assert report is not None
    assert report.selected is not None
    assert report.selected.folds == 2  # "1", 1 and 1.0 are one


def test_a_table_is_not_grouped_by_its_target_and_says_what_groups_do() -> None:
    rng = np.random.default_rng(0)
    table = {"year": np.repeat([1, 2], 40), "who": np.arange(80) // 4, "x": rng.random(80), "y": rng.random(80)}
    for groups in ("year", "y"):
        with pytest.raises(ParameterError, match=r"groups=...\) must be another column than period and target"):
            read_table(table, period="year", target="y", groups=groups)
    panel = read_table(table, period="year", target="y", groups="who")
    result = replay(panel, epsilon=0.5, runs=1, workers=1, baselines=())
    assert any("no group is both trained and tested on" in note for note in result.notes)


# --- units ---


def test_the_choice_does_not_depend_on_the_units_of_the_target(rng: np.random.Generator) -> None:
    X = rng.standard_normal((40, 8))
    y = 0.2 * X[:, 0] + rng.standard_normal(40)
    chosen = []
    for scale in (1.0, 1e-8, 1e8):
        tracker = Tracker(SquaredLoss(), epsilon=0.1 * scale**2, l2=GRID, rng=0)
        tracker.ask()
        report = tracker.tell(X, scale * y)
        assert report is not None
        assert report.selected is not None
        chosen.append(report.selected.chosen)
        assert report.selected.index == int(np.argmin(report.selected.scores))
    assert len(set(chosen)) == 1


# --- candidates of different methods ---


def mixed(learner: Any, constants: Constants) -> Tracker:
    select = Selection(
        candidates=(Candidate(label="practical"), Candidate(label="parts", learner=learner, constants=constants))
    )
    return Tracker(SquaredLoss(), epsilon=0.1, select=select, features=3, fit_intercept=False, rng=0)


def test_a_request_promises_nothing_before_every_candidate_does(rng: np.random.Generator) -> None:
    tracker = mixed(Sgd(), Constants.given(m=1.0, M=1.0, A=8.0, B=6.0))
    outcomes = []
    for _ in range(4):
        request = tracker.ask()
        outcomes.append(request.outcome)
        if request.outcome.promised:
            assert request.risk_bound <= request.epsilon
        tracker.tell(*rows(rng))
    assert outcomes[:2] == [Outcome.PILOT, Outcome.PILOT]


def test_a_fit_that_fails_in_one_candidate_changes_nothing(rng: np.random.Generator) -> None:
    class Broken(AnchoredErm):
        def fit(self, *_: Any, **__: Any) -> Any:
            raise ArithmeticError

    tracker = mixed(Broken(), Constants.given(m=1.0, M=1.0, noise=1.0))
    tracker.ask()
    before = tracker._state
    with pytest.raises(ArithmeticError):
        tracker.tell(*rows(rng))
    assert tracker._state is before
    assert tracker.history == ()


_SQUARES = SquaredLoss()


class Bare:
    """A squared loss that is no LinearLoss: nothing but what the protocol asks for."""

    l2, unpenalised = 0.0, 0
    with_unpenalised = staticmethod(_SQUARES.with_unpenalised)
    encode, predict = staticmethod(_SQUARES.encode), staticmethod(_SQUARES.predict)
    value, row_values = staticmethod(_SQUARES.value), staticmethod(_SQUARES.row_values)
    gradient, row_gradients = staticmethod(_SQUARES.gradient), staticmethod(_SQUARES.row_gradients)
    hessian, hessian_product = staticmethod(_SQUARES.hessian), staticmethod(_SQUARES.hessian_product)
    row_smoothness = staticmethod(_SQUARES.row_smoothness)


def test_what_could_not_be_judged_is_refused_before_a_row_is_bought() -> None:
    bare: Any = Bare()
    linear = Selection.of_l2(SquaredLoss(), GRID)
    with pytest.raises(ParameterError, match=r"must be a LinearLoss, since it compares 'l2=0'"):
        Tracker(bare, epsilon=0.1, select=linear)
    odds = Selection(candidates=(Candidate(label="odds"), Candidate(label="numbers", loss=bare)))
    paper: dict[str, Any] = {"epsilon": 0.1, "domain": Ball(radius=9.0), "first_samples": (40, 40)}
    with pytest.raises(
        ParameterError, match="losses of one kind, for numbers or for classes; 'numbers' is of the other"
    ):
        Tracker.as_in_paper(LogisticLoss(l2=0.1), select=odds, **paper)


def test_places_of_columns_may_come_from_numpy(rng: np.random.Generator) -> None:
    places: Any = tuple(np.flatnonzero([True, False, True]))
    assert Candidate(label="some", columns=places).columns == (0, 2)
    assert all(type(place) is int for place in Candidate(label="some", columns=places).columns or ())


@pytest.mark.parametrize("run", [*range(4), *(pytest.param(run, marks=pytest.mark.slow) for run in range(4, 8))])
def test_candidates_are_as_if_alone_whatever_happens(run: int, tmp_path: Path) -> None:
    """Rows that are few, many or none, in parts or taken back, with groups, a budget, a pool, and saved in between."""
    rng = np.random.default_rng(run)
    columns = int(rng.integers(1, 5))
    given: dict[str, Any] = {"epsilon": float(10.0 ** rng.uniform(-2.0, 0.0)), "rng": run}
    given["fit_intercept"] = run % 2 == 0
    if run % 3 == 0:
        given["budget"] = Budget(total=500, horizon=5, cost=LinearCost(fixed=10, per_sample=1))
    if run % 4 == 1:
        given["pool"] = int(rng.integers(0, 60))
    kind = (SquaredLoss, LogisticLoss)[run // 4]
    together, alone = Tracker(kind(), l2=GRID, **given), [Tracker(kind(l2=l2), **given) for l2 in GRID]
    for _ in range(10):
        request, requests = together.ask(), [tracker.ask() for tracker in alone]
        assert request.samples == max(each.samples for each in requests)
        assert request.outcome.promised == all(each.outcome.promised for each in requests)
        count = min(int(rng.choice([0, 1, 2, 3, request.samples, request.samples])), 80)
        X = rng.standard_normal((count, columns)) + 3.0
        y = X.sum(axis=1) - 3.0 * columns + rng.standard_normal(count)
        y = np.where(y > 0.0, 1.0, -1.0) if kind is LogisticLoss else y
        groups = rng.integers(0, 5, count) if rng.random() < 0.4 else None
        if rng.random() < 0.2:
            for tracker in (together, *alone):
                tracker.forget()
            continue
        final = bool(rng.random() < 0.6)
        report = together.tell(X, y, groups=groups, final=final)
        reports = [tracker.tell(X, y, groups=groups, final=final) for tracker in alone]
        if report is not None:
            assert report.selected is not None
            other = reports[report.selected.index]
            assert other is not None
            assert (report.outcome, report.risk_bound, report.cost) == (other.outcome, other.risk_bound, other.cost)
        if together._state.coef is not None:
            for model, tracker in zip(together.models.values(), alone, strict=True):
                assert np.array_equal(model[:columns], tracker.coef)
                assert given["fit_intercept"] == (model.size > columns)
        together.save(tmp_path / "state")
        together = Tracker.load(tmp_path / "state")


def test_a_candidate_that_cannot_be_fitted_is_named(rng: np.random.Generator) -> None:
    class Wild(AnchoredErm):
        def fit(self, *_: Any, **__: Any) -> Any:
            raise DataError("must be of a size that a fit can follow; got an overflow.", owner="Tracker.tell", name="X")

    tracker = mixed(Wild(), Constants.given(m=1.0, M=1.0, noise=1.0))
    tracker.ask()
    tracker.tell(*rows(rng), final=False)
    before = tracker._state
    with pytest.raises(DataError, match=r"got an overflow \(the candidate 'parts'\)\."):
        tracker.tell()
    assert tracker._state is before


def test_a_fit_that_overflows_without_some_rows_loses_and_no_more(rng: np.random.Generator) -> None:
    class Shy(AnchoredErm):
        def fit(self, *given: Any, **known: Any) -> Any:
            if len(given[-1]) < 60:
                raise DataError("too few")
            return super().fit(*given, **known)

    report = told(rng, mixed(Shy(), Constants.given(m=1.0, M=1.0, noise=1.0)), 1).history[0]
    assert report.selected is not None
    assert report.selected.chosen == "practical"
    assert report.selected.scores[1] == np.inf


# --- saved states ---


@dataclass(frozen=True, slots=True)
class Mine(SquaredLoss):
    """A loss that no file can name."""


def test_a_loss_given_again_does_not_take_the_penalties_away(tmp_path: Path, rng: np.random.Generator) -> None:
    told(rng, Tracker(SquaredLoss(), epsilon=0.1, l2=GRID, rng=0)).save(tmp_path / "plain")
    assert penalties(Tracker.load(tmp_path / "plain", loss=SquaredLoss())) == GRID
    tracker = told(rng, Tracker(Mine(), epsilon=0.1, l2=GRID, rng=0))
    tracker.save(tmp_path / "own")
    for given in ({}, {"loss": Mine()}):
        with pytest.raises(ParameterError, match=r"Tracker.load\(select=...\) must be given, since the loss of 'l2=0'"):
            Tracker.load(tmp_path / "own", **given)
    again = Tracker.load(tmp_path / "own", loss=Mine(), select=Selection.of_l2(Mine(), GRID))
    assert penalties(again) == GRID
    assert again.ask() == tracker.ask()


_METHOD, _STATE = ("method", "fields"), ("state", "fields")
_SECOND = (*_STATE, "states", "items", 1, "fields")
_GROUPS = (*_SECOND, "batches", "items", 0, "fields")
_MANGLED: dict[str, tuple[tuple[Any, ...], Any]] = {
    "no selection": ((*_METHOD, "selection"), None),
    "labels missing": ((*_METHOD, "selection", "labels"), ["a", "b"]),
    "labels twice": ((*_METHOD, "selection", "labels"), ["a", "a", "b"]),
    "no loss": ((*_METHOD, "loss"), None),
    "no methods": ((*_METHOD, "methods"), None),
    "empty methods": ((*_METHOD, "methods"), []),
    "no states": ((*_STATE, "states"), None),
    "state missing": ((*_STATE, "states"), {"!": "tuple", "items": []}),
    "no state": (("state",), None),
    "choice beyond": ((*_STATE, "chosen"), 7),
    "choice true": ((*_STATE, "chosen"), True),
    "groups missing": ((*_GROUPS, "groups"), {"!": "tuple", "items": []}),
    "groups short": ((*_GROUPS, "groups"), {"!": "tuple", "items": [1, 2]}),
    "groups a number": ((*_GROUPS, "groups"), 3),
    "places short": ((*_STATE, "places"), {"!": "tuple", "items": [None]}),
    "tally": ((*_STATE, "tally"), 3),
    "order": ((*_SECOND, "order"), None),
    "batches": ((*_SECOND, "batches"), {"!": "tuple", "items": []}),
}


@pytest.mark.parametrize("what", _MANGLED)
def test_states_that_no_tracker_wrote_are_refused(what: str, tmp_path: Path, rng: np.random.Generator) -> None:
    tracker = told(rng, Tracker(SquaredLoss(), epsilon=0.1, l2=GRID, rng=0))
    tracker.ask()
    tracker.tell(*rows(rng), groups=range(60), final=False)
    tracker.save(tmp_path / "state")
    body = read_state(tmp_path / "state")
    *path, last = _MANGLED[what][0]
    place = body
    for step in path:
        place = place[step]
    place[last] = _MANGLED[what][1]
    write_state(tmp_path / "state", body)
    with pytest.raises(StateFileError):
        Tracker.load(tmp_path / "state")


# --- words ---


@pytest.mark.parametrize(
    ("l2", "sentence"),
    [
        (np.array(0.5), "must be a list of numbers"),
        (np.ones((2, 2)), "must be a list of numbers"),
        ([0.0, -0.0], "must be different numbers"),
        ([0.1234567, 0.1234568], "must be different numbers.*: they must differ in six digits"),
    ],
    ids=["scalar", "matrix", "zeros", "alike"],
)
def test_odd_lists_of_penalties_are_refused(l2: Any, sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        read_l2("Tracker", l2)


def test_constants_are_a_list(rng: np.random.Generator) -> None:
    constants: Any = 5
    with pytest.raises(ParameterError, match="must be one for each of 3 l2; got 5"):
        Tracker.as_in_paper(SquaredLoss(), epsilon=0.1, domain=Ball(radius=1.0), l2=GRID, constants=constants)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"X": [["a"]] * 30}, r"select_l2\(X=...\) must be numbers"),
        ({"y": ["a"] * 30}, r"select_l2\(y=...\) must be numbers"),
        ({"loss": "squared"}, r"select_l2\(loss=...\) must be a LinearLoss"),
        ({"groups": ["a", None] * 15}, "must have no missing entries"),
        ({"groups": ["a", float("nan")] * 15}, "must have no missing entries"),
        ({"groups": ["a", pd.NA] * 15}, "must have no missing entries"),
    ],
    ids=["X", "y", "loss", "none", "nan", "pandas"],
)
def test_a_single_table_has_a_door_too(changes: dict[str, Any], sentence: str, rng: np.random.Generator) -> None:
    X, y = rows(rng, 30)
    given: dict[str, Any] = {"loss": SquaredLoss(), "X": X, "y": y, "l2": GRID} | changes
    with pytest.raises((DataError, ParameterError), match=sentence):
        select_l2(**given)
