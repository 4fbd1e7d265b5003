"""The summary by hand, the text people read, and frames."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from driftpace.backtest import BacktestResult, replay, summary, to_frame
from driftpace.backtest import render as render_all
from driftpace.backtest.judgement import judge_strategy
from driftpace.backtest.result import Strategy
from driftpace.backtest.text import count_orders, judgement_text
from driftpace.backtest.text import render_table as render
from driftpace.errors import ParameterError
from tests.backtest.panels import classes_panel, drifting_panel
from tests.backtest.plain_tracker import SIZE, plain_tracker


@pytest.fixture(scope="module")
def result() -> BacktestResult:
    return replay(
        drifting_panel(),
        epsilon=0.05,
        runs=3,
        workers=1,
        tracker=plain_tracker,
        price=2.5,
        currency="€",
        progress=False,
    )


@pytest.fixture(scope="module")
def classes() -> BacktestResult:
    return replay(classes_panel(), epsilon=0.05, runs=2, workers=1, tracker=plain_tracker, currency="EUR")


def test_the_first_row_by_hand(result: BacktestResult) -> None:
    row = summary(result)[0]
    ours = result.strategies[0]
    assert (row.name, row.labels, row.labels_per_period, row.cost) == ("driftpace", 7 * SIZE, 7 * SIZE / 6, 17.5 * SIZE)
    assert row.risk_over_target == pytest.approx(ours.excess_risk.mean() / 0.05)
    assert row.test_loss == pytest.approx(ours.test_loss.mean())
    assert not row.kept  # a mean is no regression
    assert row.metrics["mae"] == pytest.approx(ours.metrics["mae"].mean())


def test_the_text_has_a_line_for_each_strategy(result: BacktestResult) -> None:
    lines = render(result).splitlines()
    assert len(lines) == 1 + len(result.strategies)
    assert len({len(line) for line in lines}) == 1
    assert "€210" in lines[1]
    assert lines[1].split()[:3] == ["driftpace", "84", "14.0"]
    assert "missed" in lines[1]
    assert "AUC" not in lines[0]


def test_costs_are_left_out_where_labels_have_no_price(result: BacktestResult) -> None:
    lines = render(replace(result, price=1.0, currency="")).splitlines()
    assert "cost" in render(result).splitlines()[0]
    assert "cost" not in lines[0]
    assert lines[0].split() == ["labels", "a", "period", "risk/target", "target", "test", "loss", "R^2", "MAE", "RMSE"]
    assert lines[1].split()[:3] == ["driftpace", "84", "14.0"]
    assert len(lines[1].split()) == 9


def test_classes_have_a_column_more(classes: BacktestResult) -> None:
    lines = render(classes).splitlines()
    assert lines[0].endswith("AUC")
    assert "72.00 EUR" in lines[1]
    assert summary(classes)[0].metrics["auc"] == pytest.approx(0.5)  # the same score for everybody


def test_frames_have_a_row_for_each_strategy_run_and_period(result: BacktestResult) -> None:
    frame = to_frame(result)
    assert isinstance(frame, pl.DataFrame)
    assert frame.height == 7 * 3 * 6
    one = frame.filter((pl.col("strategy") == "even") & (pl.col("run") == 2) & (pl.col("period") == "2004"))
    assert one["excess_risk"].item() == result.strategies[2].excess_risk[2, 3]
    assert one["risk_bound"].item() is None
    ours = frame.filter(pl.col("strategy") == "driftpace")
    np.testing.assert_array_equal(ours["risk_bound"].to_numpy(), result.ledger.risk_bound.ravel())


def test_pandas_gets_the_same_rows(classes: BacktestResult) -> None:
    frame = to_frame(classes, backend="pandas")
    assert isinstance(frame, pd.DataFrame)
    assert frame.shape[0] == 7 * 2 * 5
    assert frame["auc"].notna().all()


def test_another_backend_is_refused_in_a_sentence(result: BacktestResult) -> None:
    with pytest.raises(
        ParameterError, match=r"to_frame\(backend=\.\.\.\) must be one of 'pandas', 'polars'; got 'dask'"
    ):
        to_frame(result, backend="dask")


def test_a_result_is_one_line_that_says_how_to_see_it(result: BacktestResult) -> None:
    line = repr(result)
    assert line.startswith("BacktestResult('made up', ")
    assert f"{result.runs} runs, 7 strategies; driftpace.backtest.render(...)" in line
    assert "\n" not in line


def test_orders_of_later_periods_are_counted(result: BacktestResult) -> None:
    orders = np.zeros_like(result.ledger.orders)
    orders[:, 0], orders[:, 1], orders[0, 2] = 9.0, 1.0, 3.0
    counted = replace(result, ledger=replace(result.ledger, orders=orders))
    runs = result.runs
    assert count_orders(counted) == pytest.approx(((runs + 3.0) / (runs + 1.0), runs / (runs + 1.0)))
    assert "a period after the first, only one in" in render_all(counted)
    orders[:, 1:] = 0.0
    assert count_orders(counted) is None
    assert "Orders" not in render_all(counted)


@pytest.mark.parametrize(
    ("risk", "text"),
    [
        ([[0.03] * 10], "the mean is above the target: 0.03 measured on average (target 0.02)"),
        ([[0.01] * 10], "0.01 measured on average (target 0.02), in one run"),
        (
            [[0.03] * 10] * 2,
            "the mean is above the target: 0.03 measured on average (target 0.02); 10 of 10 periods clearly above",
        ),
        (
            [[0.005] * 8 + [0.03] * 2] * 2,
            "0.01 measured on average (target 0.02), but 2 of 10 periods clearly above, and one in ten is allowed",
        ),
        ([[0.01] * 10] * 2, "0.01 measured on average (target 0.02); 0 of 10 periods clearly above"),
    ],
)
def test_the_text_says_what_was_missed(risk: list[list[float]], text: str) -> None:
    """The mean or single periods, which one run cannot show."""
    cells = np.array(risk)
    strategy = Strategy(name="a", title="A", note="", samples=cells, excess_risk=cells, test_loss=cells)
    assert judgement_text(judge_strategy(strategy, [0.02] * 10)) == text
