"""Pages of the documentation that walk through something: their commands, with what each prints."""

import doctest
import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
_CHECKER, _FLAGS = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def steps(page: str) -> list[tuple[str, str]]:
    """Return the commands of a page, each with what it prints; ``label ...`` where somebody labels rows."""
    results: list[tuple[str, str]] = []
    text = (DOCS / page).read_text(encoding="utf-8")
    for block in re.finditer(r"```console\n(.*?)```|<!-- (label \S+) -->", text, re.DOTALL):
        if block[2]:
            results.append((block[2], ""))
            continue
        for part in re.split(r"^\$ ", block[1], flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            results.append((command, printed))
    return results


def check(command: str, printed: str, wanted: str) -> None:
    """Refuse what is not what the page says, ... standing for anything."""
    stated = f"$ {command}\n{printed}\nand the page says\n{wanted}"
    assert _CHECKER.check_output(wanted.strip() + "\n", printed.strip() + "\n", _FLAGS), stated
