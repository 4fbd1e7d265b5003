"""Comparisons of kinds of models: what is bought and measured, the frontier, the advice, and refusals."""

import html
import json
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost

import driftpace
from driftpace.backtest import from_json, to_json
from driftpace.backtest.compare_result import ComparedModel, ModelComparison
from driftpace.errors import DataError, MissingExtraError, ParameterError
from driftpace.report import backtest_report, compare_report

PERIODS, ROWS = 6, 150


@pytest.fixture(scope="module")
def waves() -> dict[str, Any]:
    """A target that no linear model reaches, and whose level moves."""
    rng = np.random.default_rng(3)
    month = np.repeat(np.arange(PERIODS), ROWS)
    x, z = rng.uniform(-2.0, 2.0, (2, PERIODS * ROWS))
    return {"month": month, "x": x, "z": z, "y": np.sin(3.0 * x) + 0.2 * month + 0.2 * rng.standard_normal(len(x))}


@pytest.fixture(scope="module")
def result(waves: dict[str, Any]) -> ModelComparison:
    return driftpace.compare_models(waves, period="month", target="y", epsilon=[0.05], runs=2, progress=False)


def of(result: ModelComparison, kind: str) -> list[ComparedModel]:
    return [each for each in result.models if each.kind == kind]


def test_each_kind_is_measured(result: ModelComparison) -> None:
    assert result.reference.kind == "reference"
    assert len(result.periods) == PERIODS - 1
    linear, head = of(result, "linear")[0], of(result, "head")[0]
    assert linear.loss > 0.15
    assert head.loss < 0.5 * linear.loss
    assert of(result, "frozen")[0].labels == 0.0
    assert of(result, "frozen")[0].loss > head.loss
    assert linear.promise.startswith("kept")
    sizes = [each.labels for each in of(result, "trees")]
    assert sizes == sorted(sizes)
    assert sizes[-1] == result.rows == ROWS - round(ROWS / 3)


def test_all_rows_at_every_size_are_those_of_the_reference(result: ModelComparison) -> None:
    assert of(result, "trees")[-1].loss == pytest.approx(result.reference.loss)


def test_the_same_seed_gives_the_same_numbers(waves: dict[str, Any]) -> None:
    one, other = (
        driftpace.compare_models(
            waves, period="month", target="y", models=["head"], epsilon=[0.05], runs=1, seed=4, progress=False
        ).to_values()
        for _ in range(2)
    )
    assert {**one, "seconds": 0} == {**other, "seconds": 0}


def test_json_and_page(result: ModelComparison) -> None:
    values = json.loads(result.to_json())
    assert values["kind"] == "driftpace.compare"
    assert values["advice"] == result.advice
    assert [values["models"][place]["loss"] for place in values["frontier"]] == [each.loss for each in result.frontier]
    page = compare_report(result)
    assert "What accuracy costs" in page
    assert page == compare_report(result)


def made(*models: ComparedModel) -> ModelComparison:
    reference = ComparedModel(kind="reference", detail="", labels=1000.0, loss=0.3)
    return ModelComparison(
        table="t",
        target="y",
        loss="log loss",
        learner="LightGBM",
        first=2,
        periods=("3", "4"),
        rows=1000,
        runs=1,
        seed=0,
        models=(reference, *models),
        notes=(),
        seconds=0.0,
    )


def test_advice_names_the_best_of_each_kind_on_the_frontier() -> None:
    found = made(
        ComparedModel(kind="frozen", detail="", labels=0.0, loss=0.4),
        ComparedModel(kind="linear", detail="", labels=60.0, loss=0.336),
        ComparedModel(kind="linear", detail="", labels=200.0, loss=0.3359),
        ComparedModel(kind="head", detail="", labels=90.0, loss=0.318),
        ComparedModel(kind="trees", detail="", labels=70.0, loss=0.35),
        ComparedModel(kind="trees", detail="", labels=1500.0, loss=0.313),
    )
    assert [each.kind for each in found.frontier] == ["frozen", "linear", "head", "trees"]
    assert found.advice == (
        "Without labels the trees as trained have a loss of 0.4; a linear model reaches 0.336 with 60 labels a period, "
        "a head on the trees 0.318 with 90, trees fitted again 0.313 with 1,500."
    )


def test_trees_that_never_pay_are_named() -> None:
    found = made(
        ComparedModel(kind="linear", detail="", labels=20.0, loss=0.3),
        ComparedModel(kind="trees", detail="", labels=1000.0, loss=0.31),
    )
    assert found.advice.endswith(
        "0.3 with 20 labels a period; trees fitted again do no better: 0.31 with 1,000 labels a period."
    )


def test_a_tracker_that_ran_out_of_rows_says_so() -> None:
    found = made(
        ComparedModel(kind="linear", detail="target 0.01", labels=990.0, loss=0.33, epsilon=0.01, excess=0.0284),
        ComparedModel(kind="head", detail="target 0.01", labels=600.0, loss=0.31, epsilon=0.01, excess=0.004),
        ComparedModel(kind="trees", detail="990 a period", labels=990.0, loss=0.3),
    )
    rows = {row[0]: row for row in found.table_rows()}
    assert rows["linear model"][1] == "target 0.01, every row bought"
    assert rows["linear model"][4] == "missed: excess loss 0.028, target 0.01"
    assert rows["head on trees"][1] == "target 0.01"
    assert rows["trees fitted again"][1] == "990 a period"


