"""A tracker as JSON values and back: driftpace's own parts are written; a user's own are named, and asked for again."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

from driftpace import validation
from driftpace.errors import ParameterError, StateFileError
from driftpace.records import StepReport
from driftpace.selection import Candidate, Selection, Tally
from driftpace.storage import NotEncodableError
from driftpace.storage.codec import (
    FORMAT,
    METHOD,
    SHAPE_ERRORS,
    check_numbers,
    class_of,
    decode,
    encode,
    is_saved,
    tag_of,
)
from driftpace.tracker.budget_method import BudgetMethod, BudgetState
from driftpace.tracker.builder import check_method, model_method
from driftpace.tracker.candidates_method import CandidatesMethod, CandidatesState
from driftpace.tracker.composed_checks import check_part
from driftpace.tracker.head_method import HeadMethod
from driftpace.tracker.head_state import HeadState
from driftpace.tracker.method import Method, ModelMethod
from driftpace.tracker.state import MethodState, ModelSpec

PARTS = ("loss", "learner", "drift", "rule", "constants_estimator", "domain", "budget")
"""What a user may have written; where it cannot be encoded it is named, and given again on loading."""

_CONFIGS = (ModelSpec, ModelMethod, BudgetMethod, CandidatesMethod, HeadMethod)
_STATES = (MethodState, BudgetState, CandidatesState, HeadState)


def to_body(method: Method, state: Any, history: list[StepReport]) -> dict[str, Any]:
    """Return a tracker with its history as JSON values."""
    return {**snapshot_to_body(method, state), "history": [encode(report) for report in history]}


def snapshot_to_body(method: Method, state: Any) -> dict[str, Any]:
    """Return a tracker without its history as JSON values, with the numbers of their format and of the method."""
    return {
        "numbers": {"format": FORMAT, "method": METHOD},
        "method": _encode_config(method),
        "state": encode_state(state),
    }


def unsaved_parts(body: Any) -> dict[str, str]:
    """Return the parts of an encoded tracker that could not be written, by name, and why."""
    if isinstance(body, list):
        return {name: why for item in body for name, why in unsaved_parts(item).items()}
    parts: dict[str, str] = {}
    for name, value in body.items() if isinstance(body, dict) else ():
        parts.update({name: str(value.get("because"))} if _is_own(value) else unsaved_parts(value))
    return parts


def from_body(body: Any, own: dict[str, Any]) -> tuple[Method, Any, list[StepReport]]:
    """Return the tracker that was encoded, with its history; ``own`` are the user's own parts, by name."""
    method, state = snapshot_from_body(body, own)
    with _shaped():
        reports = [decode(report) for report in body["history"]]
    if len(reports) != state.period - 1 or not all(isinstance(report, StepReport) for report in reports):
        raise StateFileError(f"the state has {len(reports)} reports and is in period {state.period}.")
    return method, state, reports


def snapshot_from_body(body: Any, own: dict[str, Any]) -> tuple[Method, Any]:
    """Return the tracker that was encoded, without a history."""
    known = (*PARTS, "select")
    for name in own:
        if name not in known:
            raise ParameterError(f"must be one of {', '.join(known)}; got {name!r}.", owner="Tracker.load", name=name)
    check_numbers(body.get("numbers") if isinstance(body, dict) else None)
    with _shaped():
        encoded = body["method"]
        candidates = class_of(encoded["type"]) is CandidatesMethod
        if not candidates and own.get("select") is not None:
            raise _PartError("must be left out, since there are no candidates; got one.", name="select")
        method = _decode_candidates(encoded["fields"], own) if candidates else _decode_config(encoded, own)
        state = decode(body["state"])
        if "budget" in own:
            method, state = _with_budget(method, state, own["budget"])
        _check(method, state)
    return method, state


class _PartError(ParameterError):
    """A part of the user's own that is missing or does not belong to the saved tracker."""


@contextmanager
def _shaped() -> Iterator[None]:
    """Turn whatever JSON values of another shape run into to one sentence; a refused part stays what it is."""
    try:
        yield
    except _PartError as error:
        raise ParameterError(error.problem, owner="Tracker.load", name=error.name) from None
    except StateFileError:
        raise
    except SHAPE_ERRORS as error:
        raise StateFileError(f"the state does not have the shape this version reads: {error}") from error


