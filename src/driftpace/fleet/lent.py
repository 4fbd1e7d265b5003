"""What a segment is lent by the others for its open period, as data that change the state of its method."""

from dataclasses import dataclass, replace

import numpy as np

from driftpace.adaptive import AdaptiveState
from driftpace.adaptive.bank import Bank, with_prior
from driftpace.adaptive.expected import ExpectedModel
from driftpace.tracker.adaptive_method import AdaptiveMethodState
from driftpace.typing import FloatArray

LEAST_SEGMENTS = 5
"""Fewer others say nothing of a segment."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Lent:
    """What the other segments say of one.

    ``priors`` are the log weights of drift models of each block, and ``expected_jumps`` the prior numbers of jumps; empty where
    they are the default. All levels moved by ``shift`` since the last period, known with ``shift_variance``, in scores. A first
    model is expected near ``start``, the intercept first, as ``expected`` says.
    """

    priors: tuple[FloatArray, ...] = ()
    expected_jumps: tuple[float, ...] = ()
    shift: float = 0.0
    shift_variance: float = 0.0
    start: FloatArray | None = None
    expected: ExpectedModel | None = None


NOTHING = Lent()


def with_lent(state: AdaptiveMethodState, lent: Lent) -> AdaptiveMethodState:
    """Return the state of a method with what is lent; applied to the state at the start of a period, once."""
    adaptive = state.adaptive
    if adaptive is None or lent is NOTHING:
        return state
    if not adaptive.banks:
        if lent.start is None or lent.expected is None:
            return state
        coef = np.roll(lent.start, -1) if adaptive.intercept else lent.start
        return replace(state, coef=coef, adaptive=replace(adaptive, model=lent.start, expected=lent.expected))
    banks = adaptive.banks
    if len(lent.priors) == len(banks):
        banks = tuple(
            with_prior(bank, prior, jumps)
            for bank, prior, jumps in zip(banks, lent.priors, lent.expected_jumps, strict=True)
        )
    adaptive = replace(adaptive, banks=banks)
    if lent.shift or lent.shift_variance:
        adaptive = _shifted(adaptive, lent.shift, lent.shift_variance)
    return replace(state, adaptive=adaptive)


def _shifted(state: AdaptiveState, shift: float, variance: float) -> AdaptiveState:
    """Return the state with its level moved, in scores."""
    assert state.coordinates is not None
    unit = float(state.coordinates.factor[0, 0])
    level: Bank = state.banks[0]
    place = level.place.copy()
    place[:, 0] += unit * shift
    level = replace(level, place=place, spread=level.spread + unit * unit * variance)
    model = state.model.copy()
    model[0] += shift
    return replace(state, banks=(level, *state.banks[1:]), model=model)
