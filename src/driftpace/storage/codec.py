"""Records as JSON values and back, exact to the bit, with a stable tag for every class.

Numbers, strings, None, tuples, arrays of numbers, decimals, enumerations and registered dataclasses can be encoded:

=============  =====================================================================
float          itself (JSON's shortest form reads back to the same bits); {"!": "nan" | "inf" | "-inf"}
tuple          {"!": "tuple", "items": [...]}
dict           {"!": "dict", "items": {...}}
array          {"!": "array", "dtype": "<f8", "shape": [...], "data": base64}
decimal        {"!": "decimal", "value": "12.50"}
enumeration    {"!": "enum", "type": tag, "name": ...}
dataclass      {"!": "record", "type": tag, "fields": {name: ...}}
=============  =====================================================================

:data:`TYPES` maps tags to classes. Only these and registered losses are read back, so a file cannot name code to run; and a
class can be moved or renamed without breaking saved states, as long as its tag stays.
"""

import base64
import math
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from driftpace.errors import StateFileError
from driftpace.losses import find_loss_spec, loss_names, loss_spec

if TYPE_CHECKING:  # importing NumPy takes a while, and small records do without
    import numpy as np

FORMAT = 1
"""Changes when saved states and logs are laid out differently: their keys, tags and encodings."""

METHOD = 4
"""Changes when the same events would give other numbers; a log written under another number is not replayed to verify it."""

