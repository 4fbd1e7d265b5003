"""Rows to label are drawn over REST as in Python, and definitions are inferred from tables."""

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from driftpace.backtest.check import check_table
from driftpace.campaign import Campaign
from driftpace.storage import MemoryStore
from tests.reference.serving import Serving, serving

DEFINITION = {"name": "flats", "target": "price", "features": ["area"], "id": "flat", "epsilon": 0.1, "seed": 0}
POOL: list[dict[str, Any]] = [{"flat": f"f{place}", "area": float(place)} for place in range(60)]
CSV = {"Content-Type": "text/csv"}


@pytest.fixture(scope="module")
def flats() -> Iterator[Serving]:
    """A service with one campaign, its first period asked for."""
    store = MemoryStore()
    Campaign.create(DEFINITION, storage=store).ask()
    with serving(store) as running:
        yield running


def test_samples_are_those_of_the_library(flats: Serving) -> None:
    twin = Campaign.create(DEFINITION, storage=MemoryStore())
    twin.ask()
    expected = twin.sample({"flat": [row["flat"] for row in POOL], "area": [row["area"] for row in POOL]})
    drawn = flats.client.post("/api/campaigns/flats/sample", json=POOL).json()
    assert drawn["ids"] == list(expected.ids)
    assert (drawn["new"], drawn["eligible"], drawn["pool_rows"]) == (len(expected), 60, 60)
    assert drawn["rows"] == [{"flat": name, "area": float(name[1:])} for name in expected.ids]
    again = flats.client.post("/api/campaigns/flats/sample", json=POOL).json()
    assert (again["new"], again["ids"]) == (0, drawn["ids"])
    (entry,) = Campaign.open("flats", storage=flats.service.store).log(kinds=("selected",))
    assert entry.body["who"] == "local"


@pytest.mark.parametrize(
    ("path", "content", "status"),
    [
        ("/api/campaigns/flats/sample", b"", 422),
        ("/api/campaigns/flats/sample", b"area\n1\n", 422),
        ("/api/campaigns/none/sample", b"flat,area\na,1\n", 404),
        ("/api/campaigns/flats/sample?strata=", b"flat,area\na,1\n", 422),
        ("/api/schema", b"area,price\n1,2\n", 422),
        ("/api/schema?target=cost", b"area,price\n1,2\n", 422),
        ("/api/schema?target=price", b"", 422),
        ("/api/schema?target=price", b"area,price\n1\n", 422),
        ("/api/check", b"", 422),
        ("/api/check?target=cost", b"area,price\n1,2\n", 422),
        ("/api/check?weight=", b"area,price\n1,2\n", 422),
    ],
)
def test_invalid_tables_are_refused_and_change_nothing(flats: Serving, path: str, content: bytes, status: int) -> None:
    before = flats.service.store.head("flats")
    response = flats.client.post(path, content=content, headers=CSV)
    assert response.status_code == status
    assert response.json()["error"]["message"]
    assert flats.service.store.head("flats") == before


def test_arrays_are_not_a_pool(flats: Serving) -> None:
    response = flats.client.post("/api/campaigns/flats/sample", json={"X": [[1.0]]})
    assert (response.status_code, response.json()["error"]["parameter"]) == (422, "body")


def test_inferred_definitions_create_a_campaign(flats: Serving) -> None:
    lines = [
        f"c{place},{20 + place % 7},{('Oslo', 'Rome')[place % 2]},{('no', 'yes')[place % 3 == 0]}"
        for place in range(40)
    ]
    table = "\n".join(["customer_id,age,city,churned", *lines, ""])
    inferred = flats.client.post("/api/schema?target=churned", content=table, headers=CSV).json()
    definition = inferred["definition"]
    assert definition["classes"] == ["no", "yes"]
    assert definition["categories"] == {"city": ["Oslo", "Rome"]}
    assert definition["id"] == "customer_id"
    assert {"topic", "text"} == set(inferred["notes"][0])
    created = flats.client.post("/api/campaigns", json={**definition, "name": "churn", "tolerance": 0.1, "seed": 0})
    assert created.status_code == 201, created.text


