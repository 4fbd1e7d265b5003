"""Findings as pictures, as a page and as files."""

from paper.drawing.as_json import from_json, to_json
from paper.drawing.page import page
from paper.drawing.writing import write_findings

__all__ = ["from_json", "page", "to_json", "write_findings"]
