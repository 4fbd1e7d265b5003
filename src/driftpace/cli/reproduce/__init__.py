"""``driftpace reproduce``: the paper's experiments."""
