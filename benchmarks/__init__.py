"""What driftpace costs and how tight it is, printed; nothing here fails on a time."""
