"""The method of a tracker from the arguments of its user; what can never work is refused before the first label is bought."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from driftpace import validation
from driftpace.adaptive import AdaptiveConfig
from driftpace.constants import PooledEstimator
from driftpace.constraints import WholeSpace
from driftpace.drift import Drift, Prequential, RecentChange
from driftpace.errors import ParameterError
from driftpace.learners import Sgd
from driftpace.losses import LinearLoss, Loss, VectorLoss, classifies
from driftpace.planning import Budget
from driftpace.records import Constants
from driftpace.rules import DoNotUpdate
from driftpace.selection import Candidate, Selection
from driftpace.tracker.adaptive_method import AdaptiveMethod
from driftpace.tracker.budget_method import BudgetMethod, within_budget
from driftpace.tracker.candidates_method import CandidatesMethod, CandidatesState
from driftpace.tracker.composed_checks import check_part
from driftpace.tracker.composed_method import ComposedMethod
from driftpace.tracker.head_method import HeadMethod
from driftpace.tracker.method import Method, ModelMethod
from driftpace.tracker.state import ModelSpec
from driftpace.tracker.wide_method import WideMethod, fits_wide
from driftpace.wide import Spectrum

MEMORY = 0.75
"""What a comparison of penalties keeps of its weight from period to period in the adaptive method: four periods' worth in all."""

WIDE_COLUMNS = 100
"""With more columns than this the wide method is used, unless another is asked for."""

Build = Callable[[Loss, dict[str, Any], int | None], Any]
"""Return the method for a loss, the parts of a method, and the number of columns that it sees."""


def build_method(
    owner: str,
    spec: ModelSpec,
    config: AdaptiveConfig,
    parts: dict[str, Any],
    budget: Budget | None,
    *,
    wide: bool | None = False,
) -> ModelMethod | BudgetMethod:
    """Return the adaptive method when no part is given, else one composed of the parts, the others by default.

    With ``wide`` it is the wide method, with None where columns are known to be many. By default the parts are single-pass SGD,
    sized by the do-not-update rule from the distance that the prequential statistic of the last twenty periods sees.
    """
    method: ModelMethod
    if all(part is None for part in parts.values()):
        if config.delay is not None and config.orders is None and budget is None:
            config = replace(config, orders=1)  # labels that are late cannot size a second batch
        method = AdaptiveMethod(spec=spec, config=config, budgeted=budget is not None)
        if wide or (wide is None and (spec.features or 0) > WIDE_COLUMNS and can_be_wide(method)):
            method = WideMethod(spec=spec, config=config, budgeted=budget is not None)
    else:
        if wide:
            raise ParameterError(
                "must be None with learner=, drift= and rule=; got 'wide'.", owner=owner, name="method"
            )
        method = _compose(owner, spec, config, parts, budgeted=budget is not None)
    check_part(owner, "loss", spec.loss)
    check_part(owner, "domain", spec.domain)
    if budget is not None and not isinstance(budget, Budget):
        raise ParameterError(f"must be a Budget; got {budget!r}.", owner=owner, name="budget")
    built = method if budget is None else BudgetMethod(inner=method, budget=budget)
    check_method(owner, built)
    return built


def can_be_wide(method: Any) -> bool:
    """Whether the wide method can take the place of a method before the first rows."""
    if isinstance(method, CandidatesMethod):
        return False
    inner = model_method(method)
    if not isinstance(inner, AdaptiveMethod):
        return False
    spec, config = inner.spec, inner.config
    return (
        fits_wide(spec.loss)
        and isinstance(spec.domain, WholeSpace)
        and spec.start is None
        and config.season is None
        and config.delay is None
        and config.metric is None
        and not config.expanded
    )


def as_wide(method: Any, state: Any) -> tuple[Any, Any]:
    """Return the wide method in place of the adaptive one, and its state, with the order that the first period has."""
    inner = model_method(method)
    assert isinstance(inner, AdaptiveMethod)
    wide = WideMethod(spec=inner.spec, config=inner.config, budgeted=inner.budgeted)
    if isinstance(method, BudgetMethod):
        return replace(method, inner=wide), replace(
            state, inner=replace(wide.begin(), order=state.order, period=state.period)
        )
    return wide, replace(wide.begin(), order=state.order, period=state.period)


def with_wide_pool(method: Any, state: Any, X: Any) -> Any:
    """Return the state of a wide method that was shown unlabelled rows."""
    inner = model_method(method)
    assert isinstance(inner, WideMethod)
    if isinstance(method, BudgetMethod):
        return replace(state, inner=inner.with_pool(state.inner, X))
    return inner.with_pool(state, X)


