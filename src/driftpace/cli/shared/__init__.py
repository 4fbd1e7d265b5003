"""What the commands have in common: options, reading a store, printing."""
