"""Replay a table as if its labels were still to be bought: what each way of buying them would have cost, and kept.

The package is itself the function: ``driftpace.backtest(frame, ...)`` is :func:`driftpace.backtest.replay.backtest`.
"""

import sys
from inspect import signature
from types import ModuleType
from typing import Any

from driftpace.backtest.as_json import from_json, to_json
from driftpace.backtest.promise import Promise, promise
from driftpace.backtest.records import BacktestResult, Choices, Ledger, SkippedBaseline, Strategy
from driftpace.backtest.replay import backtest, replay
from driftpace.backtest.strategies import BASELINES
from driftpace.backtest.table import Panel, read_table
from driftpace.backtest.tables import render, summary, to_frame

__all__ = [
    "BASELINES",
    "BacktestResult",
    "Choices",
    "Ledger",
    "Panel",
    "Promise",
    "SkippedBaseline",
    "Strategy",
    "backtest",
    "from_json",
    "promise",
    "read_table",
    "render",
    "replay",
    "summary",
    "to_frame",
    "to_json",
]


class _Callable(ModuleType):
    """A package that can be called: ``driftpace.backtest`` names both the package and what it does."""

    def __call__(self, *given: Any, **named: Any) -> BacktestResult:
        return backtest(*given, **named)


__signature__ = signature(backtest)  # so that help and editors show its parameters
sys.modules[__name__].__class__ = _Callable
