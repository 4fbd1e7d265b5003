"""Every class that a state or a log can hold has a stable tag, and may move without breaking what was saved."""

import dataclasses
import importlib
import inspect
import json
import pkgutil
import sys
import types
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from driftpace import SquaredLoss, Tracker
from driftpace.errors import StateFileError
from driftpace.records import Estimate
from driftpace.storage import codec
from driftpace.storage.codec import NotEncodableError, decode, encode, tag_of
from tests.storage.golden import cases

SAVED = (
    "losses",
    "constraints",
    "learners",
    "drift",
    "constants",
    "rules",
    "adaptive",
    "wide",
    "records",
    "selection",
    "tracker",
)
"""Packages whose records may be part of a tracker, a report or an event."""

NOT_SAVED = {
    "ModelState", "RefitState", "Kind",  # saved by parts, with the model as an artefact
    # abstract, or saved field by field as part of its owner
    "Curve", "LinearLoss", "LogLinkLoss", "VectorLoss", "LossSpec", "Candidate", "Selection", "Request", "MethodState",
    "ComposedConfig",
    "KeptPeriod", "LateWindow",
    "OpenPool", "FrameLayout", "RowReader",
    # intermediate results of one call
    "Design", "Held", "Fit", "PeriodData", "Sizing", "SgdConfig", "Combined", "KnownSizes", "RuleContext", "RuleDecision",
    "Prediction", "AdaptiveFit", "Posterior", "Supply", "RowsNeeded", "PredictedBound", "PeriodJudgement", "Criterion",
    "PeriodLook", "MetricLook", "OpenPeriod", "RowCounts", "Mixture", "Measured", "Decision", "InUse", "RowsInUse", "Walks",
    "HeldOutBound", "Spending", "NoiseEstimate", "PeriodSupply", "Folds", "DesignRows", "InputRows", "EncodedInput",
    "AnnotatorBias", "AnnotatorReport", "WideLook", "WidePeriod", "WideRows", "WideFit", "BandPosterior", "WideJudgement",
    "WideRowsNeeded", "PowerLaws", "Quadratic", "PeriodRows",
    # events: a campaign saves them as rows, pools and kinds of entries
    "AskEvent", "TellEvent", "CloseEvent", "ForgetEvent",
}  # fmt: skip


def classes() -> Iterator[type]:
    """Yield the public records and enumerations of the packages above."""
    for package in SAVED:
        top = importlib.import_module(f"driftpace.{package}")
        names = [top.__name__, *(found.name for found in pkgutil.walk_packages(top.__path__, f"{top.__name__}."))]
        for module in map(importlib.import_module, names):
            for kind in vars(module).values():
                if not inspect.isclass(kind) or kind.__module__ != module.__name__ or kind.__name__.startswith("_"):
                    continue
                if dataclasses.is_dataclass(kind) or issubclass(kind, Enum):
                    yield kind


def test_every_record_has_a_tag_or_a_reason_to_have_none() -> None:
    tagged = {codec._class_at(place) for place in codec.TYPES.values()}
    assert [kind for kind in classes() if kind not in tagged and kind.__name__ not in NOT_SAVED] == []


def parts_of(hint: Any) -> Iterator[type]:
    """Yield the classes that a type hint names, however deep."""
    if inspect.isclass(hint) and not get_args(hint):
        yield hint
    for inner in get_args(hint):
        yield from parts_of(inner)


def test_what_a_saved_record_holds_is_saved_too() -> None:
    """Found by the hints of its fields: a record inside a record needs a tag as well."""
    tagged = {codec._class_at(place) for place in codec.TYPES.values()}
    inside = {
        "ComposedConfig",
        "AdaptiveConfig",
        "MethodState",
        "Selection",
        "PeriodLook",
        "Measured",
        "Decision",
        "LinearLoss",
        "VectorLoss",
    }  # see tracker/codec.py
    for kind in (kind for kind in tagged if dataclasses.is_dataclass(kind)):
        hints = get_type_hints(kind)
        for field in dataclasses.fields(kind):
            for part in parts_of(hints[field.name]) if codec.is_saved(field) else ():
                record = dataclasses.is_dataclass(part) or issubclass(part, Enum)
                assert not record or part in tagged or part.__name__ in inside, (kind, field.name)


def test_a_tag_names_one_class_that_exists() -> None:
    assert len(set(codec.TYPES.values())) == len(codec.TYPES)
    for tag, place in codec.TYPES.items():
        assert tag_of(codec._class_at(place)) == tag
        assert place.startswith("driftpace.")


def test_a_class_without_a_tag_is_not_written() -> None:
    @dataclasses.dataclass(frozen=True)
    class Estimate:  # named like one that has a tag
        value: float

    with pytest.raises(NotEncodableError, match="no tag"):
        encode(Estimate(1.0))


def test_a_moved_class_is_read_from_an_old_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tag stays while the class is defined, under another name, in another module."""
    old = json.dumps(encode(Estimate.given(0.5)))
    moved = types.ModuleType("driftpace.moved")
    moved.Guess = type("Guess", (Estimate,), {"__slots__": ()})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "driftpace.moved", moved)
    monkeypatch.setitem(codec.TYPES, "estimate", "driftpace.moved:Guess")
    value = decode(json.loads(old))
    assert type(value).__name__ == "Guess"
    assert value.value == 0.5
    assert encode(value) == json.loads(old)


def test_a_saved_tracker_is_read_after_its_classes_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = types.ModuleType("driftpace.moved")
    moved.SquaredLoss = SquaredLoss  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "driftpace.moved", moved)
    monkeypatch.setitem(codec.TYPES, "loss.squared", "driftpace.moved:SquaredLoss")
    assert Tracker.load(cases.path_of("adaptive")).period == 3


def test_no_file_names_a_module(tmp_path: Path) -> None:
    tracker = cases.begin("budget")
    cases.follow(tracker, range(1, 3))
    tracker.ask()
    tracker.save(tmp_path / "state")
    body = json.loads((tmp_path / "state").read_text())["body"]
    assert "driftpace." not in json.dumps(body)


@pytest.mark.parametrize("name", ["format", "method"])
@pytest.mark.parametrize("number", [max(codec.FORMAT, codec.METHOD) + 1, 0, None, "1", True])
def test_a_state_of_a_newer_format_or_method_is_refused(tmp_path: Path, name: str, number: object) -> None:
    from driftpace.storage import read_state, write_state

    body = read_state(cases.path_of("adaptive"))
    body["numbers"][name] = number
    write_state(tmp_path / "state", body)
    with pytest.raises(StateFileError, match=f"{name} number .* upgrade driftpace"):
        Tracker.load(tmp_path / "state")
