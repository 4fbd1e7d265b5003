"""A tracker as plain values and back: driftpace's own parts are written; a user's own are named, and asked for again."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from driftpace import validation
from driftpace.adaptive import AdaptiveConfig
from driftpace.errors import ParameterError, StateFileError
from driftpace.records import StepReport
from driftpace.selection import Candidate, Selection, Tally
from driftpace.storage import NotEncodableError
from driftpace.storage.codec import FORMAT, METHOD, check_numbers, decode, encode
from driftpace.tracker.branches import BranchedState, Branches
from driftpace.tracker.parts import check_method, check_part
from driftpace.tracker.state import Parts, Settings, State

PARTS = ("loss", "learner", "drift", "rule", "constants_estimator", "domain", "budget")


def to_body(settings: Settings | Branches, state: State | BranchedState, history: list[StepReport]) -> dict[str, Any]:
    """Return the plain form of a tracker with its history."""
    return {**now_to_body(settings, state), "history": [encode(report) for report in history]}


def now_to_body(settings: Settings | Branches, state: State | BranchedState) -> dict[str, Any]:
    """Return the plain form of a tracker without its history; of one with candidates, that of each and how one is chosen."""
    numbers = {"format": FORMAT, "method": METHOD}
    if isinstance(settings, Settings):
        assert isinstance(state, State)
        return {"numbers": numbers, **_one_to_plain(settings, state)}
    assert isinstance(state, BranchedState)
    selection = settings.selection
    return {
        "numbers": numbers,
        "branches": [_one_to_plain(*pair) for pair in zip(settings.settings, state.states, strict=True)],
        "selection": {
            "labels": list(selection.labels),
            "columns": [encode(one.columns) for one in selection.candidates],
            "folds": selection.folds,
            "choosing": selection.choosing,
            "memory": selection.memory,
            "loss": _part_to_plain("loss", settings.loss),
        },
        "among": {
            name: encode(getattr(state, name))
            for name in ("chosen", "features", "columns", "places", "groups", "tally")
        },
    }


def from_body(body: Any, own: dict[str, Any]) -> tuple[Settings | Branches, State | BranchedState, list[StepReport]]:
    """Return the tracker that a plain form stands for, with its history; ``own`` are the user's own parts, by name."""
    settings, state = now_from_body(body, own)
    with _shaped():
        reports = [decode(report) for report in body["history"]]
    if len(reports) != state.period - 1 or not all(isinstance(report, StepReport) for report in reports):
        raise StateFileError(f"the state has {len(reports)} reports and is in period {state.period}.")
    return settings, state, reports


def now_from_body(body: Any, own: dict[str, Any]) -> tuple[Settings | Branches, State | BranchedState]:
    """Return the tracker that a plain form stands for, without a history."""
    known = (*PARTS, "select")
    for name in own:
        if name not in known:
            raise ParameterError(f"must be one of {', '.join(known)}; got {name!r}.", owner="Tracker.load", name=name)
    check_numbers(body.get("numbers") if isinstance(body, dict) else None)
    given = _given(body, own)
    for one, parts in given:
        _refuse_missing_parts(one, parts)
    with _shaped():
        settings, state = (
            _branched(body, own, given) if isinstance(body, dict) and "branches" in body else _one_from_plain(*given[0])
        )
        _check(settings, state)
    return settings, state


@contextmanager
def _shaped() -> Iterator[None]:
    """Turn whatever a plain form of another shape runs into to one sentence."""
    try:
        yield
    except StateFileError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise StateFileError(f"the state does not have the shape this version reads: {error}") from error


def _given(body: Any, own: dict[str, Any]) -> list[tuple[Any, dict[str, Any]]]:
    """Return the plain form of each candidate, or of the tracker itself, with the parts of the user's own that it gets.

    Those of candidates come again as ``select``, in the same order. ``loss`` alone is the one that judges: a candidate's has a
    penalty of its own.
    """
    again = own.get("select")
    own = {name: part for name, part in own.items() if name != "select"}
    if not isinstance(body, dict) or "branches" not in body:
        if again is not None:
            raise ParameterError(
                "must be left out, for nothing was chosen among; got one.",
                owner="Tracker.load",
                name="select",
            )
        return [(body, own)]
    branches, selection = body["branches"], body.get("selection")
    labels = selection.get("labels") if isinstance(selection, dict) else None
    if not isinstance(branches, list) or not isinstance(labels, list) or len(labels) != len(branches):
        raise StateFileError("the state does not have the shape this version reads: a label for each candidate.")
    if again is not None and (not isinstance(again, Selection) or list(again.labels) != labels):
        raise ParameterError(
            f"must be the Selection of {', '.join(labels)}; got {again!r:.80}.",
            owner="Tracker.load",
            name="select",
        )
    found = []
    for index, one in enumerate(branches):
        if again is None:
            if any(name == "loss" and _is_own(plain) for name, plain in _named(one)):
                raise ParameterError(
                    f"must be given, for the loss of {labels[index]!r} could not be written; got nothing.",
                    owner="Tracker.load",
                    name="select",
                )
            found.append((one, {name: part for name, part in own.items() if name != "loss"}))
        else:
            parts = {name: getattr(again.candidates[index], name, None) for name in PARTS}
            found.append((one, own | {name: part for name, part in parts.items() if part is not None}))
    return [*found, ({"settings": {"loss": body["selection"].get("loss")}}, own)]


