"""Compiled loops of the planners."""
