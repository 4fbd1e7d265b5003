"""The parameters of a fleet, checked."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from driftpace import validation
from driftpace.errors import DriftpaceError, ParameterError
from driftpace.fleet.rows import FleetColumns
from driftpace.losses import LinearLoss, Loss
from driftpace.tables.encoding import MissingPolicy
from driftpace.tracker import Tracker
from driftpace.tracker.adaptive_method import AdaptiveMethod

OPTIONS = (
    *(
        "tolerance",
        "metric",
        "at_least",
        "at_most",
        "confidence",
        "certificate_level",
        "orders",
        "season",
        "delay",
        "audit",
    ),
    *("fit_intercept", "cap", "pool"),
)
"""Parameters of :class:`~driftpace.Tracker` that a fleet passes on to all its segments."""


def method_of(loss: Loss, epsilon: float | None, rng: Any, options: Mapping[str, Any]) -> AdaptiveMethod:
    """Return the method that all segments share."""
    unknown = [name for name in options if name not in OPTIONS]
    if unknown:
        raise ParameterError(
            f"must be a parameter of a fleet, or one of {', '.join(OPTIONS)}; got {unknown[0]!r}.",
            owner="Fleet",
            name="options",
        )
    if not isinstance(loss, LinearLoss):
        raise ParameterError(f"must be a LinearLoss, of one score a row; got {loss!r:.80}.", owner="Fleet", name="loss")
    try:
        method, _ = Tracker(loss, epsilon=epsilon, method="adaptive", rng=rng, **options).snapshot()
    except DriftpaceError as error:
        raise error.renamed(owner="Fleet") from None
    assert isinstance(method, AdaptiveMethod)
    return method


def columns_of(
    segment: str,
    target: str,
    features: Sequence[str] | None,
    weight: str | None,
    groups: str | None,
    missing: MissingPolicy,
) -> FleetColumns:
    """Return which columns are what; each has one use."""
    for name, value in (("segment", segment), ("target", target), ("weight", weight), ("groups", groups)):
        if not isinstance(value, str) and not (value is None and name in ("weight", "groups")):
            raise ParameterError(f"must be the name of a column; got {value!r:.80}.", owner="Fleet", name=name)
    if isinstance(features, str):
        raise ParameterError(f"must be a list of names; got the text {features!r:.80}.", owner="Fleet", name="features")
    columns = FleetColumns(
        segment=segment,
        target=target,
        features=None if features is None else tuple(features),
        weight=weight,
        groups=groups,
        missing=missing,
    )
    used = [*columns.apart, *(columns.features or ())]
    twice = next((name for name in used if used.count(name) > 1), None)
    if twice is not None:
        raise ParameterError(f"must be a column with no other use; got {twice!r}.", owner="Fleet", name="features")
    return columns


def targets_of(epsilons: Mapping[str, float] | None, method: AdaptiveMethod) -> dict[str, float]:
    """Return the targets of segments that have one of their own."""
    if epsilons is None:
        return {}
    if method.epsilon is None:
        raise ParameterError(
            "must be None without epsilon, which it is an exception from; got targets.", owner="Fleet", name="epsilons"
        )
    for value in epsilons.values():
        validation.positive("Fleet", epsilons=value)
    return {str(name): float(value) for name, value in epsilons.items()}


def checked_progress(progress: Any) -> Callable[[int, int], None] | None:
    """Return what is told of the progress, which must be callable."""
    if progress is not None and not callable(progress):
        raise ParameterError(f"must be a function of two counts; got {progress!r:.80}.", owner="Fleet", name="progress")
    return progress  # type: ignore[no-any-return]
