"""A campaign in a real store of MLflow; skipped where MLflow is not installed, make mlflow runs it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.errors import MissingExtraError, ParameterError
from driftpace.storage import MemoryStore

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow warns of its own types, and of its calls of SQLAlchemy

LINEAR: dict[str, Any] = {"name": "flats", "target": "price", "features": ["area", "floor"], "epsilon": 0.05, "seed": 0}


def flats(rows: int, rng: np.random.Generator, shift: float = 0.0) -> dict[str, Any]:
    X = rng.uniform(-2.0, 2.0, (rows, 2))
    price = np.sin(2.0 * X[:, 0]) + shift * np.cos(3.0 * X[:, 1]) + 0.3 * rng.standard_normal(rows)
    return {"area": X[:, 0], "floor": X[:, 1], "price": price}


def features(table: dict[str, Any]) -> dict[str, Any]:
    return {name: table[name] for name in ("area", "floor")}


def months(campaign: Campaign, rng: np.random.Generator, count: int) -> None:
    for _ in range(count):
        campaign.ask()
        campaign.tell_table(flats(60, rng), final=True)


def of_trees(rng: np.random.Generator, **definition: Any) -> Campaign:
    lightgbm = pytest.importorskip("lightgbm")
    old = flats(600, rng)
    X = np.column_stack([old["area"], old["floor"]])
    trees = lightgbm.LGBMRegressor(n_estimators=10, verbose=-1, n_jobs=1).fit(X, old["price"])
    return Campaign.create({**LINEAR, **definition}, storage=MemoryStore(), model=trees)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed; make mlflow runs this")
    folder = tmp_path_factory.mktemp("mlflow")
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    mlflow.set_experiment(experiment_id=mlflow.create_experiment("labels", artifact_location=folder.as_uri()))
    yield mlflow
    mlflow.set_tracking_uri(None)


def test_a_run_has_parameters_metrics_and_the_ledger(store: Any, rng: np.random.Generator) -> None:
    from driftpace.mlflow import log_campaign

    campaign = Campaign.create(LINEAR, storage=MemoryStore())
    months(campaign, rng, 3)
    run = store.get_run(log_campaign(campaign))
    assert run.info.status == "FINISHED"
    assert run.data.params["epsilon"] == "0.05"
    assert json.loads(run.data.params["features"]) == ["area", "floor"]
    client = store.MlflowClient()
    for key in ("samples", "risk_bound", "certificate"):
        history = client.get_metric_history(run.info.run_id, key)
        assert [each.step for each in history] == [1, 2, 3]
        assert [each.value for each in history] == [getattr(row.report, key) for row in campaign.ledger()]
    assert client.get_metric_history(run.info.run_id, "served_loss")[-1].value == campaign.ledger()[2].served.loss
    held = {item.path for item in client.list_artifacts(run.info.run_id)}
    assert {"definition.toml", "ledger.csv"} <= held
    text = Path(client.download_artifacts(run.info.run_id, "ledger.csv")).read_bytes().decode()
    assert text == campaign.ledger().to_csv()


def test_a_campaign_is_logged_again_into_its_run_and_only_what_is_new(store: Any, rng: np.random.Generator) -> None:
    from driftpace.mlflow import log_campaign

    campaign = Campaign.create({**LINEAR, "name": "again"}, storage=MemoryStore())
    months(campaign, rng, 2)
    first = log_campaign(campaign)
    assert log_campaign(campaign) == first
    client = store.MlflowClient()
    assert len(client.get_metric_history(first, "samples")) == 2
    assert (
        len(client.search_logged_models([store.get_run(first).info.experiment_id], f"source_run_id = '{first}'")) == 1
    )
    months(campaign, rng, 1)
    campaign.undo(period=3, reason="wrong rows")
    campaign.forget(reason="wrong rows")
    campaign.tell_table(flats(60, rng), final=True)
    assert log_campaign(campaign) == first
    assert [each.step for each in client.get_metric_history(first, "samples")] == [1, 2, 3]
    other = Campaign.create({**LINEAR, "name": "again"}, storage=MemoryStore(), clock=lambda: "2026-01-01T00:00:00Z")
    assert log_campaign(other) != first


def test_a_revised_period_is_logged_again(store: Any, rng: np.random.Generator) -> None:
    from driftpace.mlflow import log_campaign

    campaign = Campaign.create({**LINEAR, "name": "revised"}, storage=MemoryStore())
    months(campaign, rng, 2)
    run_id = log_campaign(campaign)
    delivered = campaign.log(kinds=["delivered"])[0]
    campaign.undo(delivered.seq, reason="wrong file")
    log_campaign(campaign)
    logged = store.MlflowClient().get_metric_history(run_id, "risk_bound")
    now = {each.step: each.value for each in sorted(logged, key=lambda each: each.timestamp)}
    values = {row.report.period: row.report.risk_bound for row in campaign.ledger()}
    assert {step: now[step] for step in values if np.isfinite(values[step])} == {
        step: value for step, value in values.items() if np.isfinite(value)
    }


def test_the_active_run_and_a_given_one_are_used(store: Any, rng: np.random.Generator) -> None:
    from driftpace.mlflow import log_campaign

    campaign = Campaign.create({**LINEAR, "name": "active"}, storage=MemoryStore())
    months(campaign, rng, 1)
    with store.start_run() as active:
        assert log_campaign(campaign, model=False) == active.info.run_id
        assert store.active_run() is not None
    given = store.MlflowClient().create_run(active.info.experiment_id).info.run_id
    assert log_campaign(campaign, run_id=given) == given


def test_before_the_first_period_there_is_no_model(store: Any) -> None:
    from driftpace.mlflow import log_campaign

    run_id = log_campaign(Campaign.create({**LINEAR, "name": "new"}, storage=MemoryStore()))
    run = store.get_run(run_id)
    assert run.data.metrics == {}
    assert "driftpace.model" not in run.data.tags


@pytest.mark.parametrize("kind", ["linear", "trees"])
def test_mlflow_serves_the_model_without_a_pickle(store: Any, rng: np.random.Generator, kind: str) -> None:
    import pandas as pd

    from driftpace.mlflow import log_campaign

    name = f"served {kind}".replace(" ", "-")
    campaign = (
        of_trees(rng, name=name)
        if kind == "trees"
        else Campaign.create({**LINEAR, "name": name}, storage=MemoryStore())
    )
    months(campaign, rng, 2)
    run_id = log_campaign(campaign, registered_model_name=name)
    frame = pd.DataFrame(features(flats(20, rng)))
    expected = campaign.predict_table(frame).values
    model = store.pyfunc.load_model(f"models:/{name}/1")
    np.testing.assert_allclose(model.predict(frame)["price_predicted"], expected, rtol=1e-12)
    files = [
        path for path in Path(store.artifacts.download_artifacts(f"models:/{name}/1")).rglob("*") if path.is_file()
    ]
    assert not [
        path for path in files if path.suffix in (".pkl", ".pickle", ".joblib") or path.read_bytes()[:1] == b"\x80"
    ]
    if kind == "trees":
        import lightgbm

        text = store.MlflowClient().download_artifacts(run_id, "base/model.txt")
        assert lightgbm.Booster(model_file=text).num_trees() == 10


def test_what_is_no_campaign_is_refused() -> None:
    from driftpace.mlflow import log_campaign

    with pytest.raises(ParameterError, match="must be a Campaign; got 'flats'"):
        log_campaign("flats")  # type: ignore[arg-type]


def test_without_mlflow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from driftpace.mlflow import log_campaign

    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(MissingExtraError, match=r"driftpace\[mlflow\]"):
        log_campaign(Campaign.create(LINEAR, storage=MemoryStore()))


def test_the_code_of_the_page_runs(store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[2] / "docs" / "howto" / "mlflow.md"
    before = store.get_tracking_uri()
    monkeypatch.chdir(tmp_path)
    try:
        exec(compile("\n".join(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)), str(page), "exec"), {})
    finally:
        store.set_tracking_uri(before)
