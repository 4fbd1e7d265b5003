"""Campaigns whose target has several classes."""

from typing import Any

import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.log_text import describe_entry
from driftpace.errors import DataError, ParameterError
from driftpace.storage import MemoryStore
from driftpace.typing import FloatArray

WORDS = ("cat", "dog", "owl")
SETTINGS: dict[str, Any] = {
    "name": "animals",
    "target": "kind",
    "classes": list(WORDS),
    "features": ["x", "z"],
    "epsilon": 0.1,
    "seed": 0,
}


def draw(rng: np.random.Generator, rows: int, classes: int = 3) -> tuple[FloatArray, FloatArray]:
    X = rng.normal(size=(rows, 2))
    angles = np.array([0.0, 2.1, 4.2, 5.2])[:classes]
    scores = 2.0 * X @ np.array([np.cos(angles), np.sin(angles)])
    return X, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1).astype(float)


def table(X: FloatArray, y: FloatArray, words: tuple[str, ...] = WORDS) -> dict[str, Any]:
    return {"x": X[:, 0], "z": X[:, 1], "kind": np.array(words, dtype=object)[y.astype(int)]}


def run_period(campaign: Campaign, key: str, rng: np.random.Generator, words: tuple[str, ...] = WORDS) -> None:
    order = campaign.ask(key=key)
    while order.missing:
        order = campaign.tell_table(table(*draw(rng, order.missing, len(words)), words)).order
    if not order.closed:
        campaign.tell(final=True)


@pytest.fixture
def campaign(rng: np.random.Generator) -> Campaign:
    made = Campaign.create(SETTINGS, storage=MemoryStore())
    for key in ("W1", "W2"):
        run_period(made, key, rng)
    return made


def test_labels_become_a_model_and_predictions_with_a_probability_for_each_class(
    campaign: Campaign, rng: np.random.Generator
) -> None:
    assert campaign.definition.loss == "softmax"
    X, y = draw(rng, 400)
    predicted = campaign.predict_table({"x": X[:, 0], "z": X[:, 1]})
    assert predicted.classes == WORDS
    assert predicted.probability is not None
    assert predicted.probability.shape == (400, 3)
    np.testing.assert_allclose(predicted.probability.sum(axis=1), 1.0)
    assert predicted.values == [WORDS[place] for place in predicted.probability.argmax(axis=1)]
    assert np.mean(np.array(predicted.values) == np.array(WORDS)[y.astype(int)]) > 0.7
    assert campaign.predict(X).tolist() == predicted.values
    np.testing.assert_allclose(campaign.predict_proba(X), predicted.probability)
    tracker = campaign.tracker()
    assert tracker.classes == WORDS
    assert tracker.predict(X).tolist() == predicted.values
    campaign.ask(key="W3")
    campaign.tell_table(table(*draw(rng, 60)), final=True)
    served = campaign.ledger()[-1].served
    assert served is not None
    assert served.accuracy is not None
    assert 0.4 < served.accuracy <= 1.0


def test_the_log_replays_to_the_same_state(campaign: Campaign) -> None:
    *_, (_, state) = campaign.replay()
    assert state.state.coef is not None
    assert state.state.coef.size == 6


def test_a_label_that_is_not_listed_is_refused_with_its_cell_and_the_fix(
    campaign: Campaign, rng: np.random.Generator
) -> None:
    campaign.ask(key="W3")
    X, y = draw(rng, 10)
    rows = table(X, y)
    rows["kind"][4] = "fox"
    before = campaign.status()
    problem = (
        r"target 'kind' must be 'cat', 'dog' or 'owl'; row 5 has 'fox': correct it, or add the class with amend "
        r"\(new_classes, --new-class\)\."
    )
    with pytest.raises(DataError, match=problem):
        campaign.tell_table(rows)
    with pytest.raises(DataError, match=r"must be one of the classes 'cat', 'dog', 'owl'; row 5 has 'fox'"):
        campaign.tell(X, rows["kind"])
    with pytest.raises(DataError, match=r"their numbers 0 to 2; got [345]\."):
        campaign.tell(X, y + 3.0)
    assert campaign.status() == before


def test_a_class_that_appears_is_added_and_learned(campaign: Campaign, rng: np.random.Generator) -> None:
    four = (*WORDS, "fox")
    with pytest.raises(
        ParameterError, match=r"new_classes=\.\.\.\) must be one or more different texts that are not listed yet"
    ):
        campaign.amend(new_classes=["cat"], reason="?")
    with pytest.raises(ParameterError, match=r"unknown_categories=\.\.\.\) must name at least one column"):
        campaign.amend(reason="?")
    campaign.amend(new_classes=["fox"], reason="seen in the yard")
    assert campaign.definition.classes == four
    assert "“fox” may be a class" in describe_entry(campaign.log()[-1]).sentence
    X, _ = draw(rng, 5)
    assert campaign.predict_proba(X)[:, 3].tolist() == [0.0] * 5
    for key in ("W3", "W4"):
        run_period(campaign, key, rng, four)
    X, y = draw(rng, 600, 4)
    shares = campaign.predict_proba(X)
    loss = -np.mean(np.log(shares[np.arange(600), y.astype(int)]))
    angles = np.array([0.0, 2.1, 4.2, 5.2])
    true = 2.0 * X @ np.array([np.cos(angles), np.sin(angles)])
    true -= np.log(np.exp(true).sum(axis=1, keepdims=True))
    assert loss < -np.mean(true[np.arange(600), y.astype(int)]) + 0.25
    *_, (_, state) = campaign.replay()
    assert state.definition.classes == four
    seq = next(entry.seq for entry in campaign.log() if entry.kind == "amended")
    with pytest.raises(ParameterError, match="must not be an amendment that added classes"):
        campaign.undo(entry=seq, reason="no")


def test_two_classes_take_no_third() -> None:
    two = Campaign.create({**SETTINGS, "classes": ["no", "yes"]}, storage=MemoryStore())
    with pytest.raises(
        ParameterError, match=r"must be used with a loss for several classes, such as 'softmax'; the campaign has"
    ):
        two.amend(new_classes=["maybe"], reason="?")


def test_several_penalties_can_be_compared(rng: np.random.Generator) -> None:
    made = Campaign.create({**SETTINGS, "l2": [0.001, 0.1]}, storage=MemoryStore())
    for key in ("W1", "W2"):
        run_period(made, key, rng)
    assert made.predict_proba(np.zeros((1, 2))).shape == (1, 3)


@pytest.mark.parametrize("later", [True, False])
def test_a_class_that_arrives_late_is_named(later: bool, rng: np.random.Generator) -> None:
    """Late rows of one class are noticed; rows that are late at random are not (one false alarm in a thousand)."""
    made = Campaign.create({**SETTINGS, "epsilon": 0.5}, storage=MemoryStore())
    made.ask(key="W1")
    X, y = draw(rng, 400)
    late = (y == 2.0) & (rng.random(400) < 0.7) if later else rng.random(400) < 0.3
    late |= np.arange(400) < 30
    made.tell(X[~late], y[~late], final=True)
    made.tell(X[late], y[late], key="W1")
    lateness = made.lateness()
    assert lateness is not None
    assert (lateness.late_class == "owl") is later
    assert ("late classes: class owl has" in lateness.warning) is later
