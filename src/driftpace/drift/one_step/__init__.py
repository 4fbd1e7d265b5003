"""Estimates of one change, from one period to the next."""

from driftpace.drift.one_step.debiased import DebiasedDifference
from driftpace.drift.one_step.direct import Direct
from driftpace.drift.one_step.gradient_mmd import GradientMmd
from driftpace.drift.one_step.held_out import DirectHeldOut
from driftpace.drift.one_step.prequential import Prequential
from driftpace.drift.one_step.protocol import OneStep, Step
from driftpace.drift.one_step.wasserstein import WassersteinChange

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
