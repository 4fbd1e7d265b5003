"""Replay a table as if its labels were still to be bought: what each strategy would have cost, and whether it met the target.

The package is itself the function: ``driftpace.backtest(frame, ...)`` is :func:`driftpace.backtest.replay.backtest`.
"""

import sys
from inspect import signature
from types import ModuleType
from typing import Any

from driftpace.backtest.check import check_table
from driftpace.backtest.check_result import DriftGlance, LabelEstimate, TableCheck
from driftpace.backtest.compare import compare_models
from driftpace.backtest.compare_result import ComparedModel, ModelComparison
from driftpace.backtest.promise import Promise, promise
from driftpace.backtest.replay import backtest, replay
from driftpace.backtest.result import BacktestResult, CandidateChoices, SkippedBaseline, Strategy, TrackerLedger
from driftpace.backtest.run import BASELINES
from driftpace.backtest.serialization import from_json, to_frame, to_json
from driftpace.backtest.table import Panel, read_table
from driftpace.backtest.text import render, summary

__all__ = [
    "BASELINES",
    "BacktestResult",
    "CandidateChoices",
    "ComparedModel",
    "DriftGlance",
    "LabelEstimate",
    "ModelComparison",
    "Panel",
    "Promise",
    "SkippedBaseline",
    "Strategy",
    "TableCheck",
    "TrackerLedger",
    "backtest",
    "check_table",
    "compare_models",
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

    def __call__(self, *args: Any, **kwargs: Any) -> BacktestResult:
        return backtest(*args, **kwargs)


__signature__ = signature(backtest)  # so that help and editors show its parameters
sys.modules[__name__].__class__ = _Callable
