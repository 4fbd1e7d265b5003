"""What the rows of the open period of a segment say of those of others."""

from dataclasses import dataclass, fields

import numpy as np

from driftpace.adaptive import AdaptiveState
from driftpace.adaptive.bank import Bank
from driftpace.adaptive.noise import NoiseSums
from driftpace.fleet.common_movement import LevelGap, level_gap
from driftpace.fleet.fleet_model import SegmentModel
from driftpace.fleet.looks import with_look
from driftpace.fleet.segments import FAULTS, Segment, SegmentWork
from driftpace.tracker.adaptive_method import AdaptiveMethod, AdaptiveMethodState
from driftpace.tracker.state import RowBatch

_SUMS = tuple(field.name for field in fields(NoiseSums))


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    """By how much the level is off, of a segment with a past; in a first period, the model that the rows alone show."""

    gap: LevelGap | None = None
    model: SegmentModel | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownRows:
    """What was observed of a segment, and the rows and the state that it was observed on."""

    batches: tuple[RowBatch, ...]
    adaptive: AdaptiveState | None
    observed: Observed

    @classmethod
    def of_segment(cls, segment: Segment, observed: Observed) -> "KnownRows":
        """Return what was observed of a segment as it is."""
        return cls(batches=segment.state.batches, adaptive=segment.state.adaptive, observed=observed)

    def of(self, segment: Segment) -> bool:
        """Whether the segment is still as it was."""
        return segment.state.batches is self.batches and segment.state.adaptive is self.adaptive


def observe(chunk: tuple[SegmentWork, ...]) -> tuple[Observed, ...]:
    """Return what the rows of each segment of a chunk say; nothing where they cannot be fitted."""
    methods, states = [work.method for work in chunk], [work.segment.state for work in chunk]
    first = [place for place, work in enumerate(chunk) if not work.segment.has_past]
    looked = with_look([methods[place] for place in first], [states[place] for place in first])
    for place, state in zip(first, looked, strict=True):
        states[place] = state
    return tuple(_observe(method, state) for method, state in zip(methods, states, strict=True))


def _observe(method: AdaptiveMethod, state: AdaptiveMethodState) -> Observed:
    if state.adaptive is None:
        return Observed()
    try:
        with np.errstate(all="ignore"):
            if not state.adaptive.banks:
                return Observed(model=_first_model(method, state))
            adaptive, rows = method.open_rows(state)
            noise = adaptive.memory.noise.estimate().mean
            return Observed(gap=level_gap(adaptive, rows, noise))
    except FAULTS:
        return Observed()


def _first_model(method: AdaptiveMethod, state: AdaptiveMethodState) -> SegmentModel | None:
    """Return the model of a first period, once its initial sample is there."""
    assert state.adaptive is not None
    if state.gathered < state.adaptive.pilot:
        return None
    look = method.look(state)
    fit = look.judged.fit
    if fit is None or not (np.isfinite(fit.model).all() and np.isfinite(fit.variances).all()):
        return None
    place = np.zeros(0) if look.adaptive.place is None else look.adaptive.place
    return SegmentModel(
        model=fit.model, place=place, factor=fit.coordinates.factor, variances=fit.variances, noise=fit.sums
    )


def known_model(segment: Segment) -> SegmentModel | None:
    """Return the model of a segment with a past, as its last period left it."""
    adaptive = segment.state.adaptive
    if adaptive is None or not adaptive.banks or adaptive.coordinates is None:
        return None
    estimate = adaptive.memory.noise
    sums = estimate.shares @ estimate.sums
    return SegmentModel(
        model=adaptive.model,
        place=np.zeros(0) if adaptive.place is None else adaptive.place,
        factor=adaptive.coordinates.factor,
        variances=np.array([_variance(bank) for bank in adaptive.banks]),
        noise=NoiseSums(**dict(zip(_SUMS, sums.tolist(), strict=True))),
    )


def _variance(bank: Bank) -> float:
    """Return how well the last model is known: by drift models without wobble, in which it is the place itself."""
    plain = bank.models.wobble == 0.0
    shares = bank.shares[plain]
    return float(shares @ bank.spread[plain] / shares.sum())
