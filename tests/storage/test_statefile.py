"""A saved state is complete or absent, and a damaged one is refused in one sentence."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from driftpace.errors import ParameterError, StateFileError
from driftpace.storage import read_state, write_state
from driftpace.storage.statefile import VERSION

BODY = {"period": 3, "coef": [0.1, -0.0, 1e-300]}


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_state(path, BODY)
    assert read_state(path) == BODY
    write_state(path, {**BODY, "period": 4})
    assert read_state(path)["period"] == 4
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.json"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_state(path, BODY)
    with pytest.raises(ValueError, match="JSON compliant"):
        write_state(path, {"risk": float("nan")})
    assert read_state(path) == BODY
    assert len(list(tmp_path.iterdir())) == 1


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_state(path, BODY)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(StateFileError, match="truncated, or not a driftpace state"):
            read_state(path)


def test_an_edited_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_state(path, BODY)
    path.write_text(path.read_text().replace('"period": 3', '"period": 2'))
    with pytest.raises(StateFileError, match="edited or damaged"):
        read_state(path)


@pytest.mark.parametrize("version", [VERSION + 1, "one", None, 0, -1, True])
def test_a_newer_version_is_refused(tmp_path: Path, version: object) -> None:
    path = tmp_path / "state.json"
    write_state(path, BODY)
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": version}))
    with pytest.raises(StateFileError, match="upgrade driftpace"):
        read_state(path)


@pytest.mark.parametrize("text", ["[]", "{}", '{"format": "other"}', "3"])
def test_another_json_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "state.json"
    path.write_text(text)
    with pytest.raises(StateFileError, match="not a driftpace state"):
        read_state(path)


def test_permissions_and_links_are_kept(tmp_path: Path) -> None:
    path, link = tmp_path / "state.json", tmp_path / "link.json"
    write_state(path, BODY)
    path.chmod(0o640)
    link.symlink_to(path)
    write_state(link, {**BODY, "period": 9})
    assert link.is_symlink()
    assert read_state(path)["period"] == 9
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"save\(path=...\) must be in an existing folder; got .*nowhere"):
        write_state(tmp_path / "nowhere" / "state.json", BODY)


@pytest.mark.parametrize("body", ["NaN", "[" * 100_000 + "]" * 100_000], ids=["nan", "nested"])
def test_odd_json_is_refused(tmp_path: Path, body: str) -> None:
    path = tmp_path / "state.json"
    path.write_text(f'{{"format": "driftpace-state", "version": 1, "sha256": "", "body": {body}}}')
    with pytest.raises(StateFileError):
        read_state(path)


WRITER = """
import sys
from driftpace.storage import write_state
period = 0
while True:
    write_state(sys.argv[1], {"period": period, "rows": ["x" * 1000] * 200})
    period += 1
    print(period, flush=True)
"""


def test_a_kill_in_the_middle_of_a_save_leaves_a_whole_file(tmp_path: Path) -> None:
    """Killed at odd moments, the writer never leaves half a state, and nothing older than what it had said was saved."""
    path = tmp_path / "state.json"
    for trial in range(8):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            said = 0
            for _ in range(3 + 7 * trial):
                said = int(writer.stdout.readline())
            writer.kill()
            said = max([said, *(int(line) for line in writer.stdout if line.strip())])
        assert read_state(path)["period"] >= said - 1
