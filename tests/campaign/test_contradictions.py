"""Rows that come again with another label or other cells are not counted, and are named with the delivery that counted them."""

from typing import Any

import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.log_text import describe_entry
from driftpace.campaign.text import receipt_lines, receipt_sentence
from driftpace.storage import MemoryStore

ROWS = 12


def _table(**changes: Any) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=ROWS), 3)
    return {"id": [f"r{row}" for row in range(ROWS)], "x": x, "y": np.round(2.0 * x, 3), **changes}


def _campaign(**given: Any) -> Campaign:
    definition = {"name": "a", "target": "y", "id": "id", "features": ["x"], "epsilon": 0.1, **given}
    campaign = Campaign.create(definition, storage=MemoryStore())
    campaign.ask()
    return campaign


def _warnings(receipt: Any) -> list[str]:
    return [text for label, text in receipt_lines(receipt) if label == "Warning"]


def test_the_same_rows_contradict_nothing() -> None:
    campaign = _campaign()
    table = _table()
    campaign.tell_table(table, source="w46.csv", final=False)
    some = {name: list(values)[:7] for name, values in table.items()}
    receipt = campaign.tell_table(some, source="again.csv", final=False)
    assert (receipt.repeated, receipt.contradictions) == (7, None)
    assert campaign.refusals() == []


def test_other_labels_and_cells_are_named_with_the_way_to_correct_them() -> None:
    campaign = _campaign()
    table = _table()
    campaign.tell_table(table, source="w46.csv", final=False)
    y, x = table["y"].copy(), table["x"].copy()
    y[[2, 5]] += 1.0
    x[9] = 7.5
    receipt = campaign.tell_table(_table(y=y, x=x), source="correction.csv", final=False)
    found = receipt.contradictions
    assert found is not None
    assert (receipt.rows, receipt.repeated, found.rows, found.sources) == (0, ROWS, 3, ("w46.csv",))
    assert found.examples == (
        f"row 'r2' has y {y[2]:g}, counted as {table['y'][2]:g}",
        f"row 'r5' has y {y[5]:g}, counted as {table['y'][5]:g}",
        f"row 'r9' has x 7.5, counted as {table['x'][9]:g}",
    )
    (warning,) = _warnings(receipt)
    assert warning.startswith("3 rows contradict what was counted: row 'r2' has y ")
    assert warning.endswith("undo the delivery 'w46.csv' and deliver the rows again")
    assert "skipped 12 already delivered" in receipt_sentence(receipt, "correction.csv")
    (noted,) = campaign.refusals()
    assert (noted.source, noted.sentence) == ("correction.csv", f"{found.sentence}.")
    undone = campaign.undo(delivery="w46.csv", reason="wrong labels")  # as the sentence says
    assert undone.rows == ROWS
    again = campaign.tell_table(_table(y=y, x=x), source="correction.csv", final=False)
    assert (again.rows, again.contradictions) == (ROWS, None)


def test_a_dry_run_names_them_and_notes_nothing() -> None:
    campaign = _campaign()
    campaign.tell_table(_table(), source="w46.csv", final=False)
    receipt = campaign.tell_table(_table(y=np.zeros(ROWS)), source="correction.csv", final=False, dry_run=True)
    assert receipt.contradictions is not None
    assert receipt.contradictions.rows == ROWS
    assert campaign.refusals() == []


def test_rows_of_a_closed_period() -> None:
    month = ["2026-01"] * ROWS
    campaign = Campaign.create(
        {"name": "b", "target": "y", "id": "id", "features": ["x"], "epsilon": 0.1, "period": "month"},
        storage=MemoryStore(),
    )
    campaign.ask(key="2026-01")
    campaign.tell_table(_table(month=month), source="jan.csv", final=True)
    campaign.ask(key="2026-02")
    y = _table()["y"].copy()
    y[0] += 2.0
    receipt = campaign.tell_table(_table(month=month, y=y), source="jan again.csv", key="2026-01")
    assert receipt.contradictions is not None
    assert (receipt.contradictions.rows, receipt.contradictions.sources) == (1, ("jan.csv",))


def test_the_log_counts_those_beside_new_rows() -> None:
    campaign = _campaign()
    table = _table()
    campaign.tell_table({name: list(values)[:6] for name, values in table.items()}, source="w46.csv", final=False)
    y = table["y"].copy()
    y[:2] += 1.0
    receipt = campaign.tell_table(_table(y=y), source="w47.csv", final=False)
    assert (receipt.rows, receipt.repeated) == (6, 6)
    last = [entry for entry in campaign.log() if entry.kind == "delivered"][-1]
    assert last.body["contradicted"] == 2
    text = str(describe_entry(last))
    assert "6 duplicate rows were skipped, 2 of them with other cells than were counted" in text


def test_cells_are_not_named_where_rows_are_not_kept() -> None:
    campaign = _campaign(keep_rows=False)
    campaign.tell_table(_table(), source="w46.csv", final=False)
    receipt = campaign.tell_table(_table(y=np.zeros(ROWS)), source="correction.csv", final=False)
    assert receipt.contradictions is not None
    assert (receipt.contradictions.rows, receipt.contradictions.examples) == (ROWS, ())


@pytest.mark.parametrize("classes", [["no", "yes"], ["low", "middle", "high"]])
def test_classes_are_named(classes: list[str]) -> None:
    loss = "logistic" if len(classes) == 2 else "softmax"
    campaign = _campaign(classes=classes, loss=loss)
    labels = [classes[row % len(classes)] for row in range(ROWS)]
    campaign.tell_table(_table(y=labels), source="w46.csv", final=False)
    changed = [classes[1], *labels[1:]]
    receipt = campaign.tell_table(_table(y=changed), source="correction.csv", final=False)
    assert receipt.contradictions is not None
    assert receipt.contradictions.examples == (f"row 'r0' has y {classes[1]!r}, counted as {classes[0]!r}",)


def test_another_annotator_contradicts_nothing() -> None:
    campaign = _campaign(annotator="who")
    campaign.tell_table(_table(who=["ada"] * ROWS), source="w46.csv", final=False)
    other = campaign.tell_table(_table(who=["bob"] * ROWS, y=np.zeros(ROWS)), source="bob.csv", final=False)
    assert (other.contradictions, other.more_labels) == (None, ROWS)
    again = campaign.tell_table(_table(who=["bob"] * ROWS, y=np.ones(ROWS)), source="bob2.csv", final=False)
    assert again.contradictions is not None
    assert (again.contradictions.rows, again.contradictions.sources) == (ROWS, ("bob.csv",))
