"""``driftpace report``: a campaign as one page."""
