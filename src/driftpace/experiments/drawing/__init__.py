"""Findings as pictures, as a page and as files."""

from driftpace.experiments.drawing.as_json import from_json, to_json
from driftpace.experiments.drawing.page import page
from driftpace.experiments.drawing.writing import write_findings

__all__ = ["from_json", "page", "to_json", "write_findings"]
