"""Findings written to files: CSV, JSON, figures and the page."""

import csv
import io
import json
import math
import re
from collections.abc import Sequence
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from driftpace.errors import DataError
from paper.records import (
    Claim,
    Comparison,
    Figure,
    Finding,
    Measured,
    OpenConstant,
    Sensitivity,
    Series,
)
from paper.report.page import figure_id, page
from paper.report.static import pictures
from paper.runs import Over, no_progress, parallel_map

COLUMNS = ("series", "role", "x", "y", "low", "high")


def to_csv(figure: Figure) -> str:
    """Return the figure as text; nothing where nothing was measured.

    >>> from paper.records import Series
    >>> series = Series(label="K_n", role="paper", x=[1.0, 2.0], y=[50.0, math.nan])
    >>> print(to_csv(Figure(key="k", title="", caption="", alt="", x_label="", y_label="", series=(series,))))
    series,role,x,y,low,high
    K_n,paper,1,50,,
    K_n,paper,2,,,
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for series in figure.series:
        nothing = [math.nan] * series.x.size
        low, high = (nothing if each is None else each.tolist() for each in (series.low, series.high))
        for row in zip(series.x.tolist(), series.y.tolist(), low, high, strict=True):
            writer.writerow([series.label, series.role, *(_cell(value) for value in row)])
    return text.getvalue()


def _cell(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.10g}"


SCHEMA = 1
_KIND = "driftpace.findings"
_RECORDS = (Claim, Comparison, Figure, Finding, Measured, OpenConstant, Sensitivity, Series)


def to_json(findings: Sequence[Finding]) -> str:
    """Return the findings as text; reading it back with :func:`from_json` gives the same numbers, and NaN for null."""
    body = {"schema": SCHEMA, "kind": _KIND, "findings": [_plain(finding) for finding in findings]}
    return json.dumps(body, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def from_json(text: str) -> tuple[Finding, ...]:
    """Return the findings that :func:`to_json` wrote, or reject any other text."""
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    if not isinstance(body, dict) or body.get("kind") != _KIND:
        raise DataError(f"must be what to_json wrote; got {text[:40]!r}.", owner="from_json", name="text")
    if body.get("schema") != SCHEMA:
        raise DataError(f"must have schema {SCHEMA}; got {body.get('schema')!r}.", owner="from_json", name="text")
    try:
        return tuple(_finding(one) for one in body["findings"])
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"must be what to_json wrote; reading it raised {error!r}.",
            owner="from_json",
            name="text",
        ) from None


def _plain(value: Any) -> Any:
    """Return numbers, text, lists and mappings only."""
    if isinstance(value, _RECORDS):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def _finding(body: dict[str, Any]) -> Finding:
    return Finding(
        **body
        | {
            "figures": tuple(_figure(one) for one in body["figures"]),
            "comparisons": tuple(_comparison(one) for one in body["comparisons"]),
            "constants": tuple(OpenConstant(**one) for one in body["constants"]),
            "sensitivity": tuple(_sensitivity(one) for one in body["sensitivity"]),
            "claims": tuple(Claim(**one) for one in body["claims"]),
            "notes": tuple(body["notes"]),
        }
    )


def _figure(body: dict[str, Any]) -> Figure:
    return Figure(**body | {"series": tuple(_series(one) for one in body["series"])})


def _series(body: dict[str, Any]) -> Series:
    arrays = {
        name: None if body[name] is None else np.array(body[name], dtype=np.float64)  # None inside becomes NaN
        for name in ("x", "y", "low", "high")
    }
    return Series(**body | arrays)


def _comparison(body: dict[str, Any]) -> Comparison:
    return Comparison(**body | {name: _measured(body[name]) for name in ("as_in_paper", "practical")})


def _measured(body: dict[str, Any] | None) -> Measured | None:
    if body is None:
        return None
    return Measured(**body | {"value": math.nan if body["value"] is None else body["value"]})


def _sensitivity(body: dict[str, Any]) -> Sensitivity:
    return Sensitivity(**body | {"columns": tuple(body["columns"]), "rows": tuple(tuple(row) for row in body["rows"])})


_KEY = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")


def write_findings(
    findings: Sequence[Finding], out: str | PathLike[str], *, workers: int | None = 1, over: Over = no_progress
) -> dict[str, Path]:
    """Write findings to a directory, created if missing; return the paths of the page, the figures and the data.

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
    drawn = parallel_map(pictures, [figure for _, figure in named], workers=workers)
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
    """Return every figure with the name of its files, or reject invalid and repeated names."""
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
