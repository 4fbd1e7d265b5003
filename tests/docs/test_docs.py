"""The documentation names only what exists, and its notebooks store their outputs."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")])
NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
_PATH = re.compile(
    r"`((?:src|tests|docs|scripts|benchmarks|paper|examples)/[\w./-]+|[\w-]+/[\w./-]+\.(?:py|md|sh|toml))`"
)
_MODULE = re.compile(r"`(driftpace(?:\.(?!db|toml)\w+)+)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_path_in_the_documentation_exists(page: Path) -> None:
    homes = (ROOT, ROOT / "src" / "driftpace", page.parent)
    named = _PATH.findall(page.read_text())
    assert [name for name in named if not any((home / name).exists() for home in homes)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_dotted_name_in_the_documentation_exists(page: Path) -> None:
    assert [name for name in _MODULE.findall(page.read_text()) if not _resolves(name)] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_stores_its_outputs(path: Path) -> None:
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 3
    assert all(cell["execution_count"] for cell in cells)
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert any("image/png" in output.get("data", {}) for output in outputs)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_runs(path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    if "shared/data" in path.read_text() and not (ROOT.parent / "shared" / "data").exists():
        pytest.skip("the table of this notebook is not part of driftpace")
    NotebookClient(notebook, timeout=600, kernel_name="python3").execute()


def _resolves(name: str) -> bool:
    from importlib import import_module

    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            item = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            if not hasattr(item, part):
                return part in getattr(item, "__annotations__", {})
            item = getattr(item, part)
        return True
    return False