TYPES: dict[str, str] = {
    # losses and constraint sets
    "loss.squared": "driftpace.losses:SquaredLoss",
    "loss.logistic": "driftpace.losses:LogisticLoss",
    "loss.huber": "driftpace.losses:HuberLoss",
    "loss.smoothed-hinge": "driftpace.losses:SmoothedHinge",
    "loss.multi-squared": "driftpace.losses:MultiSquaredLoss",
    "loss.softmax": "driftpace.losses:SoftmaxLoss",
    "loss.poisson": "driftpace.losses:PoissonLoss",
    "loss.gamma": "driftpace.losses:GammaLoss",
    "loss.tweedie": "driftpace.losses:TweedieLoss",
    "loss.quantile": "driftpace.losses:QuantileLoss",
    "set.ball": "driftpace.constraints:Ball",
    "set.box": "driftpace.constraints:Box",
    "set.whole-space": "driftpace.constraints:WholeSpace",
    # learners and their step sizes
    "learner.sgd": "driftpace.learners:Sgd",
    "learner.anchored-erm": "driftpace.learners:AnchoredErm",
    "learner.gradient-passes": "driftpace.learners:GradientPasses",
    "steps.constant": "driftpace.schedules:ConstantSteps",
    "steps.greedy": "driftpace.schedules:GreedySteps",
    "steps.inverse-time": "driftpace.schedules:InverseTime",
    # drift estimators
    "drift": "driftpace.drift:Drift",
    "drift.state": "driftpace.drift:DriftState",
    "drift.known": "driftpace.drift:KnownDrift",
    "drift.known.state": "driftpace.drift.estimator:KnownDriftState",
    "drift.correction.state": "driftpace.drift.correction:CorrectionState",
    "drift.combine.mean": "driftpace.drift:MeanChange",
    "drift.combine.mean.state": "driftpace.drift.combine:MeanState",
    "drift.combine.recent": "driftpace.drift:RecentChange",
    "drift.combine.recent.state": "driftpace.drift.combine:RecentState",
    "drift.combine.windowed": "driftpace.drift:WindowedChange",
    "drift.combine.windowed.state": "driftpace.drift.combine:WindowedState",
    "drift.margin.bernstein": "driftpace.drift:BernsteinMargin",
    "drift.margin.none": "driftpace.drift:NoMargin",
    "drift.margin.root": "driftpace.drift:RootMargin",
    "drift.margin.standard-error": "driftpace.drift:StandardErrorMargin",
    "drift.margin.theoretical": "driftpace.drift:TheoreticalMargin",
    "drift.step": "driftpace.drift:Step",
    "drift.step.debiased": "driftpace.drift:DebiasedDifference",
    "drift.step.debiased.state": "driftpace.drift.one_step.unbiased:LastMinimiser",
    "drift.step.direct": "driftpace.drift:Direct",
    "drift.step.direct.state": "driftpace.drift.one_step.direct:LastFit",
    "drift.step.gradient-mmd": "driftpace.drift:GradientMmd",
    "drift.step.gradient-mmd.state": "driftpace.drift.one_step.distribution:LastGradients",
    "drift.step.held-out": "driftpace.drift:DirectHeldOut",
    "drift.step.prequential": "driftpace.drift:Prequential",
    "drift.step.prequential.state": "driftpace.drift.one_step.unbiased:PrequentialState",
    "drift.step.wasserstein": "driftpace.drift:WassersteinChange",
    "drift.step.wasserstein.state": "driftpace.drift.one_step.distribution:LastRows",
    # estimates of constants
    "constants.given": "driftpace.constants:GivenConstants",
    "constants.given.state": "driftpace.constants.estimator:NoState",
    "constants.pooled": "driftpace.constants:PooledEstimator",
    "constants.pooled.state": "driftpace.constants:PooledState",
    "constants.curvatures": "driftpace.constants.curvature:Curvatures",
    "constants.gradients": "driftpace.constants.gradients:Gradients",
    "constants.growth": "driftpace.constants.growth:Growth",
    "constants.residual-variance": "driftpace.constants.scores:ResidualVariance",
    "constants.separate-fit": "driftpace.constants.scores:SeparateFit",
    "constants.probes": "driftpace.constants.growth:Probes",
    "constants.row-moments": "driftpace.constants.moments:RowMoments",
    "constants.row-summary": "driftpace.constants.moments:RowSummary",
    "constants.running": "driftpace.constants.concentration:RunningMoments",
    "constants.scores": "driftpace.constants.scores:Scores",
    "constants.smoothness": "driftpace.constants.curvature:Smoothness",
    "constants.zero-model": "driftpace.constants.gradients:ZeroModel",
    # sample-size rules
    "rule.do-not-update": "driftpace.rules:DoNotUpdate",
    "rule.do-not-update.state": "driftpace.rules.do_not_update:LastRisk",
    "rule.update-past": "driftpace.rules:UpdatePast",
    "rule.trained-period": "driftpace.rules:TrainedPeriod",
    "rule.update-past.state": "driftpace.rules.update_past:Past",
    # the adaptive method
    "adaptive.config": "driftpace.adaptive:AdaptiveConfig",
    "adaptive.state": "driftpace.adaptive:AdaptiveState",
    "adaptive.audit": "driftpace.adaptive:AuditState",
    "adaptive.audit.record": "driftpace.adaptive:ErrorRecord",
    "adaptive.season": "driftpace.adaptive.season:SeasonState",
    "adaptive.season-search": "driftpace.adaptive.season_search:SeasonSearch",
    "adaptive.bank": "driftpace.adaptive.bank:Bank",
    "adaptive.coordinates": "driftpace.adaptive.coordinates:Coordinates",
    "adaptive.drift-models": "driftpace.adaptive.models:DriftModels",
    "adaptive.expected": "driftpace.adaptive.expected:ExpectedModel",
    "adaptive.closed-order": "driftpace.adaptive.delay:ClosedOrder",
    "adaptive.moments": "driftpace.adaptive.delay:Moments",
    "adaptive.memory": "driftpace.adaptive.memory:Memory",
    "adaptive.metric-memory": "driftpace.adaptive:MetricMemory",
    "adaptive.metric-target": "driftpace.adaptive:MetricTarget",
    "adaptive.noise-memory": "driftpace.adaptive.noise:NoiseMemory",
    "adaptive.noise-sums": "driftpace.adaptive.noise:NoiseSums",
    # fleets
    "fleet.lent": "driftpace.fleet.lent:Lent",
    "fleet.magnitudes": "driftpace.fleet.magnitudes:Magnitudes",
    "fleet.common-movement": "driftpace.fleet.common_movement:CommonMovement",
    # the wide method
    "model.rows": "driftpace.models:ScoredRows",
    "model.gain": "driftpace.models:Gain",
    "model.training": "driftpace.models:Training",
    "model.measured-curve": "driftpace.models.learning_curve:MeasuredCurve",
    "model.trained-until": "driftpace.tracker.trained_until:TrainedUntil",
    "model.unknown-categories": "driftpace.tracker.model_rows:UnknownCategories",
    "model.curve-audit": "driftpace.models.learning_curve:CurveAudit",
    "model.smooth-correction": "driftpace.models:SmoothCorrection",
    "model.head": "driftpace.models:Head",
    "model.head-features": "driftpace.models:HeadFeatures",
    "wide.spectrum": "driftpace.wide:Spectrum",
    "wide.state": "driftpace.wide:WideState",
    "method.head": "driftpace.tracker.head_method:HeadMethod",
    "method.head.state": "driftpace.tracker.head_state:HeadState",
    # budgets
    "budget": "driftpace.planning:Budget",
    "budget.fleet": "driftpace.fleet:FleetBudget",
    "budget.share": "driftpace.fleet:BudgetShare",
    "cost.linear": "driftpace.planning:LinearCost",
    "cost.tiered": "driftpace.planning:TieredCost",
    "goal.largest-gap": "driftpace.planning:LargestGap",
    "goal.largest-run": "driftpace.planning:LargestRun",
    "goal.mean-gap": "driftpace.planning:MeanGap",
    # records
    "annotator-sums": "driftpace.records:AnnotatorSums",
    "assumption": "driftpace.records:Assumption",
    "constants": "driftpace.records:Constants",
    "delay-price": "driftpace.records:DelayPrice",
    "drift-estimate": "driftpace.records:DriftEstimate",
    "estimate": "driftpace.records:Estimate",
    "label-sums": "driftpace.records:LabelSums",
    "money": "driftpace.records:Money",
    "outcome": "driftpace.records:Outcome",
    "plan": "driftpace.records:Plan",
    "report": "driftpace.records:StepReport",
    "report.retraining": "driftpace.records:Retraining",
    "report.metric": "driftpace.records:MetricReport",
    "report.audit": "driftpace.records:Audit",
    "selected": "driftpace.records:Selected",
    "verdict": "driftpace.records:Verdict",
    # the tracker
    "tracker.spec": "driftpace.tracker.state:ModelSpec",
    "tracker.order": "driftpace.tracker.state:PeriodOrder",
    "tracker.rows": "driftpace.tracker.state:RowBatch",
    "tracker.row-labels": "driftpace.tracker.state:RowLabels",
    "method.adaptive": "driftpace.tracker.adaptive_method:AdaptiveMethod",
    "method.adaptive.state": "driftpace.tracker.adaptive_method:AdaptiveMethodState",
    "method.wide": "driftpace.tracker.wide_method:WideMethod",
    "method.wide.state": "driftpace.tracker.wide_method:WideMethodState",
    "method.composed": "driftpace.tracker.composed_method:ComposedMethod",
    "method.composed.state": "driftpace.tracker.composed_context:ComposedState",
    "method.budget": "driftpace.tracker.budget_method:BudgetMethod",
    "method.budget.state": "driftpace.tracker.budget_method:BudgetState",
    "method.candidates": "driftpace.tracker.candidates_method:CandidatesMethod",
    "method.candidates.state": "driftpace.tracker.candidates_method:CandidatesState",
    "tracker.tally": "driftpace.selection:Tally",
}
"""The place of each class that is saved, as "module:Class", by its tag. Two tags may name one class: the first is written."""

