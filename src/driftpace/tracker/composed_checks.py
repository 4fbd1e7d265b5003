"""Checks of the composed method: whether its parts can work together, and whether the data agree with what its bound assumes."""

import math
from typing import Any

import numpy as np

from driftpace import validation
from driftpace.bounds import Nature
from driftpace.constants import ConstantsEstimator, GivenConstants
from driftpace.constraints import ConstraintSet, WholeSpace
from driftpace.drift import DriftEstimator
from driftpace.errors import ParameterError, UnknownConstantError
from driftpace.learners import Learner
from driftpace.losses import Loss, SquaredLoss, VectorLoss
from driftpace.records import Assumption, Constants, Estimate, Verdict
from driftpace.rules import Rule, RuleContext
from driftpace.tracker.composed_context import ComposedConfig, ComposedState, constants_of, with_settled

_KINDS: dict[str, Any] = {
    "loss": Loss,
    "learner": Learner,
    "drift": DriftEstimator,
    "rule": Rule,
    "constants_estimator": ConstantsEstimator,
    "domain": ConstraintSet,
    "constants": Constants,
}

ROWS_PER_COLUMN = 50
"""Rows for each column from which an estimated curvature is near the truth (theory 2: pool until N >= 50 d)."""


def assumptions(config: ComposedConfig, state: ComposedState, context: RuleContext) -> tuple[Assumption, ...]:
    """Return pass, warn or fail with a sentence for the curvature, the drift, the bound, and the model's place in its set."""
    constants = constants_of(config, state)
    return (_curvature(config, state, constants), _drift(context), _bound(context), _interior(config, state))


def _curvature(config: ComposedConfig, state: ComposedState, constants: Constants) -> Assumption:
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
    local = not isinstance(config.spec.loss, SquaredLoss) and constants.m.lower > config.spec.loss.l2
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


def _drift(context: RuleContext) -> Assumption:
    if context.drift is None:
        return Assumption(
            name="drift",
            verdict=Verdict.WARN,
            sentence="The drift was not seen yet; the diameter of the set stands in for it.",
        )
    if context.drift.steps == 0:
        return Assumption(
            name="drift", verdict=Verdict.PASS, sentence=f"The drift is given: rho = {context.drift.value:.3g}."
        )
    return Assumption(
        name="drift",
        verdict=Verdict.PASS if context.drift.upper < context.diameter else Verdict.WARN,
        sentence=(
            f"The drift is estimated as {context.drift.value:.3g}, at most {context.drift.upper:.3g}"
            + ("" if context.drift.upper < context.diameter else ", which is no better than the diameter of the set")
            + f" ({context.drift.account})."
        ),
    )


def _bound(context: RuleContext) -> Assumption:
    if context.bound is None:
        return Assumption(
            name="bound", verdict=Verdict.FAIL, sentence="No bound can be formed before its constants are known."
        )
    proven = context.bound.nature is not Nature.ASYMPTOTIC
    conditions = "; ".join(context.bound.conditions)
    return Assumption(
        name="bound",
        verdict=Verdict.PASS if proven else Verdict.WARN,
        sentence=(
            f"The bound is proven where this holds: {conditions}."
            if proven
            else f"The bound is a leading term with a margin, not a theorem, where this holds: {conditions}."
        ),
    )


def _interior(config: ComposedConfig, state: ComposedState) -> Assumption:
    """Judge whether the set holds the model back: a small step down the loss would leave the set."""
    name = "inside the set"
    slope = 0.0 if state.gradient is None else float(np.linalg.norm(state.gradient))
    size = config.spec.domain.diameter if np.isfinite(config.spec.domain.diameter) else 1.0
    if state.coef is None or state.gradient is None or slope == 0.0:
        inside = True
    else:
        inside = config.spec.domain.contains(state.coef - state.gradient * (1e-6 * size / slope))
    if inside:
        return Assumption(name=name, verdict=Verdict.PASS, sentence="The edge of the set does not hold the model back.")
    return Assumption(
        name=name,
        verdict=Verdict.WARN,
        sentence="The model is held back by the edge of its set; the bounds hold for a best model inside it: choose a larger set.",
    )


