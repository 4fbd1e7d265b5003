"""A whole backtest on small panels: hand-computed numbers, the same for any number of workers, refusals."""

import inspect
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import driftpace
import driftpace.backtest
from driftpace import SmoothedHinge, SquaredLoss
from driftpace.backtest import BacktestResult, Panel, backtest, replay, to_json
from driftpace.backtest.job import TrackerConfig, prepare, split_period
from driftpace.errors import DataError, ParameterError
from driftpace.records import Verdict
from tests.backtest.panels import classes_panel, drifting_panel, panel_of
from tests.backtest.plain_tracker import SIZE, plain_tracker

NAMES = ["driftpace", "up_front", "even", "from_scratch", "first_model", "paper", "best_constant"]


def replayed(panel: Panel, **given: Any) -> BacktestResult:
    settings: dict[str, Any] = {"epsilon": 0.05, "runs": 3, "workers": 1, "tracker": plain_tracker} | given
    return replay(panel, **settings)


def numbers(result: BacktestResult) -> str:
    """Everything but the time it took."""
    text = to_json(result)
    return text[: text.rindex('"seconds"')]


def test_the_tracker_is_judged_as_by_hand() -> None:
    panel = drifting_panel(periods=3, rows=50)
    result = replayed(panel, baselines=())
    assert [one.name for one in result.strategies] == ["driftpace"]
    ours = result.strategies[0]
    for run in range(3):
        for period, (X, y) in enumerate(zip(panel.X, panel.y, strict=True)):
            parts = split_period(50, test_fraction=0.2, seed=0, run=run, period=period)
            size = 2 * SIZE if period == 0 else SIZE
            mean = y[parts.pool[:size]].mean()
            rows = np.column_stack([X, np.ones(50)])
            best = np.linalg.lstsq(rows, y, rcond=None)[0]
            excess = 0.5 * np.mean((y - mean) ** 2) - 0.5 * np.mean((y - rows @ best) ** 2)
            assert ours.samples[run, period] == size
            assert ours.excess_risk[run, period] == pytest.approx(excess)
            assert ours.test_loss[run, period] == pytest.approx(0.5 * np.mean((y[parts.test] - mean) ** 2))
    assert ours.auc is None


def test_the_ledger_says_what_the_reports_said() -> None:
    ledger = replayed(drifting_panel(), baselines=()).ledger
    assert ledger.samples_theory[:, :2].tolist() == [[4 * SIZE, 2 * SIZE]] * 3
    assert np.isnan(ledger.drift[:, 0]).all()
    assert np.isnan(ledger.certificate[:, 0]).all()
    np.testing.assert_allclose(ledger.drift[:, 1:], 0.02)
    np.testing.assert_allclose(ledger.drift_upper[:, 1:], 0.08)
    np.testing.assert_allclose(ledger.certificate[:, 1:], 0.08)
    assert ledger.status[0].tolist() == [0.0, 1.0, 1.0, 1.0, 1.0, 1.0]


def test_assumptions_are_told_at_their_worst_with_their_share() -> None:
    small = drifting_panel(periods=5, rows=20)  # 16 for training: the first period wants 24
    ((worst, share),) = replayed(small, baselines=()).assumptions
    assert (worst.name, worst.verdict, worst.sentence) == ("pool", Verdict.WARN, "16 of 24 were delivered.")
    assert share == pytest.approx(1.0 / 5.0)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"epsilon": None, "tolerance": 0.2},
        {"confidence": 0.9, "certificate_level": 0.8},
        {"audit": 0.2, "season": "quarter"},
    ],
)
def test_the_default_tracker_says_everything(asked: dict[str, Any]) -> None:
    result = replayed(drifting_panel(rows=300), tracker=None, baselines=(), **asked)
    ours, ledger = result.strategies[0], result.ledger
    assert (ours.samples[:, 0] > 0.0).all()
    assert (ours.samples <= 240.0).all()
    assert ours.excess_risk.mean() < np.mean(result.epsilon)
    for array in (ledger.samples_theory, ledger.risk_bound, ledger.certificate, ledger.status):
        assert np.isfinite(array).all()
    assert (ledger.drift_upper[:, 1:] >= ledger.drift[:, 1:]).all()
    assert np.isin(ledger.status, (0.0, 1.0, 2.0)).all()
    assert {one.name for one, _ in result.assumptions} >= {"curvature", "tails", "pool"}
    assert result.certificate_level == asked.get("certificate_level", 0.95)
    assert ((ledger.orders >= 1.0) == (ours.samples > 0.0)).all()


def test_every_strategy_has_every_number() -> None:
    result = replayed(drifting_panel())
    assert [one.name for one in result.strategies] == NAMES
    for one in result.strategies:
        for array in (one.samples, one.excess_risk, one.test_loss):
            assert array.shape == (3, 6)
            assert np.isfinite(array).all()
        assert (one.excess_risk >= 0.0).all()
        assert (one.samples <= np.array(result.pool)).all()
        assert one.title
        assert one.note.endswith(".")
    assert (result.pool, result.test_rows) == ((48,) * 6, (12,) * 6)


