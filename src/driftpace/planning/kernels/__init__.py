"""Compiled loops of the exact planner, and the tables they work on."""