def check_part(owner: str, name: str, part: object) -> None:
    """Refuse a part that does not have the methods it needs, or a class where one of its objects is meant."""
    kind = _KINDS[name]
    if isinstance(part, type) or not isinstance(part, kind):
        raise ParameterError(
            f"must be an object with the methods of {kind.__name__}; got {part!r}.",
            owner=owner,
            name=name,
        )


def check_composed(owner: str, config: ComposedConfig) -> None:
    """Refuse parts that are none, and combinations that can never promise anything."""
    if isinstance(config.spec.loss, VectorLoss):
        raise ParameterError(
            f"must have one score a row with learner=, drift= and rule=, as SquaredLoss or LogisticLoss have; got "
            f"{config.spec.loss!r}.",
            owner=owner,
            name="loss",
        )
    spec = config.spec
    validation.positive(owner, epsilon=config.epsilon)
    for name in _KINDS:
        check_part(owner, name, getattr(spec if name in ("loss", "domain") else config, name))
    if not getattr(spec.loss, "bounded_curvature", True) or getattr(spec.loss, "open", False):
        raise ParameterError(
            f"must have a bounded and known curvature for learner=, drift= and rule=; {type(spec.loss).__name__} is for the "
            "default method.",
            owner=owner,
            name="loss",
        )
    measures = getattr(config.drift, "measures", "rho")
    if measures not in ("rho", "distance"):
        raise ParameterError(
            f"must measure 'rho' or 'distance'; got one that is a {measures}.",
            owner=owner,
            name="drift",
        )
    estimated = not isinstance(config.constants_estimator, GivenConstants)
    constants = (_likely(config.constants) if estimated else Constants()).updated(config.constants)
    constants = with_settled(config, constants)
    for constant in getattr(config.drift, "needs", ()):
        if not constants.knows(constant):
            raise ParameterError(
                f"must have {constant}, which the drift estimate reads; it has not.",
                owner=owner,
                name="constants",
            )
    try:
        bound = config.learner.bound(constants, spec.dimension(spec.features or 2))
    except UnknownConstantError as error:
        raise ParameterError(
            f"must have what the learner's bound reads; {error}",
            owner=owner,
            name="constants",
        ) from None
    if getattr(config.learner, "about_squares", False) and (spec.loss.l2 > 0 or not isinstance(spec.loss, SquaredLoss)):
        raise ParameterError(
            f"must be SquaredLoss without l2 for this learner's bound ({bound.name}); got {spec.loss!r}.",
            owner=owner,
            name="loss",
        )
    if getattr(bound, "unconstrained", False) and not isinstance(spec.domain, WholeSpace):
        raise ParameterError(
            f"must be WholeSpace() for this learner's bound ({bound.name}); got {spec.domain!r}.",
            owner=owner,
            name="domain",
        )
    if bound.nature is Nature.THESE_ROWS:
        raise ParameterError(
            f"must have a bound that is about new rows; got {bound.name}, which is not.",
            owner=owner,
            name="learner",
        )
    if config.budgeted and not math.isfinite(bound(1.0, 0)):
        raise ParameterError(
            f"must come with a learner whose bound says what the risk is without samples; "
            f"got {bound.name}, which does not.",
            owner=owner,
            name="budget",
        )


def _likely(given: Constants) -> Constants:
    """Return constants as an estimate might find them, in proportion to those given: m is known only to lie in a range."""
    m = 1.0 if given.m is None else given.m.value
    M = 4.0 * m if given.M is None else given.M.value
    values = {
        "m": m,
        "M": M,
        "L": 20.0 * M,
        "A": M,
        "B": 40.0 * M * M,
        "sigma": M,
        "V": 40.0 * M * M,
        "sigma_star": M,
        "G": 10.0 * M,
        "diameter": 10.0,
        "noise": 1.0,
        "trace": 2.0 * M,
        "R2": 20.0 * M,
        "spread": 2.0,
    }
    return Constants(
        **{
            name: Estimate(value=value, lower=0.8 * value, upper=1.2 * value, rows=100, account="a guess")
            for name, value in values.items()
        }
    )
