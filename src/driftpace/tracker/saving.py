"""A tracker as plain values and back: driftpace's own parts are written; a user's own are named, and asked for again."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from driftpace import require
from driftpace.errors import ParameterError, StateFileError
from driftpace.pacing import Pacing
from driftpace.records import StepReport
from driftpace.storage import NotPlainError
from driftpace.tracker.exactly import from_plain, to_plain
from driftpace.tracker.parts import check_method
from driftpace.tracker.state import Parts, Settings, State

PARTS = ("loss", "learner", "drift", "rule", "evidence", "domain", "budget")


def to_body(settings: Settings, state: State, history: list[StepReport]) -> dict[str, Any]:
    """Return the plain form of a tracker."""
    return {
        "settings": {
            field.name: _part_to_plain(field.name, getattr(settings, field.name))
            for field in fields(settings)
            if field.name != "method"
        },
        "method": _method_to_plain(settings.method),
        "state": {field.name: _state_to_plain(field.name, getattr(state, field.name)) for field in fields(state)},
        "history": [to_plain(report) for report in history],
    }


def from_body(body: Any, own: dict[str, Any]) -> tuple[Settings, State, list[StepReport]]:
    """Return the tracker that a plain form stands for; ``own`` are the user's own parts, by name."""
    for name in own:
        if name not in PARTS:
            raise ParameterError(f"Tracker.load({name}=...) must be one of {', '.join(PARTS)}; got {name!r}.")
    _refuse_missing_parts(body, own)
    try:
        settings = Settings(
            method=_method_from_plain(body["method"], own),
            **{name: _part_from_plain(name, plain, own) for name, plain in body["settings"].items()},
        )
        state = State(**{name: from_plain(plain) for name, plain in body["state"].items()})
        reports = [from_plain(report) for report in body["history"]]
        _check(settings, state, reports)
    except StateFileError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise StateFileError(f"the state does not have the shape this version reads: {error}") from error
    return settings, state, reports


def _check(settings: Settings, state: State, reports: list[StepReport]) -> None:
    """Refuse what no tracker wrote: parts that are none, periods that do not match the reports."""
    check_method("Tracker.load", settings)
    require.count("Tracker.load", least=1, period=state.period)
    if len(reports) != state.period - 1 or not all(isinstance(report, StepReport) for report in reports):
        raise StateFileError(f"the state has {len(reports)} reports and is in period {state.period}.")


def _state_to_plain(name: str, value: Any) -> Any:
    try:
        return to_plain(value)
    except NotPlainError as error:
        raise ParameterError(
            f"Tracker.save() must be able to write the state of {name}: numbers, words, arrays, tuples and dicts; but {error}."
        ) from None


def _method_to_plain(method: Parts | Pacing) -> dict[str, Any]:
    """Return a method by its fields, since parts of the user's own can only be named."""
    plain = {field.name: _part_to_plain(field.name, getattr(method, field.name)) for field in fields(method)}
    return {"kind": "parts" if isinstance(method, Parts) else "pacing", "with": plain}


def _method_from_plain(plain: Any, own: dict[str, Any]) -> Parts | Pacing:
    kind = {"parts": Parts, "pacing": Pacing}[plain["kind"]]
    method: Parts | Pacing = kind(**{name: _part_from_plain(name, value, own) for name, value in plain["with"].items()})
    return method


def _part_to_plain(name: str, value: Any) -> Any:
    try:
        return to_plain(value)
    except NotPlainError as error:
        if name not in PARTS:
            raise
        return {"!": "own", "because": str(error)}


def _part_from_plain(name: str, plain: Any, own: dict[str, Any]) -> Any:
    return own[name] if name in own else from_plain(plain)


def _refuse_missing_parts(body: Any, own: dict[str, Any]) -> None:
    """Refuse to go on without the parts of the user's own, which the file could only name."""
    for name, plain in _named(body):
        if name not in own and isinstance(plain, dict) and plain.get("!") == "own":
            raise ParameterError(
                f"Tracker.load({name}=...) must be given, for the saved one could not be written ({plain.get('because')}); "
                "got nothing."
            )


def _named(body: Any) -> Iterator[tuple[str, Any]]:
    """Yield the named values of a plain tracker, whatever is wrong with the rest of it."""
    settings = body.get("settings") if isinstance(body, dict) else None
    method = body.get("method") if isinstance(body, dict) else None
    inner = method.get("with") if isinstance(method, dict) else None
    for values in (settings, inner):
        if isinstance(values, dict):
            yield from values.items()
