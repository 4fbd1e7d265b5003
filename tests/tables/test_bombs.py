"""A small file cannot become a large memory: real bombs, read by a process that may not have much more memory than it has."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from driftpace.errors import DataError, ParameterError
from driftpace.tables import TableLimits, read_columns
from tests.tables import bombs

_ALLOWED_MIB = 700
_CHILD = """
import resource, sys
from driftpace.errors import DataError
from driftpace.tables import read_columns
import pyarrow.parquet, pyarrow.compute
from pyarrow import ipc

read_columns(b"a\\n1\\n")
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + ALLOWED * 2**20, resource.RLIM_INFINITY))
for path in sys.argv[1:]:
    try:
        columns = read_columns(path, name=None)
        print("read", sum(column.values.size for column in columns.values()))
    except DataError as error:
        print(error)
"""


def _read_in_a_child(paths: list[Path]) -> list[str]:
    """Read each file in a process that may take so much more memory than it starts with, and return what it says of each."""
    child = subprocess.run(
        [sys.executable, "-c", _CHILD.replace("ALLOWED", str(_ALLOWED_MIB)), *map(str, paths)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"},
    )
    assert child.returncode == 0, child.stderr[-2000:]
    return child.stdout.splitlines()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the size of a process as Linux shows it")
def test_bombs_are_refused_within_bounded_memory(tmp_path: Path) -> None:
    makers = [*bombs.REFUSED, *bombs.READ]
    paths = []
    for maker in makers:
        paths.append(tmp_path / maker.__name__)
        content = maker()
        assert len(content) <= TableLimits().bytes
        paths[-1].write_bytes(content)
        del content
    said = dict(zip((maker.__name__ for maker in makers), _read_in_a_child(paths), strict=True))
    for maker in bombs.REFUSED:
        sentence = said[maker.__name__]
        assert sentence.startswith(f"read_columns: {maker.__name__} must "), sentence
        assert sentence.endswith(".")
        assert "fit into memory" not in sentence
    for maker in bombs.READ:
        assert said[maker.__name__] == "read 1000000"


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the size of a process as Linux shows it")
def test_the_proof_can_fail(tmp_path: Path) -> None:
    """With limits that are no limits, a bomb does go off: the child runs out of the memory it may have."""
    path = tmp_path / "bomb.parquet"
    path.write_bytes(bombs.parquet_of_one_long_text() + b"")
    loose = _CHILD.replace(
        "read_columns(path, name=None)", "read_columns(path, limits=TableLimits(bytes=2**40, unpacked=2**40))"
    ).replace(
        "resource.setrlimit",
        "import driftpace.tables.limits; driftpace.tables.limits.LONGEST_TEXT = 2**40; resource.setrlimit",
    )
    child = subprocess.run(
        [
            sys.executable,
            "-c",
            loose.replace("import read_columns", "import TableLimits, read_columns").replace("ALLOWED", "300"),
            str(path),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"},
    )
    assert child.stdout == "read_columns: bomb.parquet must fit into memory; it does not.\n"


class _Endless:
    """An open file that never ends, and counts what was taken."""

    def __init__(self) -> None:
        self.given = 0

    def read(self, count: int = -1) -> bytes:
        assert 0 < count <= 2**20
        self.given += count
        return b"1" * count


def test_an_endless_upload_is_refused_as_soon_as_it_is_too_long() -> None:
    endless = _Endless()
    with pytest.raises(DataError, match=r"^tell: the upload must be at most 2 MiB; it is larger\.$"):
        read_columns(endless, limits=TableLimits(bytes=2**21), owner="tell")
    assert endless.given <= 2**21 + 2**20


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a pipe with a name")
def test_devices_pipes_and_folders_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    said: list[str] = []

    def read_all() -> None:
        for path in (tmp_path, tmp_path / "pipe.csv", Path("/dev/zero"), tmp_path / "none.csv", Path("a\0b")):
            with pytest.raises(ParameterError) as refused:
                read_columns(path)
            said.append(str(refused.value))

    reader = threading.Thread(target=read_all, daemon=True)
    reader.start()
    reader.join(timeout=60)
    assert not reader.is_alive()
    assert len(said) == 5
    assert all(sentence.count("must be") == 1 for sentence in said)