def _encode_config(value: Any) -> dict[str, Any]:
    """Return a method by its fields, since parts of the user's own can only be named."""
    held: dict[str, Any] = {}
    for field in fields(value):
        part = getattr(value, field.name)
        if isinstance(part, _CONFIGS):
            held[field.name] = _encode_config(part)
        elif field.name == "methods":
            held[field.name] = [_encode_config(one) for one in part]
        elif isinstance(part, Selection):
            held[field.name] = {
                "labels": list(part.labels),
                "columns": [encode(one.columns) for one in part.candidates],
                "folds": part.folds,
                "choosing": part.choosing,
                "memory": part.memory,
            }
        else:
            held[field.name] = _encode_part(field.name, part)
    return {"!": "record", "type": tag_of(type(value)), "fields": held}


def _encode_part(name: str, value: Any) -> Any:
    try:
        return encode(value)
    except NotEncodableError as error:
        if name not in PARTS:
            raise
        return {"!": "own", "because": str(error)}


def decode_state(body: Any) -> Any:
    """Return the state of a method that was encoded."""
    return decode(body)


def encode_state(state: Any) -> dict[str, Any]:
    """Return the state of a method as JSON values."""
    held: dict[str, Any] = {}
    for field in fields(state):
        if not is_saved(field):
            continue
        value = getattr(state, field.name)
        if isinstance(value, _STATES):
            held[field.name] = encode_state(value)
        elif field.name == "states":
            held[field.name] = {"!": "tuple", "items": [encode_state(one) for one in value]}
        else:
            held[field.name] = _encode_field(field.name, value)
    return {"!": "record", "type": tag_of(type(state)), "fields": held}


def _encode_field(name: str, value: Any) -> Any:
    try:
        return encode(value)
    except NotEncodableError as error:
        raise ParameterError(
            f"Tracker.save() must be able to write the state of {name}: numbers, strings, arrays, tuples and dicts; but {error}."
        ) from None


def _decode_config(encoded: Any, own: dict[str, Any]) -> Any:
    """Return a method or its model; ParameterError names a part of the user's own that is not given again."""
    kind = class_of(encoded["type"])
    if not issubclass(kind, _CONFIGS):
        raise StateFileError(f"the state holds a {encoded['type']!r} where a method is expected.")
    held = {}
    for name, part in encoded["fields"].items():
        nested = (
            name not in own
            and isinstance(part, dict)
            and part.get("!") == "record"
            and issubclass(class_of(part["type"]), _CONFIGS)
        )
        held[name] = _decode_config(part, own) if nested else _decode_part(name, part, own)
    return kind(**held)


def _decode_part(name: str, encoded: Any, own: dict[str, Any]) -> Any:
    if name in own:
        return own[name]
    if _is_own(encoded):
        raise _PartError(
            f"must be given, since the saved one could not be written ({encoded.get('because')}); got nothing.",
            name=name,
        )
    return decode(encoded)


def _decode_candidates(encoded: Any, own: dict[str, Any]) -> CandidatesMethod:
    """Return a method with candidates.

    Their parts are given again as ``select``, in the same order. ``loss`` alone is the one that compares them: that of a
    candidate has another penalty.
    """
    again = own.get("select")
    own = {name: part for name, part in own.items() if name != "select"}
    plain, labels = encoded["selection"], tuple(encoded["selection"]["labels"])
    if len(labels) != len(encoded["methods"]):
        raise StateFileError("the state does not have the shape this version reads: a label for each candidate.")
    if again is not None and (not isinstance(again, Selection) or again.labels != labels):
        raise _PartError(
            f"must be the Selection of {', '.join(labels)}; got {again!r:.80}.",
            name="select",
        )
    methods = []
    for index, one in enumerate(encoded["methods"]):
        if again is None:
            if _is_own(_loss_of(one)):
                raise _PartError(
                    f"must be given, since the loss of {labels[index]!r} could not be written; got nothing.",
                    name="select",
                )
            parts = {name: part for name, part in own.items() if name != "loss"}
        else:
            theirs = {name: getattr(again.candidates[index], name, None) for name in PARTS}
            parts = own | {name: part for name, part in theirs.items() if part is not None}
        methods.append(_decode_config(one, parts))
    loss = _decode_part("loss", encoded["loss"], own)
    check_part("Tracker.load", "loss", loss)
    selection = Selection(
        candidates=tuple(
            Candidate(label=label, loss=method.spec.loss, columns=decode(columns))
            for label, method, columns in zip(labels, methods, plain["columns"], strict=True)
        ),
        folds=plain["folds"],
        choosing=plain["choosing"],
        memory=plain["memory"],
    )
    return CandidatesMethod(
        methods=tuple(methods), selection=selection, loss=loss, features=decode(encoded["features"])
    )


