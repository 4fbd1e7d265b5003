"""What every adapter owes: the scores, leaves and stages of its library, its training from an offset, and a file without code."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace import Tracker
from driftpace.errors import DataError, ParameterError, StateFileError
from driftpace.models import adapt, adapter_of_artefact, artefact_of
from driftpace.models.packing import stages_of
from tests.models.libraries import COLUMNS, PARAMETERS, Case, build, codes, draw

MADE: dict[tuple[str, str], Case] = {}


@pytest.fixture(params=PARAMETERS)
def case(request: pytest.FixtureRequest) -> Case:
    if request.param not in MADE:
        MADE[request.param] = build(*request.param)
    return MADE[request.param]


@pytest.fixture
def X(rng: np.random.Generator) -> Any:
    return draw("regression", 60, rng)[0]


def given_again(case: Case) -> dict[str, Any]:
    return {} if case.again is None else {"model": case.again}


def test_scores_are_those_of_the_library(case: Case, X: Any) -> None:
    adapter = adapt(case.model, **case.given)
    assert (adapter.task, adapter.labels) == (case.task, case.labels)
    scores = adapter.checked_scores(X, len(X), "test")
    np.testing.assert_allclose(scores.reshape(case.scores(X).shape), case.scores(X), rtol=2e-5, atol=2e-5)


def test_leaves_are_those_of_the_library(case: Case, X: Any) -> None:
    if case.leaves is None:
        pytest.skip("without leaves")
    found = adapt(case.model, **case.given).leaves(X)
    assert found is not None
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, case.leaves(X))


def test_training_from_an_offset_is_that_of_the_library(case: Case, rng: np.random.Generator) -> None:
    adapter = adapt(case.model, **case.given)
    if case.offset is None:
        pytest.skip("the library has no training from an offset")
    X, y = draw(case.task, 200, rng)
    start = 0.3 * adapter.checked_scores(X, len(X), "test")
    start = start[:, 0] if adapter.outputs == 1 else start
    weights = rng.uniform(0.5, 2.0, len(X))
    assert adapter.takes_offset
    trained = adapter.refit(X, codes(y, case.labels), sample_weight=weights, offset=start.reshape(len(X), -1))
    np.testing.assert_allclose(trained.scores(X) + start, case.offset(X, y, weights, start), rtol=1e-4, atol=1e-4)
    assert np.abs(trained.scores(X)).max() > 0.01


def test_stages_lead_to_the_model(case: Case, X: Any) -> None:
    adapter = adapt(case.model, **case.given)
    staged = adapter.staged_scores(X)
    np.testing.assert_array_equal(staged[-1], adapter.scores(X))
    for number, scores in enumerate(staged):
        np.testing.assert_allclose(adapter.stage(number).scores(X), scores, rtol=1e-6, atol=1e-6)
    if case.rounds is not None:
        assert len(staged) > 1
        for scores, rounds in zip(staged, stages_of(20), strict=True):
            np.testing.assert_allclose(scores, case.rounds(X, rounds), rtol=1e-6, atol=1e-6)


def test_an_artefact_is_the_model_to_the_bit(case: Case, X: Any, rng: np.random.Generator) -> None:
    adapter = adapt(case.model, **case.given)
    if adapter.format is None:
        with pytest.raises(ParameterError, match="must be given again as model="):
            artefact_of(adapter)
        return
    artefact = json.loads(json.dumps(artefact_of(adapter)))
    again = adapter_of_artefact(artefact, **given_again(case))
    assert (again.task, again.labels, again.columns, again.features) == (
        adapter.task,
        adapter.labels,
        adapter.columns,
        adapter.features,
    )
    np.testing.assert_array_equal(again.scores(X), adapter.scores(X))
    if case.offset is not None:  # settings are part of the file
        rows, y = draw(case.task, 100, rng)
        one, other = (each.refit(rows, codes(y, case.labels)) for each in (adapter, again))
        np.testing.assert_array_equal(one.scores(X), other.scores(X))


def test_a_damaged_artefact_is_refused(case: Case) -> None:
    adapter = adapt(case.model, **case.given)
    if adapter.format is None:
        pytest.skip("not saved")
    artefact = artefact_of(adapter)
    with pytest.raises(StateFileError, match="edited or damaged"):
        adapter_of_artefact(artefact | {"sha256": "0" * 64}, **given_again(case))
    with pytest.raises(StateFileError, match="no known format"):
        adapter_of_artefact(artefact | {"format": "pickle"}, **given_again(case))
    with pytest.raises(ParameterError, match=r"must be left out|must be given, since"):
        adapter_of_artefact(artefact, model=None if case.again is not None else object())


def test_a_missing_package_is_named(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = adapt(case.model, **case.given)
    if adapter.format is None:
        pytest.skip("not saved")
    artefact = artefact_of(adapter)
    package = {"torch": "safetensors", "onnx": "onnxruntime"}.get(adapter.format, adapter.format)
    for module in [each for each in sys.modules if each.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ParameterError, match=f"needs the package '{package}"):
        adapter_of_artefact(artefact, **given_again(case))


def test_a_saved_tracker_goes_on_to_the_bit(case: Case, tmp_path: Path, rng: np.random.Generator) -> None:
    tracker = Tracker.for_model(case.model, epsilon=0.3, rng=0, **case.given)
    tracker.ask()
    tracker.tell(*draw(case.task, 90, rng))
    tracker.save(tmp_path / "state.json")
    again = Tracker.load(tmp_path / "state.json", **given_again(case))
    X, y = draw(case.task, 90, rng)
    np.testing.assert_array_equal(tracker.predict(X), again.predict(X))
    assert tracker.ask() == again.ask()
    assert tracker.tell(X, y) == again.tell(X, y)
    np.testing.assert_array_equal(tracker.decision_function(X), again.decision_function(X))


def test_other_columns_are_refused(case: Case, X: Any) -> None:
    adapter = adapt(case.model, **case.given)
    if adapter.features is None:
        pytest.skip("any columns")
    with pytest.raises(DataError, match=f"must have the {COLUMNS} columns of the model; got 3"):
        adapter.rows(X[:, :3], "test")


def test_other_classes_and_tasks_are_refused(case: Case, rng: np.random.Generator) -> None:
    if case.labels is not None:
        tracker = Tracker.for_model(case.model, epsilon=0.3, rng=0, **case.given)
        X, y = draw(case.task, 30, rng)
        with pytest.raises(DataError, match="must be classes of the model"):
            tracker.tell(X, np.where(np.arange(30) == 2, "unheard", y))
        with pytest.raises((ParameterError, DataError), match=r"labels|must score"):
            adapt(case.model, **case.given | {"labels": ("a", "b", "c", "d", "e")}).checked_scores(X, 30, "test")
    if case.task == "multiclass" and "task" not in case.given:
        with pytest.raises(ParameterError, match="task"):
            adapt(case.model, **case.given | {"task": "counts"})


def test_a_model_that_is_not_fitted_is_refused(case: Case) -> None:
    if case.unfitted is None:
        pytest.skip("the library knows no such state")
    with pytest.raises(ParameterError, match=r"must be fitted|must be trained"):
        adapt(case.unfitted)
