"""Where coefficients live: closed convex sets with their projections and diameters."""

from driftpace.sets.ball import Ball
from driftpace.sets.box import Box
from driftpace.sets.protocol import Set
from driftpace.sets.whole import WholeSpace

__all__ = ["Ball", "Box", "Set", "WholeSpace"]
