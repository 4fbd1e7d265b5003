"""Learners: fit the next model from the last one and fresh rows, each with the bound that holds for it."""

from driftpace.learners.erm import AnchoredErm
from driftpace.learners.gradient_passes import GradientPasses
from driftpace.learners.protocol import Learner
from driftpace.learners.sgd import Sgd

__all__ = ["AnchoredErm", "GradientPasses", "Learner", "Sgd"]
