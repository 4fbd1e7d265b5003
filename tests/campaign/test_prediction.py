"""The model of a campaign without its rows predicts as the campaign does, also when it is read from its file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace.campaign import Campaign, CampaignModel
from driftpace.errors import ProtocolError, StateFileError
from driftpace.storage import MemoryStore

DEFINITIONS: dict[str, dict[str, Any]] = {
    "numbers": {"features": ["area", "floor"]},
    "no intercept": {"features": ["area", "floor"], "fit_intercept": False},
    "categories": {"features": ["area", "town"], "categories": {"town": ["north", "south"]}},
    "learned columns": {},
    "two classes": {"loss": "logistic", "classes": ["cheap", "dear"], "features": ["area", "floor"]},
    "three classes": {"loss": "softmax", "classes": ["cheap", "dear", "fair"], "features": ["area", "floor"]},
    "candidates": {"features": ["area", "floor"], "l2": [0.0, 0.1]},
    "text": {"features": ["area", "note"], "text": ["note"], "epsilon": 0.5},
    "curves": {"features": ["area", "floor"], "splines": ["area"], "epsilon": 0.5},
}


def flats(rows: int, rng: np.random.Generator, definition: dict[str, Any]) -> dict[str, Any]:
    X = rng.uniform(-2.0, 2.0, (rows, 2))
    price = X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(rows)
    table: dict[str, Any] = {"area": X[:, 0], "floor": X[:, 1]}
    table["town"] = np.where(X[:, 1] > 0.0, "north", "south")
    table["note"] = [f"{'large bright' if one > 0.0 else 'small dark'} flat" for one in X[:, 0]]
    names = definition.get("classes")
    if names is None:
        return {**table, "price": price}
    return {**table, "price": np.array(names)[np.digitize(price, [0.0, 1.0][: len(names) - 1])]}


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_it_predicts_as_the_campaign_does(kind: str, rng: np.random.Generator, tmp_path: Path) -> None:
    definition = DEFINITIONS[kind]
    values = {"name": "flats", "target": "price", "epsilon": 0.1, "seed": 0, **definition}
    campaign = Campaign.create(values, storage=MemoryStore())
    for _ in range(2):
        campaign.ask()
        campaign.tell_table(flats(80, rng, definition), final=True)
    new = flats(30, rng, definition)
    expected = campaign.predict_table(new)
    path = tmp_path / "model.json"
    campaign.model().save(path)
    for model in (campaign.model(), CampaignModel.load(path)):
        found = model.predict_table(new)
        np.testing.assert_allclose(found.score, expected.score, rtol=1e-9, atol=1e-12)
        assert found.columns("price").keys() == expected.columns("price").keys()
        if "classes" in definition:
            assert found.values == expected.values


@pytest.mark.parametrize("periods", [0, 2])
def test_one_of_a_base_predicts_as_the_campaign_does(periods: int, rng: np.random.Generator, tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    definition = DEFINITIONS["numbers"]
    old = flats(400, rng, definition)
    trees = lightgbm.LGBMRegressor(n_estimators=10, verbose=-1, n_jobs=1)
    trees.fit(np.column_stack([old["area"], old["floor"]]), old["price"])
    values = {"name": "flats", "target": "price", "epsilon": 0.1, "seed": 0, **definition}
    campaign = Campaign.create(values, storage=MemoryStore(), model=trees)
    for _ in range(periods):
        campaign.ask()
        campaign.tell_table(flats(80, rng, definition), final=True)
    new = flats(30, rng, definition)
    new["area"][0] = np.nan
    path = tmp_path / "model.json"
    campaign.model().save(path)
    np.testing.assert_array_equal(CampaignModel.load(path).predict_table(new).score, campaign.predict_table(new).score)


def test_its_file_holds_no_labelled_row(rng: np.random.Generator, tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    definition = DEFINITIONS["numbers"]
    old = flats(400, rng, definition)
    trees = lightgbm.LGBMRegressor(n_estimators=10, verbose=-1, n_jobs=1)
    trees.fit(np.column_stack([old["area"], old["floor"]]), old["price"])
    values = {"name": "flats", "target": "price", "epsilon": 0.1, "seed": 0, **definition}
    campaign = Campaign.create(values, storage=MemoryStore(), model=trees)
    sizes = []
    for rows in (60, 600):
        campaign.ask()
        campaign.tell_table(flats(rows, rng, definition), final=True)
        campaign.model().save(tmp_path / "model.json")
        sizes.append(len((tmp_path / "model.json").read_bytes()))
    assert abs(sizes[1] - sizes[0]) < 200  # digits of the same numbers


def test_before_the_first_period_there_is_none() -> None:
    campaign = Campaign.create({"name": "flats", "target": "price", "epsilon": 0.1}, storage=MemoryStore())
    with pytest.raises(ProtocolError, match="has no model yet"):
        campaign.model()


def test_a_damaged_file_is_refused(rng: np.random.Generator, tmp_path: Path) -> None:
    definition = DEFINITIONS["numbers"]
    campaign = Campaign.create(
        {"name": "flats", "target": "price", "epsilon": 0.1, "seed": 0, **definition}, storage=MemoryStore()
    )
    campaign.ask()
    campaign.tell_table(flats(80, rng, definition), final=True)
    path = tmp_path / "model.json"
    campaign.model().save(path)
    document = json.loads(path.read_text())
    document["body"]["model"]["definition"]["target"] = "rent"
    path.write_text(json.dumps(document))
    with pytest.raises(StateFileError, match="checksum"):
        CampaignModel.load(path)
    from driftpace.storage.statefile import write_state

    write_state(path, {"tracker": {}})
    with pytest.raises(StateFileError, match="is not the model of a campaign"):
        CampaignModel.load(path)
