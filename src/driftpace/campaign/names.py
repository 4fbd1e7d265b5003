"""Words that people give a campaign, and that its log keeps: names of periods and deliveries, and reasons."""

from driftpace.errors import ParameterError


def check_key(owner: str, name: str, value: str | None) -> str | None:
    """Return a key, or refuse what is too long or empty to be one."""
    if value is None:
        return None
    text = check_text(owner, name, value, longest=200)
    if "\n" in text or "\t" in text:
        raise ParameterError(f"must be one line without tabs; got {text!r:.80}.", owner=owner, name=name)
    if not text:
        raise ParameterError("must be a name such as 2026-W46; got an empty one.", owner=owner, name=name)
    return text


def check_text(owner: str, name: str, value: object, *, longest: int = 2000) -> str:
    """Return a text that may go into the log, or refuse it."""
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
    """Return why somebody did something, or refuse to do it without."""
    text = check_text(owner, "reason", reason)
    if not text:
        raise ParameterError("must say why, for the log; got nothing.", owner=owner, name="reason")
    return text
