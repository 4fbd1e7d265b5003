"""A backtest that misses its target says where, what moved there, and which check spoke or should have."""

from dataclasses import replace

import numpy as np
import pytest

from driftpace.backtest import BacktestResult, from_json, render, replay, to_frame, to_json
from driftpace.backtest.breach import audit_text, breach_lines, find_breach, measured_mean
from driftpace.backtest.result import CheckVerdicts
from driftpace.backtest.run import best_model_movement
from driftpace.report import backtest_report
from tests.backtest.panels import drifting_panel
from tests.reference.backtests import made_up

ABOVE = (5, 9, 17, 20)
"""The periods that the result below misses; the second is the worst."""


def missed(runs: int = 8) -> BacktestResult:
    """Return a backtest whose risk is 1.5 to 4 times the target in four periods, where one coefficient moved."""
    result = made_up(runs=runs)
    own = result.strategies[0]
    risk = np.full_like(own.excess_risk, 0.018) + 0.0001 * np.arange(float(runs))[:, None]
    movement = np.full((28, 7), 0.001)
    movement[0] = np.nan
    for place, period in enumerate(ABOVE):
        risk[:, period] += (0.02, 0.06, 0.03, 0.012)[place]
        movement[period, 2] = 0.08
    return replace(result, strategies=(replace(own, excess_risk=risk), *result.strategies[1:]), movement=movement)


def test_a_target_that_was_met_has_nothing_to_explain() -> None:
    result = made_up()
    assert find_breach(result) is None
    assert breach_lines(result) == []
    assert not render(result).startswith("Result")


def test_the_periods_above_the_target_are_found() -> None:
    result = missed()
    breach = find_breach(result)
    assert breach is not None
    assert np.flatnonzero(breach.above).tolist() == list(ABOVE)
    assert breach.worst == (9, 17, 5)
    where = dict(breach_lines(result))["Where"]
    assert where.startswith("4 of 28 periods clearly above the target; worst 1990 (3.92 times the target), 2006 (")


def test_the_coefficient_that_moved_is_named_first() -> None:
    moved = dict(breach_lines(missed()))["Moved"]
    assert moved.startswith(
        "coefficients that changed most in those periods, as excess loss per period: education 0.08 (0.001 in the others), "
    )


def test_a_silent_check_is_named_as_the_one_that_should_have_spoken() -> None:
    silent = missed()
    text = dict(breach_lines(silent))["Checks"]
    assert "in 100 % of those periods and runs the target was predicted to be met" in text
    assert "no check warned or failed in half of them" in text
    assert "“measured risk” should have, and did in only 0 %" in text
    assert silent.checks is not None
    verdicts = silent.checks.verdicts.copy()
    verdicts[1][:, ABOVE] = 2.0
    loud = replace(silent, checks=CheckVerdicts(names=silent.checks.names, verdicts=verdicts))
    text = dict(breach_lines(loud))["Checks"]
    assert "warned or failed: “measured risk” in 100 %" in text
    assert "should have" not in text


def test_no_check_had_to_speak_where_the_tracker_stated_the_miss_itself() -> None:
    result = missed()
    honest = replace(result, ledger=replace(result.ledger, risk_bound=np.full_like(result.ledger.risk_bound, 0.05)))
    text = dict(breach_lines(honest))["Checks"]
    assert text.startswith("in 0 % of those periods and runs the target was predicted to be met")
    assert "should have" not in text


def test_where_and_why_come_first_in_text_and_page() -> None:
    result = missed()
    labels = [line.split()[0] for line in render(result).splitlines()[:4]]
    assert labels == ["Result", "Where", "Moved", "Checks"]
    page = backtest_report(result)
    assert page.index("Where and why the target was missed") < page.index("Against re-fitting from scratch")
    assert "Where and why" not in backtest_report(made_up())