def _loss_of(encoded: Any) -> Any:
    """Return the loss of an encoded method, whatever is around it."""
    held = encoded["fields"]
    return _loss_of(held["inner"]) if "inner" in held else held["spec"]["fields"]["loss"]


def _is_own(encoded: Any) -> bool:
    return isinstance(encoded, dict) and encoded.get("!") == "own"


def _with_budget(method: Any, state: Any, budget: Any) -> tuple[Any, Any]:
    """Return a tracker with a budget that it did not have, or without the one that it had; the open order stays."""
    if isinstance(method, CandidatesMethod):
        pairs = [_with_budget(*pair, budget) for pair in zip(method.methods, state.states, strict=True)]
        changed = replace(method, methods=tuple(one for one, _ in pairs))
        return changed, replace(state, states=tuple(now for _, now in pairs))
    if isinstance(method, BudgetMethod):
        return (replace(method.inner, budgeted=False), state.inner) if budget is None else (method, state)
    if budget is None:
        return method, state
    return BudgetMethod(inner=replace(method, budgeted=True), budget=budget), BudgetState(inner=state)


def _check(method: Any, state: Any) -> None:
    """Refuse what no tracker wrote: parts without their methods, a state of another method, a period before the first."""
    check_method("Tracker.load", method)
    _check_kind(method, state)
    if isinstance(method, CandidatesMethod):
        _check_together(state)
    validation.count("Tracker.load", least=1, period=state.period)


def _check_kind(method: Any, state: Any) -> None:
    if isinstance(method, HeadMethod) and isinstance(state, HeadState):
        _check_kind(method.inner, state.inner)
        return
    if isinstance(method, CandidatesMethod):
        if isinstance(state, CandidatesState) and len(state.states) == len(method.methods):
            for pair in zip(method.methods, state.states, strict=True):
                _check_kind(*pair)
            return
    elif isinstance(method, BudgetMethod) == isinstance(state, BudgetState):
        inner = state.inner if isinstance(state, BudgetState) else state
        if type(inner) is model_method(method).state_type:
            for name in ("groups", "weights"):
                given = ((getattr(batch, name), batch.y) for batch in inner.batches)
                if any(values is not None and len(values) != len(y) for values, y in given):
                    raise StateFileError(f"the {name} of the state do not fit the rows delivered.")
            return
    raise StateFileError(f"the state is a {type(state).__name__}, and its method a {type(method).__name__}.")


def _check_together(state: CandidatesState) -> None:
    """Refuse candidates that do not share their periods and rows, and a choice among others."""
    states, chosen, tally = state.states, state.chosen, state.tally
    periods = {one.period for one in states}
    if len(periods) != 1:
        raise StateFileError(f"the candidates of the state are in periods {sorted(periods)}.")
    if len({(one.order is None, tuple(len(batch.y) for batch in one.batches)) for one in states}) != 1:
        raise StateFileError("the candidates of the state have different rows.")
    if type(chosen) is not int or not 0 <= chosen < len(states):
        raise StateFileError(f"the state has {len(states)} candidates, and chose number {chosen!r}.")
    if len(state.places) not in (0, len(states)):
        raise StateFileError("the candidates of the state do not fit the rows delivered.")
    if tally is not None and (not isinstance(tally, Tally) or tally.squares.shape != (len(states), len(states))):
        raise StateFileError("the state remembers a comparison of other candidates.")