class TestRefusals:
    def test_of_tables_and_settings(self, waves: dict[str, Any]) -> None:
        for wrong, sentence in (
            ({"models": ["forest"]}, "models"),
            ({"models": []}, "must be a list of linear, head, trees"),
            ({"epsilon": [0.0]}, "epsilon"),
            ({"first": 0.9}, "at least two periods after"),
            ({"runs": 0}, "runs"),
        ):
            with pytest.raises((ParameterError, DataError), match=sentence):
                driftpace.compare_models(waves, period="month", target="y", **wrong)
        short = {name: values[:-140] for name, values in waves.items()}
        with pytest.raises(DataError, match="at least 30 rows in each period; period 5 has 10"):
            driftpace.compare_models(short, period="month", target="y")

    def test_of_models(self, waves: dict[str, Any], tmp_path: Path, rng: np.random.Generator) -> None:
        X = rng.standard_normal((100, 3))
        wide = lightgbm.LGBMRegressor(n_estimators=2, verbose=-1).fit(X, X[:, 0])
        classes = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(X[:, :2], X[:, 0] > 0)
        broken = tmp_path / "model.txt"
        broken.write_text("no model")
        for model, sentence in (
            (wide, "must take the 2 columns x, z; got a model of 3"),
            (classes, "must predict the target, regression; got a model for classification"),
            (tmp_path / "none.txt", "must be a file"),
            (broken, "must be a model as LightGBM text, XGBoost JSON"),
            (lambda X: X[:, 0], "must be given with a function"),
        ):
            with pytest.raises(ParameterError, match=sentence):
                driftpace.compare_models(waves, period="month", target="y", model=model)


def test_trees_of_a_library_by_its_name(waves: dict[str, Any]) -> None:
    given: dict[str, Any] = {"period": "month", "target": "y", "epsilon": [0.05], "runs": 1, "progress": False}
    for library, name in (("xgboost", "XGBoost"), ("sklearn", "HistGradientBoostingRegressor")):
        found = driftpace.compare_models(waves, models=["linear", library], **given)
        assert found.learner == name
        assert {each.kind for each in found.models} == {"reference", "frozen", "linear", "trees"}
        assert found.reference.loss < 0.5 * of(found, "linear")[0].loss
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("driftpace.backtest.compare.find_spec", lambda name: None)
        with pytest.raises(MissingExtraError, match=r'needs a library of trees: pip install "driftpace\[sklearn\]"'):
            driftpace.compare_models(waves, **given)
    with pytest.raises(ParameterError, match=r"must name one library of trees.*got lightgbm and xgboost"):
        driftpace.compare_models(waves, models=["lightgbm", "xgboost"], **given)
    model = lightgbm.LGBMRegressor(n_estimators=2, verbose=-1).fit(
        np.zeros((50, 2)) + np.arange(50)[:, None], range(50)
    )
    with pytest.raises(ParameterError, match="must be a model of xgboost, which models names; got LightGBM"):
        driftpace.compare_models(waves, models=["xgboost"], model=model, **given)


def test_a_json_file_of_xgboost_is_trained_anew(waves: dict[str, Any], tmp_path: Path) -> None:
    X = np.column_stack([waves["x"], waves["z"]])
    model = xgboost.XGBRegressor(n_estimators=7, n_jobs=1).fit(X, waves["y"])
    model.save_model(tmp_path / "model.json")
    found = driftpace.compare_models(
        waves, period="month", target="y", model=tmp_path / "model.json", models=["trees"], runs=1, progress=False
    )
    assert found.learner == "XGBoost"


def test_a_backtest_with_kinds_of_models(waves: dict[str, Any]) -> None:
    given: dict[str, Any] = {
        "period": "month",
        "target": "y",
        "epsilon": 0.05,
        "runs": 2,
        "workers": 1,
        "baselines": [],
    }
    plain = driftpace.backtest(waves, **given)
    result = driftpace.backtest(waves, models=["linear", "lightgbm"], **given)
    assert plain.comparison is None
    assert result.comparison is not None
    assert {each.kind for each in result.comparison.models} == {"reference", "frozen", "linear", "trees"}
    assert of(result.comparison, "linear")[0].epsilon == 0.05
    again = from_json(to_json(result))
    assert again.comparison == result.comparison
    assert from_json(to_json(plain)).comparison is None
    page = backtest_report(result)
    assert "What accuracy costs" in page
    assert html.escape(result.comparison.advice, quote=False) in page
    assert "trees fitted again" in page
    assert "What accuracy costs" not in backtest_report(plain)
    for wrong, sentence in (
        ({"models": ["forest"]}, "models"),
        ({"models": []}, "must be a list of linear, head, trees"),
        ({"loss": driftpace.HuberLoss()}, "loss=.*must be None with models"),
    ):
        with pytest.raises(ParameterError, match=sentence):
            driftpace.backtest(waves, **{"models": ["linear"], **given, **wrong})


def test_a_model_file_gives_the_settings(waves: dict[str, Any], tmp_path: Path) -> None:
    X = np.column_stack([waves["x"], waves["z"]])
    model = lightgbm.LGBMRegressor(n_estimators=7, num_leaves=4, verbose=-1).fit(X, waves["y"])
    path = tmp_path / "model.txt"
    model.booster_.save_model(path)
    found = driftpace.compare_models(
        waves, period="month", target="y", model=path, models=["trees"], runs=1, progress=False
    )
    default = driftpace.compare_models(waves, period="month", target="y", models=["trees"], runs=1, progress=False)
    assert found.learner == "LightGBM"
    assert found.reference.loss != default.reference.loss
