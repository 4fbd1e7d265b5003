"""A registered loss is usable by name everywhere: campaign, template, command line, REST, stored states and backtest."""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from driftpace.backtest import backtest
from driftpace.campaign import Campaign, Definition
from driftpace.campaign.prediction import predicted
from driftpace.campaign.template import template
from driftpace.cli import main
from driftpace.errors import ParameterError, StateFileError
from driftpace.losses import (
    Curve,
    GammaLoss,
    HuberLoss,
    LinearLoss,
    LogisticLoss,
    LossSpec,
    PoissonLoss,
    QuantileLoss,
    SmoothedHinge,
    SoftmaxLoss,
    SquaredLoss,
    TweedieLoss,
    classifies,
    find_loss_spec,
    get_loss,
    loss_names,
    loss_spec,
    register_loss,
    unregister_loss,
)
from driftpace.losses.targets import encode_numbers
from driftpace.service import create_app
from driftpace.storage import MemoryStore, decode, encode
from driftpace.testing import check_loss
from driftpace.tracker import Tracker
from driftpace.typing import FloatArray
from tests.reference.run_async import run_async


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectileLoss(LinearLoss):
    """Half the squared residual, ``weight`` times it where the prediction is too low."""

    weight: float = 2.0

    @property
    def curve(self) -> Curve:
        def weights(scores: FloatArray, y: FloatArray) -> FloatArray:
            return np.where(scores < y, self.weight, 1.0)

        return Curve(
            phi=lambda scores, y: 0.5 * weights(scores, y) * (scores - y) ** 2,
            slope=lambda scores, y: weights(scores, y) * (scores - y),
            bend=weights,
            curvature=max(self.weight, 1.0),
        )

    def encode(self, y: FloatArray) -> FloatArray:
        return encode_numbers("ExpectileLoss", y)


EXPECTILE = LossSpec(
    name="expectile",
    implementation=ExpectileLoss,
    task="regression",
    description="expectile regression",
    metric="mean expectile loss",
    default_l2=0.01,
    parameters=("weight",),
)


@pytest.fixture
def expectile() -> Iterator[LossSpec]:
    """The toy loss, registered for one test."""
    yield register_loss(EXPECTILE)
    unregister_loss("expectile")


def draw_rows(rng: np.random.Generator, count: int) -> tuple[FloatArray, FloatArray]:
    X = rng.normal(size=(count, 2))
    return X, X @ np.array([1.0, -2.0]) + 0.5 + rng.normal(size=count)


def test_built_in_names_and_classes() -> None:
    classes = {
        "squared": SquaredLoss,
        "huber": HuberLoss,
        "poisson": PoissonLoss,
        "gamma": GammaLoss,
        "tweedie": TweedieLoss,
        "quantile": QuantileLoss,
        "logistic": LogisticLoss,
        "hinge": SmoothedHinge,
        "softmax": SoftmaxLoss,
    }
    assert {name: type(get_loss(name)) for name in loss_names()} == classes
    assert [get_loss(name).l2 for name in loss_names()] == [0.0, 0.0, 1e-4, 0.0, 1e-4, 0.0, 1e-3, 1e-3, 1e-3]
    for name in loss_names():
        assert loss_spec(get_loss(name)) is loss_spec(name) is loss_spec(type(get_loss(name)))
        assert classifies(get_loss(name)) == classifies(name) == (name in loss_names("classification"))


def test_get_loss_passes_parameters_on() -> None:
    assert get_loss("huber", l2=0.1, threshold=2.0) == HuberLoss(l2=0.1, threshold=2.0)
    with pytest.raises(ParameterError, match=r"get_loss\(thresholds=\.\.\.\) must be .* did you mean 'threshold'\?"):
        get_loss("huber", thresholds=2.0)
    with pytest.raises(ParameterError, match=r"SquaredLoss\(l2=\.\.\.\) must be zero or more"):
        get_loss("squared", l2=-1.0)


