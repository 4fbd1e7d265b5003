"""Which tables are read where, and the client of the process that reads them."""

import os
import socket
import subprocess
import sys
import threading
from contextlib import suppress

from driftpace.errors import DataError, DriftpaceError
from driftpace.service.reading.body import Rows, TableRequest, read_body
from driftpace.service.reading.packing import pack_request, receive, unpack_rows
from driftpace.tables.arrow_format import MAGIC as ARROW
from driftpace.tables.excel_format import MAGIC as ZIP

SMALL = 2**18
"""Bytes of a text that is read in this process: at most a few hundredths of a second of work."""
_TEXTS = ("csv", "json", "jsonl", None)
_PACKED = (b"\x1f\x8b", b"PAR1", ARROW, b"\xff\xff\xff\xff", ZIP)
_SLACK = 10.0
_DYING = 0.2


class TableReader:
    r"""Reads tables in child processes, except small texts.

    Parameters
    ----------
    memory : int
        Bytes of memory of each child beyond what it begins with.
    seconds : int
        Seconds of computation of each child.

    Examples
    --------
    >>> from driftpace.tables import TableLimits
    >>> reader = TableReader(memory=2**29, seconds=60)
    >>> reader.read(TableRequest(data=b"a\n1\n", kind="csv", limits=TableLimits(), owner="tell"))["a"].values.tolist()
    [1.0]
    """

    def __init__(self, *, memory: int, seconds: int) -> None:
        self._memory = memory
        self._seconds = seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def read(self, request: TableRequest) -> Rows:
        """Return the rows of a body, or raise the error of what is wrong with it."""
        return read_body(request) if is_small_text(request) or not _can_fork() else self._read_in_child(request)

    def close(self) -> None:
        """End the process; it starts again when it is needed."""
        with self._lock:
            self._stop()

    def __del__(self) -> None:
        self._stop()

    def _read_in_child(self, request: TableRequest) -> Rows:
        rows = None
        for _ in range(2):
            with self._lock:
                process, control = self._started()
            rows = self._ask(control, request)
            if rows is not None or not self._has_died(process):
                break
        if rows is None:
            rows = DataError(f"the table must be readable in {self._seconds} s; it is not.", owner=request.owner)
        if isinstance(rows, DriftpaceError):
            raise rows
        return rows

    def _has_died(self, process: subprocess.Popen[bytes]) -> bool:
        """Return whether the process was killed; it starts again when it is needed."""
        try:
            process.wait(_DYING)
        except subprocess.TimeoutExpired:
            return False
        with self._lock:
            if self._process is process:
                self._stop()
        return True

    def _ask(self, control: socket.socket, request: TableRequest) -> Rows | DriftpaceError | None:
        """Return the answer of a child; None where it died or makes no sense."""
        wire, theirs = socket.socketpair()
        with wire, suppress(OSError, ValueError, KeyError, IndexError, TypeError, StopIteration):
            wire.settimeout(self._seconds + _SLACK)
            with theirs:
                socket.send_fds(control, [b"r"], [theirs.fileno()])
            with suppress(BrokenPipeError, ConnectionResetError):  # the child has refused, or died: read which
                for piece in pack_request(request).pieces():
                    wire.sendall(piece)
            answer = receive(wire, self._memory)
            return None if answer is None else unpack_rows(answer)
        return None

    def _started(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        if self._process is None or self._control is None:
            mine, theirs = socket.socketpair()
            arguments = (str(theirs.fileno()), str(self._memory), str(self._seconds))
            more = {
                "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
                "ARROW_DEFAULT_MEMORY_POOL": "system",
                "JE_ARROW_MALLOC_CONF": "background_thread:false",  # a process of one thread forks
                "OPENBLAS_NUM_THREADS": "1",
                "OMP_NUM_THREADS": "1",
            }
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "driftpace.service.reading.fork_server", *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    env={**os.environ, **more},
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,  # it ends with this process, not at its Ctrl+C
                )
            self._control = mine
        return self._process, self._control

    def _stop(self) -> None:
        control, process = getattr(self, "_control", None), getattr(self, "_process", None)
        self._control = self._process = None
        if control is not None:
            control.close()
        if process is not None:
            process.kill()
            process.wait()


def is_small_text(request: TableRequest) -> bool:
    """Return whether a body is a text so small that reading it takes no time."""
    return len(request.data) <= SMALL and request.kind in _TEXTS and not request.data.startswith(_PACKED)


def _can_fork() -> bool:
    return hasattr(os, "fork") and hasattr(socket, "send_fds")
