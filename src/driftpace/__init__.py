"""How many fresh labels to buy each period so that a model of a drifting world keeps the accuracy you asked for."""

__version__ = "0.1.0"
