"""Every test that the threat page names exists."""

import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "threats.md"


def test_what_the_page_names_is_there() -> None:
    named = re.findall(r"`(test_\w+\.py)(?:::(\w+))?`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 20
    for file, name in named:
        assert (HERE / file).is_file(), file
        assert not name or f"def {name}(" in (HERE / file).read_text(encoding="utf-8"), name
