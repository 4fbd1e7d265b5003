"""A tracker as plain values and back: driftpace's own parts are written, a user's own parts are named and asked for again."""

from dataclasses import fields
from typing import Any

from driftpace.errors import ParameterError, StateFileError
from driftpace.records import StepReport
from driftpace.storage import NotPlainError, from_plain, to_plain
from driftpace.tracker.state import Settings, State

PARTS = ("loss", "learner", "drift", "rule", "evidence", "domain")


def to_body(settings: Settings, state: State, history: list[StepReport]) -> dict[str, Any]:
    """Return the plain form of a tracker."""
    return {
        "settings": {
            field.name: _part_to_plain(field.name, getattr(settings, field.name)) for field in fields(settings)
        },
        "state": to_plain(state),
        "history": [to_plain(report) for report in history],
    }


def from_body(body: Any, own: dict[str, Any]) -> tuple[Settings, State, list[StepReport]]:
    """Return the tracker that a plain form stands for; ``own`` are the user's own parts, by name."""
    for name in own:
        if name not in PARTS:
            raise ParameterError(f"Tracker.load({name}=...) must be one of {', '.join(PARTS)}; got {name!r}.")
    try:
        settings = {name: _part_from_plain(name, plain, own) for name, plain in body["settings"].items()}
        return Settings(**settings), from_plain(body["state"]), [from_plain(report) for report in body["history"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise StateFileError(f"the state does not have the shape this version reads: {error}.") from error


def _part_to_plain(name: str, value: Any) -> Any:
    try:
        return to_plain(value)
    except NotPlainError:
        if name not in PARTS:
            raise
        return {"!": "own", "is": f"{type(value).__module__}.{type(value).__qualname__}"}


def _part_from_plain(name: str, plain: Any, own: dict[str, Any]) -> Any:
    if name in own:
        return own[name]
    if isinstance(plain, dict) and plain.get("!") == "own":
        raise ParameterError(
            f"Tracker.load({name}=...) must be given, for the saved tracker had one of its own, {plain['is']}; got nothing."
        )
    return from_plain(plain)
