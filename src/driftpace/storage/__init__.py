"""What is written to files, and read back exactly."""

from driftpace.storage.plain import NotPlainError, from_plain, to_plain
from driftpace.storage.statefile import read_state, write_state

__all__ = ["NotPlainError", "from_plain", "read_state", "to_plain", "write_state"]
