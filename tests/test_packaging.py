"""The container file and the systemd unit name commands and extras that there are, and run without privileges."""

import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from driftpace.backtest.compare import LIBRARIES
from driftpace.cli.app import COMMANDS

ROOT = Path(__file__).parents[1]
CONTAINER = (ROOT / "packaging" / "Containerfile").read_text()
UNIT = ROOT / "packaging" / "driftpace.service"


def test_the_container_runs_commands_and_extras_that_exist_as_a_plain_user() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (asked,) = re.findall(r"/src\[([^]]+)\]", CONTAINER)
    assert set(asked.split(",")) <= set(extras)
    run = [line.split()[1:] for line in CONTAINER.splitlines() if line.startswith(("RUN driftpace", "CMD"))]
    words = [word for line in run for word in re.findall(r"[a-z]+", " ".join(line))]
    assert {"warm", "serve"} <= set(words) & set(COMMANDS)
    user, command = CONTAINER.index("USER driftpace"), CONTAINER.index("CMD [")
    assert CONTAINER.index("RUN driftpace warm") > user
    assert command > user
    assert "/readyz" in CONTAINER


def test_all_brings_trees_for_the_comparison_that_the_readme_shows() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (every,) = extras["all"]
    assert "driftpace compare" in (ROOT / "README.md").read_text()
    assert set(re.findall(r"\w+", every)) & set(LIBRARIES) & set(extras)


def test_the_unit_starts_the_service_and_writes_only_its_own_folders() -> None:
    lines = dict(line.split("=", 1) for line in UNIT.read_text().splitlines() if "=" in line and line[0] != "#")
    assert shlex.split(lines["ExecStart"])[1:3] == ["driftpace", "serve"]
    assert (lines["DynamicUser"], lines["ProtectSystem"], lines["NoNewPrivileges"]) == ("yes", "strict", "yes")
    assert f"/var/lib/{lines['StateDirectory']}/" in lines["Environment"]
    assert f"/var/cache/{lines['CacheDirectory']}" in lines["Environment"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_accepts_the_unit() -> None:
    checked = subprocess.run(["systemd-analyze", "verify", str(UNIT)], capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked.stderr
