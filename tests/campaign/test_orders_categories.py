"""A category that a campaign does not list counts as one that it does, where the definition or an amendment says so."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace.campaign import Campaign, Definition
from driftpace.campaign.export_import import export_campaign
from driftpace.campaign.records import BUY, SKIP
from driftpace.campaign.schema import invalid_rows
from driftpace.campaign.serialization import receipt_json
from driftpace.campaign.template import template
from driftpace.errors import ParameterError
from driftpace.storage import MemoryStore
from driftpace.storage.base import Store
from driftpace.tables import Column, read_columns
from tests.reference.campaigns import ticking
from tests.reference.periods import imported

CITIES = ("Rome", "Milan", "Turin")
VALUES: dict[str, Any] = {
    "name": "rents",
    "target": "rent",
    "features": ["size", "city"],
    "categories": {"city": list(CITIES)},
    "id": "flat",
    "epsilon": 0.1,
    "seed": 0,
}


def begun(store: Store, **more: Any) -> Campaign:
    return Campaign.create({**VALUES, **more}, storage=store, clock=ticking())


def flats(first: int, count: int, *, others: int = 0, instead: str = "Bari") -> dict[str, Column]:
    """Return flats of the three cities; the first few are in another one."""
    rng = np.random.default_rng(first)
    size, city = rng.normal(size=count), rng.choice(CITIES, count).astype(object)
    rent = size + (city == "Milan") + 0.1 * rng.normal(size=count)
    city[:others] = instead
    table = {"flat": [f"f{first + one}" for one in range(count)], "size": size, "city": city, "rent": rent}
    return read_columns(table, owner="test")


def test_unknown_categories_count_as_the_reference_by_default(store: Store) -> None:
    campaign = begun(store)
    campaign.ask()
    (counted,) = campaign.tell_table(flats(0, 30, others=3)).unknown_categories
    assert counted.sentence == "3 rows with an unlisted city (Bari) count as Rome"


@pytest.mark.parametrize("chosen", ["at the beginning", "later"])
def test_unknown_categories_count_as_the_chosen_one(store: Store, chosen: str) -> None:
    campaign = begun(store, **({"unknown_categories": {"city": "Milan"}} if chosen == "at the beginning" else {}))
    campaign.ask()
    if chosen == "later":
        campaign.amend(unknown_categories={"city": "Milan"}, reason="a new shop", who="Ada")
    receipt = campaign.tell_table(flats(0, 40, others=3), final=True)
    (counted,) = receipt.unknown_categories
    assert counted.sentence == "3 rows with an unlisted city (Bari) count as Milan"
    assert receipt_json(receipt)["unknown_categories"] == [
        {"column": "city", "category": "Milan", "rows": 3, "distinct": 1, "examples": ["Bari"]}
    ]
    (entry,) = campaign.log(kinds=("delivered",))
    assert entry.body["unknown_categories"] == receipt_json(receipt)["unknown_categories"]
    as_milan = begun(MemoryStore())
    as_milan.ask()
    plain = as_milan.tell_table(flats(0, 40, others=3, instead="Milan"), final=True)
    assert plain.unknown_categories == ()
    assert np.array_equal(campaign.tracker().coef, as_milan.tracker().coef)
    there = {"size": [1.0, 1.0, 1.0], "city": ["Oslo", "Milan", "Bari"]}
    predicted = campaign.predict_table(read_columns(there, owner="test"))
    assert predicted.values[0] == predicted.values[1] == predicted.values[2]
    assert [one.sentence for one in predicted.unknown_categories] == [
        "2 rows with an unlisted city (Oslo, Bari) count as Milan"
    ]


def test_an_amendment_is_in_the_log_and_an_order_stands(store: Store) -> None:
    campaign = begun(store)
    order = campaign.ask(key="W1")
    status = campaign.amend(unknown_categories={"city": "Milan"}, reason="a new shop", who="Ada")
    assert (status.order, status.entries) == (order, 3)
    (entry,) = campaign.log(kinds=("amended",))
    assert {name: value for name, value in entry.body.items() if name != "state_hash"} == {
        "period": 1,
        "unknown_categories": {"city": "Milan"},
        "reason": "a new shop",
        "who": "Ada",
    }
    assert Campaign.open("rents", storage=store).definition.unknown_categories == {"city": "Milan"}
    assert campaign.definition.to_values()["unknown_categories"] == {"city": "Milan"}


def test_categories_that_the_first_rows_have_shown_can_be_mapped_too(store: Store) -> None:
    campaign = begun(store, features=None, categories=None)
    campaign.ask(key="W1")
    with pytest.raises(ParameterError, match="must be columns in categories; got 'city': there are none"):
        campaign.amend(unknown_categories={"city": "Milan"}, reason="a new shop")
    campaign.tell_table(flats(0, 60), final=True)
    campaign.ask(key="W2")
    with pytest.raises(ParameterError, match=r"must be one of .* for 'city'; got 'Bari'"):
        campaign.amend(unknown_categories={"city": "Bari"}, reason="a new shop")
    campaign.amend(unknown_categories={"city": "Milan"}, reason="a new shop")
    (counted,) = campaign.tell_table(flats(60, 30, others=3), final=False).unknown_categories
    assert (counted.category, counted.rows) == ("Milan", 3)
    reopened = Campaign.open("rents", storage=store)
    assert [one.category for one in reopened.predict_table(flats(90, 9, others=2)).unknown_categories] == ["Milan"]
    *_, (_, replayed) = reopened.replay()
    assert replayed.definition == reopened.definition
    amended = campaign.log(kinds=("amended",))[-1].seq
    campaign.undo(amended, reason="the shop was closed")
    (counted,) = campaign.tell_table(flats(120, 30, others=3), final=False).unknown_categories
    assert counted.category != "Milan"
    with pytest.raises(ParameterError, match="must be columns in categories; got 'town'"):
        begun(MemoryStore(), features=None, categories=None, unknown_categories={"town": "Milan"})


def test_saying_the_same_again_writes_nothing(store: Store) -> None:
    campaign = begun(store)
    first = campaign.amend(unknown_categories={"city": "Milan"}, reason="a new shop")
    before = campaign.log()
    assert campaign.amend(unknown_categories={"city": "Milan"}, reason="once more") == first == campaign.status()
    assert campaign.log() == before
    assert campaign.amend(unknown_categories={"city": "Rome"}, reason="after all", dry_run=True).entries == 3
    assert campaign.log() == before
    campaign.amend(unknown_categories={"city": "Rome"}, reason="after all")
    assert campaign.definition.unknown_categories == {"city": "Rome"}


@pytest.mark.parametrize(
    ("unknown_categories", "reason", "sentence"),
    [
        (
            {"ciyt": "Milan"},
            "r",
            r"unknown_categories=.* must be columns in categories; got 'ciyt': did you mean 'city'\?",
        ),
        ({"size": "Milan"}, "r", r"got 'size': there is city\."),
        ({"city": "Bari"}, "r", r"must be one of \['Rome', 'Milan', 'Turin'\] for 'city'; got 'Bari'\."),
        ({"city": ["Rome", "Bari"]}, "r", r"must be one of .* for 'city'; got 'Bari'\."),
        ({}, "r", "must name at least one column; got none"),
        ("city=Milan", "r", "must give one category for each column; got 'city=Milan'"),
        ({"city": "Milan"}, " ", "must give a reason"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    store: Store, unknown_categories: Any, reason: str, sentence: str
) -> None:
    campaign = begun(store)
    before = campaign.log()
    with pytest.raises(ParameterError, match=sentence):
        campaign.amend(unknown_categories=unknown_categories, reason=reason)
    assert campaign.log() == before


def test_a_definition_names_columns_and_words_that_there_are() -> None:
    with pytest.raises(
        ParameterError, match=r"Campaign\(unknown_categories=...\) must be columns in categories; .* there are none"
    ):
        Definition.of({**VALUES, "features": None, "categories": {}, "unknown_categories": {"city": "Milan"}})
    with pytest.raises(ParameterError, match=r"Campaign\(unknown_categories=...\) must be one of .*; got 'Bari'"):
        Definition.of({**VALUES, "unknown_categories": {"city": "Bari"}})
    written = (
        'name = "a"\nepsilon = 0.1\n[categories]\ncity = ["Rome", "Milan"]\n[unknown_categories]\ncity = "Milan"\n'
    )
    assert Definition.of_toml(written).unknown_categories == {"city": "Milan"}
    assert "unknown_categories" not in Definition.of(VALUES).to_values()


def test_the_campaign_file_offers_the_first_word_and_keeps_what_was_said() -> None:
    text = template(VALUES)
    assert '\n# unknown_categories = { city = "Rome" }\n' in text
    assert Definition.of_toml(text).unknown_categories == {}
    chosen = {**VALUES, "unknown_categories": {"city": "Turin"}}
    assert Definition.of_toml(template(chosen)) == Definition.of(chosen)


def test_a_history_with_an_amendment_folds_to_the_same_bits(store: Store, tmp_path: Path) -> None:
    campaign = begun(store)
    campaign.ask()
    campaign.tell_table(flats(0, 20), final=False)
    campaign.amend(unknown_categories={"city": "Turin"}, reason="new shops")
    campaign.tell_table(flats(20, 20, others=4), final=True)
    campaign.ask()
    *_, (last, folded) = campaign.replay()
    assert (last.seq, folded.definition) == (campaign.status().entries, campaign.definition)
    export_campaign(campaign, tmp_path / "rents.campaign")
    copy = imported(tmp_path / "rents.campaign", storage=MemoryStore(), name="copy")
    assert copy.definition.unknown_categories == {"city": "Turin"}
    assert copy.ask().request == campaign.ask().request


def test_only_rows_that_count_are_said_to(store: Store) -> None:
    campaign = begun(store, unknown_categories={"city": "Milan"})
    campaign.ask()
    first = campaign.tell_table(flats(0, 10, others=4), final=False)
    assert [one.rows for one in first.unknown_categories] == [4]
    overlap = read_columns(
        {
            "flat": ["f0", "f1", "n1"],
            "size": [1.0, 2.0, 3.0],
            "city": ["Bari", "Oslo", "Lima"],
            "rent": [1.0, 2.0, 3.0],
        },
        owner="test",
    )
    again = campaign.tell_table(overlap, final=False)
    assert (again.rows, again.repeated) == (1, 2)
    assert [(one.rows, one.examples) for one in again.unknown_categories] == [(1, ("Lima",))]
    assert campaign.tell_table(overlap, final=False).unknown_categories == ()


def test_a_cell_that_is_empty_is_no_other_word(store: Store) -> None:
    campaign = begun(store, unknown_categories={"city": "Milan"})
    campaign.ask()
    table = flats(0, 5)
    gone = Column(
        kind="text", values=np.array([None, *table["city"].values[1:]], dtype=object), missing=np.arange(5) == 0
    )
    receipt = campaign.tell_table({**table, "city": gone}, final=False)
    assert receipt.unknown_categories == ()
    assert [cells.sentence for cells in receipt.filled] == ["1 cell of city is missing and counts as Rome"]
    (delivered,) = campaign.log(kinds=["delivered"])
    assert delivered.body["filled"] == receipt_json(receipt)["filled"]


def test_rows_that_can_be_told_are_drawn(store: Store) -> None:
    pool = flats(0, 10, others=3)
    assert invalid_rows(Definition.of(VALUES), pool, owner="ask") == {}
    strict = Definition.of({**VALUES, "missing": "refuse"})
    gone = Column(kind="text", values=pool["city"].values, missing=np.arange(10) < 2)
    assert [int(rows.sum()) for rows in invalid_rows(strict, {**pool, "city": gone}, owner="ask").values()] == [2]


def test_many_words_of_any_kind_leave_a_short_log(store: Store) -> None:
    campaign = begun(store, unknown_categories={"city": "Milan"})
    campaign.ask()
    table = flats(0, 9)
    odd = ["\ud800", "x" * 500, "\0", "\x1b[31m", "日本", "a", "b", "c", "Rome"]
    city = Column(kind="text", values=np.array(odd, dtype=object), missing=np.zeros(9, dtype=np.bool_))
    (counted,) = campaign.tell_table({**table, "city": city}, final=False).unknown_categories
    assert (counted.rows, counted.distinct, len(counted.examples)) == (8, 8, 5)
    assert max(len(word) for word in counted.examples) == 80
    assert counted.sentence.endswith(" and 3 more) count as Milan")
    assert campaign.log()[-2].body["unknown_categories"][0]["examples"] == list(counted.examples)


def test_a_category_that_no_row_has_is_named_and_no_failure() -> None:
    """Rows of two of three cities say nothing of the third: a warning names it, and ``ask`` does not exit with 30."""
    campaign = begun(MemoryStore())
    campaign.ask()
    table = flats(0, 60)
    city = table["city"].values
    city[city == "Turin"] = "Rome"
    order = campaign.tell_table(table, final=False).order
    (check,) = [item for item in order.request.assumptions if item.name == "curvature"]
    assert check.sentence == (
        "city=Turin is the same in all rows so far: the coefficient of it is unknown until one differs."
    )
    assert (check.verdict.value, order.code) == ("warn", BUY if order.missing else SKIP)
