"""A backtest whose tracker chooses its penalty: the choices come back, are shown, and survive JSON."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from driftpace import LogisticLoss, SquaredLoss, Tracker
from driftpace.backtest import BacktestResult, from_json, read_table, replay, to_json
from driftpace.backtest.job import TrackerConfig, prepare
from driftpace.backtest.run import replay_run, stack_choices
from driftpace.errors import ParameterError
from driftpace.losses import Loss
from driftpace.report.backtest import backtest_report
from driftpace.selection import Candidate, Selection
from tests.backtest.panels import classes_panel, drifting_panel

GRID = [0.0, 0.1, 10.0]


@pytest.fixture(scope="module")
def result() -> BacktestResult:
    """Three runs on one worker."""
    return replay(drifting_panel(), epsilon=0.05, runs=3, workers=1, baselines=(), l2=GRID)


def test_choices_come_back_for_every_run_and_period_and_are_shown(result: BacktestResult) -> None:
    assert result.choices is not None
    assert result.choices.candidates == ("l2=0", "l2=0.1", "l2=10")
    assert result.choices.chosen.shape == (3, 6)
    assert set(np.unique(result.choices.chosen)) <= {0.0, 1.0}  # ten would shrink everything away
    again = from_json(to_json(result))
    assert again.choices is not None
    assert np.array_equal(again.choices.chosen, result.choices.chosen)
    page = backtest_report(result)
    assert "Chosen candidates" in page
    assert "never chosen: " in page
    assert result.loss == repr(SquaredLoss())


def test_without_candidates_nothing_is_said_of_them() -> None:
    result = replay(drifting_panel(), epsilon=0.05, runs=1, workers=1, baselines=())
    assert result.choices is None
    assert "Chosen candidates" not in backtest_report(result)
    assert from_json(to_json(result)).choices is None


def test_classes_are_judged_by_the_loss_without_a_penalty() -> None:
    result = replay(classes_panel(), tolerance=0.2, runs=2, workers=1, baselines=(), l2=[0.001, 0.1])
    assert result.loss == repr(LogisticLoss())
    assert result.choices is not None


def test_choices_of_a_run_depend_on_its_number_alone(result: BacktestResult) -> None:
    """A worker receives the pickled job and any runs in any order; the control: another run has other rows."""
    job = prepare(
        drifting_panel(), loss=None, asked=TrackerConfig(epsilon=0.05, l2=tuple(GRID)), test_fraction=0.2, seed=0
    )
    worker = pickle.loads(pickle.dumps(job))
    last, first = (replay_run(worker, run) for run in (2, 0))
    choices = stack_choices([first, last])
    assert choices is not None
    assert result.choices is not None
    assert np.array_equal(choices.chosen, result.choices.chosen[[0, 2]])
    risks = np.array([run.measured["driftpace"].excess_risk for run in (first, last)])
    assert np.array_equal(risks, result.strategies[0].excess_risk[[0, 2]])
    assert not np.array_equal(risks[0], risks[1])


@pytest.mark.slow
def test_workers_do_not_change_the_choices() -> None:
    one, two = (
        replay(drifting_panel(), epsilon=0.05, runs=2, workers=workers, baselines=(), l2=GRID) for workers in (1, 2)
    )
    assert one.choices is not None
    assert two.choices is not None
    assert np.array_equal(one.choices.chosen, two.choices.chosen)
    assert np.array_equal(one.strategies[0].excess_risk, two.strategies[0].excess_risk)


def own_tracker(loss: Loss, features: int, seed: int) -> Tracker:
    select = Selection(candidates=(Candidate(label="both"), Candidate(label="first", columns=(0,))))
    return Tracker(loss, epsilon=0.05, features=features, select=select, rng=seed)


def test_a_tracker_of_ones_own_may_choose_among_columns() -> None:
    result = replay(drifting_panel(), epsilon=0.05, runs=1, workers=1, baselines=(), tracker=own_tracker)
    assert result.choices is not None
    assert result.choices.candidates == ("both", "first")


def test_rows_of_one_person_stay_together() -> None:
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(20), 4)
    table = {
        "year": np.tile(np.repeat([1, 2], 2), 20),
        "who": people,
        "x": rng.standard_normal(80),
        "y": rng.standard_normal(80),
    }
    panel = read_table(table, period="year", target="y", groups="who")
    assert panel.features == ("x",)
    assert panel.groups is not None
    assert [len(set(whose.tolist())) for whose in panel.groups] == [20, 20]
    result = replay(panel, epsilon=0.5, runs=1, workers=1, baselines=(), l2=GRID)
    assert result.choices is not None
    ungrouped = replace(panel, groups=None)
    risks = [replay(each, epsilon=0.5, runs=1, workers=1, baselines=()).ledger for each in (panel, ungrouped)]
    assert risks[0] != risks[1], "groups count without candidates too"
    with pytest.raises(ParameterError, match="got 'who', which is the group"):
        read_table(table, period="year", target="y", groups="who", features=["x", "who"])
    with pytest.raises(
        ParameterError, match=r"groups=...\) must be a column of the table; got 'whom': did you mean 'who'"
    ):
        read_table(table, period="year", target="y", groups="whom")


def test_bad_penalties_are_refused_before_anything_is_replayed() -> None:
    panel = drifting_panel()
    for l2, sentence in (
        ([0.1], r"backtest\(l2=...\) must be at least two numbers"),
        ([0.1, -1.0], r"backtest\(l2=...\) must be zero or more, and finite; got -1.0"),
    ):
        with pytest.raises(ParameterError, match=sentence):
            replay(panel, epsilon=0.05, runs=1, l2=l2)
    with pytest.raises(ParameterError, match=r"must be the only penalty; the loss has l2=0\.5"):
        replay(panel, epsilon=0.05, runs=1, l2=GRID, loss=SquaredLoss(l2=0.5))
    with pytest.raises(ParameterError, match="must be None with a custom tracker"):
        replay(panel, epsilon=0.05, runs=1, l2=GRID, tracker=own_tracker)