def test_what_is_bought_once_is_bought_in_the_first_period() -> None:
    ours, up_front, even, _, first, *_ = replayed(drifting_panel()).strategies
    total = 7 * SIZE
    assert up_front.samples[0].tolist() == [48.0, 0.0, 0.0, 0.0, 0.0, 0.0]  # all there is, less than the total
    assert "only 48 rows" in up_front.note
    assert first.samples[0].tolist() == [2.0 * SIZE, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert first.excess_risk[:, 0].tolist() == ours.excess_risk[:, 0].tolist()
    assert even.samples.sum(axis=1).tolist() == [total] * 3
    assert np.ptp(even.samples) <= 1.0


def test_classes_have_an_auc() -> None:
    result = replayed(classes_panel(), loss=SmoothedHinge(l2=0.1))
    assert result.classification
    for one in result.strategies:
        assert one.auc is not None
        assert ((one.auc >= 0.0) & (one.auc <= 1.0)).all()
    scratch = next(one for one in result.strategies if one.name == "from_scratch")
    assert scratch.auc is not None
    assert scratch.auc.mean() > 0.7


def test_the_loss_follows_the_target() -> None:
    assert replayed(classes_panel(), baselines=()).loss.startswith("LogisticLoss(l2=0.001")
    assert replayed(drifting_panel(), baselines=()).loss.startswith("SquaredLoss(")


def test_the_best_loss_is_that_of_least_squares_on_all_rows() -> None:
    panel = drifting_panel()
    for X, y, best in zip(panel.X, panel.y, replayed(panel, baselines=()).best_loss, strict=True):
        rows = np.column_stack([X, np.ones(len(y))])
        left = y - rows @ np.linalg.lstsq(rows, y, rcond=None)[0]
        assert best == pytest.approx(0.5 * np.mean(left**2))


def test_a_tolerance_is_a_share_of_the_least_loss() -> None:
    panel = drifting_panel()
    result = replayed(panel, epsilon=None, tolerance=0.1, baselines=())
    for X, y, epsilon in zip(panel.X, panel.y, result.epsilon, strict=True):
        rows = np.column_stack([X, np.ones(len(y))])
        best = np.linalg.lstsq(rows, y, rcond=None)[0]
        assert epsilon == pytest.approx(0.1 * 0.5 * np.mean((y - rows @ best) ** 2))


def test_a_target_that_is_finer_than_the_best_models_is_noted() -> None:
    """The best model of 50 rows with noise s^2 = tr(H^-1 Cov g) is s^2/100 from that of the world on average."""
    panel = drifting_panel(periods=3, rows=50)
    job = prepare(panel, loss=None, asked=TrackerConfig(epsilon=1.0), test_fraction=0.2, seed=0)
    error = float(np.mean([now.noise / 100.0 for now in job.populations]))
    (note,) = [note for note in replayed(panel, epsilon=error, baselines=()).notes if "too fine" in note]
    assert "uncertain by 1.00 times the target" in note
    assert any("On held-out rows" in note for note in replayed(panel, epsilon=error, baselines=()).notes)
    assert not any("too fine" in note for note in replayed(panel, epsilon=4.0 * error, baselines=()).notes)


@pytest.mark.parametrize("panel", [drifting_panel(periods=5, rows=40), classes_panel(periods=4, rows=60)])
def test_numbers_do_not_depend_on_the_workers(panel: Panel) -> None:
    alone = replayed(panel, tracker=None)
    together = replayed(panel, tracker=None, workers=2)
    assert numbers(together) == numbers(alone)
    assert not any("One core" in note for note in together.notes)


def test_runs_do_not_depend_on_how_many_there_are() -> None:
    few, many = replayed(drifting_panel(), baselines=(), runs=2), replayed(drifting_panel(), baselines=(), runs=4)
    assert (many.strategies[0].excess_risk[:2] == few.strategies[0].excess_risk).all()


def test_a_tracker_that_cannot_travel_stays_here_and_says_so() -> None:
    panel = drifting_panel()
    result = replayed(panel, workers=2, baselines=(), tracker=lambda *given: plain_tracker(*given))
    assert any("One core was used" in note for note in result.notes)
    assert (result.strategies[0].excess_risk == replayed(panel, baselines=()).strategies[0].excess_risk).all()


def test_the_package_is_the_function() -> None:
    frame = {"year": [1] * 30 + [2] * 30, "x": np.arange(60.0) % 7.0, "y": np.arange(60.0) % 5.0}
    call: Any = driftpace.backtest
    settings: dict[str, Any] = {"period": "year", "target": "y", "epsilon": 0.1, "runs": 2, "workers": 1}
    settings |= {"baselines": (), "tracker": plain_tracker}
    result = call(frame, **settings)
    assert isinstance(result, BacktestResult)
    assert result.periods == ("1", "2")
    assert inspect.signature(call) == inspect.signature(backtest)
    assert numbers(result) == numbers(backtest(frame, **settings))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"tolerance": 0.1}, r"backtest\(epsilon=\.\.\.\) or .* only one of them; got epsilon and tolerance"),
        ({"epsilon": None}, "only one of them; got none of them"),
        ({"epsilon": -1.0}, r"backtest\(epsilon=\.\.\.\) must be positive and finite; got -1.0"),
        ({"epsilon": None, "tolerance": 0.0}, r"backtest\(tolerance=\.\.\.\) must be positive"),
        ({"confidence": 1.0}, r"backtest\(confidence=\.\.\.\) must be strictly between 0 and 1; got 1.0"),
        ({"certificate_level": 0.0}, r"backtest\(certificate_level=\.\.\.\) must be strictly between 0 and 1; got 0.0"),
        ({"audit": 0.7}, r"backtest\(audit=\.\.\.\) must be a share of each order, above 0 and at most 0.5; got 0.7"),
        ({"audit": 0.1}, r"backtest\(audit=\.\.\.\) must be None with a custom tracker; got both"),
        ({"season": "year"}, r"backtest\(season=\.\.\.\) must be a whole number from 2 to 1000, or one of 'quarter'"),
        ({"runs": 0}, r"backtest\(runs=\.\.\.\) must be a whole number of at least 1; got 0"),
        ({"workers": 0}, r"backtest\(workers=\.\.\.\) must be a whole number of at least 1; got 0"),
        ({"seed": -1}, r"backtest\(seed=\.\.\.\) must be a whole number of at least 0; got -1"),
        ({"test_fraction": 0.0}, r"backtest\(test_fraction=\.\.\.\) must be strictly between 0 and 1; got 0.0"),
        ({"test_fraction": 1.0}, r"backtest\(test_fraction=\.\.\.\) must be strictly between 0 and 1; got 1.0"),
        ({"price": -2.0}, r"backtest\(price=\.\.\.\) must be zero or more"),
        ({"baselines": 1}, r"backtest\(baselines=\.\.\.\) must be a list of names among 'up_front', .*; got 1"),
        ({"baselines": "paper"}, r"backtest\(baselines=\.\.\.\) must be a list of names among .*; got 'paper'"),
        ({"baselines": ["papr"]}, r"backtest\(baselines=\.\.\.\) must be .*; got 'papr': did you mean 'paper'\?"),
    ],
)
def test_parameters_out_of_range_are_refused_in_a_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        replayed(drifting_panel(), **given)


