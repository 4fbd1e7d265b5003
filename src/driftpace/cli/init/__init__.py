"""``driftpace init``: a campaign begins."""
