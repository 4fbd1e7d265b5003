"""Modules of torch: hidden layers, the recipe of further training, a function of one's own, and modules that do not fit."""

from typing import Any

import numpy as np
import pytest

from driftpace import Tracker
from driftpace.errors import DataError, ParameterError
from driftpace.models import adapt, adapter_of_artefact, artefact_of
from driftpace.typing import FloatArray
from tests.models.libraries import Case, build, draw, torch_module

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def case() -> Case:
    return build("torch", "regression")


def made(model: Any, **more: Any) -> Any:
    from driftpace.models.torch import TorchAdapter

    return TorchAdapter(model, task="regression", **more)


def test_the_head_sees_the_input_of_the_last_linear_layer_or_a_named_one(case: Case, rng: np.random.Generator) -> None:
    X, _ = draw("regression", 30, rng)
    hidden = made(case.model).hidden(X)
    last = case.model[-1]
    with torch.no_grad():
        scores = hidden @ last.weight.double().numpy().T + last.bias.double().numpy()
    np.testing.assert_allclose(scores[:, 0], case.scores(X), atol=1e-5)
    assert made(case.model, layer="1").hidden(X).shape == (30, 16)
    with pytest.raises(ParameterError, match=r"must be the name of a layer .* got 'body'"):
        made(case.model, layer="body")


def test_scores_leave_the_module_as_it_was(case: Case, rng: np.random.Generator) -> None:
    case.model.train()
    before = {name: value.clone() for name, value in case.model.state_dict().items()}
    adapter = made(case.model)
    X, y = draw("regression", 200, rng)
    np.testing.assert_array_equal(adapter.scores(X), adapter.scores(X))  # no dropout
    adapter.refit(X, y, offset=adapter.scores(X)[:, None])
    assert all(each.training for each in case.model.modules())
    assert all(parameter.requires_grad for parameter in case.model.parameters())
    assert all(torch.equal(value, before[name]) for name, value in case.model.state_dict().items())


def test_training_continues_on_the_last_layers(case: Case, rng: np.random.Generator) -> None:
    adapter = made(case.model)
    X, y = draw("regression", 600, rng)
    y = y + 0.8 * np.tanh(2.0 * X[:, 3])  # what the module was not trained on
    trained = adapter.refit(X, y)
    again = adapter.refit(X, y)
    np.testing.assert_array_equal(trained.scores(X), again.scores(X))
    new, old = trained.model.state_dict(), case.model.state_dict()
    changed = {name for name in old if not torch.equal(new[name], old[name])}
    assert changed == {"2.weight", "2.bias", "5.weight", "5.bias"}
    losses = [float(np.square(each - y).mean()) for each in trained.staged_scores(X)]
    assert losses[-1] < losses[0] < float(np.square(adapter.scores(X) - y).mean())


def test_a_correction_starts_at_nothing_and_counts_weights(case: Case, rng: np.random.Generator) -> None:
    adapter = made(case.model)
    X, _ = draw("regression", 300, rng)
    start = adapter.scores(X)
    level = adapter.refit(X, start + 1.0, offset=start[:, None])
    found = level.staged_scores(X)
    assert np.abs(found[0]).mean() < np.abs(found[-1]).mean()
    assert 0.1 < found[-1].mean() < 1.3
    split = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    one = adapter.refit(X, start + split, offset=start[:, None], sample_weight=np.where(split > 0.0, 2.0, 0.0))
    assert one.scores(X)[split < 0.0].mean() > level.scores(X)[split < 0.0].mean() - 0.5 > -0.5


def test_a_function_of_ones_own_trains(case: Case, rng: np.random.Generator) -> None:
    def refit(model: Any, X: Any, y: FloatArray, sample_weight: Any) -> Any:
        with torch.no_grad():
            model[-1].bias += float(np.mean(y))
        return model

    adapter = made(case.model, refit=refit)
    assert not adapter.takes_offset
    X, _ = draw("regression", 40, rng)
    trained = adapter.refit(X, np.full(40, 2.0))
    np.testing.assert_allclose(trained.scores(X), adapter.scores(X) + 2.0, atol=1e-5)


def test_a_module_without_linear_layers_says_how_it_is_trained(rng: np.random.Generator) -> None:
    class Sum(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def forward(self, X: Any) -> Any:
            return X.sum(dim=1)

    adapter = made(Sum())
    X, y = draw("regression", 40, rng)
    np.testing.assert_allclose(adapter.scores(X), X.sum(axis=1), atol=1e-5)
    with pytest.raises(ParameterError, match=r"pass TorchAdapter\(model, refit=f\)"):
        adapter.refit(X, y)
    tracker = Tracker.for_model(Sum(), task="regression", epsilon=0.3, rng=0)
    for _ in range(3):
        tracker.ask()
        tracker.tell(*draw("regression", 60, rng))
    assert tracker.history[-1].period == 3


def test_a_task_is_needed_and_another_module_is_refused(case: Case, rng: np.random.Generator) -> None:
    with pytest.raises(ParameterError, match="must be given with a torch module"):
        adapt(case.model)
    artefact = artefact_of(made(case.model))
    for wrong, sentence in (
        (torch_module("multiclass"), "must be a module of the same layers"),
        (3, "must be the torch module whose weights"),
    ):
        with pytest.raises(ParameterError, match=sentence):
            adapter_of_artefact(artefact, model=wrong)
    with pytest.raises((DataError, ParameterError), match="said"):
        made(torch.nn.Linear(3, 1), convert=lambda X: torch.as_tensor(X)).checked_scores(np.zeros((2, 4)), 2, "test")


def test_a_corrected_module_is_saved_and_read(case: Case, rng: np.random.Generator, tmp_path: Any) -> None:
    tracker = Tracker.for_model(case.model, task="regression", epsilon=0.02, rng=0)
    for _ in range(3):
        tracker.ask()
        X, y = draw("regression", 120, rng)
        tracker.tell(X, y + 2.0 * np.tanh(3.0 * X[:, 0] * X[:, 3]))
    tracker.retrain()
    tracker.save(tmp_path / "state.json")
    again = Tracker.load(tmp_path / "state.json", model=torch_module("regression"))
    np.testing.assert_array_equal(tracker.predict(X), again.predict(X))
