"""One HTML file that needs nothing from anywhere: style, figures and scripts are in it, and a browser may run nothing else."""

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from driftpace.errors import MissingExtraError


def document(*, title: str, body: Iterable[str], figures: Mapping[str, Any], owner: str, style: str = "") -> str:
    """Return the page: ``body`` is HTML, ``figures`` what plotly draws into the element of each key, ``style`` is added.

    The same arguments give the same bytes. ``owner`` is who says that plotly is missing.
    """
    here = files("driftpace.backtest.report")
    look = (here / "page.css").read_text(encoding="utf-8") + style
    scripts = [_plotly(owner), (here / "page.js").read_text(encoding="utf-8")]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title>\n<style>{look}</style></head>\n<body><main>"
        + "\n".join(body)
        + "</main>\n<noscript><p>The figures need JavaScript; their numbers are in the tables below each.</p></noscript>\n"
        + f'<script type="application/json" id="figures">{_inside_script(figures)}</script>\n'
        + "\n".join(f"<script>{script}</script>" for script in scripts)
        + "\n</body></html>\n"
    )


def _inside_script(figures: Mapping[str, Any]) -> str:
    """Return JSON that may stand inside a script element, whatever the names in it are."""
    text = json.dumps(figures, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _policy(scripts: Sequence[str]) -> str:
    """Say what a browser may do with the page: run exactly these scripts, fetch nothing."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{found}'" for found in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"


def _plotly(owner: str) -> str:
    try:
        from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]
    except ModuleNotFoundError as error:
        raise MissingExtraError(f'{owner} needs {error.name}: pip install "driftpace[report]".') from error
    return str(get_plotlyjs())
