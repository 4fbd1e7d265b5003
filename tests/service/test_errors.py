"""What is sent is what its description says, or one sentence says what is wrong; no number is large enough to matter."""

from typing import Any

import pytest
from pydantic import ValidationError

from driftpace.service.errors import from_validation
from driftpace.service.request_schemas import DefinitionRequest, OverrideRequest, PlanRequest, RequestModel
from driftpace.storage.base import Store
from tests.reference.periods import begun
from tests.reference.serving import Serving

LONG = "9" * 4000
DEFINED = {"name": "a", "target": "y", "epsilon": 1.0}
PLANS, OVERRIDE = "/api/campaigns/churn/plans", "/api/campaigns/churn/orders/current/override"


def refused(kind: type[RequestModel], value: Any) -> list[dict[str, Any]]:
    """Return the errors as the framework has them."""
    with pytest.raises(ValidationError) as error:
        kind.model_validate(value)
    return [{**one, "loc": ("body", *one["loc"])} for one in error.value.errors()]


@pytest.mark.parametrize(
    ("kind", "value", "sentence"),
    [
        (OverrideRequest, {"samples": 1.5, "reason": "x"}, "body(samples=...) must be an integer; got 1.5."),
        (OverrideRequest, {"samples": "12", "reason": "x"}, "body(samples=...) must be an integer; got '12'."),
        (OverrideRequest, {"samples": -1, "reason": "x"}, "body(samples=...) must be at least 0; got -1."),
        (OverrideRequest, {"reason": "x"}, "body(samples=...) must be given; got nothing."),
        (
            OverrideRequest,
            {"samples": 1, "reason": ""},
            "body(reason=...) must be at least 1 character long; got 0 characters.",
        ),
        (
            OverrideRequest,
            {"samples": 1, "reason": "x" * 2001},
            "body(reason=...) must be at most 2,000 characters long; got 2,001 characters.",
        ),
        (OverrideRequest, {"samples": int(LONG), "reason": "x"}, "must be at most 1,000,000,000; got a larger number."),
        (OverrideRequest, 3, "the body must be an object; got 3."),
        (PlanRequest, {"budget": "1e5"}, "body(budget=...) must be an amount, such as 12.50; got '1e5'."),
        (PlanRequest, {"budget": [1]}, "body(budget=...) must be a number or a string; got a list of 1."),
        (PlanRequest, {"budget": 10**13}, "body(budget=...) must be at most 1,000,000,000,000; got 10000000000000."),
        (PlanRequest, {"budget": float("inf")}, "body(budget=...) must be a finite number; got inf."),
        (PlanRequest, {"tiers": [[1, "1e10000"]]}, "body(tiers.0.1=...) must be a price, such as 0.25; got '1e10000'."),
        (PlanRequest, {"tiers": [[1, None]]}, "body(tiers.0.1=...) must be a number or a string; got null."),
        (PlanRequest, {"epsilom": 1}, "body(epsilom=...) must be left out: it is not a known name; got 1."),
        (PlanRequest, {"epsilon": 0}, "body(epsilon=...) must be above 0; got 0."),
        (DefinitionRequest, DEFINED | {"name": "a b"}, "a letter or digit first; got 'a b'."),
        (
            DefinitionRequest,
            DEFINED | {"loss": "x"},
            "must be 'squared', 'huber', 'poisson', 'gamma', 'tweedie', 'quantile', 'logistic', 'hinge' or 'softmax'; got 'x'.",
        ),
        (DefinitionRequest, DEFINED | {"l2": "x"}, "body(l2=...) must be a number or a list; got 'x'."),
        (DefinitionRequest, DEFINED | {"classes": ["a"]}, "must be a list of at least 2; got a list of 1."),
        (DefinitionRequest, DEFINED | {"fit_intercept": 1}, "body(fit_intercept=...) must be true or false; got 1."),
        (DefinitionRequest, DEFINED | {"description": "\0"}, "must be text without control characters; got '?'."),
    ],
)
def test_validation_messages_name_the_problem(kind: type[RequestModel], value: Any, sentence: str) -> None:
    error = from_validation(refused(kind, value))
    assert (error.status_code, error.code) == (422, "invalid")
    assert error.message.endswith(sentence)


