"""Benchmarks of speed and tightness; they print results and never fail on a time."""
