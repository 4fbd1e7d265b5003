"""The state of a campaign, rebuilt from its log, the checkpoint that stores it, and the comparison of two states.

The checkpoint leaves out the rows of the open period, which the store keeps with their entries: it holds only what the tracker
needs to continue. Two states are compared up to rounding: on one machine with one set of libraries a replay gives the same bits,
but elsewhere sums may be added in another order, so that their last digits differ.
"""

import hashlib
import json
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from driftpace.campaign.components import without_components
from driftpace.campaign.definition import Definition
from driftpace.campaign.records import CHECKPOINT_VERSION, DECISIONS, Decision, Order
from driftpace.errors import ParameterError, StateFileError
from driftpace.records import LabelSums, Request, StepReport
from driftpace.storage.codec import METHOD, SHAPE_ERRORS, decode, encode
from driftpace.storage.inflate import content_hash, deflate, inflate
from driftpace.tables.encoding import Encoding
from driftpace.tracker.codec import snapshot_from_body, snapshot_to_body, unsaved_parts
from driftpace.tracker.method import Method


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenPeriod:
    """The open period.

    ``request`` is the last answer of the tracker, ``received`` the rows received by then. ``deliveries`` are the numbers of the
    log entries whose rows count, ``draws`` of those that drew rows to label. ``names`` are earlier names of a campaign that
    was imported while the period was open: rows drawn under them belong to it. ``row_ids`` are the ids and annotators of the
    deliveries, which checkpoints leave out.
    """

    key: str | None
    request: Request
    received: int
    deliveries: tuple[int, ...] = ()
    draws: tuple[int, ...] = ()
    approved: Decision | None = None
    overridden: Decision | None = None
    names: tuple[str, ...] = ()
    row_ids: tuple[tuple[tuple[str, ...], tuple[str, ...] | None], ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CampaignState:
    """The state after log entry ``seq``; ``rows`` counts those of the closed periods, ``label_sums`` is what their labels show.

    ``encoding`` says how columns are encoded, where the first rows and not the definition have shown it. ``method_number`` is that
    of the version that computed the state. An ``archived`` campaign is not changed.
    """

    seq: int
    created_at: str
    definition: Definition
    method: Method
    state: Any
    opened: OpenPeriod | None = None
    last: StepReport | None = None
    last_key: str | None = None
    rows: int = 0
    encoding: Encoding | None = None
    label_sums: LabelSums | None = None
    method_number: int = METHOD
    archived: bool = False
    components: str | None = None

    @property
    def order(self) -> Order | None:
        """The open order; None between periods."""
        opened = self.opened
        if opened is None:
            return None
        received = self.state.gathered
        missing = opened.request.samples if opened.overridden is None else max(0, opened.overridden.samples - received)
        budget = self.method.budget
        return Order(
            campaign=self.definition.name,
            period=self.state.period,
            key=opened.key,
            samples=received + missing,
            received=received,
            missing=missing,
            closed=False,
            request=opened.request,
            approved=opened.approved,
            overridden=opened.overridden,
            cost=None if budget is None else budget.price(received + missing) - budget.price(received),
        )


def fingerprint(campaign: CampaignState) -> str:
    """Return the SHA-256 of the tracker's state, which two equal replays share."""
    return hashlib.sha256(_json(_tracker_body(campaign))).hexdigest()


def to_checkpoint(campaign: CampaignState) -> bytes:
    """Encode a state as the bytes that :func:`from_checkpoint` reads, or raise ParameterError if it could not read them."""
    return packed_checkpoint(campaign)[0]


def packed_checkpoint(campaign: CampaignState) -> tuple[bytes, str]:
    """Return a state as :func:`to_checkpoint` does, and the hash of its content for the log."""
    tracker = _tracker_body(campaign)
    tracker["numbers"]["method"] = campaign.method_number
    for name, why in unsaved_parts(tracker["method"]).items():  # such as a loss that is no longer registered
        raise ParameterError(f"must be a part that a store can save; {why}.", owner="Campaign", name=name)
    body = {
        "version": CHECKPOINT_VERSION,
        "created_at": campaign.created_at,
        "definition": campaign.definition.to_values(),
        "tracker": tracker,
        "opened": None if campaign.opened is None else _opened_to_plain(campaign.opened),
        "last": encode(campaign.last),
        "last_key": campaign.last_key,
        "rows": campaign.rows,
        "label_sums": encode(campaign.label_sums),
        "encoding": None if campaign.encoding is None else campaign.encoding.to_values(),
        **({"archived": True} if campaign.archived else {}),
        **({} if campaign.components is None else {"components": campaign.components}),
    }
    content = _json(body)
    return deflate(content), hashlib.sha256(content).hexdigest()


def checkpoint_hash(data: bytes) -> str:
    """Return the hash of the content of a checkpoint, or raise StateFileError where it is damaged."""
    try:
        return content_hash(data)
    except zlib.error as error:
        raise StateFileError(f"the checkpoint of the campaign cannot be read: {error}.") from None


def from_checkpoint(seq: int, data: bytes) -> CampaignState:
    """Decode a checkpoint; the rows of the open period, a base model and components have still to be added."""
    try:
        body = json.loads(inflate(data))
        version = body["version"]
        if version != CHECKPOINT_VERSION:
            raise StateFileError(
                f"the checkpoint has version {version!r} and this driftpace reads version {CHECKPOINT_VERSION}; upgrade driftpace."
            )
        method, state = snapshot_from_body(body["tracker"], {})
        opened = body["opened"]
        return CampaignState(
            seq=seq,
            created_at=body["created_at"],
            definition=Definition.of(body["definition"], saved=True),
            method=method,
            state=state,
            opened=None if opened is None else _opened_from_plain(opened),
            last=decode(body["last"]),
            last_key=body["last_key"],
            rows=body["rows"],
            encoding=None if body["encoding"] is None else Encoding.of(body["encoding"]),
            label_sums=decode(body["label_sums"]),
            method_number=body["tracker"]["numbers"]["method"],
            archived=body.get("archived", False),
            components=body.get("components"),
        )
    except (zlib.error, *SHAPE_ERRORS) as error:
        raise StateFileError(f"the checkpoint of the campaign cannot be read: {str(error).rstrip('.')}.") from None


def request_to_plain(request: Request) -> Any:
    """Encode a request as JSON values."""
    values = {name: encode(getattr(request, name)) for name in Request.__slots__}
    return {**values, "assumptions": [encode(check) for check in request.assumptions]}


def request_from_plain(plain: Any) -> Request:
    """Decode a request."""
    values = {name: decode(value) for name, value in plain.items() if name != "assumptions"}
    return Request(**values, assumptions=tuple(decode(check) for check in plain["assumptions"]))


def decision_to_plain(decision: Decision | None) -> dict[str, Any] | None:
    """Encode a decision as JSON values."""
    return None if decision is None else {name: getattr(decision, name) for name in Decision.__slots__}


def _opened_to_plain(opened: OpenPeriod) -> dict[str, Any]:
    return {
        "names": list(opened.names),
        "key": opened.key,
        "request": request_to_plain(opened.request),
        "seen": opened.received,
        "deliveries": list(opened.deliveries),
        "draws": list(opened.draws),
        "approved": decision_to_plain(opened.approved),
        "overridden": decision_to_plain(opened.overridden),
    }


def _opened_from_plain(plain: dict[str, Any]) -> OpenPeriod:
    approved, overridden = (None if plain[name] is None else Decision(**plain[name]) for name in DECISIONS)
    return OpenPeriod(
        key=plain["key"],
        request=request_from_plain(plain["request"]),
        received=plain["seen"],
        deliveries=tuple(plain["deliveries"]),
        draws=tuple(plain["draws"]),
        names=tuple(plain["names"]),
        approved=approved,
        overridden=overridden,
    )


def _json(body: Any) -> bytes:
    return json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


ROUNDING = 1e-6
"""Largest difference of two numbers, relative to the largest of their array."""

_NOT_COMPARED = ("order", "gain")
"""Decisions and advice that a last digit can change; the log has them as they were made."""


def arrays_agree(left: npt.ArrayLike, right: npt.ArrayLike) -> bool:
    """Return whether two arrays of numbers are equal up to rounding.

    >>> arrays_agree([1.0, 0.0], [1.0 + 1e-9, 1e-12]), arrays_agree([1.0], [1.1]), arrays_agree([1.0], [1.0, 2.0])
    (True, False, False)
    """
    a, b = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if a.shape != b.shape:
        return False
    largest = float(np.abs(b[np.isfinite(b)]).max(initial=0.0))
    return bool(np.allclose(a, b, rtol=ROUNDING, atol=ROUNDING * largest, equal_nan=True))


def states_agree(left: CampaignState, right: CampaignState) -> bool:
    """Return whether two states are equal, numbers up to rounding."""
    same = all(
        getattr(left, name) == getattr(right, name)
        for name in ("seq", "definition", "last_key", "rows", "encoding", "archived", "components")
    )
    return (
        same
        and _open_period_fields(left) == _open_period_fields(right)
        and values_agree(_tracker_body(left), _tracker_body(right))
    )


def _open_period_fields(campaign: CampaignState) -> tuple[Any, ...] | None:
    opened = campaign.opened
    if opened is None:
        return None
    return opened.key, opened.deliveries, opened.draws, opened.approved, opened.overridden


def _tracker_body(campaign: CampaignState) -> Any:
    """Return the tracker as JSON values, without what the store keeps beside the log."""
    state = campaign.state.without_rows()
    return snapshot_to_body(campaign.method, state if campaign.components is None else without_components(state))


def values_agree(left: Any, right: Any) -> bool:
    """Compare two encoded states: shapes, names and integers exactly, floats up to rounding, sentences not at all."""
    if isinstance(left, dict) and isinstance(right, dict):
        if left.get("!") == "array" == right.get("!"):
            return arrays_agree(decode(left), decode(right))
        names = left.keys() - set(_NOT_COMPARED)
        return names == right.keys() - set(_NOT_COMPARED) and all(
            values_agree(left[name], right[name]) for name in names
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(values_agree(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, float) and isinstance(right, float):
        return arrays_agree(left, right)
    return type(left) is type(right) and (isinstance(left, str) or left == right)
