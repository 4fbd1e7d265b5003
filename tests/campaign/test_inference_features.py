"""Features that a table shows: made of dates, left out because they are ids, and named where they give the target away."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.inference import Inference, infer_definition
from driftpace.errors import DataError, ParameterError
from driftpace.storage import MemoryStore

ROWS = 240


def _table(rng: np.random.Generator) -> dict[str, Any]:
    hours = np.datetime64("2024-03-04T00") + 5 * np.arange(ROWS)
    x = rng.normal(size=ROWS)
    return {
        "nr": np.arange(ROWS),
        "shop_id": rng.integers(0, 50, ROWS),
        "when": [str(hour).replace("T", " ") + ":00" for hour in hours],
        "x": x,
        "fee": 2.0 * x + rng.normal(size=ROWS),
        "sales": x + rng.normal(size=ROWS),
    }


def _infer(table: Any, **settings: Any) -> Inference:
    return infer_definition(table, name="a", target="sales", epsilon=0.1, **settings)


def _notes(inference: Inference, topic: str) -> list[str]:
    return [note.text for note in inference.notes if note.topic == topic]


def test_embeddings_are_columns(rng: np.random.Generator) -> None:
    """A column of lists, as in Parquet files, from the definition to predictions; a vector of another length changes nothing."""
    vectors = rng.standard_normal((200, 30))
    table = pd.DataFrame({"vector": list(vectors), "sales": vectors[:, 0] + 0.1 * rng.standard_normal(200)})
    inference = _infer(table)
    assert inference.definition.features == tuple(f"vector_{place}" for place in range(30))
    assert _notes(inference, "Features") == [", ".join(f"vector_{place}" for place in range(20)) + ", and 10 more"]
    campaign = Campaign.create(inference.definition, storage=MemoryStore())
    campaign.ask()
    before = campaign.status()
    with pytest.raises(DataError, match=r"must have lists of 30 numbers in column 'vector'; row 2 has 29"):
        campaign.tell_table(pd.DataFrame({"vector": [vectors[0], vectors[1, 1:]], "sales": [0.0, 1.0]}))
    assert campaign.status() == before
    assert campaign.tell_table(table, final=True).report is not None
    predicted = campaign.predict_table(table)
    assert np.corrcoef(predicted.values, table["sales"])[0, 1] > 0.9


def test_calendar_features_have_all_their_categories(rng: np.random.Generator) -> None:
    definition = _infer(_table(rng), calendar=["month", "weekday", "hour"], exclude=["fee"]).definition
    waves = ("when:hour:sin1", "when:hour:cos1", "when:hour:sin2", "when:hour:cos2")
    assert definition.features == ("x", "when:month", "when:weekday", *waves)
    assert len(definition.categories["when:month"]) == 12
    assert definition.categories["when:weekday"] == ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def test_a_campaign_makes_them_of_every_delivery(rng: np.random.Generator) -> None:
    table = _table(rng)
    definition = _infer(table, calendar=["weekday"], features=["x"]).definition
    campaign = Campaign.create(definition, storage=MemoryStore())
    campaign.ask()
    receipt = campaign.tell_table(table, final=True)
    assert receipt.report is not None
    predicted = campaign.predict_table({name: values[:3] for name, values in table.items()})
    assert len(predicted.values) == 3
    with pytest.raises(DataError, match=r"column 'when' must hold dates that sort in time; row 2 has 'soon'"):
        campaign.predict_table({"nr": [1, 2], "x": [0.0, 1.0], "when": ["2024-03-04", "soon"]})


def test_ids_are_left_out_and_said(rng: np.random.Generator) -> None:
    inference = _infer(_table(rng))
    assert inference.definition.features == ("x", "fee")
    assert inference.definition.id == "nr"
    assert _notes(inference, "Left out") == ["shop_id: named like an id; when: dates"]


def test_leaks_are_warned_of_but_used(rng: np.random.Generator) -> None:
    table = _table(rng)
    table["invoice"] = 3.0 * table["sales"] + 0.01 * rng.normal(size=ROWS)
    inference = _infer(table)
    assert "invoice" in (inference.definition.features or ())
    (warning,) = _notes(inference, "Warning")
    assert warning.startswith("invoice predicts sales almost perfectly (correlation 1; ")
    assert not _notes(_infer(table, exclude=["invoice"]), "Warning")
    classes = {**table, "sales": np.where(table["sales"] > 0.0, "high", "low")}
    assert _notes(_infer(classes), "Warning")[0].startswith("invoice predicts sales almost perfectly (AUC 1; ")


def test_columns_to_exclude_must_exist(rng: np.random.Generator) -> None:
    with pytest.raises(
        ParameterError, match=r"\(exclude=\.\.\.\) must be a column of the table; got 'fees': did you mean 'fee'"
    ):
        _infer(_table(rng), exclude=["fees"])


@pytest.mark.parametrize("words", [False, True])
def test_numbers_that_follow_the_periods_are_left_out_and_said(words: bool, rng: np.random.Generator) -> None:
    """As in a backtest: a year beside the number of the wave; without a period nothing is known about time."""
    wave = rng.integers(1, 13, ROWS)
    table = {**_table(rng), "wave": [f"wave {n}" for n in wave] if words else wave, "year": 2000 + wave}
    inference = _infer(table, period="wave")
    assert "year" not in (inference.definition.features or ())
    assert "year: follows time" in _notes(inference, "Left out")[0]
    assert _notes(inference, "Periods")[0].endswith(f"keys are such as {'wave 12' if words else '12'}")
    assert "year" in (_infer(table).definition.features or ())
