"""Compiled loops of the Monte Carlo engine: a stream of normals for each run, and many runs side by side."""
