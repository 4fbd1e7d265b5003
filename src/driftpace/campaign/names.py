"""Validation of keys, reasons and other short texts that the log keeps."""

from driftpace.errors import ParameterError


def check_key(owner: str, name: str, value: str | None) -> str | None:
    """Return a key of a period or delivery, or raise ParameterError."""
    if value is None:
        return None
    text = check_text(owner, name, value, longest=200)
    if "\n" in text or "\t" in text:
        raise ParameterError(f"must be one line without tabs; got {text!r:.80}.", owner=owner, name=name)
    if not text:
        raise ParameterError("must be a name such as 2026-W46; got an empty text.", owner=owner, name=name)
    return text


def check_text(owner: str, name: str, value: object, *, longest: int = 2000) -> str:
    """Return a text for the log, stripped, or raise ParameterError."""
    if not isinstance(value, str):
        raise ParameterError(f"must be a text; got {value!r:.80}.", owner=owner, name=name)
    text = value.strip()
    if len(text) > longest or any(ord(sign) < 32 and sign not in "\n\t" for sign in text):
        raise ParameterError(
            f"must be at most {longest} characters without control characters; got {len(text)}.",
            owner=owner,
            name=name,
        )
    return text


def check_reason(owner: str, reason: object) -> str:
    """Return the reason of a decision, or raise ParameterError where it is empty."""
    text = check_text(owner, "reason", reason)
    if not text:
        raise ParameterError("must give a reason for the log; got an empty text.", owner=owner, name="reason")
    return text
