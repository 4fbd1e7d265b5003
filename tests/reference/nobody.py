"""Something done by a user whom permissions bind: the tests may run as root, who may do everything."""

import multiprocessing
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from driftpace.errors import DriftpaceError

NOBODY = 65534


def as_nobody(work: Callable[[], object]) -> Any:
    """Run something as such a user, in a process of its own; return what it returns, or the sentence that it raises.

    Whatever it needs has to be imported before: nobody may be kept from reading the library itself.
    """
    fork = multiprocessing.get_context("fork")
    receiving, sending = fork.Pipe(duplex=False)

    def child() -> None:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        try:
            sending.send(work())
        except DriftpaceError as error:
            sending.send(f"{type(error).__name__}: {error}")
        except BaseException as error:
            sending.send(f"not a sentence: {error!r}")

    process = fork.Process(target=child)
    process.start()
    sending.close()
    try:
        return receiving.recv() if receiving.poll(60) else "nothing came"
    finally:
        receiving.close()
        process.join(timeout=60)


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter and write to, until it is closed to them."""
    folder = Path(tempfile.mkdtemp(prefix="driftpace-"))
    folder.chmod(0o777)
    try:
        yield folder
    finally:
        folder.chmod(0o777)
        shutil.rmtree(folder)
