"""A request that is not what its description says: the first thing wrong with it, in one sentence."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from driftpace.service.bodies import AMOUNT_PATTERN, CURRENCY_PATTERN, NAME_PATTERN, PRICE_PATTERN
from driftpace.tables.limits import clip

_WHOLE, _NUMBER, _TEXT = "a whole number", "a number", "a text"
_KINDS = {
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_parsing_size": _WHOLE,
    "int_from_float": _WHOLE,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": "a finite number",
    "string_type": _TEXT,
    "string_unicode": "a text of whole characters",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
_BOUNDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "greater_than": lambda ctx: f"above {ctx['gt']:g}",
    "greater_than_equal": lambda ctx: f"at least {ctx['ge']:,}",
    "less_than": lambda ctx: f"below {ctx['lt']:g}",
    "less_than_equal": lambda ctx: f"at most {ctx['le']:,}",
}
_LENGTHS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "string_too_short": lambda ctx: f"at least {_counted(ctx['min_length'], 'character')} long",
    "string_too_long": lambda ctx: f"at most {_counted(ctx['max_length'], 'character')} long",
    "too_short": lambda ctx: f"a list of at least {ctx['min_length']:,}",
    "too_long": lambda ctx: f"a list of at most {ctx['max_length']:,}",
    "literal_error": lambda ctx: str(ctx["expected"]),
}
_PATTERNS = {
    NAME_PATTERN: "up to 100 letters, digits, dots, dashes and underscores, a letter or digit first",
    AMOUNT_PATTERN: "an amount, such as 12.50",
    PRICE_PATTERN: "a price, such as 0.25",
    CURRENCY_PATTERN: "three capital letters, such as EUR",
}
_UNIONS = ("constrained-", "list[", "function-")


def of_validation(errors: Sequence[Mapping[str, Any]]) -> tuple[int, str, str]:
    """Return status, code and sentence for a request that is not what its description says.

    >>> wrong = {"type": "int_type", "loc": ("body", "samples"), "msg": "Input should be a valid integer", "input": "1"}
    >>> of_validation([wrong])
    (422, 'invalid', "body(samples=...) must be a whole number; got '1'.")
    """
    if not errors:
        return 422, "invalid", "the request must be as its description says; it is not."
    first = errors[0]
    if first.get("type") == "json_invalid":
        return 400, "malformed", "the body of the request must be JSON; it is not."
    place = [str(one) for one in first.get("loc", ())]
    if len(place) > 1 and place[-1].startswith(_UNIONS):  # one of several kinds that a value may be of
        place.pop()
        several = [one for one in errors if [str(part) for part in one.get("loc", ())][: len(place)] == place]
        first = next((one for one in several if not str(one.get("type")).endswith("_type")), first)
        if str(first.get("type")).endswith("_type"):
            kinds = dict.fromkeys(_KINDS.get(str(one.get("type")), "") for one in several)
            first = {**first, "type": "", "msg": " or ".join(kind for kind in kinds if kind not in ("", _WHOLE))}
    owner = place[0] if place else "request"
    name = ".".join(place[1:])[:120]
    called = f"{owner}({name}=...)" if name else f"the {owner}"
    return 422, "invalid", f"{called} must be {_must(first)}; {_got(first)}."


def _must(error: Mapping[str, Any]) -> str:
    kind, ctx = str(error.get("type", "")), error.get("ctx") or {}
    if kind == "missing":
        return "given"
    if kind == "extra_forbidden":
        return "left out: there is no such name here"
    if kind == "string_pattern_mismatch":
        return _PATTERNS.get(str(ctx.get("pattern")), "text without control characters")
    if kind in _KINDS:
        return _KINDS[kind]
    try:
        for words in (_BOUNDS, _LENGTHS):
            if kind in words:
                return words[kind](ctx)
    except (KeyError, TypeError, ValueError):
        pass  # a framework that says it otherwise; its own words then
    said = str(error.get("msg", "")).removeprefix("Value error, ").removeprefix("Input should be ").rstrip(".")
    return f"{said[:1].lower()}{said[1:300]}" if said else "as its description says"


def _got(error: Mapping[str, Any]) -> str:
    kind, value = error.get("type"), error.get("input")
    if kind == "missing":
        return "got nothing"
    if kind in ("string_too_long", "string_too_short") and isinstance(value, str):
        return f"got {_counted(len(value), 'character')}"
    if value is None or isinstance(value, bool):
        return f"got {'null' if value is None else str(value).lower()}"
    if isinstance(value, str):
        return f"got {clip(value)!r}" if value.isascii() or value.isprintable() else "it is not"
    if isinstance(value, float) or (isinstance(value, int) and value.bit_length() < 200):
        return f"got {value!r}"
    if isinstance(value, int):
        return "got a larger number"
    if isinstance(value, list):
        return f"got a list of {len(value):,}"
    return "got an object" if isinstance(value, dict) else "it is not"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