def test_a_single_run_and_a_confidence_are_explained_too() -> None:
    one, result = missed(1), missed()
    own = one.strategies[0]
    one = replace(one, strategies=(replace(own, excess_risk=1.3 * own.excess_risk), *one.strategies[1:]))
    assert dict(breach_lines(one))["Where"].startswith("worst 1990 (")
    sure = dict(breach_lines(replace(result, confidence=0.9)))["Where"]
    assert sure.startswith(
        "4 of 28 periods above the target in more runs than allowed; worst 1982 (100 % of runs above)"
    )


@pytest.mark.parametrize(("share", "shown"), [(0.5, True), (0.99, False), (1.5, False)])
def test_held_out_rows_within_the_target_are_said_beside_the_verdict(share: float, shown: bool) -> None:
    result = missed()
    own, target = result.strategies[0], np.array(result.epsilon)
    noise = np.where(np.arange(target.size) % 2, 0.2, -0.2)
    held_out = np.broadcast_to((share + noise) * target, own.excess_risk.shape)
    result = replace(result, strategies=(replace(own, held_out_risk=held_out), *result.strategies[1:]))
    lines = dict(breach_lines(result))
    assert ("Held out" in lines) is shown
    if shown:
        assert lines["Held out"].startswith("within the target: 0.50 ± 0.04 times the target on held-out rows; ")
        assert "held-out rows; " in backtest_report(result)
    assert "Held out" not in dict(breach_lines(replace(result, confidence=0.9)))


def test_the_audit_is_shown_beside_the_truth() -> None:
    result = made_up()
    cells = np.isfinite(result.ledger.measured)
    truth = result.strategies[0].excess_risk[cells].mean()
    text = audit_text(result)
    assert f"measured from labels {np.nanmean(result.ledger.measured):.3g} ± " in text
    assert text.endswith(f"true {truth:.3g}; at the end orders aim 10 % lower")
    page = backtest_report(result)
    assert f"measured from labels {measured_mean(result):.3g} ± " in text
    assert "Measured from labels" in page
    assert "within two of its standard errors" in page


def test_a_real_replay_carries_what_the_tracker_measured() -> None:
    result = replay(drifting_panel(), epsilon=0.2, runs=2, workers=1, baselines=[], progress=False)
    ledger = result.ledger
    assert ledger.measured.shape == ledger.risk_bound.shape == (2, 6)
    assert result.checks is not None
    assert "measured risk" in result.checks.names
    read = from_json(to_json(result))
    for name in ("measured", "measured_error", "measured_mean", "measured_mean_error", "aim"):
        np.testing.assert_array_equal(getattr(read.ledger, name), getattr(ledger, name))
        assert name in to_frame(result).columns
    assert read.checks is not None
    assert read.movement is not None
    assert result.movement is not None
    assert read.checks.names == result.checks.names
    np.testing.assert_array_equal(read.checks.verdicts, result.checks.verdicts)
    np.testing.assert_array_equal(read.movement, result.movement)


def test_movement_is_the_risk_of_one_outdated_coefficient() -> None:
    from driftpace.backtest.population import find_population
    from driftpace.losses import SquaredLoss

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    before = find_population("1", SquaredLoss(), X, X @ [1.0, 0.0] + rng.normal(size=200))
    after = find_population("2", SquaredLoss(), X, X @ [1.0, 0.7] + rng.normal(size=200))
    moved = best_model_movement([before, after])
    outdated = after.best.copy()
    outdated[1] = before.best[1]
    assert np.isnan(moved[0]).all()
    assert moved[1, 1] == pytest.approx(after.excess_risk(outdated)[0])
    assert moved[1].argmax() == 1


def test_a_measured_mean_below_0_is_said_in_words() -> None:
    """The measurement is unbiased, so that its mean may be negative; an excess loss is not."""
    result = made_up()
    below = replace(result, ledger=replace(result.ledger, measured=-np.abs(result.ledger.measured)))
    assert "measured from labels not distinguishable from 0, ± " in audit_text(below)
    assert measured_mean(below) == 0.0
