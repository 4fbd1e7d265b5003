"""Decide how many labels a drifting model needs each period to stay as accurate as required.

The main entry points are :class:`Tracker` (ask and tell in memory), :class:`Campaign` (the same in a store), :class:`Fleet` (a
model for each of many segments), :func:`check_table`, :func:`backtest` and :func:`compare_models` (judge and replay a table) and
:func:`plan` (spread a budget).
Names are loaded on first use, so that ``import driftpace`` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftpace import datasets as datasets
    from driftpace.backtest import backtest as backtest
    from driftpace.backtest.check import check_table as check_table
    from driftpace.backtest.compare import compare_models as compare_models
    from driftpace.bounds import smallest_samples as smallest_samples
    from driftpace.campaign import Campaign as Campaign
    from driftpace.campaign import FleetCampaign as FleetCampaign
    from driftpace.constraints import Ball as Ball
    from driftpace.constraints import Box as Box
    from driftpace.constraints import WholeSpace as WholeSpace
    from driftpace.errors import DriftpaceError as DriftpaceError
    from driftpace.fleet import Fleet as Fleet
    from driftpace.losses import GammaLoss as GammaLoss
    from driftpace.losses import HuberLoss as HuberLoss
    from driftpace.losses import LogisticLoss as LogisticLoss
    from driftpace.losses import MultiSquaredLoss as MultiSquaredLoss
    from driftpace.losses import PoissonLoss as PoissonLoss
    from driftpace.losses import QuantileLoss as QuantileLoss
    from driftpace.losses import SmoothedHinge as SmoothedHinge
    from driftpace.losses import SoftmaxLoss as SoftmaxLoss
    from driftpace.losses import SquaredLoss as SquaredLoss
    from driftpace.losses import TweedieLoss as TweedieLoss
    from driftpace.models import Head as Head
    from driftpace.planning import Budget as Budget
    from driftpace.planning import LinearCost as LinearCost
    from driftpace.planning import TieredCost as TieredCost
    from driftpace.planning import plan as plan
    from driftpace.records import Constants as Constants
    from driftpace.records import Outcome as Outcome
    from driftpace.records import Request as Request
    from driftpace.records import StepReport as StepReport
    from driftpace.tracker import Tracker as Tracker

__version__ = "0.2.0"

__all__ = [
    "Ball",
    "Box",
    "Budget",
    "Campaign",
    "Constants",
    "DriftpaceError",
    "Fleet",
    "FleetCampaign",
    "GammaLoss",
    "Head",
    "HuberLoss",
    "LinearCost",
    "LogisticLoss",
    "MultiSquaredLoss",
    "Outcome",
    "PoissonLoss",
    "QuantileLoss",
    "Request",
    "SmoothedHinge",
    "SoftmaxLoss",
    "SquaredLoss",
    "StepReport",
    "TieredCost",
    "Tracker",
    "TweedieLoss",
    "WholeSpace",
    "backtest",
    "check_table",
    "compare_models",
    "plan",
    "smallest_samples",
]

_MODULES = {
    "TweedieLoss": "losses",
    "QuantileLoss": "losses",
    "PoissonLoss": "losses",
    "GammaLoss": "losses",
    "Ball": "constraints",
    "Box": "constraints",
    "Budget": "planning",
    "Campaign": "campaign",
    "FleetCampaign": "campaign",
    "Constants": "records",
    "DriftpaceError": "errors",
    "Fleet": "fleet",
    "Head": "models",
    "HuberLoss": "losses",
    "LinearCost": "planning",
    "LogisticLoss": "losses",
    "Outcome": "records",
    "Request": "records",
    "SmoothedHinge": "losses",
    "MultiSquaredLoss": "losses",
    "SoftmaxLoss": "losses",
    "SquaredLoss": "losses",
    "StepReport": "records",
    "TieredCost": "planning",
    "Tracker": "tracker",
    "WholeSpace": "constraints",
    "check_table": "backtest",
    "compare_models": "backtest",
    "plan": "planning",
    "smallest_samples": "bounds",
}

_PACKAGES = frozenset(
    {
        *("backtest", "bounds", "campaign", "constants", "constraints", "datasets", "drift", "errors", "labelling"),
        *(
            "adaptive",
            "fleet",
            "learners",
            "losses",
            "models",
            "planning",
            "records",
            "rules",
            "schedules",
            "service",
            "storage",
        ),
        *("report", "sklearn", "tables", "testing", "synthetic", "tracker"),
    }
)
"""Packages available as attributes without an import; ``backtest`` is also callable."""

if not TYPE_CHECKING:  # a type checker knows the names above and must reject any other

    def __getattr__(name: str) -> Any:
        """Load a public name or a package on first use."""
        if name in _PACKAGES:
            return import_module(f"{__name__}.{name}")
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*_MODULES, *_PACKAGES, *(name for name in globals() if name.startswith("__"))})