_REGISTERED_LOSS = "loss.registered."
"""Begins the tags of losses that a user registered, which are found by name; no tag of :data:`TYPES` begins with it."""

_PLAIN = frozenset({type(None), bool, str, int})
_NOT_RECORDS = (Enum, str, int, float, Decimal, tuple, list, dict)

_DTYPES = ("<f8", "<f4", "<i8", "|b1")


SHAPE_ERRORS = (LookupError, TypeError, AttributeError, ValueError, RecursionError, AssertionError)
"""What JSON values of another shape run into."""


class NotEncodableError(TypeError):
    """A value that cannot be saved, such as a user's own class or a function."""


def encode(value: Any) -> Any:
    """Return a value as JSON values.

    Raises
    ------
    NotEncodableError
        For a class without a tag, a function, or anything else that has no encoding.

    Examples
    --------
    >>> encode((1.5, None))
    {'!': 'tuple', 'items': [1.5, None]}
    """
    kind: type = type(value)
    if kind in _PLAIN:  # checked first: most values are, and every delivery encodes a thousand
        return value
    if kind is float:
        return value if math.isfinite(value) else {"!": repr(value)}
    if kind is tuple:
        return {"!": "tuple", "items": [encode(item) for item in value]}
    names = _saved_fields(kind)
    if names is not None:
        held = {name: encode(getattr(value, name)) for name in names}
        return {"!": "record", "type": tag_of(kind), "fields": held}
    return _encode_other(value)


