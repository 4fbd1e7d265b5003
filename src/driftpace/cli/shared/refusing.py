"""What the parser of the command line refuses, said as everything else here is refused: what must be, and what came."""

import re
from typing import Any

_MUST_BE = {
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number of fewer digits",
    "int_from_float": "a whole number",
    "float_parsing": "a number",
    "greater_than_equal": "at least {ge:,}",
    "less_than_equal": "at most {le:,}",
}
LONGEST = 60
"""Letters of what came that are shown."""


def parsed(error: Any) -> str:
    """Return one sentence for what typer raised.

    What it says of a value that is none names the library that found out, and not what came; the rest it says well.
    """
    if getattr(error, "param", None) is not None and hasattr(error.__cause__, "errors"):
        found = error.__cause__.errors()[0]
        name = error.param.get_error_hint().strip("'")
        return _must_be(name, found["type"], found["input"], found.get("ctx", {})) or _ended(error.format_message())
    below = re.fullmatch(r"-[\d.]+", getattr(error, "option_name", None) or "")
    if below is not None:
        return f"a number must not be below 0 here; got {below[0]}."
    return _ended(error.format_message())


def _must_be(name: str, kind: str, came: object, context: dict[str, Any]) -> str | None:
    """Return the sentence for one kind of value; None for a kind not known here.

    >>> _must_be("--port", "less_than_equal", "99999", {"le": 65535})
    '--port must be at most 65,535; got 99999.'
    >>> _must_be("--format", "value_error", "xml", {"error": ValueError("'xml' is not one of 'table', 'json'.")})
    "--format must be table or json; got 'xml'."
    """
    shown = str(came)
    number = re.fullmatch(r"-?\d+(\.\d+)?", shown) is not None
    got = f"{shown[:LONGEST]}{'...' if len(shown) > LONGEST else ''}"
    got = got if number else repr(got)
    if kind in _MUST_BE:
        return f"{name} must be {_MUST_BE[kind].format(**context)}; got {got}."
    _, mark, listed = str(context.get("error", "")).partition(" is not one of ")
    if kind == "value_error" and mark:
        *words, last = (one.strip(" '.") for one in listed.split(","))
        return f"{name} must be {', '.join(words)}{' or ' if words else ''}{last}; got {got}."
    return None


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "?")) else f"{sentence}."
