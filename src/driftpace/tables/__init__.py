"""Tables that people bring and take away: read within limits, rows drawn to be labelled, rows written."""