def with_wide_spectrum(method: Any, state: Any, spectrum: Spectrum) -> tuple[Any, Any]:
    """Return the wide method, in place of the adaptive one where that is given, and its state with the components of a pool."""
    if not is_wide(method):
        method, state = as_wide(method, state)
    inner = model_method(method)
    assert isinstance(inner, WideMethod)
    if isinstance(method, BudgetMethod):
        return method, replace(state, inner=inner.with_spectrum(state.inner, spectrum))
    return method, inner.with_spectrum(state, spectrum)


def _compose(
    owner: str, spec: ModelSpec, config: AdaptiveConfig, parts: dict[str, Any], *, budgeted: bool
) -> ComposedMethod:
    if config.expanded:
        raise ParameterError("must be None when the tracker is made of parts; got some.", owner=owner, name="splines")
    for name in ("tolerance", "metric", "confidence", "orders", "season", "audit"):
        value = getattr(config, name)
        if value is not None:
            given = ", ".join(name for name, part in parts.items() if part is not None)
            raise ParameterError(
                f"must be None when the tracker is made of parts ({given}); got {value!r}.",
                owner=owner,
                name=name,
            )
    validation.positive(owner, epsilon=config.epsilon)  # type: ignore[arg-type]
    assert config.epsilon is not None
    defaults: dict[str, Any] = {
        "learner": Sgd,
        "drift": lambda: Drift(one_step=Prequential(), combine=RecentChange(window=20)),
        "rule": DoNotUpdate,
        "constants": Constants,
        "constants_estimator": PooledEstimator,
    }
    filled = {name: defaults[name]() if part is None else part for name, part in parts.items()}
    return ComposedMethod(spec=spec, epsilon=config.epsilon, budgeted=budgeted, **filled)


def selection_of(
    owner: str,
    loss: Any,
    l2: Sequence[float] | None,
    select: Selection | None,
    constants: Any = None,
    *,
    memory: float = 0.0,
) -> Selection | None:
    """Return what is chosen among: the penalties of a list, or what the user put together; None for neither."""
    if select is not None and l2 is not None:
        raise ParameterError("must be None when select is given; got both.", owner=owner, name="l2")
    if select is not None:
        if not isinstance(select, Selection):
            raise ParameterError(f"must be a Selection; got {select!r:.80}.", owner=owner, name="select")
        if constants is not None:
            raise ParameterError(
                "must be None with select: each Candidate has its own; got some.",
                owner=owner,
                name="constants",
            )
        return select
    if l2 is None:
        return None
    if isinstance(constants, Constants):
        raise ParameterError(
            "must be one for each of l2, since m, M, A and B depend on it; got one for all.",
            owner=owner,
            name="constants",
        )
    if getattr(loss, "l2", 0.0) != 0.0:
        raise ParameterError(
            f"must be the only penalty; got a loss that has l2={loss.l2!r} besides.",
            owner=owner,
            name="l2",
        )
    return Selection.of_l2(loss, l2, memory=memory, constants=constants, owner=owner)


def build_candidates(
    owner: str,
    loss: Loss,
    selection: Selection,
    parts: dict[str, Any],
    build: Build,
    *,
    features: int | None,
    started: bool,
) -> CandidatesMethod:
    """Return the methods of all candidates; a candidate's part takes the place of the tracker's."""
    if started and any(one.columns is not None for one in selection.candidates):
        raise ParameterError("must be None where candidates see different columns; got one.", owner=owner, name="start")
    methods = []
    for one in selection.candidates:
        minimised = loss if one.loss is None else one.loss
        if parts["constants"] is not None and one.constants is None and minimised != loss:
            raise ParameterError(
                f"must be given by each Candidate with a different loss; {one.label!r} gives none.",
                owner=owner,
                name="constants",
            )
        filled = {name: part if getattr(one, name) is None else getattr(one, name) for name, part in parts.items()}
        method = build(minimised, filled, _features_of(one, features))
        methods.append(method)
        check_part(owner, "loss", loss)
        if model_method(method).linear and not isinstance(loss, LinearLoss | VectorLoss):
            raise ParameterError(
                f"must be a LinearLoss, since it compares {one.label!r}, which is fitted by the adaptive method; "
                f"got {loss!r}.",
                owner=owner,
                name="loss",
            )
        if classifies(minimised) != classifies(loss) or isinstance(minimised, VectorLoss) != isinstance(
            loss, VectorLoss
        ):
            raise ParameterError(
                f"must have losses of one kind, for numbers or for classes; {one.label!r} is of the other.",
                owner=owner,
                name="select",
            )
    return CandidatesMethod(methods=tuple(methods), selection=selection, loss=loss, features=features)


