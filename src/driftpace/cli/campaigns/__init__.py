"""What is done with whole campaigns: list, log, export, import, remove."""
