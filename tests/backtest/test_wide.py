"""Backtests of texts and of tables wider than their rows: the excess is that of the world, and what cannot be is refused."""

from typing import Any

import numpy as np
import pytest

from driftpace import PoissonLoss, SoftmaxLoss, Tracker
from driftpace.backtest import backtest, from_json, render, to_json
from driftpace.backtest.table import read_table
from driftpace.backtest.wide import Reference, WidePeriod, best_model, model_error, penalised_loss
from driftpace.errors import DataError, ParameterError
from driftpace.losses import LinearLoss, SquaredLoss, VectorLoss
from driftpace.typing import FloatArray
from driftpace.wide import WideRows
from tests.campaign.test_text_features import mails

ERRORS = 4.5
"""Standard errors that a mean of replications may be off: about one in 100,000."""


def measured_excess(
    loss: LinearLoss | VectorLoss, Z: FloatArray, y: FloatArray, penalty: FloatArray, model: FloatArray
) -> tuple[float, float]:
    """Return the excess of a model that was not fitted on these rows, as a backtest measures it, and without its correction."""
    now, every = WidePeriod(X=Z, Z=Z, y=y, loss=loss), WideRows(loss=loss, Z=Z, y=y)
    best = best_model(every, penalty, np.zeros_like(model))
    tested = np.arange(len(y)) < len(y) // 3
    reference = Reference(
        penalty=penalty,
        scale=None,
        best=best[None],
        least=np.array([penalised_loss(WideRows(loss=loss, Z=Z[tested], y=y[tested]), penalty, best)]),
        error=np.array([model_error(every, penalty, best)]),
    )
    corrected = reference.excess(now, 0, tested, model)
    return corrected, corrected + float(reference.error[0])


def test_the_excess_of_squares_is_that_of_the_world() -> None:
    rng, loss, size = np.random.default_rng(0), SquaredLoss(), 12
    truth, penalty = rng.standard_normal((size, 1)), np.r_[0.0, np.geomspace(0.02, 2.0, size - 1)]
    model = 0.6 * truth
    half = float(loss.curve.phi(np.ones(1), np.zeros(1))[0])  # phi is half of a square, or a square

    def value(at: FloatArray) -> float:
        return half * float(np.square(at - truth).sum()) + 0.5 * float(penalty @ np.square(at[:, 0]))

    least = value(2.0 * half * truth / (2.0 * half + penalty[:, None]))
    found = []
    for _ in range(600):
        Z = np.column_stack([np.ones(60), rng.standard_normal((60, size - 1))])
        found.append(measured_excess(loss, Z, (Z @ truth)[:, 0] + rng.standard_normal(60), penalty, model))
    means, errors = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    exact = value(model) - least
    assert abs(means[0] - exact) < ERRORS * errors[0] + 0.1 * (
        means[1] - means[0]
    )  # the correction is of first order in 1/N
    assert means[1] - exact > 10.0 * errors[1]  # the control: rows that the best model has seen make others look worse


def test_the_excess_of_classes_is_that_of_the_world() -> None:
    rng, loss, size = np.random.default_rng(1), SoftmaxLoss(classes=3), 6
    truth, penalty = rng.standard_normal((size, 2)), np.r_[0.0, np.geomspace(0.01, 0.2, size - 1)]
    model = 0.5 * truth

    def draw(rows: int) -> tuple[FloatArray, FloatArray]:
        Z = np.column_stack([np.ones(rows), rng.standard_normal((rows, size - 1))])
        above = loss.probabilities(Z @ truth).cumsum(axis=1) > rng.random((rows, 1))
        return Z, above.argmax(axis=1).astype(np.float64)

    world = WideRows(loss=loss, Z=(drawn := draw(200_000))[0], y=drawn[1])
    exact = penalised_loss(world, penalty, model) - penalised_loss(world, penalty, best_model(world, penalty, truth))
    found = [measured_excess(loss, *draw(150), penalty, model) for _ in range(400)]
    means, errors = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    assert abs(means[0] - exact) < ERRORS * errors[0] + 0.15 * (means[1] - means[0])
    assert means[1] - exact > 5.0 * errors[1]


