"""Findings as JSON and back: everything in them, in a fixed order, with null for what is not a finite number."""

import json
import math
from collections.abc import Sequence
from dataclasses import fields
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

SCHEMA = 1
_KIND = "driftpace.findings"
_RECORDS = (Claim, Comparison, Figure, Finding, Measured, OpenConstant, Sensitivity, Series)


def to_json(findings: Sequence[Finding]) -> str:
    """Return the findings as text; reading it back with :func:`from_json` gives the same numbers, and NaN for null."""
    body = {"schema": SCHEMA, "kind": _KIND, "findings": [_plain(finding) for finding in findings]}
    return json.dumps(body, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def from_json(text: str) -> tuple[Finding, ...]:
    """Return the findings that :func:`to_json` wrote, or refuse text that it did not write."""
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
            f"must be what to_json wrote; {error!r} was in the way.",
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