def test_a_subclass_is_not_its_registered_parent() -> None:
    class Derived(SquaredLoss):
        """A subclass, which may have another gradient."""

    assert find_loss_spec(Derived) is None
    with pytest.raises(ParameterError, match=r"loss_spec\(loss=\.\.\.\) must be a registered loss; got Derived"):
        loss_spec(Derived())
    assert not classifies(Derived())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "squared"}, r"register_loss\(name=\.\.\.\) must be free"),
        *(
            ({"name": name}, r"register_loss\(name=\.\.\.\) must be up to 100 letters")
            for name in ("my loss", "--help", "-x", "", "a" * 101, 3)
        ),
        (
            {"task": "ranking"},
            r"register_loss\(task=\.\.\.\) must be one of 'regression', 'classification', 'multiclass'",
        ),
        ({"implementation": dict}, r"register_loss\(implementation=\.\.\.\) must be a subclass of LinearLoss"),
    ],
)
def test_invalid_entries_are_refused(changes: dict[str, Any], message: str) -> None:
    before = loss_names()
    with pytest.raises(ParameterError, match=message):
        register_loss(replace(EXPECTILE, **changes))
    assert loss_names() == before


def test_a_registered_loss_is_not_mistaken_for_a_built_in_one_with_that_tag() -> None:
    class Steep(SmoothedHinge):
        pass

    register_loss(replace(EXPECTILE, name="smoothed-hinge", implementation=Steep, task="classification"))
    try:
        assert type(decode(encode(Steep(l2=0.1)))) is Steep
        assert type(decode(encode(SmoothedHinge(l2=0.1)))) is SmoothedHinge
    finally:
        unregister_loss("smoothed-hinge")


def test_saved_trackers_need_their_loss_registered_or_given(tmp_path: Path) -> None:
    register_loss(EXPECTILE)
    Tracker(ExpectileLoss(l2=0.1), epsilon=0.5, rng=0).save(tmp_path / "state")
    unregister_loss("expectile")
    with pytest.raises(StateFileError, match="the loss 'expectile', which is not registered in this process"):
        Tracker.load(tmp_path / "state")
    assert Tracker.load(tmp_path / "state", loss=ExpectileLoss(l2=0.1)).epsilon == 0.5


def test_a_campaign_whose_loss_is_unregistered_refuses_changes_and_stays_readable() -> None:
    store = MemoryStore()
    register_loss(EXPECTILE)
    settings = {"name": "sales", "target": "y", "features": ["a"], "epsilon": 0.5, "loss": "expectile"}
    campaign = Campaign.create(settings, storage=store)
    campaign.ask()
    before = store.checkpoint("sales")
    unregister_loss("expectile")
    with pytest.raises(ParameterError, match=r"Campaign\(loss=\.\.\.\) must be a part that a store can save"):
        campaign.override(5, reason="a holiday")
    assert store.checkpoint("sales") == before
    with pytest.raises(StateFileError, match="not registered in this process; call register_loss first"):
        Campaign.open("sales", storage=store).status()
    register_loss(EXPECTILE)
    try:
        assert Campaign.open("sales", storage=store).override(5, reason="a holiday").samples == 5
    finally:
        unregister_loss("expectile")


def test_built_in_losses_cannot_be_removed() -> None:
    with pytest.raises(ParameterError, match="must not be a built-in loss"):
        unregister_loss("squared")


def test_links() -> None:
    scores = np.array([-2.0, 0.0, 1.0])
    assert loss_spec("squared").predictions(scores).tolist() == [-2.0, 0.0, 1.0]
    assert loss_spec("hinge").predictions(scores).tolist() == [-1.0, 1.0, 1.0]
    assert loss_spec("hinge").probabilities(scores) is loss_spec("squared").probabilities(scores) is None
    probabilities = loss_spec("logistic").probabilities(scores)
    assert probabilities is not None
    assert probabilities == pytest.approx(1.0 / (1.0 + np.exp(-scores)), rel=1e-15)
    definition = Definition.of({"name": "a", "target": "y", "classes": ["no", "yes"], "epsilon": 0.1})
    assert predicted(definition, scores).values == ["no", "yes", "yes"]