def _sales(rng: np.random.Generator) -> dict[str, list[Any]]:
    days = np.arange("2024-01-01", "2024-09-01", dtype="datetime64[D]").repeat(4)
    price = rng.normal(size=days.size)
    demand = 2.0 * price + rng.normal(size=days.size)
    return {"day": [str(day) for day in days], "price": price.tolist(), "demand": demand.tolist()}


def test_a_check_is_that_of_the_library(flats: Serving, rng: np.random.Generator) -> None:
    table = _sales(rng)
    body = "\n".join(["day,price,demand", *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))])
    files = {"file": ("my sales.csv", body.encode(), "text/csv")}
    answer = flats.client.post("/api/check?target=demand&exclude=day", files=files)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    expected = check_table(body.encode(), target="demand", exclude=["day"]).to_values("'my sales.csv'")
    assert found["lines"][0]["label"] == "Periods"
    assert {name: value for name, value in found.items() if name not in ("lines", "name")} == {
        name: value for name, value in expected.items() if name != "name"
    }
    assert found["command"].startswith("driftpace backtest 'my sales.csv' --period day:month --target demand")
    columns = flats.client.post("/api/check", json={"columns": table}).json()
    assert (columns["target"], columns["candidates"]) == (None, ["price", "demand"])


def test_sheets_of_a_workbook(flats: Serving, rng: np.random.Generator) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["nothing"])
    sheet = book.create_sheet("2024")
    table = _sales(rng)
    sheet.append(list(table))
    for row in zip(*table.values(), strict=True):
        sheet.append(list(row))
    file = io.BytesIO()
    book.save(file)
    files = {"file": ("sales.xlsx", file.getvalue())}
    found = flats.client.post("/api/check?target=demand&sheet=2024", files=files).json()
    assert found["features"] == ["price"]
    assert "--sheet 2024" in found["command"]
    inferred = flats.client.post("/api/schema?target=demand&sheet=2024", files=files).json()
    assert inferred["definition"]["features"] == ["price"]
    answer = flats.client.post("/api/check?target=demand&sheet=2025", files=files)
    assert (answer.status_code, answer.json()["error"]["parameter"]) == (422, "sheet")


def test_a_pool_shows_the_components_before_the_first_order(flats: Serving, rng: np.random.Generator) -> None:
    words = ["refund", "late", "broken", "thanks", "quick", "perfect", "login", "reset"]
    mails = "mail\n" + "\n".join(" ".join(rng.choice(words, 4)) for _ in range(200))
    definition = {
        "target": "kind",
        "classes": ["a", "b"],
        "text": ["mail"],
        "features": ["mail"],
        "epsilon": 0.1,
        "seed": 0,
    }
    client = flats.client
    assert client.post("/api/campaigns", json={"name": "mails", **definition}).status_code == 201
    place = "/api/campaigns/mails/pool"
    for content, status in ((b"", 422), (b"text\nlate\n", 422), (b"mail\n\n", 422)):
        assert client.post(place, content=content, headers=CSV).status_code == status
    answer = client.post(place, content=mails, headers=CSV)
    assert answer.status_code == 200
    assert (answer.json()["rows"], answer.json()["columns"]) == (200, 2048)
    assert answer.json()["sentence"].startswith("8 components of 200 rows have 100 %")
    again = client.post(place, content=mails, headers=CSV)
    assert again.status_code == 409
    assert "must be called once" in again.json()["error"]["message"]
    assert client.post("/api/campaigns/mails/orders", json={}).json()["missing"] == 27
    assert [entry["kind"] for entry in client.get("/api/campaigns/mails/log").json()["entries"]][:2] == [
        "created",
        "learned",
    ]
    refused = client.post("/api/campaigns/flats/pool", content=b"area\n1\n", headers=CSV)
    assert refused.status_code == 422
    assert "more than 100 columns" in refused.json()["error"]["message"]
