"""What a model is judged by: losses on rows, with their gradients and curvature."""

from driftpace.losses.curve import Curve
from driftpace.losses.hinge import SmoothedHinge
from driftpace.losses.huber import HuberLoss
from driftpace.losses.linear import LinearLoss
from driftpace.losses.logistic import LogisticLoss
from driftpace.losses.protocol import Loss
from driftpace.losses.squared import SquaredLoss
from driftpace.losses.targets import classifies

__all__ = ["Curve", "HuberLoss", "LinearLoss", "LogisticLoss", "Loss", "SmoothedHinge", "SquaredLoss", "classifies"]
