"""Estimators of drift: one-step estimates, combinations of them, margins."""

from driftpace.drift.combine import Combine, Combined, MeanChange, RecentChange, WindowedChange
from driftpace.drift.correction import overshoot_bound, printed_overshoot_bound
from driftpace.drift.estimator import Drift, DriftEstimator, DriftState, KnownDrift
from driftpace.drift.margins import (
    BernsteinMargin,
    Margin,
    NoMargin,
    RootMargin,
    StandardErrorMargin,
    TheoreticalMargin,
)
from driftpace.drift.one_step import (
    DebiasedDifference,
    Direct,
    DirectHeldOut,
    GradientMmd,
    OneStep,
    Prequential,
    Step,
    WassersteinChange,
)

__all__ = [
    "BernsteinMargin",
    "Combine",
    "Combined",
    "DebiasedDifference",
    "Direct",
    "DirectHeldOut",
    "Drift",
    "DriftEstimator",
    "DriftState",
    "GradientMmd",
    "KnownDrift",
    "Margin",
    "MeanChange",
    "NoMargin",
    "OneStep",
    "Prequential",
    "RecentChange",
    "RootMargin",
    "StandardErrorMargin",
    "Step",
    "TheoreticalMargin",
    "WassersteinChange",
    "WindowedChange",
    "overshoot_bound",
    "printed_overshoot_bound",
]
