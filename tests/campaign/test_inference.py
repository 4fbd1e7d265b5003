"""A table shows the row id, the classes of the target, the features and their categories; unusable columns are named."""

from pathlib import Path
from typing import Any

import pytest

from driftpace.campaign import Definition
from driftpace.campaign.inference import describe_task, infer_definition
from driftpace.errors import DataError, ParameterError

ROWS: dict[str, list[Any]] = {
    "row_id": [f"r{n}" for n in range(60)],
    "a": [n % 7 for n in range(60)],
    "plan": ["basic", "gold", "gold"] * 20,
    "carrier": [f"c{n % 30}" for n in range(60)],
    "y": [n % 5 / 2 for n in range(60)],
}


def infer(rows: Any = ROWS, **settings: Any) -> Any:
    return infer_definition(rows, **{"name": "t", "target": "y", "epsilon": 0.1, **settings})


def test_everything_is_inferred_and_noted() -> None:
    inference = infer()
    definition = inference.definition
    assert (definition.id, definition.features, definition.loss) == ("row_id", ("a", "plan", "carrier"), "squared")
    assert definition.categories["plan"] == ("gold", "basic")
    assert len(definition.categories["carrier"]) == 20 + 1
    assert definition.unknown_categories == {"carrier": "other"}
    assert definition.fill == {"a": 2.9}
    assert definition.make_tracker(rng=0).snapshot()[1].features == 1 + 1 + 20
    assert dict(inference.notes) == {
        "Row ID": "row_id",
        "Features": "a, plan (gold, basic), carrier (c0, c1, c10, c11, c12, c13 and 15 more)",
        "Categories": "carrier became 20 columns of 0 and 1, with 'c0' as the reference; 10 rarer values are carrier=other",
    }


def test_missing_cells_free_text_and_class_codes_are_noted() -> None:
    rows = {**ROWS, "a": [None, *ROWS["a"][1:]], "text": [f"text {n} {n * n}" for n in range(60)]}
    inference = infer(rows, features=["a", "plan"])
    assert inference.definition.indicators == ("a",)
    assert dict(inference.notes)["Missing"].startswith("a: 1 of 60 cells is missing; filled with the mean")
    assert dict(infer(rows, id="row_id").notes)["Left out"] == "text: free text or ids"
    coded = infer({**ROWS, "kind": [0, 1, 2] * 20}, target="kind")
    assert (coded.definition.classes, coded.definition.loss) == (("0", "1", "2"), "softmax")
    assert dict(coded.notes)["Classes"] == "3 in kind: 0, 1, 2; set loss to squared to predict them as numbers"
    assert infer({**ROWS, "kind": [0, 1, 2] * 20}, target="kind", loss="squared").definition.loss == "squared"


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join([",".join(ROWS), *(",".join(map(str, row)) for row in zip(*ROWS.values(), strict=True))]))
    assert infer(path).definition == infer().definition


@pytest.mark.parametrize(
    ("features", "rows", "problem"),
    [
        (["a", "kind"], {"kind": ["x"] * 60}, "'kind' has the same value in every row"),
    ],
)
def test_a_feature_that_was_asked_for_is_never_dropped(features: list[str], rows: dict[str, Any], problem: str) -> None:
    with pytest.raises(ParameterError, match=rf"infer_definition\(features=\.\.\.\) must be numeric or .*; {problem}"):
        infer({**ROWS, **rows}, features=features)


def test_dates_are_no_features() -> None:
    with pytest.raises(DataError, match="feature 'day' must be numbers or categories; it has dates"):
        infer({**ROWS, "day": ["2026-11-16", "2026-11-17"] * 30}, features=["a", "day"])


@pytest.mark.parametrize(("name", "role"), [("y", "target"), ("row_id", "id")])
def test_a_feature_has_no_other_role(name: str, role: str) -> None:
    with pytest.raises(ParameterError, match=f"must not contain the {role} column; got '{name}'"):
        infer(features=["a", name], id="row_id")


@pytest.mark.parametrize(
    ("settings", "parameter"),
    [({"id": "none"}, "id"), ({"features": ["none"]}, "features"), ({"target": "Y"}, "target")],
)
def test_unknown_columns_are_refused_by_their_parameter(settings: dict[str, Any], parameter: str) -> None:
    with pytest.raises(ParameterError) as refused:
        infer(**settings)
    assert (refused.value.owner, refused.value.name) == ("infer_definition", parameter)


def test_what_is_given_is_not_inferred() -> None:
    definition = infer(id="carrier", features=["a"]).definition
    assert (definition.id, definition.features, definition.categories) == ("carrier", ("a",), {})


def test_the_task_in_words() -> None:
    assert describe_task(Definition.of({"name": "a", "epsilon": 0.1})) == "the target (a number), by least squares"


def test_columns_that_look_like_ids_are_suggested() -> None:
    """A text that differs in every row could be the id; an id that repeats is rather a group."""
    others = {name: cells for name, cells in ROWS.items() if name != "row_id"}
    code = infer({**others, "code": [f"{n:05}x" for n in range(60)]})
    assert code.definition.id is None
    assert dict(code.notes)["Row ID"] == (
        "none; code differs in every row: as id, it lets rows that are sent twice count once"
    )
    shop = infer({**others, "shop_id": [n % 20 for n in range(60)]})
    assert dict(shop.notes)["Row ID"] == (
        "none; shop_id occurs in several rows: give it as id if it occurs once in a period, "
        "or as groups if its rows belong together"
    )
    assert "Row ID" not in dict(infer({**others, "shop_id": [n % 20 for n in range(60)]}, groups="shop_id").notes)
    assert "Row ID" not in dict(infer(others).notes)
