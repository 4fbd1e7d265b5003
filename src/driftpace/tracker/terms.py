"""What a rule is told of the period at hand."""

import math
from dataclasses import replace

from driftpace.bounds import RiskBound
from driftpace.errors import UnknownConstantError
from driftpace.records import Constants, Estimate
from driftpace.rules import RuleContext
from driftpace.tracker.state import Settings, State


def terms_of(settings: Settings, state: State) -> RuleContext:
    """Return the terms of the period: the bound with the constants as known, the drift, and what limits distances.

    A diameter that the user gave, by the set or as a constant, limits every distance. An estimated one says only where the
    minimiser of the first rows was.
    """
    constants = constants_of(settings, state)
    diameter = constants.diameter
    given = diameter is not None and diameter.is_given
    first_rows = state.first_rows and not given
    return RuleContext(
        period=state.period,
        epsilon=settings.epsilon,
        bound=_bound(settings, state, constants),
        m=constants.m.lower if constants.m is not None else 0.0,
        drift=None if state.drift is None else settings.drift.estimate(state.drift),
        diameter=diameter.value if diameter is not None and given else math.inf,
        first_distance=diameter.upper if diameter is not None and first_rows else math.inf,
        cap=settings.cap,
    )


def constants_of(settings: Settings, state: State) -> Constants:
    """Return the constants as far as they are known."""
    return with_settled(settings, settings.constants if state.constants is None else state.constants)


def with_settled(settings: Settings, constants: Constants) -> Constants:
    """Return constants with those that the settings settle: the diameter of the set, and what a penalty gives to any rows."""
    if math.isfinite(settings.domain.diameter):
        constants = replace(constants, diameter=Estimate.given(settings.domain.diameter))
    objective = settings.objective
    if objective.l2 > 0.0 and objective.unpenalised == 0:
        constants = replace(constants, m_rows=Estimate.given(objective.l2))
    return constants


def _bound(settings: Settings, state: State, constants: Constants) -> RiskBound | None:
    """Return what the learner promises, or None while a constant it needs is unknown or the curvature is not yet seen."""
    if state.features is None or constants.m is None or constants.m.lower <= 0.0:
        return None
    try:
        return settings.learner.bound(constants, settings.dimension(state.features))
    except UnknownConstantError:
        return None
