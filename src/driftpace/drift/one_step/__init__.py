"""Estimates of one change, from one period to the next."""

from driftpace.drift.one_step.base import OneStep, Step
from driftpace.drift.one_step.direct import Direct, DirectHeldOut
from driftpace.drift.one_step.distribution import GradientMmd, WassersteinChange
from driftpace.drift.one_step.unbiased import DebiasedDifference, Prequential

__all__ = [
    "DebiasedDifference",
    "Direct",
    "DirectHeldOut",
    "GradientMmd",
    "OneStep",
    "Prequential",
    "Step",
    "WassersteinChange",
]
