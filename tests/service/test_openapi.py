"""The service against its own description: whatever is sent, the answer is one that the description declares, and never a 500."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from driftpace.service.app import create_app
from driftpace.storage import MemoryStore, open_store
from tests.campaign.fleet.shops import create
from tests.reference.periods import begun, run_periods
from tests.reference.serving import PATIENCE, Serving, serving

DESCRIBED: dict[str, Any] = create_app(MemoryStore(), dashboard=False).openapi()
OPERATIONS = [
    (path, method)
    for path, methods in DESCRIBED["paths"].items()
    for method in methods
    if not path.endswith("/stream")  # it has no end; test_watch.py listens to it
]
CASES = [
    (path, method, mode)
    for path, method in OPERATIONS
    for mode in ("positive", "negative")
    if mode == "positive" or DESCRIBED["paths"][path][method].keys() & {"parameters", "requestBody"}
]
MODES = {"positive": schemathesis.GenerationMode.POSITIVE, "negative": schemathesis.GenerationMode.NEGATIVE}
NOT_ASKED = [schemathesis.checks.positive_data_acceptance]  # what is well formed may still come out of order
OF_THE_CAMPAIGN = {
    "/api/campaigns/{name}/amend": {"new_classes", "unknown_categories"},
    "/api/campaigns/{name}/undo": {"delivery", "entry", "period"},
    "/api/campaigns/{name}/fleet/undo": {"delivery", "entry", "period"},
    "/api/campaigns/{name}/erase": {"ids", "before", "older_than"},
    "/api/campaigns/{name}/fleet/segments/{segment}": {"segment"},
    "/api/campaigns/{name}/budget": {
        "fixed",
        "minimum",
        "money",
        "per_sample",
        "periods",
        "tiers",
        "total",
        "budget.per_sample",
    },
    "/api/campaigns/{name}/fleet/budget": {"fixed", "minimum", "money", "order_price", "per_sample", "periods"},
    "/api/campaigns/{name}/plans": {"budget", "fixed", "horizon", "minimum", "per_sample", "samples", "tiers"},
    "/api/campaigns/{name}/orders": {"pool"},
    "/api/campaigns/{name}/orders/current/override": {"samples"},
}
"""Parameters whose values depend on the campaign, or on each other, so that the description cannot say which are refused."""
ANY_VALUE = (
    "/deliveries",
    "/predictions",
    "/sample",
    "/schema",
    "/check",
    "/pool",
    "/api/campaigns",
    "/label-studio/{name}",
)
"""Addresses that take tables or definitions, of which that holds for all parameters."""
NAMES = ("fresh", "asked", "later", "classes", "shops")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    where: Path = tmp_path_factory.mktemp("fuzzed")
    store = open_store(where / "store.db")
    rng = np.random.default_rng(0)
    begun(store, "fresh")
    begun(store, "asked").ask()
    run_periods(begun(store, "later", budget={"total": 5000, "horizon": 12, "per_sample": 1}), rng, 3)
    begun(store, "classes", classes=["no", "yes"], id="who", categories={"b": ["red", "blue"]})
    create(store).ask()
    with serving(store) as running:
        yield running
    store.close()


@pytest.mark.parametrize(("path", "method", "mode"), CASES, ids=[" ".join(case) for case in CASES])
def test_responses_match_the_openapi_description(served: Serving, path: str, method: str, mode: str) -> None:
    schema = schemathesis.openapi.from_dict(DESCRIBED)
    schema.config.update(base_url=served.url)
    operation = schema[path][method]
    tried = []

    @given(case=operation.as_strategy(generation_mode=MODES[mode]), name=st.sampled_from((*NAMES, None)))
    @settings(max_examples=12, suppress_health_check=list(HealthCheck), database=None)
    def try_it(case: Any, name: str | None) -> None:
        if mode == "positive" and name is not None and "name" in (case.path_parameters or {}):
            case.path_parameters["name"] = name
        answer = case.call(timeout=PATIENCE)
        tried.append(answer.status_code)
        if answer.status_code == 431:
            return  # an address too long for the server, which refused it before it was read
        case.validate_response(answer, excluded_checks=NOT_ASKED)
        if mode == "positive" and answer.status_code in (400, 422) and not path.endswith(ANY_VALUE):
            refused = answer.json()["error"]
            assert refused["parameter"].split(".")[0] in {"name"} | OF_THE_CAMPAIGN.get(path, set()), refused["message"]

    try_it()
    assert tried
    assert max(tried) < 500 or set(tried) == {503}
