"""The result as JSON, with null for numbers that are not finite, and as a data frame."""

import json
import math
from dataclasses import fields
from typing import Any

import numpy as np

from driftpace.backtest.compare_result import ModelComparison
from driftpace.backtest.result import (
    LEDGER_FIELDS,
    BacktestResult,
    CandidateChoices,
    CheckVerdicts,
    SkippedBaseline,
    Strategy,
    TrackerLedger,
)
from driftpace.errors import DataError, MissingExtraError, ParameterError
from driftpace.records import Assumption, Verdict
from driftpace.typing import FloatArray

SCHEMA = 1
_TUPLES = ("features", "periods", "pool", "test_rows", "epsilon", "notes", "best_loss", "classes")


def to_json(result: BacktestResult) -> str:
    """Return the result as JSON text; :func:`from_json` reads the same numbers, and NaN for null."""
    body: dict[str, Any] = {"schema": SCHEMA, "kind": "driftpace.backtest"}
    for field in fields(result):
        if field.name != "comparison":
            body[field.name] = _plain(getattr(result, field.name))
    body["assumptions"] = [
        {"name": one.name, "verdict": one.verdict.value, "sentence": one.sentence, "share": share}
        for one, share in result.assumptions
    ]
    body["comparison"] = None if result.comparison is None else result.comparison.to_values()
    return json.dumps(body, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def from_json(text: str) -> BacktestResult:
    """Return the result that :func:`to_json` wrote, or raise DataError."""
    body = _body(text)
    try:
        given = {field.name: body[field.name] for field in fields(BacktestResult)}
        given |= {name: tuple(given[name]) for name in _TUPLES}
        given["strategies"] = tuple(_strategy(one) for one in body["strategies"])
        given["ledger"] = TrackerLedger(**{name: _array(values) for name, values in body["ledger"].items()})
        given["skipped"] = tuple(SkippedBaseline(**one) for one in body["skipped"])
        chosen = body["choices"]
        given["choices"] = chosen and CandidateChoices(
            candidates=tuple(chosen["candidates"]), chosen=_array(chosen["chosen"])
        )
        checks, movement = body["checks"], body["movement"]
        given["checks"] = checks and CheckVerdicts(names=tuple(checks["names"]), verdicts=_array(checks["verdicts"]))
        compared = body["comparison"]
        given["comparison"] = None if compared is None else ModelComparison.from_values(compared)
        given["metric"] = None if body["metric"] is None else tuple(body["metric"])
        given["movement"] = None if movement is None else _array(movement)
        given["assumptions"] = tuple(
            (Assumption(name=one["name"], verdict=Verdict(one["verdict"]), sentence=one["sentence"]), one["share"])
            for one in body["assumptions"]
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"must be the output of to_json; {error!r}.",
            owner="from_json",
            name="text",
        ) from None
    return BacktestResult(**given)


def _body(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except ValueError:
        raise DataError(f"must be the output of to_json; got {text[:40]!r}.", owner="from_json", name="text") from None
    if not isinstance(body, dict) or body.get("kind") != "driftpace.backtest":
        raise DataError(f"must be the output of to_json; got {text[:40]!r}.", owner="from_json", name="text")
    if body.get("schema") != SCHEMA:
        raise DataError(f"must have schema {SCHEMA}; got {body.get('schema')!r}.", owner="from_json", name="text")
    return body


def _plain(value: Any) -> Any:
    """Return numbers, text and lists only."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, Strategy | SkippedBaseline | TrackerLedger | CandidateChoices | CheckVerdicts):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return None if isinstance(value, Assumption) else value


def _strategy(body: dict[str, Any]) -> Strategy:
    return Strategy(
        name=body["name"],
        title=body["title"],
        note=body["note"],
        samples=_array(body["samples"]),
        excess_risk=_array(body["excess_risk"]),
        test_loss=_array(body["test_loss"]),
        held_out_risk=None if body["held_out_risk"] is None else _array(body["held_out_risk"]),
        metrics={name: _array(values) for name, values in body["metrics"].items()},
    )


def _array(values: Any) -> FloatArray:
    return np.array(values, dtype=np.float64)  # None becomes NaN


def to_frame(result: BacktestResult, *, backend: str = "polars") -> Any:
    """Return one row for each strategy, run and period, as a polars or pandas frame.

    What only the tracker reports (bound, certificate, drift, status, measured risk, aim) is missing in the rows of the others.
    """
    if backend not in ("pandas", "polars"):
        raise ParameterError(f"must be one of 'pandas', 'polars'; got {backend!r}.", owner="to_frame", name="backend")
    columns = _frame_columns(result)
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


def _frame_columns(result: BacktestResult) -> dict[str, Any]:
    runs, periods = result.runs, len(result.periods)
    cells, strategies = runs * periods, len(result.strategies)
    columns: dict[str, Any] = {
        "strategy": np.repeat([one.name for one in result.strategies], cells).tolist(),
        "run": np.tile(np.repeat(np.arange(runs), periods), strategies),
        "period": list(result.periods) * (runs * strategies),
        "epsilon": np.tile(np.array(result.epsilon), runs * strategies),
    }
    unknown = np.full((runs, periods), np.nan)
    for name in ("samples", "excess_risk", "held_out_risk", "test_loss"):
        values = [getattr(one, name) for one in result.strategies]
        columns[name] = np.concatenate([np.ravel(unknown if value is None else value) for value in values])
    for name in result.strategies[0].metrics:
        columns[name] = np.concatenate([np.ravel(one.metrics[name]) for one in result.strategies])
    nothing = np.full(cells * (strategies - 1), np.nan)
    for name in LEDGER_FIELDS:
        columns[name] = np.concatenate([getattr(result.ledger, name).ravel(), nothing])
    return columns