def test_the_toy_loss_is_a_loss(expectile: LossSpec) -> None:
    check_loss(get_loss("expectile", weight=3.0))
    assert get_loss("expectile") == ExpectileLoss(l2=0.01)


def test_a_registered_loss_in_campaign_and_template(expectile: LossSpec, rng: np.random.Generator) -> None:
    values = {"name": "a", "target": "y", "epsilon": 0.1, "seed": 1, "loss": "expectile"}
    text = template(values)
    assert '"quantile" or "expectile" for numbers' in text
    assert Definition.of_toml(text) == Definition.of(values)
    store = MemoryStore()
    campaign = Campaign.create(Definition.of(values), storage=store)
    report = None
    order = campaign.ask()
    while report is None:
        receipt = campaign.tell(*draw_rows(rng, order.missing))
        report, order = receipt.report, receipt.order
    reopened = Campaign.open("a", storage=store)
    X, _ = draw_rows(rng, 5)
    assert np.array_equal(reopened.predict(X), campaign.predict(X))
    with pytest.raises(ParameterError, match=r"must be 'logistic', 'hinge' or 'softmax' where 2 classes are given"):
        Definition.of({**values, "classes": ["no", "yes"]})


def test_a_registered_loss_on_the_command_line(
    expectile: LossSpec,
    rng: np.random.Generator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DRIFTPACE_STORAGE", raising=False)

    def run(*arguments: object) -> Any:
        capsys.readouterr()
        assert main([*map(str, arguments), "--format", "json"]) == 0
        return json.loads(capsys.readouterr().out)

    def write(path: str, count: int) -> None:
        X, y = draw_rows(rng, count)
        with Path(path).open("w", newline="") as file:
            csv.writer(file).writerows([("a", "b", "y"), *np.column_stack([X, y]).tolist()])

    write("pool.csv", 50)
    begun = run("init", "toy", "--target", "y", "--epsilon", "0.2", "--table", "pool.csv", "--loss", "expectile")
    assert begun["definition"]["loss"] == "expectile"
    missing = run("ask", "toy")["missing"]
    for part in range(10):
        write(f"done{part}.csv", missing)
        answer = run("tell", "toy", f"done{part}.csv")
        if answer["report"] is not None:
            break
        missing = answer["order"]["missing"]
    predictions = run("predict", "toy", "pool.csv")
    assert len(predictions) == 50


def test_a_registered_loss_over_rest(expectile: LossSpec) -> None:
    async def talk() -> tuple[httpx.Response, httpx.Response, Any]:
        transport = httpx.ASGITransport(app=create_app(MemoryStore(), dashboard=False))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            body = {"name": "toy", "target": "y", "epsilon": 0.1, "loss": "expectile"}
            created = await client.post("/api/campaigns", json=body)
            refused = await client.post("/api/campaigns", json={**body, "name": "other", "loss": "cubic"})
            return created, refused, (await client.get("/api/openapi.json")).json()

    created, refused, description = run_async(talk())
    assert (created.status_code, refused.status_code) == (201, 422), created.text
    *others, last = (repr(name) for name in loss_names())
    assert f"must be {', '.join(others)} or {last}; got 'cubic'." in refused.text
    choices = [
        choice["examples"]
        for schema in description["components"]["schemas"].values()
        for choice in schema.get("properties", {}).get("loss", {}).get("anyOf", [])
        if "examples" in choice
    ]
    assert choices == [[*loss_names(), "quantile(0.9)"]]


def test_a_registered_loss_in_a_backtest(expectile: LossSpec, rng: np.random.Generator) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = draw_rows(rng, 900)
    frame = pandas.DataFrame({"week": np.repeat([1, 2, 3], 300), "a": X[:, 0], "b": X[:, 1], "y": y})
    result = backtest(
        frame, period="week", target="y", loss=get_loss("expectile"), epsilon=0.2, runs=2, seed=0, workers=1
    )
    assert len(result.periods) == 3
