"""What a number of rows that a person chose promises: the risk that the tracker foretells for a whole period of so many."""

import math

import numpy as np

from driftpace.adaptive import AdaptiveConfig, outlook_from_here, variances_after
from driftpace.rules.decision import risk_at
from driftpace.tracker.branches import BranchedState, Branches
from driftpace.tracker.outlooks import proven_distance
from driftpace.tracker.practical import finite, in_pilot, look
from driftpace.tracker.state import Settings, State
from driftpace.tracker.terms import terms_of


def override_risk(settings: Settings | Branches, state: State | BranchedState, samples: int) -> float | None:
    """Return the risk foretold for a period of ``samples`` rows in all; None where too little is known to foretell any.

    It is computed as the promise of an order is, so that a person who chooses the tracker's own number is promised what the
    tracker promises. Rows that came count even where fewer are wanted. Of several candidates it is the largest.
    """
    if isinstance(settings, Settings):
        assert isinstance(state, State)
        return _foretold(settings, state, samples)
    assert isinstance(state, BranchedState)
    risks = [_foretold(own, now, samples) for own, now in zip(settings.settings, state.states, strict=True)]
    return None if None in risks else max(one for one in risks if one is not None)


def _foretold(settings: Settings, state: State, samples: int) -> float | None:
    rows = max(samples, state.gathered)
    with np.errstate(all="ignore"):
        if isinstance(settings.method, AdaptiveConfig):
            risk = _practical(settings, settings.method, state, rows)
        else:
            risk = _of_parts(settings, state, rows)
    return risk if math.isfinite(risk) else None


def _of_parts(settings: Settings, state: State, rows: int) -> float:
    terms = terms_of(settings, state)
    if terms.bound is None:
        return math.inf
    training = rows - int(settings.drift.held_out * rows)
    return risk_at(terms.bound, proven_distance(settings, state, terms), training)


def _practical(settings: Settings, pacing: AdaptiveConfig, state: State, rows: int) -> float:
    """Return what the rows that are still to come leave of the risk, with those that came in sight; with a budget, as plans do."""
    pace, came = state.pace, state.gathered
    if pace is None or in_pilot(pace, rows) or (not pace.banks and in_pilot(pace, came)):
        return math.inf  # a model passes through so few rows, and looks certain
    seen = look(settings, pacing, state)
    judged, sizes = seen.judged, seen.pace.sizes
    if not finite(judged):
        return math.inf
    if settings.budget is None:
        after = variances_after(sizes, judged.variances, judged.noise_upper, rows - came)
        return pacing.criterion(judged).risk(sizes, after)
    outlook, there = outlook_from_here(pacing, seen.pace, seen.rows, judged)
    return outlook.bound(outlook.start, rows - there)
