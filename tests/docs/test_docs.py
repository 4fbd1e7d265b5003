"""The documentation names only what exists, and its notebooks store what they print."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")])
SITE = sorted((ROOT / "docs").rglob("*.md"))
NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
_PATH = re.compile(
    r"`((?:src|tests|docs|scripts|benchmarks|paper|examples)/[\w./-]+|[\w-]+/[\w./-]+\.(?:py|md|sh|toml))`"
)
_LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)\s#]+)")
_LIBRARIES = re.compile(r'^ +"import (lightgbm|torch|xgboost)', re.MULTILINE)
_NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d*)?(?:e[+-]?\d+)?")
_MODULE = re.compile(r"`(driftpace(?:\.(?!db|toml)\w+)+)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_path_in_the_documentation_exists(page: Path) -> None:
    homes = (ROOT, ROOT / "src" / "driftpace", page.parent)
    named = _PATH.findall(page.read_text())
    assert [name for name in named if not any((home / name).exists() for home in homes)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_dotted_name_in_the_documentation_exists(page: Path) -> None:
    assert [name for name in _MODULE.findall(page.read_text()) if not _resolves(name)] == []


@pytest.mark.parametrize("page", SITE, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_the_site_lead_to_its_pages(page: Path) -> None:
    for target in _LINK.findall(page.read_text()):
        place = (page.parent / target).resolve()
        generated = place.parent == ROOT / "docs" / "reference"
        assert place.is_relative_to(ROOT / "docs"), target
        assert generated or place.exists(), target


def test_files_are_included_as_the_site_wants_it() -> None:
    """Formatters of Python in Markdown rewrite the line of an include, which is then shown as it is."""
    lines = [line for page in SITE for line in page.read_text().splitlines() if re.match(r"-+ ?8", line)]
    assert len(lines) >= 3
    for line in lines:
        found = re.fullmatch(r'--8<-- "([\w/.-]+)"', line)
        assert found is not None, line
        assert (ROOT / found[1]).is_file(), line


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_stores_its_outputs(path: Path) -> None:
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 3
    assert all(cell["execution_count"] for cell in cells)
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert any("image/png" in output.get("data", {}) for output in outputs)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_prints_what_it_stores(path: Path) -> None:
    """Words are the same, and numbers within a tenth or 0.02: libraries round differently on other machines."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    if "shared/data" in path.read_text() and not (ROOT.parent / "shared" / "data").exists():
        pytest.skip("the table of this notebook is not part of driftpace")
    for library in _LIBRARIES.findall(path.read_text()):
        pytest.importorskip(library)
    stored = [_printed(cell.get("outputs", ())) for cell in notebook.cells]
    NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    executed = [_printed(cell.get("outputs", ())) for cell in notebook.cells]
    assert [pair for pair in zip(stored, executed, strict=True) if not _alike(*pair)] == []


def test_outputs_that_differ_are_told_from_those_that_were_rounded() -> None:
    stored = "due: 0 times\n3,375 labels, log loss 0.483"
    assert _alike(stored, "due: 0 times\n3,400 labels,  log loss 0.49")
    assert not _alike(stored, stored.replace("0 times", "1 times"))
    assert not _alike(stored, stored.replace("3,375", "2,098"))
    assert not _alike(stored, stored.replace("0.483", "0.583"))
    assert not _alike(stored, stored.replace("labels", "rows"))
    assert not _alike(stored, stored + " 1")
    shown = [
        {"output_type": "stream", "text": "one "},
        {"output_type": "display_data", "data": {"image/png": "", "text/plain": "<Figure>"}},
        {"output_type": "execute_result", "data": {"text/plain": "two"}},
    ]
    assert _printed(shown) == "one two"


def _printed(outputs: Iterable[Any]) -> str:
    """Return the text of a cell, without that of pictures."""
    shown = [output.get("data", {"text/plain": output.get("text", "")}) for output in outputs]
    return "".join("".join(data["text/plain"]) for data in shown if "image/png" not in data)


def _alike(stored: str, executed: str) -> bool:
    words = [" ".join(_NUMBER.sub("#", text).split()) for text in (stored, executed)]
    numbers = [[float(found.replace(",", "")) for found in _NUMBER.findall(text)] for text in (stored, executed)]
    return words[0] == words[1] and numbers[1] == pytest.approx(numbers[0], rel=0.1, abs=0.02)


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
