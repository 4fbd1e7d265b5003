"""How the next model is made from the last one and fresh rows, each learner with the bound that is true for it."""

from driftpace.learners.erm import AnchoredErm
from driftpace.learners.gradient_passes import GradientPasses
from driftpace.learners.protocol import Learner
from driftpace.learners.sgd import Sgd

__all__ = ["AnchoredErm", "GradientPasses", "Learner", "Sgd"]