def _encode_other(value: Any) -> Any:
    import numpy as np

    if isinstance(value, bool | str):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, Enum):
        return {"!": "enum", "type": tag_of(type(value)), "name": value.name}
    if isinstance(value, float | np.floating):
        number = float(value)
        return number if math.isfinite(number) else {"!": repr(number)}
    if isinstance(value, Decimal):
        return {"!": "decimal", "value": str(value)}
    if isinstance(value, tuple | list):
        return {"!": "tuple", "items": [encode(item) for item in value]}
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {"!": "dict", "items": {name: encode(item) for name, item in value.items()}}
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    if hasattr(value, "indptr"):
        return _encode_sparse(value)
    raise NotEncodableError(f"{type(value).__qualname__} cannot be encoded")


@cache
def _saved_fields(kind: type) -> tuple[str, ...] | None:
    """Return the names of the fields of a dataclass that are written; None for any other class."""
    if not is_dataclass(kind) or issubclass(kind, _NOT_RECORDS) or hasattr(kind, "indptr"):
        return None
    return tuple(field.name for field in fields(kind) if is_saved(field))


def decode(encoded: Any) -> Any:
    """Return the value that :func:`encode` encoded, or raise StateFileError.

    Examples
    --------
    >>> decode(encode((1.5, float("inf"), Decimal("12.50"))))
    (1.5, inf, Decimal('12.50'))
    """
    try:
        return _decode(encoded)
    except StateFileError:
        raise
    except SHAPE_ERRORS as error:
        raise StateFileError(f"the state does not have the shape this version reads: {error}") from error


def _decode(encoded: Any) -> Any:
    if not isinstance(encoded, dict):
        return encoded
    kind = encoded.get("!")
    if kind in ("nan", "inf", "-inf"):
        return float(kind)
    if kind == "tuple":
        return tuple(_decode(item) for item in encoded["items"])
    if kind == "dict":
        return {name: _decode(item) for name, item in encoded["items"].items()}
    if kind == "array":
        return _decode_array(encoded)
    if kind == "sparse":
        return _decode_sparse(encoded)
    if kind == "decimal":
        return _decode_decimal(encoded["value"])
    if kind == "enum":
        return _registered(encoded["type"], Enum)[encoded["name"]]
    if kind == "record":
        return _registered(encoded["type"], None)(**{name: _decode(item) for name, item in encoded["fields"].items()})
    raise StateFileError(f"the state holds {kind!r:.80}, which this version cannot read.")


def is_saved(field: "Field[Any]") -> bool:
    """Whether a field is written; one that only caches what follows from the others has ``metadata={"saved": False}``."""
    return field.init and field.metadata.get("saved") is not False


def class_of(tag: Any) -> type:
    """Return the class that is saved under a tag, or raise StateFileError."""
    kind: type = _registered(tag, None)
    return kind


