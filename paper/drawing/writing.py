"""Findings as files: the page, every figure twice, the numbers behind each, and all of it for machines."""

import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from driftpace.errors import DataError
from paper.asked import Over, quietly
from paper.crew import spread
from paper.drawing.as_csv import to_csv
from paper.drawing.as_json import to_json
from paper.drawing.drawn import pictures
from paper.drawing.page import page
from paper.drawing.parts import figure_id
from paper.records import Figure, Finding

_KEY = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")


def write_findings(
    findings: Sequence[Finding], out: str | PathLike[str], *, workers: int | None = 1, over: Over = quietly
) -> dict[str, Path]:
    """Write findings into a folder, which is made where it is missing; return where the page, the figures and the data are.

    ::

        out/index.html                       "The paper and driftpace, side by side"
        out/figures/<experiment>-<key>.png   each figure as in the paper, and .svg
        out/data/<experiment>-<key>.csv      the numbers behind it
        out/findings.json                    everything

    The same findings give the same bytes. Nothing is written before everything could be drawn. The pictures need matplotlib
    and the page plotly (``pip install "driftpace[figures,report]"``); ``workers`` processes draw them (None: one for each core).
    """
    named = _named(findings)
    folder = Path(out)
    files = {
        folder / "findings.json": f"{to_json(findings)}\n".encode(),
        folder / "index.html": page(findings).encode(),
    }
    drawn = spread(pictures, [figure for _, figure in named], workers=workers)
    for (name, figure), found in zip(named, over(drawn, "pictures", len(named)), strict=True):
        files[folder / "data" / f"{name}.csv"] = to_csv(figure).encode()
        files |= {folder / "figures" / f"{name}.{ending}": content for ending, content in found.items()}
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return {
        "page": folder / "index.html",
        "figures": folder / "figures",
        "data": folder / "data",
        "findings": folder / "findings.json",
    }


def _named(findings: Sequence[Finding]) -> list[tuple[str, Figure]]:
    """Return every figure with the name of its files, or refuse names that are none or come twice."""
    if not findings:
        raise DataError("must be one finding or more; got none.", owner="write_findings", name="findings")
    found: list[tuple[str, Figure]] = []
    taken: set[str] = set()
    for finding in findings:
        for word in (finding.name, *(figure.key for figure in finding.figures)):
            if not _KEY.fullmatch(word):
                raise DataError(
                    f"and Figure(key=...) must be small letters and digits; got {word!r}.",
                    owner="Finding",
                    name="name",
                )
        for figure in finding.figures:
            name = figure_id(finding, figure)
            if name in taken:
                raise DataError(
                    f"must be of one figure of {finding.name!r} alone; got {figure.key!r} twice.",
                    owner="Figure",
                    name="key",
                )
            taken.add(name)
            found.append((name, figure))
    return found
