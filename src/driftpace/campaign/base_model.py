"""Campaigns of a pre-trained model: the definition that goes with it, its tracker, and training it again."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from driftpace.campaign import transitions
from driftpace.campaign.definition import Definition
from driftpace.campaign.handle import Draft
from driftpace.campaign.orders import ask_again
from driftpace.campaign.state import CampaignState
from driftpace.errors import DataError, ParameterError, ProtocolError
from driftpace.models import Head, ModelAdapter, adapt, read_model
from driftpace.models.features import MOST_COLUMNS
from driftpace.models.stored import StoredModel, pack_model
from driftpace.storage.codec import encode
from driftpace.tracker import Tracker
from driftpace.tracker.head_method import HeadMethod
from driftpace.tracker.head_state import HeadState

CREATE, RETRAIN = "Campaign.create", "Campaign.retrain"

_LOSSES = {
    "regression": ("squared", "huber"),
    "classification": ("logistic",),
    "multiclass": ("softmax",),
    "counts": ("poisson",),
}
"""The losses that go with what a model predicts, the default first."""


def adapter_of(model: Any, *, owner: str) -> ModelAdapter:
    """Return the adapter of a model, or of the file that holds it."""
    try:
        adapter = read_model(model) if isinstance(model, str | os.PathLike) else adapt(model)
    except (ParameterError, DataError) as error:
        raise ParameterError(error.problem, owner=owner, name="model") from None
    if getattr(adapter.model, "pandas_categorical", None) or adapter.categories(None):
        raise ParameterError(
            "must be a model of numbers; this one was trained on categories, whose codes a table does not have. Follow it with "
            "Tracker.for_model, or train it on numbers.",
            owner=owner,
            name="model",
        )
    if adapter.hard:
        raise ParameterError(
            f"must give probabilities or scores, which a head needs; {type(adapter.model).__name__} predicts labels only. Follow "
            "it with Tracker.for_model(model, head=False).",
            owner=owner,
            name="model",
        )
    if getattr(adapter, "needs_model", False):
        raise ParameterError(
            "must be a model that is saved whole; of this one only the weights are.", owner=owner, name="model"
        )
    return adapter


Packed = tuple[dict[str, Any], bytes]
"""What the log says of a model, and its bytes for the store."""


def with_model(values: Mapping[str, Any], model: Any) -> tuple[dict[str, Any], ModelAdapter, Packed]:
    """Return the values of a definition with what a model says of columns, loss and classes, and the model for the store."""
    adapter = adapter_of(model, owner=CREATE)
    packed = pack_model(adapter, owner=CREATE)
    return _completed(values, adapter, packed[0]), adapter, packed


def _completed(values: Mapping[str, Any], adapter: ModelAdapter, facts: Mapping[str, Any]) -> dict[str, Any]:
    given = dict(values.get("model") or {})
    if given.get("sha256") not in (None, facts["sha256"]):
        raise ParameterError(
            f"must be the model of the definition, {str(given['sha256'])[:12]}; got {facts['sha256'][:12]}.",
            owner=CREATE,
            name="model",
        )
    made = {**values, "model": {**given, "format": facts["format"], "sha256": facts["sha256"]}}
    made["features"] = _columns(values.get("features"), adapter)
    losses = _LOSSES[adapter.task] if adapter.loss_name is None else (adapter.loss_name,)
    loss = made.get("loss") or losses[0]
    if loss != losses[0] and str(loss).partition("(")[0] not in losses:
        raise ParameterError(
            f"must be {' or '.join(map(repr, losses))} with a model of {adapter.task}; got {loss!r}.",
            owner="Campaign",
            name="loss",
        )
    made["loss"] = loss
    classes = _classes(values.get("classes"), adapter)
    if classes is not None:
        made["classes"] = classes
    return made


def _columns(given: Any, adapter: ModelAdapter) -> list[str]:
    """Return the columns of a model, by its own names or by those that are given in its order."""
    if given is None and adapter.columns is None:
        count = "the" if adapter.features is None else f"the {adapter.features}"
        raise ParameterError(
            f"must name {count} columns of the model in its order, since it has no names for them; got none.",
            owner="Campaign",
            name="features",
        )
    if given is None:
        return list(adapter.columns or ())
    names = list(given)
    if adapter.columns is not None and set(names) != set(adapter.columns):
        strange = next((name for name in names if name not in adapter.columns), None)
        missing = next((name for name in adapter.columns if name not in names), None)
        got = f"{strange!r}, which it does not have" if strange is not None else f"no {missing!r}"
        raise ParameterError(f"must be the columns of the model; got {got}.", owner="Campaign", name="features")
    if adapter.features is not None and len(names) != adapter.features:
        raise ParameterError(
            f"must be the {adapter.features} columns of the model; got {len(names)}.", owner="Campaign", name="features"
        )
    return names if adapter.columns is None else list(adapter.columns)


def _classes(given: Any, adapter: ModelAdapter) -> list[str] | None:
    """Return the names of the classes of a model, in its order; None for numbers, and for 0 and 1."""
    if adapter.labels is None:
        if given is not None:
            raise ParameterError(
                f"must be left out with a model of {adapter.task}; got some.", owner="Campaign", name="classes"
            )
        return None
    own = [str(label) for label in adapter.labels]
    numbered = own == [str(place) for place in range(len(own))]
    if given is None:
        return None if numbered and len(own) == 2 else own
    names = [str(name) for name in given]
    if len(names) != len(own) or (not numbered and names != own):
        raise ParameterError(
            f"must be the {len(own)} classes of the model in its order, {', '.join(own[:10])}; got {', '.join(names[:10])}.",
            owner="Campaign",
            name="classes",
        )
    return names


def make_tracker(definition: Definition, adapter: ModelAdapter, *, rng: int) -> Tracker:
    """Return the tracker of a campaign whose definition has this model."""
    head, model = Head(), definition.model
    assert model is not None
    assert definition.features is not None
    columns = len(definition.features)
    guess = max(adapter.outputs - 1, 1) + (columns if columns <= MOST_COLUMNS else 0) + head.components
    loss = definition.make_loss()
    if adapter.task == "multiclass":
        loss = replace(loss, classes=adapter.outputs)  # type: ignore[type-var]
    try:
        made = Tracker(
            loss,
            epsilon=None if definition.epsilon is None else head.share * definition.epsilon,
            tolerance=None if definition.tolerance is None else head.share * definition.tolerance,
            confidence=definition.confidence,
            certificate_level=definition.certificate_level,
            orders=definition.orders,
            season=definition.season,
            audit=definition.audit,
            delay=definition.delay,
            features=guess,
            cap=definition.cap,
            pool=definition.pool,
            budget=definition.make_budget(),
            method="adaptive",
            rng=rng if definition.seed is None else definition.seed,
        )
    except ParameterError as error:
        raise error if error.owner is None else error.renamed(owner="Campaign") from None
    method = HeadMethod(
        inner=made.snapshot()[0],
        head=head,
        columns=definition.features,
        form=model["format"],
        sha256=model["sha256"],
        epsilon=definition.epsilon,
        tolerance=definition.tolerance,
    )
    return Tracker.from_snapshot(method, method.begin())


def retrain(state: CampaignState, draft: Draft, model: ModelAdapter | None, *, reason: str, who: str) -> CampaignState:
    """Train the base again, or take another one; an open order without rows is computed again."""
    method, held = state.method, state.state
    if not isinstance(method, HeadMethod) or not isinstance(held, HeadState):
        raise ProtocolError("retrain() requires a campaign of a model; create one with model= (init --model).")
    if held.gathered:
        raise ProtocolError(
            f"retrain() requires a period without rows; close period {held.period} first, or forget its rows."
        )
    before, gain, given = held.adapter, held.gain, model is not None
    if model is None:
        model = method.trained(held)
    elif model.task != before.task or model.outputs != before.outputs:
        raise ParameterError(
            f"must be a model of {before.task} with as many classes as the one before; got one of {model.task}.",
            owner=RETRAIN,
            name="model",
        )
    elif _columns_differ(model, held.columns):
        raise ParameterError(
            f"must have the {len(held.columns)} columns of the model before, such as {held.columns[0]!r}; got others.",
            owner=RETRAIN,
            name="model",
        )
    facts, data = pack_model(model, owner=RETRAIN)
    body = {
        "period": held.period,
        "model": facts,
        "before": held.sha256,
        "given": given,
        "rows": sum(len(part) for part in held.rows),
        "since": held.period - 1 - held.trained,
        "gain": encode(gain),
        "reason": reason,
        "who": who,
    }
    stored = StoredModel(facts["format"], facts["sha256"], lambda: data)
    order = held.order
    after = transitions.retrained(state, stored)
    draft.add("retrained", body, key=facts["sha256"], rows=data)
    if after.opened is None:
        return after
    return ask_again(after, draft, who=who, pool=None if order is None else order.pool)


def _columns_differ(model: ModelAdapter, columns: tuple[str, ...]) -> bool:
    if model.columns is not None:
        return model.columns != columns
    return model.features is not None and model.features != len(columns)
