"""The public list is explicit, documented, and cheap to import."""

import ast
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType

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


def test_importing_loads_nothing_heavy() -> None:
    heavy = (
        "numpy",
        "numba",
        "scipy",
        "narwhals",
        "pandas",
        "polars",
        "pyarrow",
        "matplotlib",
        "plotly",
        "rich",
        "typer",
    )
    code = f"import driftpace, sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_type_checkers_and_python_find_the_same_names() -> None:
    tree = ast.parse(Path(driftpace.__file__).read_text())
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    declared = {
        alias.name: node.module
        for node in ast.walk(checked)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(declared) == sorted([*driftpace.__all__, "datasets"])
    for name, home in declared.items():
        result = getattr(driftpace, name)
        if isinstance(result, ModuleType):
            assert result is import_module(f"driftpace.{name}")
        else:
            assert result is getattr(import_module(str(home)), name)


def test_packages_need_no_separate_import() -> None:
    code = "import driftpace; print(driftpace.datasets.load_psid7682, driftpace.synthetic, driftpace.backtest.replay)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "load_psid7682" in done.stdout


def test_the_package_lists_what_it_has() -> None:
    assert set(driftpace.__all__) <= set(dir(driftpace))
    assert [name for name in dir(driftpace) if not hasattr(driftpace, name)] == []


def test_a_name_that_is_not_there_is_refused() -> None:
    with pytest.raises(AttributeError, match=r"module 'driftpace' has no attribute 'nothing'"):
        getattr(driftpace, "nothing")  # noqa: B009 (mypy would refuse the plain spelling)


def test_the_version_is_declared_once_and_has_a_changelog_entry() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/driftpace/__init__.py"
    assert f"## {driftpace.__version__} " in (ROOT / "CHANGELOG.md").read_text()


def test_every_bound_is_in_the_catalogue() -> None:
    catalogue = (ROOT / "docs" / "bounds.md").read_text()
    assert [
        name
        for name in bounds.__all__
        if name[0].isupper() and name not in _NOT_BOUNDS and f"`{name}`" not in catalogue
    ] == []
