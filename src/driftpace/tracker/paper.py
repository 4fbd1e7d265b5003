"""The paper's method as parts of a tracker (sections II to V, errata corrected)."""

import math
from dataclasses import replace
from typing import Any, Literal

from driftpace import validation
from driftpace.constants import ConstantsEstimator, GivenConstants, PooledEstimator
from driftpace.constraints import ConstraintSet
from driftpace.drift import Direct, Drift, DriftEstimator, KnownDrift, MeanChange, RootMargin
from driftpace.errors import ParameterError, UnknownConstantError
from driftpace.learners import Learner, Sgd
from driftpace.records import Constants
from driftpace.rules import DoNotUpdate, Rule, UpdatePast
from driftpace.selection import Candidate, Selection
from driftpace.tracker.composed_checks import check_part

RuleName = Literal["do-not-update", "update-past"]
_OWNER = "Tracker.as_in_paper"
_RULES = ("do-not-update", "update-past")


def paper_parts(
    *,
    domain: ConstraintSet,
    constants: Any,
    rho: float | None,
    first_samples: tuple[int, ...] | None,
    learner: Learner | None,
    drift: DriftEstimator | None,
    rule: RuleName | Rule,
    features: int | None,
) -> dict[str, Any]:
    """Return the parts of Tracker that make it the paper's method, or refuse a combination that cannot work."""
    learner = Sgd() if learner is None else learner
    given = Constants() if constants is None else constants
    if not isinstance(given, Constants):
        raise ParameterError(f"must be Constants; got {given!r:.80}.", owner=_OWNER, name="constants")
    for name, part in (("learner", learner), ("domain", domain)):
        check_part(_OWNER, name, part)
    if features is not None:
        validation.count(_OWNER, least=1, features=features)
    constants_estimator = _constants_estimator(learner, given, features)
    first = () if first_samples is None else validation.counts(_OWNER, least=1, first_samples=first_samples)
    if isinstance(rule, str) and not first:
        _first_periods_can_be_sized(constants_estimator, domain, features)
    return {
        "learner": learner,
        "drift": _drift(rho, drift),
        "rule": _rule(rule, first),
        "constants_estimator": constants_estimator,
        "constants": given,
        "domain": domain,
    }


def with_paper_parts(selection: Selection, given: dict[str, Any]) -> Selection:
    """Return candidates that have all the parts of the paper's method: each its own where it has some, else those given."""
    return replace(selection, candidates=tuple(_filled(one, given) for one in selection.candidates))


def _filled(candidate: Candidate, given: dict[str, Any]) -> Candidate:
    own = {name: getattr(candidate, name) for name in ("learner", "drift", "rule")}
    asked = given | {name: part for name, part in own.items() if part is not None}
    if candidate.drift is not None:
        asked["rho"] = None
    if candidate.columns is not None:
        asked["features"] = len(candidate.columns)
    parts = paper_parts(constants=candidate.constants, **asked)
    del parts["domain"]
    if candidate.constants_estimator is not None:
        parts["constants_estimator"] = candidate.constants_estimator
    return replace(candidate, **parts)


def _drift(rho: float | None, drift: DriftEstimator | None) -> DriftEstimator:
    if rho is not None and drift is not None:
        raise ParameterError("must be left out when drift is given; got both.", owner=_OWNER, name="rho")
    if rho is not None:
        validation.nonnegative(_OWNER, rho=rho)
        return KnownDrift(rho)
    if drift is not None:
        return drift
    # section V with theory 6.1: direct estimate, mean of steps, t_n = 1/sqrt(n-1), D_n left out
    return Drift(one_step=Direct(), combine=MeanChange(), margin=RootMargin())


def _rule(rule: RuleName | Rule, first: tuple[int, ...]) -> Rule:
    if not isinstance(rule, str):
        check_part(_OWNER, "rule", rule)
        if first:
            raise ParameterError(
                "must be given to the rule when rule is an object; got both.",
                owner=_OWNER,
                name="first_samples",
            )
        return rule
    validation.choice(_OWNER, _RULES, rule=rule)
    return DoNotUpdate(first_samples=first) if rule == "do-not-update" else UpdatePast(first_samples=first)


def _first_periods_can_be_sized(
    constants_estimator: ConstantsEstimator, domain: ConstraintSet, features: int | None
) -> None:
    if not isinstance(constants_estimator, GivenConstants):
        raise ParameterError(
            "must be given, such as (50, 50), while constants are to be estimated; got nothing.",
            owner=_OWNER,
            name="first_samples",
        )
    if not math.isfinite(domain.diameter) or features is None:
        raise ParameterError(
            "must be given unless domain has a finite diameter and features is known; got nothing.",
            owner=_OWNER,
            name="first_samples",
        )


def _constants_estimator(learner: Learner, given: Constants, features: int | None) -> ConstantsEstimator:
    """Return the estimator of constants: none is needed when those given are enough for the learner's bound."""
    try:
        learner.bound(given, 1 if features is None else features)
    except UnknownConstantError:
        return PooledEstimator()
    return GivenConstants(given)
