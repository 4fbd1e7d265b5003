"""How a saved engine."""
