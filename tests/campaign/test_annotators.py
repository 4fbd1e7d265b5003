"""Rows labelled by several people in a campaign: one row each, in any order of deliveries, late and undone ones included."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.serialization import receipt_json, status_json
from driftpace.campaign.status import annotators
from driftpace.campaign.text import annotator_lines, receipt_sentence
from driftpace.errors import DataError, ParameterError, ProtocolError
from driftpace.storage import MemoryStore

DEFINITION: dict[str, Any] = {
    "name": "price",
    "target": "price",
    "features": ["area", "age"],
    "id": "house",
    "annotator": "who",
    "epsilon": 0.5,
    "seed": 1,
}


def campaign_of(**more: Any) -> Campaign:
    """Return a campaign whose first period is open."""
    campaign = Campaign.create({**DEFINITION, **more}, storage=MemoryStore())
    campaign.ask(key="January")
    return campaign


def labels(houses: Iterable[int], who: str, *, bias: float = 0.0) -> dict[str, list[Any]]:
    """Return the labels of houses by one annotator."""
    chosen = list(houses)
    rng = np.random.default_rng([len(who), *map(ord, who)])
    noise = dict(zip(range(1000), rng.standard_normal(1000), strict=True))
    area = {house: np.random.default_rng(house).uniform(1, 3) for house in chosen}
    age = {house: np.random.default_rng((house, 1)).uniform(0, 2) for house in chosen}
    return {
        "house": chosen,
        "area": list(area.values()),
        "age": list(age.values()),
        "price": [2.0 * area[house] - age[house] + 0.5 * noise[house] + bias for house in chosen],
        "who": [who] * len(chosen),
    }


def both(*tables: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return tables below one another."""
    return {name: [value for table in tables for value in table[name]] for name in tables[0]}


def coefficients(campaign: Campaign) -> list[float]:
    """Return the model."""
    return list(campaign.tracker().coef)


def check_replay(campaign: Campaign) -> None:
    """Assert that the log leads to the same model and the same annotators."""
    *_, (_, state) = campaign.replay()
    assert state.state.coef[:-1] == pytest.approx(coefficients(campaign), abs=1e-12)
    assert annotators(state.definition.to_values(), state.label_sums) == campaign.annotators()


def test_two_labels_are_one_row_wherever_they_arrive() -> None:
    together, apart = campaign_of(), campaign_of()
    receipt = together.tell_table(both(labels(range(60), "Ada"), labels(range(20), "Ben")), final=True)
    assert (receipt.rows, receipt.more_labels) == (60, 20)
    assert receipt_sentence(receipt, "a.csv") == "Added 60 rows and 20 more labels to period 1 (January)."
    apart.tell_table(labels(range(60), "Ada"), final=False)
    receipt = apart.tell_table(labels(range(20), "Ben"), final=False)
    assert receipt_sentence(receipt, "b.csv") == "Added 20 more labels to period 1 (January)."
    assert receipt.order.received == 60
    assert receipt_json(receipt)["more_labels"] == 20
    apart.tell(final=True)
    assert coefficients(together) == pytest.approx(coefficients(apart), abs=1e-12)
    found = apart.annotators()
    assert found == together.annotators()
    assert found is not None
    assert (found.rows, found.labels, found.repeated) == (60, 80, 20)
    check_replay(apart)


def test_a_second_label_may_be_late_and_may_be_undone() -> None:
    campaign, whole = campaign_of(), campaign_of()
    campaign.tell_table(labels(range(60), "Ada"), final=True)
    before = coefficients(campaign)
    receipt = campaign.tell_table(labels(range(20), "Ben"), key="January")
    assert (receipt.rows, receipt.late[0].rows, receipt.late[0].more_labels) == (0, 0, 20)
    assert "20 more labels for period 1 (January) arrived late" in receipt_sentence(receipt, "late.csv")
    whole.tell_table(both(labels(range(60), "Ada"), labels(range(20), "Ben")), final=True)
    assert coefficients(campaign) == pytest.approx(coefficients(whole), abs=1e-12)
    assert campaign.annotators() == whole.annotators()
    check_replay(campaign)
    campaign.undo(campaign.log(kinds=("delivered",))[-1].seq, reason="Ben labelled other houses")
    assert coefficients(campaign) == pytest.approx(before, abs=1e-12)
    found = campaign.annotators()
    assert found is not None
    assert found.repeated == 0
    check_replay(campaign)