def check_numbers(encoded: Any) -> None:
    """Raise StateFileError unless the ``format`` and ``method`` numbers of a saved tracker are those of this version or older."""
    for name, number in (("format", FORMAT), ("method", METHOD)):
        value = encoded.get(name) if isinstance(encoded, Mapping) else None
        if type(value) is not int or not 1 <= value <= number:
            raise StateFileError(
                f"the state has {name} number {value!r} and this driftpace reads numbers up to {number}; upgrade driftpace."
            )


def tag_of(kind: type) -> str:
    """Return the tag that a class is saved under, or raise NotEncodableError.

    Examples
    --------
    >>> from driftpace import SquaredLoss
    >>> tag_of(SquaredLoss)
    'loss.squared'
    """
    tag = _tag_in_types(kind)
    if tag is not None:
        return tag
    loss = find_loss_spec(kind)
    if loss is not None:
        return f"{_REGISTERED_LOSS}{loss.name}"
    raise NotEncodableError(f"{kind.__module__}.{kind.__qualname__} has no tag in driftpace's registry of saved types")


@cache
def _tag_in_types(kind: type) -> str | None:
    """Return the first tag of a class in the registry; None where it has none."""
    for tag, place in TYPES.items():
        if place.rpartition(":")[2] == kind.__qualname__ and _class_at(place) is kind:
            return tag
    return None


@cache
def _class_at(place: str) -> Any:
    module, _, name = place.rpartition(":")
    return getattr(import_module(module), name)


def _registered(tag: Any, base: type | None) -> Any:
    place = TYPES.get(tag) if isinstance(tag, str) else None
    kind = _registered_loss(tag) if place is None else _class_at(place)
    if kind is None and isinstance(tag, str) and tag.startswith(_REGISTERED_LOSS):
        name = tag.removeprefix(_REGISTERED_LOSS)
        raise StateFileError(
            f"the state has the loss {name!r:.120}, which is not registered in this process; call register_loss first."
        )
    if kind is None or not (issubclass(kind, base) if base else is_dataclass(kind)):
        raise StateFileError(f"the state holds a {tag!r:.120}, which this version does not have.")
    return kind


def _registered_loss(tag: Any) -> Any:
    """Return the class of a loss that a user registered by name, or None."""
    name = tag.removeprefix(_REGISTERED_LOSS) if isinstance(tag, str) and tag.startswith(_REGISTERED_LOSS) else None
    return loss_spec(name).loss_class if name in loss_names() else None


def _encode_array(array: "np.ndarray[Any, Any]") -> dict[str, Any]:
    import numpy as np

    little = array.dtype.newbyteorder("<").str.replace(">", "<")
    if little not in _DTYPES:
        raise NotEncodableError(f"an array of {array.dtype} cannot be encoded")
    data = base64.b64encode(np.ascontiguousarray(array, dtype=little).tobytes()).decode("ascii")
    return {"!": "array", "dtype": little, "shape": list(array.shape), "data": data}


def _decode_array(encoded: dict[str, Any]) -> "np.ndarray[Any, Any]":
    import numpy as np

    if encoded["dtype"] not in _DTYPES:
        raise StateFileError(f"the state holds an array of type {encoded['dtype']!r}, which this version cannot read.")
    data = np.frombuffer(base64.b64decode(encoded["data"]), dtype=encoded["dtype"])
    return data.reshape(encoded["shape"]).astype(data.dtype.newbyteorder("="))


def _encode_sparse(matrix: Any) -> dict[str, Any]:
    """Encode a sparse matrix by its rows (CSR)."""
    import numpy as np

    parts = (matrix.data.astype(np.float64), matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64))
    return {"!": "sparse", "shape": list(matrix.shape), "parts": [_encode_array(part) for part in parts]}


def _decode_sparse(encoded: dict[str, Any]) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix(tuple(_decode_array(part) for part in encoded["parts"]), shape=tuple(encoded["shape"]))


def _decode_decimal(text: Any) -> Decimal:
    try:
        return Decimal(text)
    except (InvalidOperation, TypeError, ValueError):
        raise StateFileError(f"the state holds {text!r} where a decimal number is expected.") from None
