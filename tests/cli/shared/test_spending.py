"""What a command spent is said in seconds and megabytes, with the largest of its workers."""

import re
import subprocess
import sys

import pytest

from driftpace.cli.shared.spending import Spending


def test_time_and_memory() -> None:
    found = re.fullmatch(r"Took (\d+\.\d) s and ([\d,]+) MB of memory at most(.*)\.", Spending().sentence())
    assert found is not None
    assert float(found[2].replace(",", "")) > 1


def test_a_worker_is_counted() -> None:
    code = (
        "import subprocess, sys; from driftpace.cli.shared.spending import Spending; "
        "subprocess.run([sys.executable, '-c', 'bytearray(50_000_000)'], check=True); print(Spending().sentence())"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    found = re.search(r"and ([\d,]+) MB in the largest worker\.", said)
    assert found is not None
    assert float(found[1].replace(",", "")) > 50


def test_where_the_system_counts_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)
    assert re.fullmatch(r"Took \d+\.\d s\.", Spending().sentence())
