"""Every test that docs/threats.md names exists."""

import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "threats.md"


def test_every_test_named_in_threats_exists() -> None:
    named = re.findall(r"`((?:\w+/)*test_\w+\.py)(?:::(\w+))?`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 20
    for file, name in named:
        path = (HERE.parents[1] if file.startswith("tests/") else HERE) / file
        assert path.is_file(), file
        assert not name or f"def {name}(" in path.read_text(encoding="utf-8"), name