def _branched(
    body: Any, own: dict[str, Any], given: list[tuple[Any, dict[str, Any]]]
) -> tuple[Branches, BranchedState]:
    """Return a tracker with candidates."""
    plain = body["selection"]
    labels = tuple(plain["labels"])
    pairs = [_one_from_plain(*one) for one in given[:-1]]
    branches = tuple(settings for settings, _ in pairs)
    selection = Selection(
        candidates=tuple(
            Candidate(label=label, loss=settings.loss, columns=decode(columns))
            for label, settings, columns in zip(labels, branches, plain["columns"], strict=True)
        ),
        folds=plain["folds"],
        choosing=plain["choosing"],
        memory=plain["memory"],
    )
    state = BranchedState(
        states=tuple(state for _, state in pairs), **{name: decode(one) for name, one in body["among"].items()}
    )
    _check_together(state)
    loss = _part_from_plain("loss", plain["loss"], own)
    check_part("Tracker.load", "loss", loss)
    return Branches(settings=branches, selection=selection, loss=loss), state


def _check_together(state: BranchedState) -> None:
    """Refuse candidates that do not share their periods and rows, and a choice among others."""
    states, chosen, tally = state.states, state.chosen, state.tally
    periods = {one.period for one in states}
    if len(periods) != 1:
        raise StateFileError(f"the candidates of the state are in periods {sorted(periods)}.")
    if len({(one.order is None, tuple(len(part.y) for part in one.parts)) for one in states}) != 1:
        raise StateFileError("the candidates of the state have different rows.")
    if type(chosen) is not int or not 0 <= chosen < len(states):
        raise StateFileError(f"the state has {len(states)} candidates, and chose number {chosen!r}.")
    sizes = [None if whose is None else len(whose) for whose in state.groups]
    if len(sizes) != len(states[0].parts) or len(state.places) not in (0, len(states)):
        raise StateFileError("the candidates of the state do not fit the rows that came.")
    if any(size not in (None, len(part.y)) for size, part in zip(sizes, states[0].parts, strict=True)):
        raise StateFileError("the groups of the state do not fit the rows that came.")
    if tally is not None and (not isinstance(tally, Tally) or tally.squares.shape != (len(states), len(states))):
        raise StateFileError("the state remembers a comparison of other candidates.")


def _one_to_plain(settings: Settings, state: State) -> dict[str, Any]:
    return {
        "settings": {
            field.name: _part_to_plain(field.name, getattr(settings, field.name))
            for field in fields(settings)
            if field.name != "method"
        },
        "method": _method_to_plain(settings.method),
        "state": {
            field.name: _state_to_plain(field.name, getattr(state, field.name))
            for field in fields(state)
            if field.name != "looked"  # which follows from the rest
        },
    }


def _one_from_plain(body: Any, own: dict[str, Any]) -> tuple[Settings, State]:
    settings = Settings(
        method=_method_from_plain(body["method"], own),
        **{name: _part_from_plain(name, plain, own) for name, plain in body["settings"].items()},
    )
    return settings, State(**{name: decode(plain) for name, plain in body["state"].items()})


def _check(settings: Settings | Branches, state: State | BranchedState) -> None:
    """Refuse what no tracker wrote: parts that are none, a period before the first."""
    for one in (settings,) if isinstance(settings, Settings) else settings.settings:
        check_method("Tracker.load", one)
    validation.count("Tracker.load", least=1, period=state.period)


def _state_to_plain(name: str, value: Any) -> Any:
    try:
        return encode(value)
    except NotEncodableError as error:
        raise ParameterError(
            f"Tracker.save() must be able to write the state of {name}: numbers, words, arrays, tuples and dicts; but {error}."
        ) from None


def _method_to_plain(method: Parts | AdaptiveConfig) -> dict[str, Any]:
    """Return a method by its fields, since parts of the user's own can only be named."""
    plain = {field.name: _part_to_plain(field.name, getattr(method, field.name)) for field in fields(method)}
    return {"kind": "parts" if isinstance(method, Parts) else "pacing", "with": plain}


def _method_from_plain(plain: Any, own: dict[str, Any]) -> Parts | AdaptiveConfig:
    kind = {"parts": Parts, "pacing": AdaptiveConfig}[plain["kind"]]
    method: Parts | AdaptiveConfig = kind(
        **{name: _part_from_plain(name, value, own) for name, value in plain["with"].items()}
    )
    return method


def _part_to_plain(name: str, value: Any) -> Any:
    try:
        return encode(value)
    except NotEncodableError as error:
        if name not in PARTS:
            raise
        return {"!": "own", "because": str(error)}


def _part_from_plain(name: str, plain: Any, own: dict[str, Any]) -> Any:
    return own[name] if name in own else decode(plain)


def _refuse_missing_parts(body: Any, own: dict[str, Any]) -> None:
    """Refuse to go on without the parts of the user's own, which the file could only name."""
    for name, plain in _named(body):
        if name not in own and _is_own(plain):
            raise ParameterError(
                f"must be given, for the saved one could not be written ({plain.get('because')}); got nothing.",
                owner="Tracker.load",
                name=name,
            )


def _is_own(plain: Any) -> bool:
    return isinstance(plain, dict) and plain.get("!") == "own"


def _named(body: Any) -> Iterator[tuple[str, Any]]:
    """Yield the named values of a plain tracker, whatever is wrong with the rest of it."""
    settings = body.get("settings") if isinstance(body, dict) else None
    method = body.get("method") if isinstance(body, dict) else None
    inner = method.get("with") if isinstance(method, dict) else None
    for values in (settings, inner):
        if isinstance(values, dict):
            yield from values.items()
