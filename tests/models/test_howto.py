"""The code of the how-to page that needs CatBoost or torch, run where they are installed; the rest is run as doctests."""

import importlib.util
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "any-model.md"
BLOCKS = [block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if ">>>" not in block]


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS, ids=["torch", "catboost and onnx"])
def test_the_code_of_the_page_runs(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("catboost", "onnxruntime", "safetensors", "torch"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed; make adapters runs this")
    monkeypatch.chdir(tmp_path)
    exec(compile(block, str(PAGE), "exec"), {})
