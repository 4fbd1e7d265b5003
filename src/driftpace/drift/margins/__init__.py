"""How far above its value an estimate of drift is taken to reach."""

from driftpace.drift.margins.bernstein import BernsteinMargin
from driftpace.drift.margins.none import NoMargin
from driftpace.drift.margins.protocol import Margin
from driftpace.drift.margins.root import RootMargin
from driftpace.drift.margins.standard_error import StandardErrorMargin
from driftpace.drift.margins.theoretical import TheoreticalMargin

__all__ = ["BernsteinMargin", "Margin", "NoMargin", "RootMargin", "StandardErrorMargin", "TheoreticalMargin"]
