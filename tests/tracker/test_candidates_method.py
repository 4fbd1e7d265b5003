"""Candidates side by side: each as if alone, the largest request, one choice a period."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from driftpace import Ball, Budget, Constants, LinearCost, LogisticLoss, SquaredLoss, Tracker
from driftpace.constants import PooledEstimator
from driftpace.errors import DataError, ParameterError, ProtocolError, StateFileError
from driftpace.learners import AnchoredErm, Sgd
from driftpace.losses import HuberLoss
from driftpace.records import Outcome, Verdict
from driftpace.rules import DoNotUpdate, UpdatePast
from driftpace.selection import Candidate, Selection
from driftpace.synthetic import DriftingRegression, GaussianRegression, ShapedRegression
from driftpace.tracker.candidates_method import CandidatesMethod, CandidatesState
from driftpace.tracker.events import AskEvent, CloseEvent, Event, ForgetEvent, apply, replay
from driftpace.tracker.method import TellEvent

GRID = [0.0, 0.1, 1.0]


def world(rng: int = 0, **changes: Any) -> ShapedRegression:
    given: dict[str, Any] = {"features": 4, "cost": 0.02, "shape": "walk", "rng": rng} | changes
    return ShapedRegression(**given)


def states(tracker: Tracker) -> CandidatesState:
    assert isinstance(tracker._state, CandidatesState)
    return tracker._state


def followed(tracker: Tracker, periods: int, place: Any, rng: np.random.Generator) -> Tracker:
    for n in range(1, periods + 1):
        tracker.step(lambda count, n=n: place.period(n).draw(count, rng=rng))  # type: ignore[misc]
    return tracker


@pytest.mark.parametrize("practical", [True, False], ids=["practical", "paper"])
def test_each_candidate_is_what_it_would_be_alone(practical: bool, rng: np.random.Generator) -> None:
    def alone(l2: float) -> Tracker:
        if practical:
            return Tracker(SquaredLoss(l2=l2), epsilon=0.1, rng=3)
        return Tracker.as_in_paper(
            SquaredLoss(l2=l2), epsilon=0.2, domain=Ball(radius=9.0), first_samples=(40, 40), rng=3
        )

    together = (
        Tracker(SquaredLoss(), epsilon=0.1, l2=GRID, rng=3)
        if practical
        else Tracker.as_in_paper(
            SquaredLoss(), epsilon=0.2, domain=Ball(radius=9.0), first_samples=(40, 40), l2=GRID, rng=3
        )
    )
    lone = [alone(l2) for l2 in GRID]
    place = world()
    for n in range(1, 6):
        asked = [tracker.ask().samples for tracker in lone]
        assert together.ask().samples == max(asked)
        while count := together.ask().samples:
            assert count == max(tracker.ask().samples for tracker in lone)
            X, y = place.period(n).draw(min(count, 200), rng=rng)
            together.tell(X, y, final=False)
            for tracker in lone:
                tracker.tell(X, y, final=False)
            if not practical:
                break
        for tracker in lone if practical else ():
            tracker.ask()  # so that the last decision of each has seen the last rows
        report = together.tell()
        assert report is not None
        assert report.selected is not None
        closed = [tracker.tell() for tracker in lone]
        chosen = report.selected.index
        for state, tracker in zip(states(together).states, lone, strict=True):
            assert state.coef is not None
            assert np.array_equal(state.coef, np.append(tracker.coef, tracker.intercept) if practical else tracker.coef)
        assert np.array_equal(together.coef, lone[chosen].coef)
        assert together.intercept == lone[chosen].intercept
        other = closed[chosen]
        assert other is not None
        assert (report.risk_bound, report.rho, report.outcome) == (other.risk_bound, other.rho, other.outcome)
        assert together.selected == report.selected.chosen == f"l2={GRID[chosen]:g}"


def test_the_choice_has_the_least_score_and_is_reported(rng: np.random.Generator) -> None:
    tracker = Tracker(SquaredLoss(), epsilon=0.1, select=Selection.of_l2(SquaredLoss(), GRID, folds=4), rng=0)
    followed(tracker, 3, world(), rng)
    for report in tracker.history:
        assert report.selected is not None
        assert report.selected.folds == 4
        assert report.selected.index == int(np.argmin(report.selected.scores))
        assert report.selected.gaps[report.selected.index] == pytest.approx(0.0, abs=1e-9)
        about = report.assumptions[-1]
        assert about.name == "selection"
        assert report.selected.chosen in about.sentence
    frame = tracker.history.to_frame("polars")
    assert frame["selected"].to_list() == [report.selected.chosen for report in tracker.history if report.selected]


def test_a_saved_tracker_goes_on_to_the_bit_also_in_the_middle_of_a_period(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    place = world()
    tracker = followed(Tracker(SquaredLoss(), epsilon=0.1, l2=GRID, rng=1), 3, place, rng)
    tracker.ask()
    X, y = place.period(4).draw(30, rng=rng)
    tracker.tell(X, y, groups=[f"person {i // 3}" for i in range(30)], final=False)
    tracker.save(tmp_path / "state")
    again = Tracker.load(tmp_path / "state")
    assert again.selected == tracker.selected
    assert again.ask() == tracker.ask()
    assert again.tell(X, y) == tracker.tell(X, y)
    assert np.array_equal(again.coef, tracker.coef)
    assert again.history == tracker.history
    assert again.ask() == tracker.ask()


def test_a_custom_candidate_must_be_given_again(tmp_path: Path, rng: np.random.Generator) -> None:
    class Mine(AnchoredErm):
        pass

    constants = Constants.given(m=1.0, M=1.0, noise=1.0)
    select = Selection(
        candidates=(
            Candidate(label="mine", learner=Mine(), constants=constants),
            Candidate(label="sgd", learner=Sgd(), constants=Constants.given(m=1.0, M=1.0, A=8.0, B=6.0)),
        )
    )
    tracker = Tracker(SquaredLoss(), epsilon=0.3, select=select, features=4, fit_intercept=False, rng=0)
    followed(tracker, 2, world(), rng)
    tracker.save(tmp_path / "state")
    with pytest.raises(ParameterError, match=r"Tracker.load.learner=...\) must be given"):
        Tracker.load(tmp_path / "state")
    with pytest.raises(ParameterError, match="must be the Selection of mine, sgd"):
        Tracker.load(tmp_path / "state", select=Selection.of_l2(SquaredLoss(), GRID))
    again = Tracker.load(tmp_path / "state", select=select)
    assert np.array_equal(again.coef, tracker.coef)
    assert again.ask() == tracker.ask()


def test_a_state_without_candidates_takes_no_selection(tmp_path: Path) -> None:
    Tracker(SquaredLoss(), epsilon=0.1, rng=0).save(tmp_path / "state")
    with pytest.raises(ParameterError, match="there are no candidates"):
        Tracker.load(tmp_path / "state", select=Selection.of_l2(SquaredLoss(), GRID))


def test_candidates_in_different_periods_are_no_state(tmp_path: Path, rng: np.random.Generator) -> None:
    tracker = followed(Tracker(SquaredLoss(), epsilon=0.1, l2=GRID, rng=0), 2, world(), rng)
    first = states(tracker).states[0]
    tracker._state = replace(states(tracker), states=(replace(first, period=9), *states(tracker).states[1:]))
    tracker.save(tmp_path / "state")
    with pytest.raises(StateFileError):
        Tracker.load(tmp_path / "state")


def test_candidates_may_see_different_columns(rng: np.random.Generator) -> None:
    """The third column says nothing of y and costs rows; the second is needed."""
    names = ["age", "years", "noise"]
    select = Selection(
        candidates=(
            Candidate(label="all"),
            Candidate(label="two", columns=("years", "age")),
            Candidate(label="one", columns=("age",)),
        ),
        memory=0.8,
    )
    tracker = Tracker(SquaredLoss(), epsilon=0.05, select=select, rng=0)
    for _ in range(6):
        while count := tracker.ask().samples:
            X = rng.standard_normal((count, 3))
            y = 2.0 + X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(count)
            tracker.tell(pl.DataFrame(X, schema=names), y, final=False)
        report = tracker.tell()
    assert report is not None
    assert report.selected is not None
    scores = dict(zip(select.labels, report.selected.scores, strict=True))
    assert scores["one"] > scores["two"] + 0.3
    assert tracker.selected in ("all", "two")
    assert tracker.coef.shape == (3,)
    assert tracker.coef[:2] == pytest.approx([1.0, -1.0], abs=0.3)
    tracker._state = replace(states(tracker), chosen=1)
    assert tracker.coef[2] == 0.0
    X = rng.standard_normal((5, 3))
    predicted = tracker.predict(pl.DataFrame(X, schema=names))
    assert predicted == pytest.approx(X @ tracker.coef + tracker.intercept)


def test_columns_by_place_are_known_before_the_first_row(rng: np.random.Generator) -> None:
    select = Selection(candidates=(Candidate(label="all"), Candidate(label="first", columns=(0,))))
    tracker = Tracker(SquaredLoss(), epsilon=0.1, select=select, features=4, rng=0)
    followed(tracker, 2, world(), rng)
    assert tracker.coef.shape == (4,)


def test_a_missing_column_is_named_and_nothing_changes(rng: np.random.Generator) -> None:
    select = Selection(candidates=(Candidate(label="all"), Candidate(label="some", columns=("age", "sex"))))
    tracker = Tracker(SquaredLoss(), epsilon=0.1, select=select, rng=0)
    tracker.ask()
    before = tracker._state
    with pytest.raises(
        DataError,
        match=r"Tracker.tell\(X=...\) must have the column 'sex' that candidate 'some' sees; it has age, years",
    ):
        tracker.tell(pl.DataFrame({"age": [1.0, 2.0], "years": [1.0, 3.0]}), [1.0, 2.0], final=False)
    assert tracker._state is before
    by_place = Tracker(
        SquaredLoss(),
        epsilon=0.1,
        select=Selection(candidates=(Candidate(label="all"), Candidate(label="far", columns=(7,)))),
        rng=0,
    )
    by_place.ask()
    with pytest.raises(DataError, match="must have the column 7 that candidate 'far' sees; it has 2 columns"):
        by_place.tell(rng.standard_normal((4, 2)), np.ones(4), final=False)


def test_losses_may_differ_and_are_judged_by_that_of_the_tracker(rng: np.random.Generator) -> None:
    select = Selection(
        candidates=(Candidate(label="squares"), Candidate(label="huber", loss=HuberLoss(threshold=1.0))), folds=5
    )
    tracker = Tracker(SquaredLoss(), epsilon=0.1, select=select, rng=0)
    followed(tracker, 2, world(), rng)
    assert tracker.history[-1].selected is not None
    with pytest.raises(ParameterError, match="of one kind, for numbers or for classes; 'odds' is of the other"):
        Tracker(
            SquaredLoss(),
            epsilon=0.1,
            select=Selection(candidates=(Candidate(label="a"), Candidate(label="odds", loss=LogisticLoss()))),
        )


def test_rows_that_are_too_few_to_compare_keep_the_last_choice(rng: np.random.Generator) -> None:
    tracker = followed(Tracker(SquaredLoss(), epsilon=0.1, l2=GRID, rng=0), 3, world(), rng)
    before = tracker.selected
    for count in (0, 1):
        tracker.ask()
        X, y = world().period(4).draw(count, rng=rng)
        report = tracker.tell(X, y)
        assert report is not None
        assert report.selected is not None
        assert report.selected.folds == 0
        assert report.selected.scores == ()
        assert report.selected.chosen == before
        assert report.assumptions[-1].verdict is Verdict.WARN
    tracker.ask()
    report = tracker.tell(*world().period(5).draw(3, rng=rng))
    assert report is not None
    assert report.selected is not None
    assert report.selected.folds == 3
    assert "3 rows allow 3 folds instead of 10" in report.assumptions[-1].sentence


def test_few_rows_of_a_class_are_reported_and_a_single_class_is_accepted(rng: np.random.Generator) -> None:
    tracker = Tracker(LogisticLoss(), epsilon=0.05, l2=[0.01, 0.1], rng=0)
    tracker.ask()
    X = rng.standard_normal((40, 2))
    tracker.tell(X, np.where(X[:, 0] > 0.0, 1.0, -1.0))
    tracker.ask()
    y = np.array([1.0] * 3 + [-1.0] * 27)
    report = tracker.tell(rng.standard_normal((30, 2)), y)
    assert report is not None
    assert report.selected is not None
    assert report.selected.folds == 3
    assert "a class with 3 rows allows 3 folds instead of 10" in report.assumptions[-1].sentence
    tracker.ask()
    report = tracker.tell(rng.standard_normal((30, 2)), -np.ones(30))
    assert report is not None
    assert report.selected is not None
    assert report.selected.folds == 10


def test_groups_are_for_candidates_and_must_fit(rng: np.random.Generator) -> None:
    plain = Tracker(SquaredLoss(), epsilon=0.1, rule=DoNotUpdate(), rng=0)
    plain.ask()
    X, y = world().period(1).draw(12, rng=rng)
    with pytest.raises(
        ParameterError, match=r"groups=...\) must be None with learner=, drift= and rule=, unless there are"
    ):
        plain.tell(X, y, groups=np.arange(12))
    tracker = Tracker(SquaredLoss(), epsilon=0.1, l2=GRID, rng=0)
    tracker.ask()
    before = tracker._state
    for groups, sentence in (
        (np.arange(3), "one entry for each of the 12 rows of X; got shape"),
        ([None] * 12, "must have no missing entries; got None"),
        ([float("nan")] * 12, "must have no missing entries; got nan"),
        (pd.Series(["a"] * 11 + [pd.NA], dtype="string"), "must have no missing entries; got"),
    ):
        with pytest.raises(DataError, match=sentence):
            tracker.tell(X, y, groups=groups)
        assert tracker._state is before
    tracker.tell(X, y, groups=np.arange(12) // 4, final=False)
    report = tracker.tell()
    assert report is not None
    assert report.selected is not None
    assert report.selected.folds == 3
    assert "3 groups allow 3 folds instead of 10" in report.assumptions[-1].sentence


def test_draw_may_bring_groups_and_labels_mean_the_same_in_every_delivery(rng: np.random.Generator) -> None:
    tracker = Tracker(SquaredLoss(), epsilon=0.2, l2=GRID, rng=0)

    def draw(count: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
        return (*world().period(1).draw(count, rng=rng), [f"{i % 5}" for i in range(count)])

    report = tracker.step(draw)
    assert report.selected is not None
    assert report.selected.folds == 5  # the same five people in every delivery


def test_forgotten_rows_leave_no_groups_behind(rng: np.random.Generator) -> None:
    tracker = Tracker(SquaredLoss(), epsilon=0.1, l2=GRID, rng=0)
    tracker.ask()
    X, y = world().period(1).draw(20, rng=rng)
    tracker.tell(X, y, groups=np.arange(20), final=False)
    tracker.forget()
    assert all(state.batches == () for state in states(tracker).states)
    assert tracker.tell(X, y) is not None


def test_a_budget_is_kept_with_candidates_too(rng: np.random.Generator) -> None:
    budget = Budget(total=900, horizon=6, cost=LinearCost(fixed=40, per_sample=1))
    tracker = Tracker(SquaredLoss(), epsilon=0.1, l2=[0.0, 0.5], budget=budget, rng=0)
    place = world(noise=1.0)
    for n in range(1, 7):
        report = tracker.step(lambda count, n=n: place.period(n).draw(count, rng=rng))  # type: ignore[misc]
        assert report.cost is not None
        assert report.selected is not None
    assert tracker.money_left is not None
    assert float(tracker.money_left) >= 0.0
    assert sum(float(report.cost) for report in tracker.history if report.cost is not None) <= 900


def test_constants_differ_from_penalty_to_penalty(rng: np.random.Generator) -> None:
    place = DriftingRegression(features=2, rho=0.5, noise=0.1, rng=0)
    losses = [SquaredLoss(l2=l2) for l2 in (0.1, 1.0)]
    known = [GaussianRegression(coef=np.ones(2), covariance=1.0, noise=0.1).constants(loss) for loss in losses]
    parts: dict[str, Any] = {"epsilon": 0.2, "domain": Ball(radius=20.0), "first_samples": (40, 40), "rng": 0}
    tracker = Tracker.as_in_paper(SquaredLoss(), l2=[0.1, 1.0], constants=known, **parts)
    followed(tracker, 4, place, rng)
    assert isinstance(tracker._method, CandidatesMethod)
    curvatures = [method.constants.safe("m") for method in tracker._method.methods]
    assert curvatures == pytest.approx([1.1, 2.0])
    with pytest.raises(ParameterError, match="one for each of l2, since m, M, A and B depend on it; got one for all"):
        Tracker.as_in_paper(SquaredLoss(), l2=[0.1, 1.0], constants=known[0], **parts)
    with pytest.raises(ParameterError, match="must be one for each of 2 l2; got 1"):
        Tracker.as_in_paper(SquaredLoss(), l2=[0.1, 1.0], constants=known[:1], **parts)
    with pytest.raises(ParameterError, match=r"constants=...\) must be Constants"):
        Tracker.as_in_paper(SquaredLoss(), constants=known, **parts)


def test_what_a_candidate_brings_to_the_papers_method_is_kept() -> None:
    mine = PooledEstimator()
    select = Selection(
        candidates=(
            Candidate(label="known", constants=Constants.given(m=1.0, M=1.0, A=0.2, B=4.0)),
            Candidate(label="seen", constants_estimator=mine, rule="update-past"),
        )
    )
    tracker = Tracker.as_in_paper(
        SquaredLoss(), epsilon=0.2, domain=Ball(radius=20.0), first_samples=(40, 40), features=2, select=select, rng=0
    )
    assert isinstance(tracker._method, CandidatesMethod)
    known, observed = tracker._method.methods
    assert observed.constants_estimator is mine
    assert known.constants_estimator is not mine
    assert isinstance(observed.rule, UpdatePast)
    assert isinstance(known.rule, DoNotUpdate)


def test_a_tracker_of_parts_takes_constants_for_each_penalty(rng: np.random.Generator) -> None:
    losses = [SquaredLoss(l2=l2) for l2 in (0.1, 1.0)]
    known = [GaussianRegression(coef=np.ones(2), covariance=1.0, noise=0.1).constants(loss) for loss in losses]
    parts: dict[str, Any] = {
        "epsilon": 0.3,
        "learner": Sgd(),
        "domain": Ball(radius=20.0),
        "fit_intercept": False,
        "rng": 0,
    }
    tracker = Tracker(SquaredLoss(), l2=[0.1, 1.0], constants=known, **parts)
    followed(tracker, 2, DriftingRegression(features=2, rho=0.5, noise=0.1, rng=0), rng)
    assert tracker.selected in ("l2=0.1", "l2=1")
    with pytest.raises(ParameterError, match="one for each of l2, since m, M, A and B depend on it; got one for all"):
        Tracker(SquaredLoss(), l2=[0.1, 1.0], constants=known[0], **parts)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"l2": [0.1]}, r"Tracker\(l2=...\) must be at least two numbers"),
        ({"l2": [0.1, -1.0]}, r"Tracker\(l2=...\) must be zero or more, and finite; got -1.0"),
        ({"l2": GRID, "loss": SquaredLoss(l2=0.5)}, "must be the only penalty; got a loss that has l2=0.5"),
        ({"l2": GRID, "select": Selection.of_l2(SquaredLoss(), GRID)}, "must be None when select is given; got both"),
        ({"select": GRID}, "must be a Selection; got"),
        (
            {
                "select": Selection(candidates=(Candidate(label="a"), Candidate(label="b", columns=(0,)))),
                "start": [0.0],
            },
            "must be None where candidates see different columns",
        ),
        (
            {"select": Selection(candidates=(Candidate(label="a"), Candidate(label="b", columns=(5,)))), "features": 3},
            "must be places from 0 to 2; 'b' has 5",
        ),
    ],
    ids=["one", "negative", "twice", "both", "list", "start", "place"],
)
def test_what_cannot_be_chosen_among_is_refused(changes: dict[str, Any], sentence: str) -> None:
    loss = changes.pop("loss", SquaredLoss())
    with pytest.raises(ParameterError, match=sentence):
        Tracker(loss, epsilon=0.1, **changes)


def test_telling_comes_after_asking() -> None:
    tracker = Tracker(SquaredLoss(), epsilon=0.1, l2=GRID, rng=0)
    with pytest.raises(ProtocolError, match="tell\\(\\) was called before ask"):
        tracker.tell(np.ones((3, 1)), np.ones(3))


def test_outlook_and_plan_are_those_of_the_chosen_one(rng: np.random.Generator) -> None:
    tracker = followed(Tracker(SquaredLoss(), epsilon=0.1, l2=GRID, rng=0), 3, world(), rng)
    assert tracker.outlook().rho > 0.0
    assert tracker.plan(horizon=3).horizon == 3
    assert tracker.epsilon == 0.1


@pytest.mark.statistical
def test_the_chosen_model_is_nearly_as_good_as_that_of_the_best_candidate(seed: int) -> None:
    """Twelve runs of eight periods, much noise and small coefficients: a penalty pays, too much of it costs.

    The risk of the chosen models, without a penalty, may exceed that of the best fixed candidate by what choosing on few rows
    costs; it must be nearer to the best than to the mean of the candidates, which a random choice would have (the control), by
    four standard errors of paired differences over runs.
    """
    grid = [0.0, 0.3, 3.0, 30.0]
    chosen, each = [], []
    for run in range(12):
        rng = np.random.default_rng((seed, run))
        place = world(1000 * seed + run, features=10, signal=2.0, noise=2.0, cost=0.05)
        tracker = Tracker(SquaredLoss(), epsilon=0.3, l2=grid, rng=run)
        taken, all_of_them = [], []
        for n in range(1, 9):
            now = place.period(n)
            tracker.step(lambda count, now=now, rng=rng: now.draw(count, rng=rng))  # type: ignore[misc]
            taken.append(now.excess_risk(SquaredLoss(), tracker.coef, intercept=tracker.intercept))
            all_of_them.append(
                [
                    now.excess_risk(SquaredLoss(), state.coef[:-1], intercept=state.coef[-1])
                    for state in states(tracker).states
                    if state.coef is not None
                ]
            )
        chosen.append(np.mean(taken))
        each.append(np.mean(all_of_them, axis=0))
    best = int(np.argmin(np.mean(each, axis=0)))
    middle = np.mean(each, axis=1)
    off = np.array(chosen) - 0.5 * (np.array(each)[:, best] + middle)
    assert np.mean(off) + 4.0 * np.std(off, ddof=1) / np.sqrt(12) < 0.0


def test_the_request_says_who_asks_for_the_most(rng: np.random.Generator) -> None:
    """With much noise and a heavy penalty the bare loss needs more rows than the penalised one."""
    tracker = followed(Tracker(SquaredLoss(), epsilon=0.1, l2=[0.0, 50.0], rng=0), 2, world(noise=4.0, cost=0.3), rng)
    request = tracker.ask()
    assert request.samples > 0
    assert request.reason.startswith("l2=0 needs the most of 2 candidates: ")
    assert request.outcome is Outcome.MET


def test_a_log_of_events_folds_to_the_same_candidates(rng: np.random.Generator) -> None:
    tracker = Tracker(SquaredLoss(), epsilon=0.1, l2=GRID, rng=4)
    log: list[Event] = []
    for n in range(1, 4):
        X, y = world().period(n).draw(40, rng=rng)
        groups = np.arange(40) // 2
        log += [
            AskEvent(),
            TellEvent(X=X[:9], y=y[:9]),
            ForgetEvent(),
            AskEvent(),
            TellEvent(X=X, y=y, groups=groups),
            CloseEvent(),
        ]
        tracker.ask()
        tracker.tell(X[:9], y[:9], final=False)
        tracker.forget()
        tracker.ask()
        tracker._state, _ = apply(tracker._method, tracker._state, log[-2])
        tracker.tell()
    state, reports = replay(tracker._method, log)
    assert reports == list(tracker.history)
    assert isinstance(state, CandidatesState)
    for first, other in zip(state.states, states(tracker).states, strict=True):
        assert first.coef is not None
        assert other.coef is not None
        assert np.array_equal(first.coef, other.coef)
