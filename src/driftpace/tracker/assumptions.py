"""What the promise of a period rests on, and whether it holds as far as the data can tell."""

import numpy as np

from driftpace.bounds import Nature
from driftpace.losses import SquaredLoss
from driftpace.records import Assumption, Constants, Verdict
from driftpace.rules import RuleContext
from driftpace.tracker.state import Settings, State
from driftpace.tracker.terms import constants_of

ROWS_PER_COLUMN = 50
"""Rows for each column from which an estimated curvature is near the truth (theory 2: pool until N >= 50 d)."""


def assumptions(settings: Settings, state: State, terms: RuleContext) -> tuple[Assumption, ...]:
    """Return pass, warn or fail with a sentence for the curvature, the drift, the bound, and the model's place in its set."""
    constants = constants_of(settings, state)
    return (_curvature(settings, state, constants), _drift(terms), _bound(terms), _interior(settings, state))


def _curvature(settings: Settings, state: State, constants: Constants) -> Assumption:
    name = "curvature"
    if constants.m is None or constants.m.lower <= 0.0:
        return Assumption(
            name=name,
            verdict=Verdict.FAIL,
            sentence="The curvature m of the loss is not known to be above zero yet, so nothing can be promised.",
        )
    if constants.m.is_given:
        return Assumption(
            name=name, verdict=Verdict.PASS, sentence=f"The curvature is given: m = {constants.m.value:.3g}."
        )
    size = 1 if state.coef is None else state.coef.size
    few = constants.m.rows < ROWS_PER_COLUMN * size
    local = not isinstance(settings.loss, SquaredLoss) and constants.m.lower > settings.loss.l2
    doubts = [f"with under {ROWS_PER_COLUMN} rows for each coefficient it is rough"] * few
    doubts += ["it is that near the models seen, and may be less elsewhere"] * local
    return Assumption(
        name=name,
        verdict=Verdict.WARN if doubts else Verdict.PASS,
        sentence="; ".join(
            [f"The curvature is estimated from {constants.m.rows} rows: at least {constants.m.lower:.3g}", *doubts]
        )
        + ".",
    )


def _drift(terms: RuleContext) -> Assumption:
    if terms.drift is None:
        return Assumption(
            name="drift",
            verdict=Verdict.WARN,
            sentence="The drift was not seen yet; the diameter of the set stands in for it.",
        )
    if terms.drift.steps == 0:
        return Assumption(
            name="drift", verdict=Verdict.PASS, sentence=f"The drift is given: rho = {terms.drift.value:.3g}."
        )
    return Assumption(
        name="drift",
        verdict=Verdict.PASS if terms.drift.upper < terms.diameter else Verdict.WARN,
        sentence=(
            f"The drift is estimated as {terms.drift.value:.3g}, at most {terms.drift.upper:.3g}"
            + ("" if terms.drift.upper < terms.diameter else ", which is no better than the diameter of the set")
            + f" ({terms.drift.account})."
        ),
    )


def _bound(terms: RuleContext) -> Assumption:
    if terms.bound is None:
        return Assumption(
            name="bound", verdict=Verdict.FAIL, sentence="No bound can be formed before its constants are known."
        )
    proven = terms.bound.nature is not Nature.ASYMPTOTIC
    conditions = "; ".join(terms.bound.conditions)
    return Assumption(
        name="bound",
        verdict=Verdict.PASS if proven else Verdict.WARN,
        sentence=(
            f"The bound is proven where this holds: {conditions}."
            if proven
            else f"The bound is a leading term with a margin, not a theorem, where this holds: {conditions}."
        ),
    )


def _interior(settings: Settings, state: State) -> Assumption:
    """Judge whether the set holds the model back: a small step down the loss would leave the set."""
    name = "inside the set"
    slope = 0.0 if state.gradient is None else float(np.linalg.norm(state.gradient))
    size = settings.domain.diameter if np.isfinite(settings.domain.diameter) else 1.0
    if state.coef is None or state.gradient is None or slope == 0.0:
        inside = True
    else:
        inside = settings.domain.contains(state.coef - state.gradient * (1e-6 * size / slope))
    if inside:
        return Assumption(name=name, verdict=Verdict.PASS, sentence="The edge of the set does not hold the model back.")
    return Assumption(
        name=name,
        verdict=Verdict.WARN,
        sentence="The model is held back by the edge of its set; the bounds hold for a best model inside it: choose a larger set.",
    )
