"""How many fresh labels to buy each period so that a model of a drifting world keeps the accuracy you asked for."""

from driftpace.bounds import smallest_samples as smallest_samples
from driftpace.errors import DriftpaceError as DriftpaceError
from driftpace.losses import HuberLoss as HuberLoss
from driftpace.losses import LogisticLoss as LogisticLoss
from driftpace.losses import SmoothedHinge as SmoothedHinge
from driftpace.losses import SquaredLoss as SquaredLoss
from driftpace.records import Constants as Constants
from driftpace.records import Outcome as Outcome
from driftpace.records import Request as Request
from driftpace.records import StepReport as StepReport
from driftpace.sets import Ball as Ball
from driftpace.sets import Box as Box
from driftpace.sets import WholeSpace as WholeSpace
from driftpace.tracker import Tracker as Tracker

__version__ = "0.1.0"

__all__ = [
    "Ball",
    "Box",
    "Constants",
    "DriftpaceError",
    "HuberLoss",
    "LogisticLoss",
    "Outcome",
    "Request",
    "SmoothedHinge",
    "SquaredLoss",
    "StepReport",
    "Tracker",
    "WholeSpace",
    "smallest_samples",
]
