"""More money for a campaign, over REST."""

import pytest

from driftpace.campaign import Campaign
from driftpace.storage.base import Store
from tests.reference.periods import begun
from tests.reference.serving import Serving

PLACE = "/api/campaigns/churn/budget"
MONEY = {"money": "80.50", "periods": 4, "reason": "a grant", "per_sample": 1, "currency": "EUR"}


def test_adding_money_recomputes_the_open_order(served: Serving, store: Store) -> None:
    campaign = begun(store, "churn")
    campaign.ask()
    answer = served.client.post(PLACE, json=MONEY)
    assert answer.status_code == 200
    assert answer.json()["to_plan"] == {"amount": "80.50", "currency": "EUR"}
    assert [entry.kind for entry in campaign.log()] == ["created", "asked", "budgeted", "asked"]
    more = served.client.post(PLACE, json={"money": 10, "reason": "more"}).json()
    assert more["to_plan"]["amount"] == "90.50"
    assert campaign.log()[2].body["who"] == "local"


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"periods": 600}, "must leave at most 520 periods to plan; got 600"),
        ({"money": "-5"}, "money"),
        ({"money": "1e99"}, "money"),
        ({"reason": ""}, "reason"),
        ({"tiers": [[1, 2]], "per_sample": 1}, "per_sample"),
    ],
)
def test_invalid_requests_are_refused_and_change_nothing(
    served: Serving, store: Store, more: dict[str, object], sentence: str
) -> None:
    campaign = begun(store, "churn")
    before = campaign.log()
    answer = served.client.post(PLACE, json={**MONEY, **more})
    assert answer.status_code == 422
    assert sentence in answer.json()["error"]["message"]
    assert campaign.log() == before


@pytest.mark.parametrize("batches", [True, False])
def test_batches_can_be_set_over_rest(served: Serving, store: Store, batches: bool) -> None:
    budget = {"total": 100, "horizon": 4, "fixed": 5, "batches": batches}
    values = {"name": "rents", "target": "y", "epsilon": 0.1, "budget": budget}
    assert served.client.post("/api/campaigns", json=values).status_code == 201
    found = Campaign.open("rents", storage=store).tracker().budget
    assert found is not None
    assert found.in_batches is batches
    wrong = served.client.post("/api/campaigns", json={**values, "name": "b", "budget": {**budget, "batches": "no"}})
    assert wrong.status_code == 422
