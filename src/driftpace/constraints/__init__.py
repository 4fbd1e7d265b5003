"""Constraints on coefficients: closed convex sets with their projections and diameters."""

from driftpace.constraints.sets import Ball, Box, ConstraintSet, WholeSpace

__all__ = ["Ball", "Box", "ConstraintSet", "WholeSpace"]
