"""A fleet as JSON values and back, exact to the bit."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any

from driftpace.errors import StateFileError
from driftpace.fleet.borrowing import Borrowing, parts_of
from driftpace.fleet.budget import BudgetShare, FleetBudget
from driftpace.fleet.common_movement import CommonMovement
from driftpace.fleet.lent import Lent
from driftpace.fleet.magnitudes import Magnitudes
from driftpace.fleet.rows import FleetColumns
from driftpace.fleet.segments import Segment
from driftpace.records import StepReport
from driftpace.storage.codec import SHAPE_ERRORS, decode, encode
from driftpace.tables import Encoding
from driftpace.tracker.adaptive_method import AdaptiveMethod, AdaptiveMethodState
from driftpace.tracker.codec import decode_state, encode_state, snapshot_from_body, snapshot_to_body
from driftpace.tracker.late import LateWindow


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FleetState:
    """All that a fleet remembers."""

    method: AdaptiveMethod
    columns: FleetColumns
    epsilons: Mapping[str, float]
    encoding: Encoding | None
    segments: Mapping[str, Segment]
    period: int
    keys: tuple[str, ...]
    borrowing: Borrowing
    budget: FleetBudget | None = None
    spent: Decimal = Decimal(0)
    share: BudgetShare | None = None


def to_body(state: FleetState) -> dict[str, Any]:
    """Return a fleet as JSON values."""
    return {**header_to_body(state), "segments": segments_to_body(state.segments)}


def segments_to_body(segments: Mapping[str, Segment]) -> dict[str, Any]:
    """Return segments as JSON values."""
    return {name: _segment_to_body(segment) for name, segment in segments.items()}


def segments_from_body(body: Mapping[str, Any]) -> dict[str, Segment]:
    """Return the segments that were encoded."""
    try:
        return {name: _segment_from_body(one) for name, one in body.items()}
    except StateFileError:
        raise
    except SHAPE_ERRORS as error:
        raise StateFileError(f"the state does not have the shape this version reads: {error}") from error


def header_to_body(state: FleetState) -> dict[str, Any]:
    """Return all of a fleet but its segments as JSON values."""
    return {
        "kind": "fleet",
        "method": snapshot_to_body(state.method, state.method.begin()),
        "columns": {field.name: encode(getattr(state.columns, field.name)) for field in fields(FleetColumns)},
        "epsilons": dict(state.epsilons),
        "encoding": None if state.encoding is None else state.encoding.to_values(),
        "period": state.period,
        "keys": list(state.keys),
        "budget": None if state.budget is None else [encode(one) for one in (state.budget, state.spent, state.share)],
        "borrow": list(state.borrowing.parts),
        "movement": encode(state.borrowing.movement),
    }


def from_body(body: Any, own: dict[str, Any]) -> FleetState:
    """Return the fleet that was encoded, with a loss of the user's own."""
    if not isinstance(body, dict) or body.get("kind") != "fleet":
        raise StateFileError("the state is not that of a fleet; Tracker.load reads trackers.")
    method, _ = snapshot_from_body(body.get("method"), own)
    if not isinstance(method, AdaptiveMethod):
        raise StateFileError(f"the state holds a {type(method).__name__} where the method of a fleet is expected.")
    try:
        return FleetState(
            method=method,
            columns=FleetColumns(**{name: decode(value) for name, value in body["columns"].items()}),
            epsilons={name: float(value) for name, value in body["epsilons"].items()},
            encoding=None if body["encoding"] is None else Encoding.of(body["encoding"]),
            segments=segments_from_body(body["segments"]),
            period=int(body["period"]),
            keys=tuple(body["keys"]),
            **_budget_of(body["budget"]),
            borrowing=Borrowing(parts=parts_of(body["borrow"]), movement=_movement(body["movement"])),
        )
    except StateFileError:
        raise
    except SHAPE_ERRORS as error:
        raise StateFileError(f"the state does not have the shape this version reads: {error}") from error


def _budget_of(values: Any) -> dict[str, Any]:
    if values is None:
        return {}
    budget, spent, share = (decode(value) for value in values)
    return {"budget": budget, "spent": spent, "share": share}


def _segment_to_body(segment: Segment) -> dict[str, Any]:
    return {
        "first": segment.first,
        "state": encode_state(segment.state),
        "reports": [encode(report) for report in segment.reports],
        "late": None if segment.late is None else segment.late.to_body(),
        "problems": [[period, why] for period, why in segment.problems.items()],
        "lent": encode(segment.lent),
        "odds": encode(segment.odds),
        "freed": list(segment.freed),
        "seen": encode(segment.seen),
    }


def _movement(body: Any) -> CommonMovement:
    movement = decode(body)
    if not isinstance(movement, CommonMovement):
        raise StateFileError("the common movement does not have the shape this version reads.")
    return movement


def _segment_from_body(body: Mapping[str, Any]) -> Segment:
    state = decode_state(body["state"])
    reports = tuple(decode(report) for report in body["reports"])
    if not isinstance(state, AdaptiveMethodState) or not all(isinstance(report, StepReport) for report in reports):
        raise StateFileError("the state of a segment does not have the shape this version reads.")
    lent = decode(body["lent"])
    if not isinstance(lent, Lent):
        raise StateFileError("what a segment is lent does not have the shape this version reads.")
    seen = decode(body.get("seen"))
    if not (seen is None or isinstance(seen, Magnitudes)):
        raise StateFileError("what is known of the numbers of a segment does not have the shape this version reads.")
    if len(reports) != state.period - 1:
        raise StateFileError(f"a segment has {len(reports)} reports and is in period {state.period}.")
    return Segment(
        first=int(body["first"]),
        state=state,
        reports=reports,
        late=None if body["late"] is None else LateWindow.from_body(body["late"]),
        problems={int(period): str(why) for period, why in body["problems"]},
        lent=lent,
        odds=float(decode(body["odds"])),
        freed=tuple(int(period) for period in body["freed"]),
        seen=seen,
    )
