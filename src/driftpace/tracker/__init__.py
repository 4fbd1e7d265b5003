"""The tracker: ask how many labelled rows a period needs, tell them, read the report."""

from driftpace.tracker.history import History
from driftpace.tracker.tracker import Tracker

__all__ = ["History", "Tracker"]
