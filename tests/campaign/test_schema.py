"""Tables as the definition of a campaign reads them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.definition import Definition
from driftpace.campaign.schema import encoding_for, labelled
from driftpace.errors import DataError
from driftpace.storage import MemoryStore
from driftpace.storage.base import Change
from driftpace.tables import ROW_FOR, ROW_ID, read_columns, row_for
from tests.reference.campaigns import begun

VALUES: dict[str, Any] = {
    "name": "churn",
    "target": "left",
    "features": ["age", "region"],
    "categories": {"region": ["north", "south", "west"]},
    "classes": ["no", "yes"],
    "id": "customer",
    "epsilon": 0.05,
    "seed": 0,
}
TABLE: dict[str, Any] = {
    "customer": [1, 2, 3, 4],
    "age": [20, 30.5, 40, 50],
    "region": ["south", "north", "west", "north"],
    "left": ["yes", None, "no", "no"],
    "note": ["a", "b", "c", "d"],
}


def _columns(**changes: Any) -> Any:
    return read_columns({**TABLE, **changes}, owner="test")


def test_words_become_columns_and_unlabelled_rows_wait() -> None:
    parsed = labelled(Definition.of(VALUES), _columns(), period=1, owner="tell")
    assert parsed.rows.names == ("age", "region=south", "region=west")
    assert parsed.rows.X.tolist() == [[20.0, 1.0, 0.0], [40.0, 0.0, 1.0], [50.0, 0.0, 0.0]]
    assert parsed.y.tolist() == [1.0, 0.0, 0.0]
    assert parsed.ids == ["1", "3", "4"]
    assert parsed.unlabelled == 1


def test_without_features_the_columns_of_the_first_delivery_are_taken() -> None:
    values = {name: value for name, value in VALUES.items() if name not in ("features", "categories")}
    definition = Definition.of(values)
    regions = ["south", "north", "south", "north"]
    first = encoding_for(definition, None, _columns(visits=[1, 2, 3, 4], region=regions), owner="tell")
    assert first.names == ("age", "region=south", "visits")  # note is free text
    later = _columns(visits=[1, 2, 3, 4], extra=[0, 0, 0, 1])
    assert encoding_for(definition, first, later, owner="tell") == first
    worded = Definition.of({**values, "categories": {"region": ["north", "south", "west"]}})
    assert encoding_for(worded, None, _columns(), owner="tell").names == ("age", "region=south", "region=west")


def test_missing_cells_and_unknown_categories_are_filled_and_counted() -> None:
    changes = {"age": [20, 30, None, 50], "region": ["south", "north", "east", "north"]}
    parsed = labelled(Definition.of(VALUES), _columns(**changes), period=1, owner="tell")
    assert parsed.rows.X.tolist() == [[20.0, 1.0, 0.0], [35.0, 0.0, 0.0], [50.0, 0.0, 0.0]]
    assert [cells.sentence for cells in parsed.rows.filled_cells()] == ["1 cell of age is missing and counts as 35"]
    assert [one.sentence for one in parsed.rows.mapped_categories()] == [
        "1 row with an unlisted region (east) counts as north"
    ]
    dropped = labelled(Definition.of({**VALUES, "missing": "drop"}), _columns(**changes), period=1, owner="tell")
    assert (len(dropped.y), dropped.incomplete) == (2, 1)
    with pytest.raises(DataError, match="column 'age' must have a value in every row"):
        labelled(Definition.of({**VALUES, "missing": "refuse"}), _columns(**changes), period=1, owner="tell")
    given = Definition.of({**VALUES, "fill": {"age": 7.0}, "indicators": ["age"]})
    filled = labelled(given, _columns(**changes), period=1, owner="tell")
    assert filled.rows.names[:2] == ("age", "age=missing")
    assert filled.rows.X[1, :2].tolist() == [7.0, 1.0]


def test_rows_that_were_drawn_are_told_apart_without_a_column_of_ones_own() -> None:
    definition = Definition.of({"name": "churn", "target": "y", "epsilon": 0.1})
    table = {ROW_ID: ["7", "9"], "x": [1.0, 2.0], "y": [0.5, 0.7]}
    parsed = labelled(definition, read_columns(table, owner="test"), period=1, owner="tell")
    assert parsed.ids == ["7", "9"]
    assert parsed.rows.names == ("x",)


def test_a_label_of_another_period_is_none_of_this() -> None:
    definition = Definition.of({"name": "churn", "target": "y", "epsilon": 0.1})
    made_for = [row_for("churn", 1), row_for("churn", 2), row_for("price", 2), None, row_for("churn", 2)]
    table = {ROW_ID: list("abcde"), ROW_FOR: made_for, "x": range(5), "y": [0.1, 0.2, 0.3, 0.4, None]}
    parsed = labelled(definition, read_columns(table, owner="test"), period=2, owner="tell")
    assert (parsed.ids, parsed.periods) == (["a", "b", "d"], [1, 2, 2])
    assert (parsed.other_period_rows, parsed.unlabelled) == (1, 1)
    assert parsed.rows.names == ("x",)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"left": ["yes", None, "perhaps", "no"]}, "target 'left' must be 'no' or 'yes'; row 3 has 'perhaps'"),
        (
            {"age": ["a", "b", "c", "d"]},
            "feature 'age' must be numeric; it holds text; list its categories in the definition",
        ),
        ({"age": ["20", "30", "4o", "50"]}, "feature 'age' must be numeric; row 3 has '4o'"),
        ({"age": ["20", "30", "1_000", "50"]}, "feature 'age' must be numeric; row 3 has '1_000'"),
        (
            {"age": ["31,7", "3,0", "1.234,5", "5,5"]},
            "row 1 has '31,7'; write numbers with a decimal point, such as 31.7",
        ),
        ({"age": [20, 30, np.inf, 50]}, "'age' must be finite.*; row 3 has inf"),
        ({"customer": [None] * 4}, "column 'customer' must have a value in every row; row 1"),
    ],
)
def test_what_does_not_fit_the_definition_is_named(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        labelled(Definition.of(VALUES), _columns(**changes), period=1, owner="tell")


@pytest.mark.parametrize("age", [["20", "30.50", "40", "5e1"], ["20", "-", 40, "50.0"], ["020", None, "40", 50]])
def test_a_number_is_one_whether_its_file_has_it_as_a_number_or_as_text(age: list[Any]) -> None:
    parsed = labelled(Definition.of(VALUES), _columns(age=age), period=1, owner="tell")
    assert parsed.rows.X[:, 0].tolist() == [20.0, 40.0, 50.0]
    prices = Definition.of({"name": "a", "target": "age", "features": ["customer"], "epsilon": 0.1})
    kept = labelled(prices, _columns(age=[*age[:1], "NA", *age[2:]]), period=1, owner="tell")
    assert (kept.y.tolist(), kept.unlabelled) == ([20.0, 40.0, 50.0], 1)


def test_an_id_is_the_same_however_a_file_writes_it() -> None:
    for written in (["1", "2", "3", "4"], ["1.0", "2.0", "3.00", "4"], [1.0, 2.0, 3.0, 4.0]):
        parsed = labelled(Definition.of(VALUES), _columns(customer=written), period=1, owner="tell")
        assert parsed.ids == ["1", "3", "4"]
    codes = labelled(Definition.of(VALUES), _columns(customer=["01.0", "b", "007", "7"]), period=1, owner="tell")
    assert codes.ids == ["01.0", "007", "7"]


def test_a_label_that_says_nothing_is_none_unless_it_is_a_class() -> None:
    waiting = _columns(left=["yes", "NA", "no", "none"])
    parsed = labelled(Definition.of(VALUES), waiting, period=1, owner="tell")
    assert (parsed.y.tolist(), parsed.unlabelled) == ([1.0, 0.0], 2)
    class_of_its_own = Definition.of({**VALUES, "classes": ["none", "yes"]})
    named = labelled(class_of_its_own, _columns(left=["yes", "NA", "none", "none"]), period=1, owner="tell")
    assert (named.y.tolist(), named.unlabelled) == ([1.0, 0.0, 0.0], 1)


@pytest.mark.parametrize(
    ("classes", "written"),
    [
        (["0", "1"], ["1.0", None, "0.0", "0"]),
        (["0", "1"], [1.0, None, 0.0, 0.0]),
        (["False", "True"], [True, None, False, False]),
        (["False", "True"], ["true", None, "FALSE", "False"]),
        (["-1", "+1"], ["1", None, "-1", "-1.0"]),
    ],
)
def test_numbers_and_truths_are_known_however_a_file_writes_them(classes: list[str], written: list[Any]) -> None:
    definition = Definition.of({**VALUES, "classes": classes, "categories": {"region": classes}})
    regions = [written[0], *written[2:], written[2]]
    parsed = labelled(definition, _columns(left=written, region=regions), period=1, owner="tell")
    assert parsed.y.tolist() == [1.0, 0.0, 0.0]
    assert parsed.rows.X[:, 1].tolist() == [1.0, 0.0, 0.0]


def test_a_word_that_may_be_two_is_none() -> None:
    definition = Definition.of({**VALUES, "classes": ["1", "1.0"]})
    exact = labelled(definition, _columns(left=["1", "1.0", "1", "1.0"]), period=1, owner="tell")
    assert exact.y.tolist() == [0.0, 1.0, 0.0, 1.0]
    with pytest.raises(DataError, match="row 1 has '01'"):
        labelled(definition, _columns(left=["01", "1.0", "1", "1.0"]), period=1, owner="tell")


def test_a_column_that_is_called_like_a_word_of_another_is_refused() -> None:
    definition = Definition.of({"name": "a", "target": "y", "epsilon": 0.1, "categories": {"plan": ["basic", "gold"]}})
    table = {"plan": ["gold", "basic"], "plan=gold": [1.0, 2.0], "y": [1.0, 2.0]}
    with pytest.raises(DataError, match="column 'plan=gold' has the name of a category of another column"):
        labelled(definition, read_columns(table, owner="test"), period=1, owner="tell")


def test_a_missing_column_is_named_with_the_nearest() -> None:
    columns = {name: column for name, column in _columns(agee=[1, 2, 3, 4]).items() if name != "age"}
    with pytest.raises(DataError, match="must have the column 'age'; did you mean 'agee'"):
        labelled(Definition.of(VALUES), columns, period=1, owner="tell")


def test_a_missing_value_in_a_row_that_is_not_labelled_yet_does_no_harm() -> None:
    parsed = labelled(Definition.of(VALUES), _columns(age=[20, None, 40, 50]), period=1, owner="tell")
    assert len(parsed.y) == 3


def test_words_for_a_target_without_classes_are_refused_with_the_line_to_write() -> None:
    definition = Definition.of({"name": "churn", "target": "left", "features": ["age"], "epsilon": 0.1})
    with pytest.raises(
        DataError, match=r'must be numeric; it holds text; set classes = \["no", "yes"\] in the definition'
    ):
        labelled(definition, _columns(), period=1, owner="tell")


def test_a_campaign_is_told_and_predicts_in_the_words_of_its_table(rng: np.random.Generator) -> None:
    campaign = Campaign.create(VALUES, storage=MemoryStore())
    campaign.ask()
    age = rng.uniform(20, 60, 300)
    region = rng.choice(["north", "south", "west"], 300)
    chance = 1 / (1 + np.exp(-(0.2 * (age - 40) + 2.0 * (region == "west"))))
    left = np.where(rng.uniform(size=300) < chance, "yes", "no").astype(object)
    left[:10] = None
    table = {"customer": np.arange(300), "age": age, "region": region, "left": left}
    receipt = campaign.tell_table(read_columns(table, owner="test"), final=True, source="all.csv")
    assert (receipt.rows, receipt.unlabelled) == (290, 10)
    new = {"age": [25.0, 58.0], "region": ["north", "west"]}
    predicted = campaign.predict_table(read_columns(new, owner="test"))
    assert predicted.values == ["no", "yes"]
    assert predicted.probability is not None
    assert np.allclose(predicted.probability, 1 / (1 + np.exp(-predicted.score)))
    assert campaign.tracker().predict([[25.0, 0.0, 0.0], [58.0, 0.0, 1.0]]).tolist() == [-1.0, 1.0]
    again = campaign.ask()
    assert again.period == 2


def test_a_table_is_read_as_the_campaign_stands_when_it_is_written_and_not_before() -> None:
    store = MemoryStore()
    campaign, other = begun(store), Campaign.open("prices", storage=store)
    campaign.ask()
    table = {ROW_ID: list("abc"), ROW_FOR: [row_for("prices", 1)] * 3, "x": range(3), "price": range(3)}
    append = store.append
    overtaken: list[Change] = []

    def overtake(name: str, after: int, change: Change) -> int:
        if not overtaken:
            overtaken.append(change)
            other.tell(final=True)
            other.ask()
        return append(name, after, change)

    store.append = overtake  # type: ignore[method-assign]
    receipt = campaign.tell_table(read_columns(table, owner="test"))
    assert (receipt.rows, receipt.order.period) == (0, 2)
    assert [(late.period, late.rows) for late in receipt.late] == [(1, 3)]


def test_a_table_with_nothing_for_this_period_closes_none() -> None:
    campaign = begun(MemoryStore())
    campaign.ask()
    campaign.override(0, reason="a holiday")
    late = {ROW_ID: ["a"], ROW_FOR: [row_for("prices", 7)], "x": [1.0], "price": [2.0]}
    assert campaign.tell_table(read_columns(late, owner="test")).report is None
    waiting = {"x": [1.0], "price": [None]}
    assert campaign.tell_table(read_columns(waiting, owner="test")).report is None
    assert campaign.tell_table(read_columns(waiting, owner="test"), final=True).report is not None


@pytest.mark.parametrize("form", ["pandas", "nullable", "objects", "polars", "arrays", "csv", "parquet"])
def test_ids_keep_all_their_digits_in_every_form_of_a_table(tmp_path: Path, form: str) -> None:
    settings = {"name": "sales", "target": "y", "features": ["a"], "id": "row", "epsilon": 0.5}
    campaign = Campaign.create(settings, storage=MemoryStore())
    campaign.ask()
    numbers = [2**60 + place for place in range(4)]
    table: Any = {"row": numbers, "a": [1.0, 2.0, 3.0, 4.0], "y": [1.0, 2.0, 3.0, 5.0]}
    campaign.tell_table({**table, "row": [str(number) for number in numbers]}, final=False)
    frame = pd.DataFrame(table)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    forms = {
        "pandas": frame,
        "nullable": frame.astype({"row": "Int64"}),
        "objects": frame.astype({"row": object}),
        "polars": pl.DataFrame(table),
        "arrays": {**table, "row": np.array(numbers)},
        "csv": tmp_path / "rows.csv",
        "parquet": tmp_path / "rows.parquet",
    }
    receipt = campaign.tell_table(forms[form], final=False, again=True)
    assert (receipt.rows, receipt.repeated) == (0, 4)


def test_ids_with_leading_zeros_in_a_file_are_those_that_were_drawn(tmp_path: Path) -> None:
    settings = {"name": "sales", "target": "y", "features": ["a"], "id": "row", "epsilon": 0.5}
    campaign = Campaign.create(settings, storage=MemoryStore())
    campaign.ask()
    rows = [f"{place:03},{place % 5}" for place in range(30)]
    (tmp_path / "pool.csv").write_text("row,a\n" + "\n".join(rows))
    drawn = campaign.sample(tmp_path / "pool.csv").ids
    assert all(len(row_id) == 3 for row_id in drawn)
    (tmp_path / "rows.csv").write_text("row,a,y\n" + "\n".join(f"{row_id},1.0,2.0" for row_id in drawn))
    campaign.tell_table(tmp_path / "rows.csv", final=False)
    assert not campaign.awaited()


def test_a_column_of_groups_counts_rows_together_with_one_penalty_too(rng: np.random.Generator) -> None:
    """The same table with groups that share their noise, and without: the risk is larger where rows belong together."""
    shop = np.repeat(np.arange(30), 5)
    visits = rng.standard_normal(150)
    spent = visits + rng.standard_normal(30)[shop] + 0.3 * rng.standard_normal(150)
    risks = []
    for groups in ({}, {"groups": "shop"}):
        values = {"name": "shops", "target": "spent", "features": ["visits"], "epsilon": 0.05, "seed": 0, **groups}
        campaign = Campaign.create(values, storage=MemoryStore())
        campaign.ask()
        table = {"shop": shop, "visits": visits, "spent": spent}
        receipt = campaign.tell_table(read_columns(table, owner="test"), final=True)
        assert receipt.report is not None
        risks.append(receipt.report.risk_bound)
    assert risks[1] > 1.5 * risks[0]


@pytest.mark.parametrize("missing", ["impute", "drop", "refuse"])
def test_a_row_without_a_group_is_a_group_by_itself(missing: str) -> None:
    values = {**VALUES, "groups": "shop", "missing": missing}
    columns = _columns(shop=["a", None, None, " "])
    if missing == "refuse":
        with pytest.raises(DataError, match="column 'shop' must have a value in every row; row 3 has none"):
            labelled(Definition.of(values), columns, period=1, owner="tell")
        return
    parsed = labelled(Definition.of(values), columns, period=1, owner="tell")
    if missing == "drop":
        assert (parsed.ids, parsed.groups, parsed.without) == (["1"], ["a"], {"shop": 2})
        return
    assert parsed.groups is not None
    assert (parsed.groups[0], len(set(parsed.groups)), parsed.without) == ("a", 3, {})


def test_rows_without_an_id_a_weight_or_an_exposure_are_left_out_and_counted() -> None:
    """One empty cell does not refuse a file, and a mark such as NA that several rows have is not an id."""
    values = {"name": "visits", "target": "y", "features": ["x"], "epsilon": 0.05, "loss": "poisson"}
    values |= {"id": "customer", "weight": "w", "exposure": "days"}
    cells = {"customer": ["NA", "2", "NA", "4", "5", ""], "y": [1, 2, 3, 4, 5, 6], "x": [1, 2, 3, 4, 5, 6]}
    columns = read_columns({**cells, "w": [1, 1, 1, None, 2, 1], "days": [1, 1, 1, 1, None, 1]}, owner="test")
    refusing = Definition.of({**values, "missing": "refuse", "id": None, "weight": None})
    with pytest.raises(DataError, match="column 'days' must have a value in every row; row 5 has none"):
        labelled(refusing, columns, period=1, owner="tell")
    parsed = labelled(Definition.of(values), columns, period=1, owner="tell")
    assert (parsed.ids, parsed.without) == (["2"], {"customer": 3, "w": 1, "days": 1})
    alone = _columns(customer=["NA", "2", "3", "4"])
    assert labelled(Definition.of(VALUES), alone, period=1, owner="tell").ids == ["NA", "3", "4"]
