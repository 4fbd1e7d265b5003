import json
import re
from pathlib import Path

import numpy as np
from prometheus_client.parser import text_string_to_metric_families

from driftpace.service.metrics import Metrics
from driftpace.storage.base import Store
from tests.reference.periods import as_csv, begun, rows
from tests.reference.serving import Serving


def value(text: str, name: str, **labels: str) -> float:
    """Return the sum of all samples of that name that have these labels."""
    samples = [one for family in text_string_to_metric_families(text) for one in family.samples if one.name == name]
    found = [one.value for one in samples if labels.items() <= one.labels.items()]
    assert found, (name, labels)
    return float(sum(found))


def test_requests_orders_and_deliveries_are_counted(served: Serving, store: Store, rng: np.random.Generator) -> None:
    begun(store, "churn")
    begun(store, "other")
    client = served.client
    order = client.post("/api/campaigns/churn/orders", json={}).json()
    body = as_csv(*rows(rng, 12))
    headers = {"Content-Type": "text/csv"}
    client.post("/api/campaigns/churn/deliveries?final=false", content=body, headers=headers)
    client.post("/api/campaigns/churn/deliveries", content=body, headers=headers)
    client.post("/api/campaigns/churn/deliveries?final=true")
    client.get("/api/campaigns/none")
    text = client.get("/metrics").text
    assert order["samples"] > 0
    assert value(text, "driftpace_orders_total") == 1
    assert value(text, "driftpace_rows_received_total") == 12
    assert value(text, "driftpace_deliveries_total", outcome="received") == 1
    assert value(text, "driftpace_deliveries_total", outcome="duplicate") == 1
    assert value(text, "driftpace_deliveries_total", outcome="closed") == 1
    assert value(text, "driftpace_fit_seconds_count") == 1
    assert value(text, "driftpace_campaigns", stage="ask") == 2
    route = "/api/campaigns/{name}"
    assert value(text, "driftpace_http_requests_total", route=route, method="GET", status="404") == 1
    assert value(text, "driftpace_http_request_seconds_count", route=f"{route}/deliveries", method="POST") == 3
    assert "churn" not in text


def test_label_cardinality_is_bounded(served: Serving) -> None:
    for place in range(30):
        served.client.get(f"/nowhere/{place}")
        served.client.request(f"ODD{place}", "/nowhere")
    text = served.client.get("/metrics").text
    assert value(text, "driftpace_http_requests_total", route="none", method="GET", status="404") == 30
    assert value(text, "driftpace_http_requests_total", route="none", method="other") == 30


def test_the_example_of_a_dashboard_uses_all_metrics_and_no_others() -> None:
    page = json.loads((Path(__file__).parents[2] / "examples" / "grafana" / "driftpace.json").read_text())
    used = {
        name
        for panel in page["panels"]
        for target in panel["targets"]
        for name in re.findall(r"driftpace_\w+", target["expr"])
    }
    families = {family.name: family.type for family in Metrics().registry.collect()}
    ends = {"counter": "_total", "histogram": "_bucket", "gauge": ""}
    assert used == {name + ends[kind] for name, kind in families.items()}
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in page["panels"]]
    assert len(set(places)) == len(places)
