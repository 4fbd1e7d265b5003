"""Components that an unlabelled pool shows a campaign: fewer first labels, replayed to the bit, and refused in a sentence."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sqlalchemy import Engine, event

from driftpace import Tracker
from driftpace.campaign import Campaign, export_campaign, import_campaign
from driftpace.campaign.records import CheckVerdict, PoolComponents
from driftpace.campaign.verification import verify_campaign
from driftpace.errors import DataError, ParameterError, ProtocolError, StateFileError
from driftpace.losses import SquaredLoss
from driftpace.storage import MemoryStore, open_store
from driftpace.storage.base import Store
from tests.campaign.test_text_features import DEFINITION, mails, run_period

COLUMNS = 130
WIDE = {"name": "spectra", "target": "y", "epsilon": 0.3, "seed": 0}


def pool(rows: int = 400, seed: int = 5) -> dict[str, Any]:
    return {"mail": mails(rows, seed)["mail"]}


def spectra(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, COLUMNS)) / np.sqrt(1.0 + np.arange(COLUMNS))
    table = pd.DataFrame(X, columns=[f"band {place}" for place in range(COLUMNS)])
    return table.assign(y=X[:, :4].sum(axis=1) + rng.standard_normal(rows))


def checked(store: Store, name: str) -> str:
    found = verify_campaign(name, store)
    assert found.verdict is CheckVerdict.PASS, found.sentence
    return found.sentence


def test_a_pool_lowers_the_first_order_and_the_log_replays_to_the_bit(store: Store, tmp_path: Path) -> None:
    plain = Campaign.create({**DEFINITION, "name": "plain"}, storage=store)
    campaign = Campaign.create(DEFINITION, storage=store, pool=pool())
    assert [entry.kind for entry in campaign.log()] == ["created", "learned"]
    assert campaign.log()[1].body["pool_rows"] == 400
    bought = [run_period(one, "W1", 10) for one in (plain, campaign)]
    assert bought[1] < bought[0]
    components = [
        next(check for check in one.ledger()[0].report.assumptions if check.name == "components")
        for one in (plain, campaign)
    ]
    assert "No pool was shown" in components[0].sentence
    assert "of 400 rows" in components[1].sentence
    run_period(campaign, "W2", 30)
    assert "identical" in checked(store, "mails")
    export_campaign(campaign, tmp_path / "mails.gz")
    elsewhere = MemoryStore()
    again = import_campaign(tmp_path / "mails.gz", storage=elsewhere)
    assert isinstance(again, Campaign)
    assert "identical" in checked(elsewhere, "mails")
    assert run_period(again, "W3", 50) == run_period(campaign, "W3", 50)
    campaign.undo(period="W3", reason="a wrong week")
    campaign.undo(delivery=campaign.log(kinds=("delivered",))[1].key, reason="a wrong file")
    assert "identical" in checked(store, "mails")
    opened = Campaign.open("mails", storage=store)
    assert opened.predict_table(pool(20, 7)).values == campaign.predict_table(pool(20, 7)).values


def test_the_components_are_those_of_the_tracker_and_are_stored_once() -> None:
    store, rows = MemoryStore(), spectra(600, 1).drop(columns="y")
    campaign = Campaign.create(WIDE, storage=store)
    assert campaign.fit_pool(rows, dry_run=True) == campaign.fit_pool(rows, source="spectra")
    tracker = Tracker(SquaredLoss(), epsilon=0.3, rng=0)
    tracker.fit_pool(rows.to_numpy())
    spectrum = tracker.snapshot()[1].wide.spectrum
    kept = campaign._handle.load().state.wide.spectrum
    np.testing.assert_allclose(kept.basis, spectrum.basis, atol=1e-9)  # rows are laid out otherwise in memory
    assert campaign.ask().samples == tracker.ask().samples
    checkpoint, stored = store.checkpoint("spectra"), store.rows("spectra", [2])[2]
    assert checkpoint is not None
    assert len(checkpoint[1]) < len(stored) / 10


def test_a_table_of_many_columns_without_a_list_of_features_takes_a_pool() -> None:
    store = MemoryStore()
    campaign = Campaign.create(WIDE, storage=store, pool=spectra(600, 1).drop(columns="y"))
    order = campaign.ask()
    seed = 10
    while order.missing:
        seed += 1
        order = campaign.tell_table(spectra(order.missing, seed)).order
    assert order.closed
    assert order.received < 3 * COLUMNS
    assert "identical" in checked(store, "spectra")
    campaign.ask()
    with pytest.raises(DataError, match="'band 7'"):
        campaign.tell_table(spectra(5, 90).drop(columns="band 7"))


def test_rows_that_are_withdrawn_leave_the_components(store: Store) -> None:
    campaign = Campaign.create(DEFINITION, storage=store, pool=pool())
    order = campaign.ask()
    campaign.tell_table(mails(order.missing // 2, 1))
    campaign.forget(reason="wrong")
    assert campaign.ask().missing == order.missing
    assert run_period(campaign, "W1", 10) > 0
    assert "identical" in checked(store, "mails")


def test_a_pool_is_learned_once_and_before_the_first_order() -> None:
    campaign = Campaign.create(DEFINITION, storage=MemoryStore(), pool=pool())
    with pytest.raises(ProtocolError, match="must be called once"):
        campaign.fit_pool(pool())
    late = Campaign.create(DEFINITION, storage=MemoryStore())
    late.ask()
    with pytest.raises(ProtocolError, match="must be called before the first order; period 1 is open"):
        late.fit_pool(pool())
    run_period(late, "W1", 10)
    with pytest.raises(ProtocolError, match="period 2 is next"):
        late.fit_pool(pool())
    assert "learned" not in {entry.kind for entry in late.log()}
    number = next(entry.seq for entry in campaign.log() if entry.kind == "learned")
    with pytest.raises(ParameterError, match="every coefficient is about its components"):
        campaign.undo(number, reason="another pool")


@pytest.mark.parametrize(
    ("more", "rows", "words"),
    [
        ({}, {"body": ["late", "broken"]}, "the table must have the column 'mail'"),
        ({}, {"mail": ["", ""]}, r"fit_pool\(pool=...\) must have rows that differ"),
        ({}, {"mail": []}, "at least one row|must have rows"),
        (
            {"text": [], "features": ["a"], "classes": None},
            {"a": [1.0, 2.0]},
            "texts or of more than 100 columns.*got 1",
        ),
        ({"text": [], "features": ["a"], "groups": "shop"}, {"a": [1.0, 2.0]}, "left out with groups"),
        ({"text": [], "classes": None, "loss": "poisson"}, {"a": [1.0, 2.0]}, "one penalty; got 'poisson'"),
        ({"text": [], "classes": None, "l2": [0.1, 1.0]}, {"a": [1.0, 2.0]}, "got several penalties"),
    ],
)
def test_a_pool_that_shows_nothing_is_refused(more: dict[str, Any], rows: dict[str, Any], words: str) -> None:
    store = MemoryStore()
    with pytest.raises((DataError, ParameterError), match=words):
        Campaign.create({**DEFINITION, **more}, storage=store, pool=rows)
    assert store.names() == []


def test_missing_cells_are_filled_and_infinite_ones_refused() -> None:
    table = spectra(300, 1).drop(columns="y")
    table.iloc[3, 5] = np.nan
    campaign = Campaign.create(WIDE, storage=MemoryStore(), pool=table)
    assert campaign.log()[1].body["components"]["rows"] == 300
    table.iloc[4, 5] = np.inf
    with pytest.raises(DataError, match=r"'band 5' must be finite.*row 5 has inf"):
        Campaign.create(WIDE, storage=MemoryStore(), pool=table)


def test_damaged_components_are_found() -> None:
    store = MemoryStore()
    campaign = Campaign.create(DEFINITION, storage=store, pool=pool())
    run_period(campaign, "W1", 10)
    other = MemoryStore()
    Campaign.create(DEFINITION, storage=other, pool=pool(300, 9))
    store._campaigns["mails"].rows[2] = other.rows("mails", [2])[2]
    with pytest.raises(StateFileError, match="their hash does not match"):
        verify_campaign("mails", store)


def test_a_process_that_is_killed_leaves_all_of_it_or_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/labels.db"
    Campaign.create(DEFINITION, storage=url)
    killed = 0
    while True:
        pid = os.fork()
        if pid == 0:
            statements = iter(range(10**6))

            def before(*_: Any, at: int = killed, counted: Any = statements) -> None:
                if next(counted) == at:
                    os._exit(9)

            event.listen(Engine, "before_cursor_execute", before)
            try:
                Campaign.open("mails", storage=url).fit_pool(pool(60))
            finally:
                os._exit(0)
        survived = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        store = open_store(url)
        kinds = [entry.kind for entry in Campaign.open("mails", storage=store).log()]
        assert "identical" in checked(store, "mails")
        store.close()
        assert kinds == (["created", "learned"] if survived else ["created"])
        if survived:
            break
        killed += 1
    assert killed > 3


def test_what_a_pool_has_shown_is_a_sentence() -> None:
    found = PoolComponents(rows=1, columns=2, components=1, explained=0.5)
    assert found.sentence == "1 component of 1 row has 50 % of the variance of 2 columns"
    assert replace(found, rows=2000, components=2).sentence.startswith("2 components of 2,000 rows have")
