"""``driftpace plan``: when to buy how much."""