@pytest.mark.parametrize("count", [101, 50_000])
def test_objects_with_too_many_keys_are_one_error(count: int) -> None:
    many = {f"a{number}": 1 for number in range(count)}
    assert len(refused(PlanRequest, many)) == 1
    assert len(refused(DefinitionRequest, DEFINED | {"budget": {"total": 1, "horizon": 1} | many})) == 1
    assert len(refused(DefinitionRequest, DEFINED | {"categories": {f"b{n}": 1 for n in range(1001)}})) == 1


def test_unknown_error_types_use_the_message_of_pydantic() -> None:
    odd = {"type": "something_new", "loc": ("query", "a"), "msg": "Input should be blue.", "input": object()}
    assert from_validation([odd]).message == "query(a=...) must be blue; it is not."
    assert from_validation([{"type": "less_than_equal", "loc": ("query", "a"), "msg": "Too much"}]).message.startswith(
        "query(a=...) must be too much"
    )
    assert from_validation([]).status_code == 422


@pytest.mark.parametrize(
    ("path", "text"),
    [
        *(
            (PLANS, f'{{"{name}": {number}}}')
            for name in ("budget", "horizon", "epsilon")
            for number in ("1e1000000", LONG)
        ),
        *((PLANS, f'{{"budget": "{text}"}}') for text in ("1e1000000", "0e1000000", "9" * 50_000, "NaN", "sNaN")),
        *(
            (PLANS, f'{{"horizon": 3, "tiers": [{tiers}]}}')
            for tiers in (
                '[1, "1e1000000"]',
                '[1, "0e1000000"]',
                '[1, "1e-1000000"]',
                "[1, 1e1000000]",
                f"[{LONG}, 1]",
                f"[1, 1], [{LONG}, 1]",
                f'[1, "{LONG}"]',
                "[1, [[[]]]]",
                '[1, {"a": 1}]',
                "[true, 1]",
            )
        ),
        (OVERRIDE, f'{{"samples": {"9" * 50_000}, "reason": "x"}}'),
        (OVERRIDE, f'{{"samples": {LONG}, "reason": "x"}}'),
        (OVERRIDE, '{"samples": 1e1000000, "reason": "x"}'),
        (OVERRIDE, f'{{"samples": 1, "period": {LONG}, "reason": "x"}}'),
        ("/api/campaigns/churn/orders", f'{{"pool": {LONG}}}'),
        ("/api/campaigns", f'{{"name": "a", "target": "y", "epsilon": 1, "seed": {LONG}}}'),
        ("/api/campaigns", '{"name": "a", "target": "y", "epsilon": 1e1000000}'),
        (
            "/api/campaigns",
            '{"name": "a", "target": "y", "epsilon": 1, "budget": {"total": 9, "horizon": 3, "tiers": [[1, "0e1000000"]]}}',
        ),
    ],
)
def test_huge_numbers_are_refused_before_they_are_parsed(served: Serving, store: Store, path: str, text: str) -> None:
    begun(store, "churn").ask()
    before = store.entries("churn")
    answer = served.client.post(path, content=text, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]["code"] in ("malformed", "invalid")  # nothing behind the description has seen it
    assert store.entries("churn") == before
    assert store.count() == 1


@pytest.mark.parametrize("query", ["after=" + LONG, "limit=1e1000000", "limit=" + "9" * 20_000, "after=-1"])
def test_huge_numbers_in_queries_are_refused(served: Serving, store: Store, query: str) -> None:
    begun(store, "churn")
    answer = served.client.get(f"/api/campaigns/churn/log?{query}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid")


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/api/campaigns", "GET, HEAD, POST"),
        ("/api/campaigns/churn", "GET, HEAD"),
        ("/api/campaigns/churn/orders", "POST"),
        ("/login", "GET, HEAD, POST"),
    ],
)
def test_a_refused_method_names_all_that_are_allowed(served: Serving, path: str, allowed: str) -> None:
    answer = served.client.request("DELETE", path)
    assert (answer.status_code, answer.headers["Allow"]) == (405, allowed)