def texts(periods: int = 4, rows: int = 150) -> dict[str, Any]:
    drawn = [mails(rows, 60 + period) for period in range(periods)]
    return {
        "week": np.repeat(np.arange(periods), rows),
        "mail": [text for one in drawn for text in one["mail"]],
        "length": np.random.default_rng(0).standard_normal(periods * rows),
        "size": np.ones(periods * rows),
        "kind": [kind for one in drawn for kind in one["kind"]],
    }


def test_texts_are_replayed() -> None:
    options: dict[str, Any] = {"period": "week", "target": "kind", "epsilon": 0.4, "runs": 2, "seed": 3, "workers": 1}
    result = backtest(texts(), text="mail", features=["mail"], **options)
    assert [one.name for one in result.strategies] == ["driftpace", "first_model", "best_constant"]
    assert {one.name for one in result.skipped} == {"up_front", "even", "from_scratch", "paper"}
    own = result.strategies[0]
    assert own.samples.shape == (2, 4)
    assert (own.samples[:, 1:].mean() < own.samples[:, 0]).all()
    assert own.excess_risk[:, 1:].mean() < 0.4
    assert own.metrics["accuracy"].mean() > 0.7
    assert result.features[0] == "components 1 to 4"
    assert result.movement is not None
    assert result.movement.shape == (4, len(result.features) + 1)
    assert "about the penalised loss" in " ".join(result.notes)
    assert "Best constant size" in render(result)
    assert to_json(from_json(to_json(result))) == to_json(result)
    again = backtest(texts(), text=["mail"], features=["mail"], baselines=[], **options)
    np.testing.assert_array_equal(again.strategies[0].samples, own.samples)
    beside = read_table(texts(), period="week", target="kind", text="mail")
    assert beside.features[0] == "length"
    assert (beside.text, beside.X[0].shape) == (("mail",), (150, 2049))


def test_a_table_that_is_wider_than_its_rows_is_replayed() -> None:
    rng, columns, rows = np.random.default_rng(5), 160, 120
    scale = 1.0 / np.sqrt(1.0 + np.arange(columns))
    X = rng.standard_normal((3 * rows, columns)) * scale
    table = {f"band {place}": X[:, place] for place in range(columns)}
    table |= {"month": np.repeat(np.arange(3), rows), "y": X[:, :3].sum(axis=1) + 0.5 * rng.standard_normal(3 * rows)}
    result = backtest(
        table,
        period="month",
        target="y",
        tolerance=0.5,
        runs=2,
        workers=1,
        baselines=["first_model"],
    )
    assert result.tolerance == 0.5
    assert not any(
        "standard deviation 1" in note for note in result.notes
    )  # components are those of the columns as they are
    np.testing.assert_allclose(result.epsilon, 0.5 * np.array(result.best_loss))
    assert np.isfinite(result.strategies[0].excess_risk).all()
    assert result.strategies[0].metrics["r2"][:, -1].mean() > 0.3


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"text": "mails"}, "did you mean 'mail'"),
        ({"text": "kind"}, "that are nothing else; got 'kind'"),
        ({"text": ["mail", "mail"]}, "must be different columns"),
        ({"text": "length"}, "must hold texts"),
        ({"text": "mail", "weight": "size"}, "rows count alike"),
        ({"text": "mail", "season": 4}, "must be None with season"),
        ({"text": "mail", "l2": [0.1, 1.0]}, "must be None with l2"),
        ({"text": "mail", "splines": True}, "must be None with splines"),
        ({"text": "mail", "target": "length", "loss": PoissonLoss()}, "must be 0 or more|SquaredLoss, SoftmaxLoss"),
        ({"text": "mail", "tracker": lambda loss, features, seed: Tracker(loss, epsilon=1.0)}, "custom tracker"),
    ],
)
def test_what_texts_do_not_go_with_is_said(more: dict[str, Any], words: str) -> None:
    options = {"period": "week", "target": "kind", "epsilon": 0.4, "runs": 1, "workers": 1, "baselines": []}
    with pytest.raises((DataError, ParameterError), match=words):
        backtest(texts(2, 40), **{**options, **more})


def test_periods_of_few_rows_are_refused() -> None:
    with pytest.raises(DataError, match="must have at least 30 rows in each period; '0' has 20"):
        backtest(texts(2, 20), period="week", target="kind", text="mail", epsilon=0.4, runs=1, workers=1)
