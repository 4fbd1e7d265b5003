"""What a campaign may be about, and what is refused before the first label is bought."""

from typing import Any

import pytest

from driftpace.campaign.definition import Definition
from driftpace.errors import ParameterError
from driftpace.losses import HuberLoss, LogisticLoss, SmoothedHinge, SquaredLoss
from driftpace.planning import Budget, LinearCost, TieredCost

GOOD: dict[str, Any] = {"name": "churn", "target": "left", "epsilon": 0.02}


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"name": ""}, r"Campaign\(name=\.\.\.\) must be up to 100 letters"),
        ({"name": "a/b"}, r"Campaign\(name=\.\.\.\) must be up to 100 letters"),
        ({"name": "a" * 101}, r"Campaign\(name=\.\.\.\) must be up to 100 letters"),
        ({"name": 3}, r"Campaign\(name=\.\.\.\) must be up to 100 letters"),
        ({"tolerancy": 0.1}, "did you mean 'tolerance'"),
        ({"target": 3}, r"Campaign\(target=\.\.\.\) must be a text; got 3"),
        ({"features": "age"}, r"Campaign\(features=\.\.\.\) must be a list of names; got 'age'"),
        ({"features": []}, r"Campaign\(features=\.\.\.\) must be a list of names"),
        (
            {"features": [f"c{at}" for at in range(5_001)]},
            r"features=\.\.\.\) must be at most 5,000 columns, .* got 5,001",
        ),
        ({"features": ["left"]}, "must name each column once; got 'left' twice"),
        ({"classes": ["no"]}, r"Campaign\(classes=\.\.\.\) must be two or more different texts"),
        ({"classes": ["no", "no"]}, r"Campaign\(classes=\.\.\.\) must be two or more different texts"),
        ({"classes": ["no", "yes"], "loss": "squared"}, "must be 'logistic', 'hinge' or 'softmax' where 2 classes"),
        (
            {"classes": ["a", "b", "c"], "loss": "logistic"},
            "must be 'softmax' where 3 classes are given; got 'logistic'",
        ),
        ({"loss": "softmax"}, r"Campaign\(classes=\.\.\.\) must be given for the loss 'softmax'"),
        ({"classes": ["a", "b", "c"], "annotator": "who", "id": "i"}, "must be left out with the loss 'softmax'"),
        ({"categories": ["a"]}, r"Campaign\(categories=\.\.\.\) must give a list of categories"),
        ({"categories": {"region": ["n"]}}, "at least two different categories; got"),
        ({"categories": {"region": ["n", "s"]}, "features": ["age"]}, "must be one of features; got 'region'"),
        ({"loss": "median"}, r"Campaign\(loss=\.\.\.\) must be one of 'squared'"),
        ({"l2": -1}, r"Campaign\(l2=\.\.\.\) must be"),
        ({"l2": []}, "got an empty list"),
        ({"keep_rows": "yes"}, r"Campaign\(keep_rows=\.\.\.\) must be True or False"),
        ({"seed": -1}, r"Campaign\(seed=\.\.\.\) must be a whole number"),
        ({"budget": 5}, r"Campaign\(budget=\.\.\.\) must be a table"),
        ({"budget": {"total": 5}}, r"Campaign\(budget\.horizon=\.\.\.\) must be given"),
        ({"budget": {"total": 5, "horizon": 3, "fixd": 1}}, "did you mean 'fixed'"),
        ({"budget": {"total": 5, "horizon": 3, "tiers": [1, 2]}}, "must be pairs"),
        ({"budget": {"total": 5, "horizon": 3, "tiers": [[1, 2]], "per_sample": 1}}, "left out beside tiers"),
    ],
)
def test_what_is_refused(more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        Definition.of({**GOOD, **more})


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"epsilon": None}, "epsilon"),
        ({"epsilon": -1.0}, r"Campaign\(epsilon=\.\.\.\) must be"),
        ({"tolerance": 0.1}, r"Campaign\("),
        ({"confidence": 2.0}, r"Campaign\(confidence=\.\.\.\) must be"),
        ({"cap": 0}, r"Campaign\(cap=\.\.\.\) must be"),
        ({"budget": {"total": 0, "horizon": 3}}, r"Campaign\(total=\.\.\.\) must pay for at least one sample"),
        ({"budget": {"total": 5, "horizon": 0}}, r"Campaign\(horizon=\.\.\.\) must be"),
        ({"budget": {"total": 5, "horizon": 2, "batches": "no"}}, r"Campaign\(batches=\.\.\.\) must be True or False"),
    ],
)
def test_what_no_tracker_can_be_made_of(more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        Definition.of({**GOOD, **more}).make_tracker(rng=0)


def test_the_values_of_a_definition_give_it_back() -> None:
    values = {
        **GOOD,
        "features": ["age", "region"],
        "categories": {"region": ["north", "south", "west"]},
        "classes": ["no", "yes"],
        "l2": [0.001, 0.1],
        "keep_rows": False,
        "budget": {"total": "100", "horizon": 4, "tiers": [[1, "2"], [10, "1"]], "currency": "EUR", "batches": True},
    }
    definition = Definition.of(values)
    assert Definition.of(definition.to_values()) == definition
    tracker = definition.make_tracker(rng=3)
    cost = TieredCost(tiers=((1, 2), (10, 1)), currency="EUR")
    assert tracker.budget == Budget(total=100, horizon=4, cost=cost, batches=True)
    assert len(tracker.models["l2=0.001"]) == 1 + 2 + 1, "age, two of three regions, the intercept"


@pytest.mark.parametrize(
    ("loss", "kind"),
    [("squared", SquaredLoss), ("huber", HuberLoss), ("logistic", LogisticLoss), ("hinge", SmoothedHinge)],
)
def test_losses_have_their_names(loss: str, kind: type) -> None:
    made = Definition.of({**GOOD, "loss": loss, "l2": 0.5}).make_loss()
    assert type(made) is kind
    assert made.l2 == 0.5


def test_prices_are_exact_whatever_way_they_are_written() -> None:
    prices = {"total": 10.1, "horizon": 2, "fixed": 0.1, "per_sample": "0.2"}
    assert Definition.of({**GOOD, "budget": prices}).make_budget() == Budget(
        total="10.1", horizon=2, cost=LinearCost(fixed="0.1", per_sample="0.2")
    )


@pytest.mark.parametrize("text", ["name = ", b"\xff\xfe", "name = 'a'\nname = 'b'", "x = " + "[" * 5000])
def test_a_file_that_is_no_toml_is_refused_in_a_sentence(text: str | bytes) -> None:
    with pytest.raises(ParameterError, match=r"Campaign\(file=\.\.\.\) must be TOML"):
        Definition.of_toml(text)
