"""Checks for custom parts: the contracts that the built-in losses, sets, bounds, learners and drift estimators pass."""

from driftpace.testing.bounds import check_bound
from driftpace.testing.drift import check_drift
from driftpace.testing.learners import check_learner
from driftpace.testing.losses import check_loss
from driftpace.testing.sets import check_set

__all__ = [
    "check_bound",
    "check_drift",
    "check_learner",
    "check_loss",
    "check_set",
]
