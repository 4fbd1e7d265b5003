"""A raw table over REST: the definition inferred, rows drawn, a wrong file refused, an undo and late rows."""

from pathlib import Path
from typing import Any

from driftpace.campaign import Campaign
from driftpace.storage.base import Store
from tests.reference.raw_table import label, missing, visits, write_rows
from tests.reference.serving import Serving

TABLE = visits()
OCTOBER, NOVEMBER, DECEMBER = TABLE
HERE = "/api/campaigns/spend"


def test_the_walk(served: Serving, store: Store, tmp_path: Path) -> None:
    def send(place: str, rows: list[dict[str, str]], status: int = 200, **params: str) -> dict[str, Any]:
        write_rows(tmp_path / "rows.csv", rows, labelled=place != "sample")
        headers = {"Content-Type": "text/csv", **({"Idempotency-Key": params.pop("name")} if "name" in params else {})}
        content = (tmp_path / "rows.csv").read_bytes()
        url = "/api/schema" if place == "schema" else f"{HERE}/{place}"
        answer = served.client.post(url, content=content, headers=headers, params=params)
        assert answer.status_code == status, answer.text
        body: dict[str, Any] = answer.json()
        return body

    def draw(month: str) -> list[dict[str, str]]:
        assert served.client.post(f"{HERE}/orders", json={"key": month}).status_code == 200
        ids = set(send("sample", TABLE[month])["ids"])
        return label([row for row in TABLE[month] if row["customer"] in ids], TABLE)

    definition = send("schema", [row for rows in TABLE.values() for row in rows], target="spend")["definition"]
    values = {**definition, "name": "spend", "tolerance": 0.3, "id": "customer", "seed": 1}
    assert served.client.post("/api/campaigns", json=values).status_code == 201

    drawn = draw(OCTOBER)
    receipt = send("deliveries", drawn, final="false")
    assert receipt["rows"] == len(drawn)
    assert {item["column"]: item["cells"] for item in receipt["filled"]} == missing(drawn)
    refused = send("deliveries", TABLE[NOVEMBER], 422)["error"]["message"]
    assert "must be rows drawn for period 1 (2025-10); 900 of 900 rows were not, such as 'C010000'" in refused
    assert send("deliveries", TABLE[NOVEMBER], accept_others="true", final="false", name="november")["others"] == 900
    undone = served.client.post(f"{HERE}/undo", json={"delivery": "november", "reason": "the file of November"})
    assert (undone.status_code, undone.json()["rows"]) == (200, 900)
    assert served.client.post(f"{HERE}/deliveries", params={"final": "true"}).status_code == 200

    drawn = draw(NOVEMBER)
    assert send("deliveries", drawn[:4], final="true")["rows"] == 4
    draw(DECEMBER)
    receipt = send("deliveries", drawn[4:])
    assert [(part["period"], part["rows"]) for part in receipt["late"]] == [(2, len(drawn) - 4)]
    assert {item["column"]: item["cells"] for item in receipt["filled"]} == missing(drawn[4:])
    predicted = send("predictions", TABLE[DECEMBER])
    assert {item["column"]: item["cells"] for item in predicted["filled"]} == missing(TABLE[DECEMBER])
    *_, (_, state) = Campaign.open("spend", storage=store).replay()
    assert state.seq == served.client.get(HERE).json()["entries"]
