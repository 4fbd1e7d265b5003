"""The loop: ask how many samples, tell what came."""

from driftpace.tracker.history import History
from driftpace.tracker.tracker import Tracker

__all__ = ["History", "Tracker"]
