"""Models in files: known by what they hold; what is none, damaged, a pickle or unreadable here is refused in a sentence."""

import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace import Tracker
from driftpace.errors import DataError, ParameterError
from driftpace.models import adapt, read_model
from tests.models.libraries import build, draw


def save_lightgbm(model: Any, path: Path) -> None:
    model.booster_.save_model(str(path))


def save_xgboost(model: Any, path: Path) -> None:
    model.save_model(str(path))


def save_skops(model: Any, path: Path) -> None:
    from skops.io import dump

    dump(model, path)


def save_catboost(model: Any, path: Path) -> None:
    model.save_model(str(path))


def save_onnx(model: Any, path: Path) -> None:
    path.write_bytes(model.SerializeToString())


SAVED = [
    pytest.param("lightgbm", "model.txt", save_lightgbm, "lightgbm", id="LightGBM text"),
    pytest.param("xgboost", "model.json", save_xgboost, "xgboost", id="XGBoost JSON"),
    pytest.param("xgboost", "model.ubj", save_xgboost, "xgboost", id="XGBoost UBJ"),
    pytest.param("sklearn trees", "model.skops", save_skops, "skops", id="skops"),
    pytest.param("catboost", "model.cbm", save_catboost, "catboost", id="CatBoost cbm", marks=pytest.mark.slow),
    pytest.param("onnx", "model.onnx", save_onnx, "onnxruntime", id="ONNX", marks=pytest.mark.slow),
]
Save = Callable[[Any, Path], None]


@pytest.mark.parametrize(("library", "name", "save", "package"), SAVED)
class TestFiles:
    def test_are_read_by_what_they_hold(
        self, library: str, name: str, save: Save, package: str, tmp_path: Path, rng: np.random.Generator
    ) -> None:
        case = build(library, "regression")
        save(case.model, tmp_path / name)
        other = (tmp_path / name).rename(tmp_path / "model.bin")  # the ending says nothing
        X, y = draw("regression", 40, rng)
        adapter = read_model(other)
        np.testing.assert_array_equal(adapter.scores(X), adapt(case.model).scores(X))
        tracker = Tracker.for_model(str(other), epsilon=0.3, rng=0)
        tracker.ask()
        tracker.tell(X, y)
        assert len(tracker.predict(X)) == 40

    def test_that_are_damaged_are_refused(
        self, library: str, name: str, save: Save, package: str, tmp_path: Path
    ) -> None:
        save(build(library, "regression").model, tmp_path / name)
        whole = (tmp_path / name).read_bytes()
        for share in (0.1, 0.3, 0.5, 0.7, 0.9, 0.93, 0.96):
            (tmp_path / name).write_bytes(whole[: int(share * len(whole))])
            with pytest.raises(
                (DataError, ParameterError), match=r"damaged|must be a model|must be trained"
            ) as refused:
                read_model(tmp_path / name)
            assert "\n" not in str(refused.value)
            assert not str(refused.value).endswith("..")

    def test_that_need_a_missing_package_are_refused(
        self, library: str, name: str, save: Save, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        save(build(library, "regression").model, tmp_path / name)
        for module in [each for each in sys.modules if each.partition(".")[0] == package]:
            monkeypatch.setitem(sys.modules, module, None)
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(DataError, match=f"needs the package '{package}'"):
            read_model(tmp_path / name)


@pytest.mark.parametrize(
    ("old", "new"), [("left_child=1 ", "left_child=9999 "), ("left_child=1 ", "left_child="), ("end of trees", "")]
)
def test_a_lightgbm_text_that_was_edited_is_refused(old: str, new: str, tmp_path: Path) -> None:
    text = build("lightgbm", "regression").model.booster_.model_to_string()
    assert old in text
    (tmp_path / "model.txt").write_text(text.replace(old, new))
    with pytest.raises(DataError, match="damaged"):
        read_model(tmp_path / "model.txt")


class Code:
    """A class whose pickle runs something when it is read."""

    def __reduce__(self) -> Any:
        return exec, ("raise SystemExit('executed')",)


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("model.pkl", pickle.dumps(Code()), "a pickle, which can run code"),
        ("model.json", pickle.dumps(Code(), protocol=0), "something else"),
        ("model.txt", pickle.dumps(Code()), "a pickle, which can run code"),
        ("model.joblib", b"anything", "a pickle, which can run code"),
        ("model.txt", b"", "an empty file"),
        ("model.txt", b"month,sales\n1,2\n", "something else"),
        ("model.json", b'{"month": 3}', "JSON that is not of XGBoost"),
        ("model.zip", b"PK\x03\x04data.pkl", "an archive without the schema of skops"),
        ("model.safetensors", b"\x02\x00\x00\x00\x00\x00\x00\x00{} ", "weights without a model"),
    ],
)
def test_what_is_no_model_is_refused(name: str, data: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=sentence):
        read_model(tmp_path / name)


@pytest.mark.parametrize("name", ["model.txt", "", "a\0b"])
def test_a_file_that_is_not_there_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="must be a file that can be read"):
        read_model(f"{tmp_path}/{name}")


def test_labels_are_given_with_the_file(tmp_path: Path, rng: np.random.Generator) -> None:
    case = build("lightgbm booster", "classification")
    case.model.save_model(str(tmp_path / "model.txt"))
    assert read_model(tmp_path / "model.txt").labels == (0, 1)
    assert read_model(tmp_path / "model.txt", labels=("no", "yes")).labels == ("no", "yes")
    with pytest.raises(ParameterError, match="must be left out or 'classification'"):
        read_model(tmp_path / "model.txt", task="counts")


def test_a_skops_file_of_an_unknown_type_names_it(tmp_path: Path) -> None:
    from sklearn.base import BaseEstimator, RegressorMixin
    from skops.io import dump

    kind = type("Mine", (RegressorMixin, BaseEstimator), {"__module__": "elsewhere", "coef_": 1.0})
    module = type(sys)("elsewhere")
    module.Mine = kind  # type: ignore[attr-defined]
    sys.modules["elsewhere"] = module
    try:
        dump(kind(), tmp_path / "model.skops")
        with pytest.raises(ParameterError, match=r"got elsewhere\.Mine\. Nothing was read of it"):
            read_model(tmp_path / "model.skops")
    finally:
        del sys.modules["elsewhere"]
