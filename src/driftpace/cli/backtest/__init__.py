"""``driftpace backtest``: a table replayed."""
