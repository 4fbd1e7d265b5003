"""Findings as pictures, as a page and as files."""

from paper.report.files import from_json, to_json, write_findings
from paper.report.page import page

__all__ = ["from_json", "page", "to_json", "write_findings"]