def test_a_period_that_is_too_small_is_refused_in_a_sentence() -> None:
    X, y = [np.ones((30, 2)), np.ones((4, 2))], [np.ones(30), np.ones(4)]
    with pytest.raises(
        DataError, match="than the 3 coefficients; period '2002' has 4 rows, of which 3 are for training"
    ):
        replayed(panel_of(X, y))


def test_features_that_say_the_same_twice_are_refused_by_name() -> None:
    panel = drifting_panel(features=3)
    copied = panel_of([np.column_stack([X, X[:, 2] - 2.0 * X[:, 0]]) for X in panel.X], list(panel.y))
    with pytest.raises(DataError, match=r"'x0', 'x2' and 'x3' are collinear"):
        replayed(copied)
    assert replayed(copied, loss=SquaredLoss(l2=0.1), baselines=()).features == ("x0", "x1", "x2", "x3")
    nearly = [np.column_stack([X, X[:, 0] + 1e-6 * X[:, 1] ** 2]) for X in panel.X]
    assert len(replayed(panel_of(nearly, list(panel.y)), baselines=()).features) == 4


def test_a_loss_that_does_not_fit_is_refused_in_a_sentence() -> None:
    with pytest.raises(ParameterError, match=r"loss=\.\.\.\) must be a loss such as SquaredLoss\(\); got 'squared'"):
        replayed(drifting_panel(), loss="squared")
    with pytest.raises(DataError, match=r"for target 'y'; SmoothedHinge is for two classes, and there are 360"):
        replayed(drifting_panel(), loss=SmoothedHinge(l2=0.1))


def test_a_share_of_nothing_is_refused() -> None:
    panel = drifting_panel(noise=0.0)
    with pytest.raises(DataError, match="period '2001' fits every row exactly: give epsilon instead"):
        replayed(panel, epsilon=None, tolerance=0.05)
    assert replayed(panel, baselines=()).epsilon == (0.05,) * 6


def test_one_period_is_refused_in_a_sentence() -> None:
    with pytest.raises(DataError, match="at least two periods; got 1"):
        replayed(drifting_panel(periods=1))


def test_the_contract_is_whole() -> None:
    result = replayed(drifting_panel(), baselines=())
    assert {field.name for field in fields(result)} >= {"strategies", "ledger", "assumptions", "notes", "seconds"}
    assert result.notes[0] == "Made up."
    assert result.seconds > 0.0
