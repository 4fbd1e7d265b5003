"""What the service answers, by address."""
