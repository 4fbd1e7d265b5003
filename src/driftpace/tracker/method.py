"""Which method a tracker follows: the practical one, or one made of parts."""

from typing import Any

from driftpace import validation
from driftpace.adaptive import AdaptiveConfig
from driftpace.constants import PooledEstimator
from driftpace.drift import Drift, Prequential, RecentChange
from driftpace.errors import ParameterError
from driftpace.learners import Sgd
from driftpace.records import Constants
from driftpace.rules import DoNotUpdate
from driftpace.tracker.state import Parts


def choose_method(
    owner: str,
    parts: dict[str, Any],
    *,
    epsilon: float | None,
    tolerance: float | None,
    confidence: float | None,
    certificate: float,
) -> Parts | AdaptiveConfig:
    """Return the practical method when no part is given, else one made of the parts, the others by default.

    By default a method of parts is single-pass SGD, sized by the do-not-update rule from the distance that the prequential
    statistic of the last twenty periods sees.
    """
    if all(part is None for part in parts.values()):
        return AdaptiveConfig(epsilon=epsilon, tolerance=tolerance, confidence=confidence, level=certificate)
    for name, value in (("tolerance", tolerance), ("confidence", confidence)):
        if value is not None:
            given = ", ".join(name for name, part in parts.items() if part is not None)
            raise ParameterError(
                f"must be None when the tracker is made of parts ({given}); got {value!r}.",
                owner=owner,
                name=name,
            )
    validation.positive(owner, epsilon=epsilon)  # type: ignore[arg-type]
    assert epsilon is not None
    defaults: dict[str, Any] = {
        "learner": Sgd,
        "drift": lambda: Drift(one_step=Prequential(), combine=RecentChange(window=20)),
        "rule": DoNotUpdate,
        "constants": Constants,
        "constants_estimator": PooledEstimator,
    }
    filled = {name: defaults[name]() if part is None else part for name, part in parts.items()}
    return Parts(epsilon=epsilon, **filled)
