"""The result as a table: rows for people, text for terminals, a frame for those who go on computing."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftpace.backtest.promise import is_kept, promise
from driftpace.backtest.records import BacktestResult, Strategy
from driftpace.backtest.report import words
from driftpace.backtest.report.facts import shows_money
from driftpace.errors import MissingExtraError, ParameterError
from driftpace.typing import FloatArray

_HEADS = ("", "labels", "a period", "cost", "risk/target", "promise", "test loss")
_LEDGER = ("samples_theory", "risk_bound", "certificate", "drift", "drift_upper", "status")


@dataclass(frozen=True, kw_only=True, slots=True)
class SummaryRow:
    """One strategy in numbers, averaged over runs; ``auc`` is None for regression.

    ``labels`` are bought in all periods together, ``cost`` is their price, ``risk_over_target`` the mean excess risk over
    the mean target, ``periods_above`` how many periods were above the target for sure.
    """

    name: str
    title: str
    labels: float
    labels_per_period: float
    cost: float
    risk_over_target: float
    periods_above: int
    kept: bool
    test_loss: float
    auc: float | None


def summary(result: BacktestResult) -> tuple[SummaryRow, ...]:
    """Return one row for each strategy, in the order of the result."""
    return tuple(_row(result, strategy) for strategy in result.strategies)


def render(result: BacktestResult) -> str:
    """Return the summary as plain text, one line for each strategy; costs are shown where a label has a price.

    Baselines that could not run follow with the reason.
    """
    lines = [list(_HEADS) + (["AUC"] if result.classification else [])]
    for row, strategy in zip(summary(result), result.strategies, strict=True):
        line = [
            row.title,
            f"{row.labels:,.0f}",
            f"{row.labels_per_period:,.1f}",
            words.money(row.cost, result.currency),
            words.ratio(row.risk_over_target),
            words.outcome(result, strategy),
            words.loss(row.test_loss),
        ]
        lines.append(line + ([f"{row.auc:.3f}"] if row.auc is not None else []))
    if not shows_money(result):
        for line in lines:
            del line[_HEADS.index("cost")]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    table = "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )
    return table + "".join(f"\n{one.title}: not run. {one.reason}" for one in result.skipped)


def to_frame(result: BacktestResult, *, backend: str = "polars") -> Any:
    """Return one row for each strategy, run and period, as a polars or pandas frame.

    What only the tracker says (bound, certificate, drift, status) is missing in the rows of the others.
    """
    if backend not in ("pandas", "polars"):
        raise ParameterError(f"must be one of 'pandas', 'polars'; got {backend!r}.", owner="to_frame", name="backend")
    columns = _columns(result)
    try:
        if backend == "polars":
            import polars as pl

            return pl.DataFrame(columns, nan_to_null=True)
        import pandas as pd

        return pd.DataFrame(columns)
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"to_frame(backend={backend!r}) needs {error.name}: pip install {error.name}."
        ) from error


def _row(result: BacktestResult, strategy: Strategy) -> SummaryRow:
    judged = promise(strategy.excess_risk, np.array(result.epsilon))
    labels = float(strategy.samples.sum(axis=1).mean())
    return SummaryRow(
        name=strategy.name,
        title=strategy.title,
        labels=labels,
        labels_per_period=labels / len(result.periods),
        cost=labels * result.price,
        risk_over_target=judged.mean / float(np.mean(result.epsilon)),
        periods_above=judged.periods_above,
        kept=is_kept(strategy.excess_risk, np.array(result.epsilon), result.confidence),
        test_loss=float(strategy.test_loss.mean()),
        auc=None if strategy.auc is None else _mean_known(strategy.auc),
    )


def _mean_known(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else math.nan


def _columns(result: BacktestResult) -> dict[str, Any]:
    runs, periods = result.runs, len(result.periods)
    cells, strategies = runs * periods, len(result.strategies)
    columns: dict[str, Any] = {
        "strategy": np.repeat([one.name for one in result.strategies], cells).tolist(),
        "run": np.tile(np.repeat(np.arange(runs), periods), strategies),
        "period": list(result.periods) * (runs * strategies),
        "epsilon": np.tile(np.array(result.epsilon), runs * strategies),
    }
    for name in ("samples", "excess_risk", "test_loss"):
        columns[name] = np.concatenate([getattr(one, name).ravel() for one in result.strategies])
    if result.classification:
        columns["auc"] = np.concatenate([np.ravel(one.auc) for one in result.strategies])  # type: ignore[arg-type]
    nothing = np.full(cells * (strategies - 1), np.nan)
    for name in _LEDGER:
        columns[name] = np.concatenate([getattr(result.ledger, name).ravel(), nothing])
    return columns
