"""What a command itself has spent: time and memory."""

import sys
import time


class Spending:
    """A clock that starts when it is made."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    def sentence(self) -> str:
        """Return time and peak memory so far, those of finished child processes included.

        >>> Spending().sentence()
        'Took ... s...'
        """
        seconds = time.perf_counter() - self._began
        took = f"Took {seconds:.1f} s"
        try:
            import resource
        except ModuleNotFoundError:  # not on Windows
            return f"{took}."
        own, child = (
            _megabytes(resource.getrusage(who).ru_maxrss) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        workers = f", and {child:,.0f} MB in the largest worker" if child >= 1.0 else ""
        return f"{took} and {own:,.0f} MB of memory at most{workers}."


def _megabytes(peak: int) -> float:
    """Convert; the unit of the peak is a kilobyte, but a byte on macOS."""
    return peak / (1e6 if sys.platform == "darwin" else 1e3)
