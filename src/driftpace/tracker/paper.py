"""The paper's method as settings of a tracker (sections II to V, errata corrected)."""

import math
from typing import Any, Literal

from driftpace.drift import Direct, Drift, DriftEstimator, KnownDrift, MeanChange, RootMargin
from driftpace.errors import ParameterError
from driftpace.evidence import Evidence, GivenConstants, PooledEvidence
from driftpace.learners import Learner, Sgd
from driftpace.records import Constants
from driftpace.rules import DoNotUpdate, Rule, UpdatePast
from driftpace.sets import Set

RuleName = Literal["do-not-update", "update-past"]


def paper_parts(
    *,
    domain: Set,
    constants: Constants | None,
    rho: float | None,
    first_samples: tuple[int, ...] | None,
    learner: Learner | None,
    drift: DriftEstimator | None,
    rule: RuleName | Rule,
    features: int | None,
) -> dict[str, Any]:
    """Return the parts of Tracker that make it the paper's method, or refuse a combination that cannot work."""
    owner = "Tracker.as_in_paper"
    learner = Sgd() if learner is None else learner
    if not isinstance(learner, Learner):
        raise ParameterError(f"{owner}(learner=...) must have the methods of Learner; got {learner!r}.")
    given = Constants() if constants is None else constants
    if rho is not None and drift is not None:
        raise ParameterError(f"{owner}(rho=...) must be left out when drift is given; got both.")
    if rho is not None:
        drift = KnownDrift(rho=rho)
    elif drift is None:
        # section V with theory 6.1: direct estimate, mean of steps, t_n = 1/sqrt(n-1), D_n left out
        drift = Drift(one_step=Direct(), combine=MeanChange(), margin=RootMargin())
    evidence = _evidence(learner, given, features)
    if not first_samples:
        if not isinstance(evidence, GivenConstants):
            raise ParameterError(
                f"{owner}(first_samples=...) must be given, such as (50, 50), while constants are to be estimated; got nothing."
            )
        if not math.isfinite(domain.diameter) or features is None:
            raise ParameterError(
                f"{owner}(first_samples=...) must be given unless domain has a finite diameter and features is known; got nothing."
            )
    first = tuple(first_samples or ())
    if isinstance(rule, str):
        rules: dict[str, Rule] = {
            "do-not-update": DoNotUpdate(first_samples=first),
            "update-past": UpdatePast(first_samples=first),
        }
        if rule not in rules:
            raise ParameterError(
                f"{owner}(rule=...) must be one of 'do-not-update', 'update-past', or a rule; got {rule!r}."
            )
        rule = rules[rule]
    return {
        "learner": learner,
        "drift": drift,
        "rule": rule,
        "evidence": evidence,
        "constants": given,
        "domain": domain,
    }


def _evidence(learner: Learner, given: Constants, features: int | None) -> Evidence:
    """Return the estimator of constants: none is needed when those given are enough for the learner's bound."""
    try:
        learner.bound(given, 1 if features is None else features)
    except ParameterError as error:
        if type(error) is ParameterError:
            raise
        return PooledEvidence()
    return GivenConstants(given)
