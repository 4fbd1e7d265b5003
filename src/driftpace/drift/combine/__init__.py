"""Ways to make one estimate of drift from many one-step estimates."""

from driftpace.drift.combine.mean import MeanChange
from driftpace.drift.combine.protocol import Combine, Combined
from driftpace.drift.combine.recent import RecentChange
from driftpace.drift.combine.windowed import WindowedChange

__all__ = ["Combine", "Combined", "MeanChange", "RecentChange", "WindowedChange"]
