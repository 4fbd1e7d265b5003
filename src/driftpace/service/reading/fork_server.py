"""The process that reads tables: it has imported what reading needs, and forks a child of bounded memory for each table.

``python -m driftpace.service.reading.fork_server FD`` serves a socket until its other end is closed. Each message on it carries
the socket of one request. The child reads the request, answers and ends; whatever a file makes of it, its memory and its time are
limited and nothing of it is left. The server itself never reads a table, and has one thread.
"""

import os
import resource
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

from driftpace.errors import DataError, DriftpaceError
from driftpace.service.reading.body import read_body
from driftpace.service.reading.packing import Packed, pack_error, pack_rows, receive, unpack_request
from driftpace.tables.limits import size

_MOST_REQUEST = 2**40


def serve(control: socket.socket, *, memory: int, seconds: int) -> None:
    """Fork a child for every socket that arrives, until the other end is closed."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system reaps the children
    while True:
        with suppress(InterruptedError):
            message, handles, _, _ = socket.recv_fds(control, 1, 1)
            if not message:
                return
            for handle in handles:
                if os.fork() == 0:
                    control.close()
                    _answer(socket.socket(fileno=handle), memory=memory, seconds=seconds)
                os.close(handle)


def _answer(wire: socket.socket, *, memory: int, seconds: int) -> None:
    """Read the table of a request within limits, answer, and end the process."""
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        most = _data_bytes() + memory
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        for piece in _read(wire, memory).pieces():
            wire.sendall(piece)
    except BaseException:
        os._exit(1)
    os._exit(0)


def _read(wire: socket.socket, memory: int) -> Packed:
    owner = None
    try:
        sent = receive(wire, _MOST_REQUEST)
        if sent is None:
            os._exit(1)
        request = unpack_request(sent)
        owner = request.owner
        return pack_rows(read_body(request))
    except DriftpaceError as error:
        if "fit into memory" not in error.problem:
            return pack_error(error)
    except MemoryError:
        pass
    return pack_error(DataError(f"the table must be read in {size(memory)} of memory; it needs more.", owner=owner))


def _data_bytes() -> int:
    """Return the bytes of memory that the limit counts and this process has already."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmData:"):
                return 1024 * int(line.split()[1])
    return 2**29


def _import_all() -> None:
    """Import, before the first fork, what the formats import when they are read."""
    import numpy as np

    from driftpace.tables.kernels import crowded_object

    crowded_object(np.frombuffer(b"{}", np.uint8), 1)
    with suppress(ImportError):
        import openpyxl  # noqa: F401
    with suppress(ImportError):
        import pyarrow.compute
        import pyarrow.ipc
        import pyarrow.parquet  # noqa: F401


if __name__ == "__main__":
    handle, memory, seconds = map(int, sys.argv[1:])
    _import_all()
    serve(socket.socket(fileno=handle), memory=memory, seconds=seconds)
