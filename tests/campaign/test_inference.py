"""A table shows the row id, the classes of the target, the features and their categories; unusable columns are named."""

from pathlib import Path
from typing import Any

import pytest

from driftpace.campaign import Definition
from driftpace.campaign.inference import describe_task, infer_definition
from driftpace.errors import ParameterError

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
    assert (definition.id, definition.features, definition.loss) == ("row_id", ("a", "plan"), "squared")
    assert dict(definition.categories) == {"plan": ("basic", "gold")}
    assert dict(inference.notes) == {
        "Row ID": "row_id",
        "Features": "a, plan (basic, gold)",
        "Left out": "carrier: more than 20 categories",
    }


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join([",".join(ROWS), *(",".join(map(str, row)) for row in zip(*ROWS.values(), strict=True))]))
    assert infer(path).definition == infer().definition


@pytest.mark.parametrize(
    ("features", "rows", "problem"),
    [
        (["a", "carrier"], {}, "'carrier' has more than 20 categories"),
        (["a", "day"], {"day": ["2026-11-16", "2026-11-17"] * 30}, "'day' has dates"),
        (["a", "kind"], {"kind": ["x"] * 60}, "'kind' has the same value in every row"),
    ],
)
def test_a_feature_that_was_asked_for_is_never_dropped(features: list[str], rows: dict[str, Any], problem: str) -> None:
    with pytest.raises(ParameterError, match=rf"infer_definition\(features=\.\.\.\) must be numeric or .*; {problem}"):
        infer({**ROWS, **rows}, features=features)


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
