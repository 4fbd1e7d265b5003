"""What a tracker of a model without a head knows, also as JSON values."""

from dataclasses import dataclass, field
from typing import Any, Self

from driftpace.models import ModelAdapter, ScoredRows, adapter_of_artefact, artefact_of
from driftpace.models.learning_curve import CurveAudit, MeasuredCurve
from driftpace.records import StepReport
from driftpace.storage.codec import decode, encode
from driftpace.tracker.model_rows import (
    Probe,
    UnknownCategories,
    part_from_values,
    part_to_values,
    probe_from_values,
    probe_to_values,
)

_PLAIN = ("period", "ordered", "pool", "look", "looked", "curves", "audit", "reports", "unknown")
_ROWS = ("rows", "open_rows")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RefitState:
    """What a tracker of a model without a head knows.

    ``model`` is in use; ``rows`` are the labelled rows that are kept, ``open_rows`` those of the open period. ``ordered`` are the
    rows that the open period is to have in all; None before it was asked for. ``look`` is the curve that the first ``looked`` of
    them show.
    """

    model: ModelAdapter
    period: int = 1
    rows: tuple[ScoredRows, ...] = ()
    open_rows: tuple[ScoredRows, ...] = ()
    ordered: int | None = None
    pool: int | None = None
    look: MeasuredCurve | None = None
    looked: int = 0
    curves: tuple[MeasuredCurve, ...] = ()
    audit: CurveAudit = field(default_factory=CurveAudit)
    reports: tuple[StepReport, ...] = ()
    probe: Probe | None = None
    unknown: UnknownCategories | None = None

    @property
    def gathered(self) -> int:
        """The number of rows in the open period."""
        return sum(len(part) for part in self.open_rows)

    def to_values(self) -> dict[str, Any]:
        """Return the state as JSON values that :meth:`of_values` reads."""
        rows = {name: [part_to_values(part) for part in getattr(self, name)] for name in _ROWS}
        held = {"model": artefact_of(self.model), "probe": probe_to_values(self.probe)}
        return {**held, **rows, **{name: encode(getattr(self, name)) for name in _PLAIN}}

    @classmethod
    def of_values(cls, values: Any, model: Any) -> Self:
        """Return the state of such values, with the model where only its weights were saved."""
        held: dict[str, Any] = {name: tuple(part_from_values(part) for part in values[name]) for name in _ROWS}
        held |= {name: decode(values[name]) for name in _PLAIN}
        held["probe"] = probe_from_values(values["probe"])
        return cls(model=adapter_of_artefact(values["model"], model=model), **held)
