"""Campaigns whose features are texts: followed by the wide method, replayed to the bit, and refused in a sentence."""

from typing import Any

import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.inference import infer_definition
from driftpace.errors import DataError, ParameterError
from driftpace.storage import MemoryStore
from driftpace.tables import Encoding, read_columns
from driftpace.tables.text_column import TERMS, TextColumn, learn_text

WORDS = {
    "refund": ["broken", "refund", "late"],
    "praise": ["thanks", "perfect", "quick"],
    "login": ["password", "reset"],
}
DEFINITION = {"name": "mails", "target": "kind", "classes": list(WORDS), "text": ["mail"], "epsilon": 0.4, "seed": 0}


def mails(count: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    kinds = rng.choice(list(WORDS), count).tolist()
    every = [word for words in WORDS.values() for word in words]
    texts = [" ".join([*rng.choice(WORDS[kind], 3), *rng.choice(every, 2)]) for kind in kinds]
    return {"mail": texts, "kind": kinds}


def run_period(campaign: Campaign, key: str, seed: int) -> int:
    order = campaign.ask(key=key)
    while order.missing:
        seed += 1
        order = campaign.tell_table(mails(order.missing, seed)).order
    if not order.closed:
        campaign.tell(final=True)
    return order.received


def test_a_text_classifier_is_tracked_and_replayed_to_the_bit() -> None:
    campaign = Campaign.create(DEFINITION, storage=MemoryStore())
    bought = [run_period(campaign, key, seed) for key, seed in (("W1", 10), ("W2", 30))]
    assert 0 < bought[1] < bought[0] <= 600
    assert [row.served is None for row in campaign.ledger()] == [True, False]
    served = campaign.ledger()[1].served
    assert served is not None
    assert served.accuracy is not None
    assert served.accuracy > 0.7
    tested = mails(200, 99)
    predicted = campaign.predict_table({"mail": tested["mail"]})
    assert np.mean(np.array(predicted.values) == np.array(tested["kind"])) > 0.8
    assert len(list(campaign.replay())) > 4  # raises where a state differs
    with pytest.raises(DataError, match="column 'mail' must hold texts; row 2 has '7'"):
        campaign.predict_table({"mail": np.array(["late", 7], dtype=object)})
    campaign.ask(key="W3")
    with pytest.raises(DataError, match="'mail'"):
        campaign.tell_table({"body": tested["mail"], "kind": tested["kind"]})


def test_a_table_shows_texts_beside_other_features() -> None:
    table = {**mails(60, 1), "length": list(range(60, 120)), "shop": ["a", "b", "c"] * 20}
    found = infer_definition(table, name="mails", target="kind", epsilon=0.2, text=["mail"]).definition
    assert found.text == ("mail",)
    assert set(found.features or ()) >= {"mail", "shop"}
    assert "mail" not in found.fill
    plain = infer_definition(table, name="mails", target="kind", epsilon=0.2).definition
    assert plain.text == ()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"text": "mail"}, "text"),
        ({"text": ["kind"]}, "must be columns of features that are nothing else; got 'kind'"),
        ({"features": ["length"]}, "must be columns of features that are nothing else; got 'mail'"),
        ({"season": 12}, "must be left out with season"),
        ({"l2": [0.1, 1.0]}, "must be left out with l2"),
        ({"groups": "shop"}, "must be left out with groups"),
    ],
)
def test_what_texts_do_not_go_with_is_said(more: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Campaign.create({**DEFINITION, **more}, storage=MemoryStore())


def test_an_encoding_of_texts_is_read_back_and_a_missing_text_has_no_words() -> None:
    columns = read_columns({"mail": ["late refund", None, "refund"]})
    column = learn_text("mail", columns["mail"], np.arange(3), "test")
    assert len(column.rarity) == TERMS
    encoding = Encoding(columns=(column,))
    assert Encoding.of(encoding.to_values()) == encoding
    rows = encoding.encode(columns).X
    assert rows.shape == (3, TERMS)
    np.testing.assert_allclose(np.square(rows).sum(axis=1), [1.0, 0.0, 1.0])
    assert encoding.encode(columns).filled_cells()[0].value == "a text without words"
    with pytest.raises(DataError, match="refuse"):
        Encoding(columns=(TextColumn(name="mail", rarity=(1.0,) * 16),), missing="refuse").encode(columns)
