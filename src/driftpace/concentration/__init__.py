"""concentration."""
