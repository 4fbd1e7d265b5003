"""The public list is explicit, documented, and cheap to import."""

import subprocess
import sys
from pathlib import Path

import pytest

import driftpace
from driftpace import bounds

_NOT_BOUNDS = ("DistanceBound", "Factors", "FormulaBound", "Nature", "RiskBound")  # what bounds are made of
ROOT = Path(__file__).parent.parent


def test_the_public_list_is_sorted_and_whole() -> None:
    assert list(driftpace.__all__) == sorted(driftpace.__all__, key=lambda name: (name[0].islower(), name))
    for name in driftpace.__all__:
        assert getattr(driftpace, name) is not None


@pytest.mark.parametrize("name", driftpace.__all__)
def test_every_public_name_is_described(name: str) -> None:
    described = getattr(driftpace, name).__doc__
    assert described
    assert len(described.splitlines()[0]) > 20


def test_every_public_name_appears_in_the_documentation() -> None:
    text = "".join(path.read_text() for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
    missing = [name for name in driftpace.__all__ if f"{name}" not in text]
    assert not missing


def test_importing_does_not_load_the_compiler_or_frames() -> None:
    heavy = ("numba", "scipy", "pandas", "polars", "pyarrow", "matplotlib")
    code = f"import driftpace, sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_version_is_one() -> None:
    declared = next(line for line in (ROOT / "pyproject.toml").read_text().splitlines() if line.startswith("version"))
    assert driftpace.__version__ in declared


def test_every_bound_is_in_the_catalogue() -> None:
    catalogue = (ROOT / "docs" / "bounds.md").read_text()
    assert [
        name
        for name in bounds.__all__
        if name[0].isupper() and name not in _NOT_BOUNDS and f"`{name}`" not in catalogue
    ] == []