def test_an_undo_of_rows_labelled_by_several_can_be_undone() -> None:
    campaign = campaign_of()
    campaign.tell_table(both(labels(range(12), "ann"), labels(range(4), "bob")), delivery="first.csv", final=False)
    campaign.tell_table(labels(range(4, 8), "bob"), delivery="second.csv", final=True)
    before = coefficients(campaign)
    undone = campaign.undo(delivery="first.csv", reason="the wrong file")
    campaign.undo(undone.entry, reason="it was right")
    assert coefficients(campaign) == before
    check_replay(campaign)
    again = campaign.undo(delivery="first.csv", reason="the wrong file")
    campaign.tell_table(labels(range(3, 6), "ann"), key="January", delivery="third.csv")
    with pytest.raises(
        ProtocolError, match="rows such as '3' were delivered again in period 1 since, and would count twice"
    ):
        campaign.undo(again.entry, reason="it was right")
    campaign.undo(delivery="third.csv", reason="they are in the first file")
    campaign.undo(again.entry, reason="it was right")
    assert coefficients(campaign) == before
    check_replay(campaign)


def test_the_same_label_twice_is_a_repeat() -> None:
    campaign = campaign_of()
    campaign.tell_table(labels(range(60), "Ada"), final=False)
    receipt = campaign.tell_table(both(labels(range(5), "Ada"), labels(range(3), "Ben")), final=False)
    assert (receipt.rows, receipt.more_labels, receipt.repeated) == (0, 3, 5)
    with pytest.raises(DataError, match="rows 1 and 2 both have '7' by 'Cleo'"):
        campaign.tell_table(both(labels([7], "Cleo"), labels([7], "Cleo")), final=False)
    changed = labels([7], "Cleo")
    changed["area"] = [9.0]
    with pytest.raises(DataError, match="the labels of '7' have different features"):
        campaign.tell_table(changed, final=False)
    assert campaign.order().received == 60


def test_a_missing_annotator_is_one_of_no_name() -> None:
    campaign = campaign_of()
    table = both(labels(range(30), "Ada"), labels(range(10), "Ben"))
    table["who"][-10:] = [None] * 10
    receipt = campaign.tell_table(table, final=True)
    assert (receipt.rows, receipt.more_labels) == (30, 10)


def test_what_status_and_the_next_order_say() -> None:
    campaign = campaign_of(row_cost=4.0)
    lines = annotator_lines(campaign.annotators(), campaign.order())
    assert lines[0] == (
        "Annotators",
        "Not known: no row of the closed periods was labelled more than once; label 5 to 10 % of the rows twice to know",
    )
    assert lines[1][1].startswith("Have 1 of the 9 rows labelled twice")
    campaign.tell_table(both(labels(range(90), "Ada"), labels(range(60), "Ben", bias=1.0)), final=True)
    status = campaign.status()
    assert status.annotators is not None
    plain = status_json(status)["annotators"]
    assert plain["share"] == pytest.approx(status.annotators.share)
    assert [one["name"] for one in plain["annotators"] if one["clear"]] == ["Ada", "Ben"]
    lines = annotator_lines(status.annotators)
    assert any(label == "Warning" and "Ben labels higher than the others" in text for label, text in lines)


def test_arrays_have_annotators_too() -> None:
    campaign = Campaign.create({"name": "plain", "epsilon": 0.5, "seed": 1}, storage=MemoryStore())
    campaign.ask()
    table = labels(range(30), "Ada")
    X = np.column_stack([table["area"], table["age"]])
    given: dict[str, Any] = {"ids": table["house"], "annotators": table["who"]}
    campaign.tell(X, table["price"], **given, final=False)
    receipt = campaign.tell(X, labels(range(30), "Ben")["price"], **{**given, "annotators": ["Ben"] * 30}, final=True)
    assert (receipt.order.received, receipt.more_labels) == (30, 30)
    campaign.ask()
    with pytest.raises(DataError, match=r"\(ids=...\) must be given together with annotators"):
        campaign.tell(X, table["price"], annotators=table["who"])


def test_definitions_that_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"\(label_cost=...\) must be"):
        campaign_of(label_cost=0.0)
    with pytest.raises(ParameterError, match="must name each column once; got 'area' twice"):
        campaign_of(annotator="area")
    campaign = campaign_of(id=None)
    with pytest.raises(DataError, match="must have a column that identifies rows beside 'who'; define id"):
        campaign.tell_table({name: values for name, values in labels(range(5), "Ada").items() if name != "house"})
