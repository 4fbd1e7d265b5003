"""What docs/service.md runs behind the scenes: a server on loopback, for as long as its page is read."""

from contextlib import ExitStack

from driftpace.storage import MemoryStore
from tests.reference.serving import serving

_running = ExitStack()


def begin() -> str:
    """Start a server and return its address."""
    return _running.enter_context(serving(MemoryStore())).url


def end() -> None:
    """Stop it."""
    _running.close()
