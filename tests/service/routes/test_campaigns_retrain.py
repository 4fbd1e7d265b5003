"""The base model of a campaign over REST: the advice, training it again, and refusals."""

import lightgbm
import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.storage.base import Store
from tests.reference.periods import begun
from tests.reference.serving import Serving, serving

PLACE = "/api/campaigns/flats/retrain"


@pytest.fixture
def flats(store: Store) -> Campaign:
    """A campaign after three periods in which its model lacks something."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-2.0, 2.0, (1000, 2))
    model = lightgbm.LGBMRegressor(n_estimators=20, verbose=-1, n_jobs=1).fit(X, np.sin(2.0 * X[:, 0]))
    definition = {"name": "flats", "target": "y", "features": ["a", "b"], "epsilon": 0.05, "seed": 0}
    campaign = Campaign.create(definition, storage=store, model=model)
    for _ in range(3):
        campaign.ask()
        X = rng.uniform(-2.0, 2.0, (120, 2))
        campaign.tell(X, np.sin(2.0 * X[:, 0]) + np.cos(3.0 * X[:, 1]), final=True)
    return campaign


def test_the_base_is_trained_again_with_a_reason(flats: Campaign, served: Serving) -> None:
    advice = served.client.get("/api/campaigns/flats").json()["last"]["retrain"]
    assert advice["due"] is True
    assert advice["since"] == 3
    answer = served.client.post(PLACE, json={"reason": "the alarm"})
    assert answer.status_code == 200
    assert answer.json()["last"]["retrain"]["since"] == 0
    entry = flats.log()[-1]
    assert (entry.kind, entry.body["reason"], entry.body["who"]) == ("retrained", "the alarm", "local")
    assert served.client.get("/api/campaigns/flats/log").json()["entries"][-1]["model"] == entry.body["model"]
    undone = served.client.post("/api/campaigns/flats/undo", json={"entry": entry.seq, "reason": "not yet"})
    assert undone.status_code == 200
    assert served.client.get("/api/campaigns/flats").json()["last"]["retrain"] == advice


def test_the_page_says_how_old_the_base_is(flats: Campaign, store: Store) -> None:
    with serving(store, dashboard=True) as shown:
        page = shown.client.get("/campaigns/flats").text
        assert "train the base again" in page
        assert "The base is 3 periods old; training it again would gain" in page
        assert "lightgbm" in page
        flats.retrain(reason="the alarm")
        assert "The base was trained again since the last period" in shown.client.get("/campaigns/flats").text


def test_refusals_change_nothing(flats: Campaign, served: Serving, store: Store) -> None:
    begun(store, "rents")
    entries = len(flats.log())
    assert served.client.post(PLACE, json={"reason": ""}).status_code == 422
    assert served.client.post(PLACE, json={"reason": "r", "model": "/etc/passwd"}).status_code == 422
    plain = served.client.post("/api/campaigns/rents/retrain", json={"reason": "r"})
    assert plain.status_code == 409
    assert "requires a campaign of a model" in plain.text
    assert len(flats.log()) == entries
