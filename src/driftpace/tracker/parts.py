"""Whether the parts of a tracker are parts, and whether they can work together at all.

What can never work is refused before the first label is bought.
"""

import math
from typing import Any

from driftpace import validation
from driftpace.adaptive import AdaptiveConfig
from driftpace.bounds import Nature
from driftpace.constants import ConstantsEstimator, GivenConstants
from driftpace.constraints import ConstraintSet, WholeSpace
from driftpace.drift import DriftEstimator
from driftpace.errors import ParameterError, UnknownConstantError
from driftpace.learners import Learner
from driftpace.losses import LinearLoss, Loss, SquaredLoss
from driftpace.planning import Budget
from driftpace.records import Constants, Estimate
from driftpace.rules import Rule
from driftpace.tracker.state import Settings
from driftpace.tracker.terms import with_settled

_KINDS: dict[str, Any] = {
    "loss": Loss,
    "learner": Learner,
    "drift": DriftEstimator,
    "rule": Rule,
    "constants_estimator": ConstantsEstimator,
    "domain": ConstraintSet,
    "constants": Constants,
}


def check_part(owner: str, name: str, part: object) -> None:
    """Refuse a part that does not have the methods it needs, or a class where one of its objects is meant."""
    kind = _KINDS[name]
    if isinstance(part, type) or not isinstance(part, kind):
        raise ParameterError(
            f"must be an object with the methods of {kind.__name__}; got {part!r}.",
            owner=owner,
            name=name,
        )


def check_method(owner: str, settings: Settings) -> None:
    """Refuse a method that cannot work with the loss and the set."""
    check_part(owner, "loss", settings.loss)
    check_part(owner, "domain", settings.domain)
    if settings.budget is not None and not isinstance(settings.budget, Budget):
        raise ParameterError(f"must be a Budget; got {settings.budget!r}.", owner=owner, name="budget")
    if isinstance(settings.method, AdaptiveConfig):
        _check_pacing(owner, settings, settings.method)
    else:
        _check_parts(owner, settings)


def _check_pacing(owner: str, settings: Settings, pacing: AdaptiveConfig) -> None:
    if (pacing.epsilon is None) == (pacing.tolerance is None):
        raise ParameterError(
            "must be given, or tolerance= in its place; got " + ("neither." if pacing.epsilon is None else "both."),
            owner=owner,
            name="epsilon",
        )
    if pacing.epsilon is not None:
        validation.positive(owner, epsilon=pacing.epsilon)
    if pacing.tolerance is not None:
        validation.positive(owner, tolerance=pacing.tolerance)
    for name, value in (("confidence", pacing.confidence), ("certificate", pacing.level)):
        if value is not None:
            validation.fraction(owner, **{name: value})
    if not isinstance(settings.loss, LinearLoss):
        raise ParameterError(
            f"must be a LinearLoss for the practical method, or come with learner=, drift= and rule=; "
            f"got {settings.loss!r}.",
            owner=owner,
            name="loss",
        )
    if not isinstance(settings.domain, WholeSpace):
        raise ParameterError(
            f"must be WholeSpace() for the practical method, or come with learner=, drift= and rule=; "
            f"got {settings.domain!r}.",
            owner=owner,
            name="domain",
        )


def _check_parts(owner: str, settings: Settings) -> None:
    """Refuse parts that are none, and combinations that can never promise anything."""
    validation.positive(owner, epsilon=settings.epsilon)
    for name in _KINDS:
        check_part(owner, name, getattr(settings, name))
    measures = getattr(settings.drift, "measures", "rho")
    if measures not in ("rho", "distance"):
        raise ParameterError(
            f"must measure 'rho' or 'distance'; got one that is a {measures}.",
            owner=owner,
            name="drift",
        )
    estimated = not isinstance(settings.constants_estimator, GivenConstants)
    constants = (_likely(settings.constants) if estimated else Constants()).updated(settings.constants)
    constants = with_settled(settings, constants)
    for constant in getattr(settings.drift, "needs", ()):
        if not constants.knows(constant):
            raise ParameterError(
                f"must have {constant}, which the drift estimate reads; it has not.",
                owner=owner,
                name="constants",
            )
    try:
        bound = settings.learner.bound(constants, settings.dimension(settings.features or 2))
    except UnknownConstantError as error:
        raise ParameterError(
            f"must have what the learner's bound reads; {error}",
            owner=owner,
            name="constants",
        ) from None
    if getattr(settings.learner, "about_squares", False) and (
        settings.loss.l2 > 0 or not isinstance(settings.loss, SquaredLoss)
    ):
        raise ParameterError(
            f"must be SquaredLoss without l2 for this learner's bound ({bound.name}); got {settings.loss!r}.",
            owner=owner,
            name="loss",
        )
    if getattr(bound, "unconstrained", False) and not isinstance(settings.domain, WholeSpace):
        raise ParameterError(
            f"must be WholeSpace() for this learner's bound ({bound.name}); got {settings.domain!r}.",
            owner=owner,
            name="domain",
        )
    if bound.nature is Nature.THESE_ROWS:
        raise ParameterError(
            f"must have a bound that is about new rows; got {bound.name}, which is not.",
            owner=owner,
            name="learner",
        )
    if settings.budget is not None and not math.isfinite(bound(1.0, 0)):
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
