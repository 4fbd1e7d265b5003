"""Targets of all kinds over REST: what cannot be used is refused in one sentence and changes nothing."""

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from driftpace.campaign import Campaign
from driftpace.storage import MemoryStore
from tests.reference.serving import Serving, serving

ROWS = 60
X = np.random.default_rng(0).normal(size=(ROWS, 2))
DEFINITIONS: dict[str, dict[str, Any]] = {
    "counts": {"loss": "poisson", "exposure": "years"},
    "amounts": {"loss": "gamma"},
    "quantile": {"loss": "quantile(0.9)"},
    "kinds": {"classes": ["cat", "dog", "owl"]},
    "texts": {"classes": ["no", "yes"], "features": ["a"], "text": ["a"]},
}


@pytest.fixture(scope="module")
def targets() -> Iterator[Serving]:
    """A service with a campaign for each kind of target, the first period of each asked for."""
    store = MemoryStore()
    for name, settings in DEFINITIONS.items():
        body = {"name": name, "target": "y", "features": ["a", "b"], "epsilon": 0.2, "seed": 0, **settings}
        Campaign.create(body, storage=store).ask()
    with serving(store) as running:
        yield running


def _arrays(y: list[Any], **more: Any) -> dict[str, Any]:
    return {"X": X[: len(y)].tolist(), "y": y, **more}


@pytest.mark.parametrize(
    ("name", "body", "sentence"),
    [
        (
            "counts",
            _arrays([1.0, -1.0], exposure=[1.0, 1.0]),
            "Campaign.tell(y=...) must be numbers from 0 to 1e+15 for PoissonLoss; got -1.0 in row 1.",
        ),
        (
            "counts",
            _arrays([1.0, None], exposure=[1.0, 1.0]),
            "deliveries(y=...) must be an array of numbers; it is not.",
        ),
        (
            "counts",
            _arrays([1.0, 2.0], exposure=[1.0, 0.0]),
            "Campaign.tell(exposure=...) must be above zero; got 0.0 in row 1.",
        ),
        (
            "counts",
            _arrays([1.0, 2.0], exposure=[1.0]),
            "Campaign.tell(exposure=...) must have one entry for each of the 2 rows; got shape (1,).",
        ),
        (
            "counts",
            _arrays([1.0, 2.0]),
            "Campaign.tell(exposure=...) must be given with arrays, since the column 'years' of tables has it; got None.",
        ),
        (
            "amounts",
            _arrays([1.0, 0.0]),
            "Campaign.tell(y=...) must be numbers from 1e-15 to 1e+15 for GammaLoss; got 0.0 in row 1.",
        ),
        ("quantile", _arrays([1.0, 2.0], exposure=[1.0, 1.0]), "Campaign.tell(exposure=...) must be None"),
        ("quantile", _arrays([1.0, 1e200]), "Campaign.tell(y=...) must be"),
        (
            "kinds",
            _arrays([0.0, 3.0]),
            "Campaign.tell(y=...) must be the names of classes, or their numbers 0 to 2; got 3.",
        ),
        ("kinds", {"X": [[1.0, 2.0, 3.0]], "y": [0]}, "Campaign.tell(X=...) must have 2 columns; got 3."),
        (
            "texts",
            _arrays([1.0]),
            "Campaign.tell(X=...) must be a table (tell_table), whose column 'a' has the texts; got",
        ),
    ],
)
def test_targets_that_cannot_be_used(targets: Serving, name: str, body: dict[str, Any], sentence: str) -> None:
    before = targets.service.store.head(name)
    answer = targets.client.post(f"/api/campaigns/{name}/deliveries", json=body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["error"]["message"].startswith(sentence)
    assert targets.service.store.head(name) == before


def _parquet(vectors: list[list[float]]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"v": vectors, "y": X[: len(vectors), 0]}), sink)
    return sink.getvalue()


def test_too_many_columns(targets: Serving) -> None:
    headers = {"Content-Type": "application/vnd.apache.parquet"}
    answer = targets.client.post("/api/schema?target=y", content=_parquet([[0.0] * 1_000] * 3), headers=headers)
    assert answer.status_code == 422
    assert "must have at most 1,000 columns; got 1,001" in answer.json()["error"]["message"]


def test_embeddings_of_a_file(targets: Serving) -> None:
    """Lists of numbers in Parquet are features: of the definition, of deliveries and of predictions."""
    client, headers = targets.client, {"Content-Type": "application/vnd.apache.parquet"}
    table = _parquet(X.tolist())
    definition = client.post("/api/schema?target=y&name=vectors&epsilon=0.5", content=table, headers=headers).json()[
        "definition"
    ]
    assert definition["features"] == ["v_0", "v_1"]
    created = client.post("/api/campaigns", json={**definition, "name": "vectors", "epsilon": 0.5})
    assert created.status_code == 201, created.text
    assert client.post("/api/campaigns/vectors/orders", json={}).is_success
    told = client.post("/api/campaigns/vectors/deliveries?final=true", content=table, headers=headers)
    assert told.is_success, told.text
    assert told.json()["rows"] == ROWS
    predicted = client.post("/api/campaigns/vectors/predictions", content=table, headers=headers).json()["predictions"]
    np.testing.assert_allclose(predicted, X[:, 0], atol=0.01)


def test_counts_that_are_all_zero_are_kept_and_give_no_model(targets: Serving) -> None:
    body = _arrays([0.0] * ROWS, exposure=[1.0] * ROWS)
    told = targets.client.post("/api/campaigns/counts/deliveries?final=true", json=body).json()
    assert (told["rows"], told["report"]["outcome"]) == (ROWS, "short")
    answer = targets.client.post("/api/campaigns/counts/predictions", json={"X": [[0.0, 0.0]]})
    assert answer.status_code == 409, answer.text
