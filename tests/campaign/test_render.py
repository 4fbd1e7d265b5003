"""What a campaign returns reads in a notebook as it does at the command line."""

import numpy as np
import pytest

from driftpace.campaign import Campaign, render
from driftpace.campaign.text import order_sentence, receipt_sentence
from driftpace.errors import ParameterError
from driftpace.storage import MemoryStore

DEFINITION = {
    "name": "prices",
    "target": "price",
    "features": ["size", "age"],
    "id": "house",
    "epsilon": 0.3,
    "seed": 0,
}


def houses(rng: np.random.Generator, first: int, rows: int) -> dict[str, list[float | int | None]]:
    """Return houses with a price; the first has no age."""
    X = rng.normal(size=(rows, 2))
    y = X @ [1.0, -0.5] + rng.normal(size=rows)
    ages = [None, *X[1:, 1].tolist()]
    return {"house": list(range(first, first + rows)), "size": X[:, 0].tolist(), "age": ages, "price": y.tolist()}


def test_every_record_is_shown_as_text(rng: np.random.Generator) -> None:
    campaign = Campaign.create(DEFINITION, storage=MemoryStore())
    order = campaign.ask(key="May")
    assert render(order).splitlines()[0] == order_sentence(order) == "Label 9 rows for period 1 (May)."
    campaign.tell_table(houses(rng, 0, 30), final=False)
    assert render(campaign.status()).splitlines()[1] == "Target     excess loss at most 0.3, on average"
    receipt = campaign.tell_table(houses(rng, 30, 10), final=True)
    shown = render(receipt).splitlines()
    assert shown[0] == receipt_sentence(receipt, "") == "Added 10 rows to period 1 (May)."
    assert shown[1].startswith("Missing    1 cell of age is missing")
    assert any(line.startswith("Closed     period 1 (May), with 40 rows") for line in shown)
    heads, row = render(campaign.ledger()).splitlines()
    assert (heads.split()[:3], row.split()[:3]) == (["period", "key", "rows"], ["1", "May", "40"])
    undone = campaign.undo(period=1, reason="too early")
    assert render(undone).splitlines()[:2] == [
        "Closing of period 1 undone.",
        "Open       period 1 (May) is open again",
    ]


def test_anything_else_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"render\(record=...\) must be an order, .*; got str"):
        render("order")  # type: ignore[arg-type]