def _features_of(candidate: Candidate, features: int | None) -> int | None:
    if features is None or candidate.columns is None:
        return features
    beyond = [one for one in candidate.columns if isinstance(one, int) and not 0 <= one < features]
    if beyond:
        raise ParameterError(
            f"must be places from 0 to {features - 1}; {candidate.label!r} has {beyond[0]}.",
            owner="Candidate",
            name="columns",
        )
    return len(candidate.columns)


def with_budget(owner: str, method: Method, state: Any, budget: Budget) -> tuple[Method, Any]:
    """Return a method with another budget from now on, and its state, whose open period is to be sized again."""
    state = state.without_order()
    changed: Method
    if isinstance(method, CandidatesMethod):
        assert isinstance(state, CandidatesState)
        pairs = [with_budget(owner, *pair, budget) for pair in zip(method.methods, state.states, strict=True)]
        changed = replace(method, methods=tuple(one for one, _ in pairs))
        return changed, replace(state, states=tuple(now for _, now in pairs))
    if isinstance(method, HeadMethod):
        inner, held = with_budget(owner, method.inner, state.inner, budget)
        return replace(method, inner=inner), replace(state, inner=held)
    if isinstance(method, BudgetMethod):
        changed = replace(method, budget=budget)
    else:
        assert isinstance(method, ModelMethod)
        changed, state = within_budget(method, state, budget)
    check_method(owner, changed)
    return changed, state


def model_method(method: Any) -> ModelMethod:
    """Return the method that fits, without the budget or the model around it."""
    while isinstance(method, BudgetMethod | HeadMethod):
        method = method.inner
    inner: ModelMethod = method
    return inner


def is_wide(method: Any) -> bool:
    """Whether a method takes rows of many columns, sparse ones as they are."""
    return not isinstance(method, CandidatesMethod) and isinstance(model_method(method), WideMethod)


def uses_groups(method: Any) -> bool:
    """Whether a method has a use for groups of rows: to compare candidates, or to know its model."""
    return isinstance(method, CandidatesMethod) or model_method(method).uses_groups


def check_weights(method: Any, owner: str) -> None:
    """Refuse weights of rows where a method, or one of its candidates, cannot use them."""
    methods = method.methods if isinstance(method, CandidatesMethod) else (method,)
    if not all(model_method(one).uses_weights for one in methods):
        raise ParameterError(
            f"must be None with {_named(methods)}, whose rows count alike.",
            owner=owner,
            name="sample_weight",
        )


def check_exposure(method: Any, owner: str) -> None:
    """Refuse exposures where the loss is not one of counts or amounts."""
    methods = method.methods if isinstance(method, CandidatesMethod) else (method,)
    for loss in (model_method(one).spec.loss for one in methods):
        if not getattr(loss, "takes_exposure", False):
            raise ParameterError(
                f"must be None with {type(loss).__name__}: counts and amounts have an exposure (PoissonLoss, GammaLoss, "
                "TweedieLoss).",
                owner=owner,
                name="exposure",
            )


def _named(methods: Sequence[Any]) -> str:
    """Name methods as their users do."""
    wide = any(isinstance(model_method(one), WideMethod) for one in methods)
    return "the wide method (give method='adaptive')" if wide else "learner=, drift= and rule="


def check_annotators(method: Any, owner: str) -> None:
    """Refuse several labels of a row where a method, or the loss of one of its candidates, cannot use them."""
    methods = method.methods if isinstance(method, CandidatesMethod) else (method,)
    if not all(model_method(one).uses_weights for one in methods):
        raise ParameterError(
            f"must be None with {_named(methods)}, whose rows have one label.",
            owner=owner,
            name="annotators",
        )
    for loss in (model_method(one).spec.loss for one in methods):
        if (classifies(loss) or isinstance(loss, VectorLoss)) and not getattr(loss, "soft_labels", False):
            raise ParameterError(
                f"must be None with {type(loss).__name__}, whose curve takes no mean of classes (soft_labels).",
                owner=owner,
                name="annotators",
            )


def check_method(owner: str, method: Any) -> None:
    """Refuse a method that cannot work with the loss and the set; of candidates, each."""
    if isinstance(method, CandidatesMethod):
        for one in method.methods:
            check_method(owner, one)
        return
    inner = model_method(method)
    check_part(owner, "loss", inner.spec.loss)
    check_part(owner, "domain", inner.spec.domain)
    if isinstance(method, BudgetMethod) and not isinstance(method.budget, Budget):
        raise ParameterError(f"must be a Budget; got {method.budget!r}.", owner=owner, name="budget")
    inner.validate(owner)
