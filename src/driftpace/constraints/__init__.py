"""Where coefficients live: closed convex sets with their projections and diameters."""

from driftpace.constraints.ball import Ball
from driftpace.constraints.box import Box
from driftpace.constraints.protocol import Set
from driftpace.constraints.whole import WholeSpace

__all__ = ["Ball", "Box", "Set", "WholeSpace"]
