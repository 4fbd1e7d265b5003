"""Every single edit of a store is found and named; an untouched store passes."""

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.records import CheckVerdict, Verification
from driftpace.campaign.verification import verify_campaign
from driftpace.errors import DriftpaceError
from driftpace.storage import MemoryStore, Store, open_store
from driftpace.storage.seal import broken_seals, make_seal
from tests.reference import falsified
from tests.storage.releases.cases import CAMPAIGNS, fill

AT = "2026-11-19T10:00:00.000Z"
NAMES_NO_ENTRY = {"the saved state", "the summary", "the time of creation", "the name", "the last entry removed"}
"""Edits beside the log."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "labels.db"
    store = open_store(path)
    fill(store)
    prices = Campaign.open("prices", storage=store)
    prices.tell([[0.1, 0.2]], [0.3], key="P2", delivery="late.csv", ids=["late"], accept_others=True)
    store.close()
    return path


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(whole, tmp_path / "labels.db"))


def verified(store: Store, name: str = falsified.CAMPAIGN) -> Verification:
    try:
        return verify_campaign(name, store)
    except DriftpaceError as error:
        return Verification(verdict=CheckVerdict.FAIL, sentence=str(error))


def opened(path: Path) -> Store:
    return open_store(path, create=False)


def test_an_untouched_store_passes(whole: Path) -> None:
    store = opened(whole)
    found = {name: verify_campaign(name, store) for name in CAMPAIGNS}
    seal = make_seal(store, CAMPAIGNS, at=AT)
    store.close()
    assert found["forgotten"].verdict is CheckVerdict.WARN
    assert "their hash chain is whole; rows are not stored" in found["forgotten"].sentence
    for name in ("money", "prices", "tables"):
        assert found[name].verdict is CheckVerdict.PASS
        assert "recomputed: identical" in found[name].sentence
    assert broken_seals(seal, store) == []


@pytest.mark.parametrize("name", falsified.EDITS)
def test_a_single_edit_is_found(copy: Path, name: str) -> None:
    falsified.edit(copy, name)
    store = opened(copy)
    found = verified(store, "rents" if name == "the name" else falsified.CAMPAIGN)
    store.close()
    assert found.verdict is CheckVerdict.FAIL, found.sentence
    assert (found.entry is None) == (name in NAMES_NO_ENTRY), found.sentence
    if found.entry is not None:
        assert re.search(rf"[Ee]ntry {found.entry}\b", found.sentence)


@pytest.mark.parametrize("name", falsified.RECOMPUTED)
def test_a_rebuilt_chain_does_not_hide_what_can_be_recomputed(copy: Path, name: str) -> None:
    falsified.edit(copy, name)
    falsified.rebuild_chain(copy)
    store = opened(copy)
    found = verified(store, "rents" if name == "the name" else falsified.CAMPAIGN)
    store.close()
    assert found.verdict is CheckVerdict.FAIL, found.sentence


@pytest.mark.parametrize("name", sorted(set(falsified.NOTED) - {"the rows of a draw", "a hash"}))
def test_a_seal_tells_what_a_rebuilt_chain_hides(whole: Path, copy: Path, name: str) -> None:
    store = opened(whole)
    seal = make_seal(store, [falsified.CAMPAIGN], at=AT)
    store.close()
    falsified.edit(copy, name)
    falsified.rebuild_chain(copy)
    store = opened(copy)
    broken = broken_seals(seal, store)
    store.close()
    assert [one.name for one in broken] == [falsified.CAMPAIGN]


def test_a_rebuilt_chain_without_a_seal_hides_who_it_was(copy: Path) -> None:
    """The limit of the chain, as the documentation says it."""
    falsified.edit(copy, "who delivered")
    falsified.rebuild_chain(copy)
    store = opened(copy)
    found = verified(store)
    store.close()
    assert found.verdict is CheckVerdict.PASS


def test_rows_beside_an_entry_that_brought_none_are_found(copy: Path) -> None:
    with closing(sqlite3.connect(copy)) as connection, connection:
        falsified.statement(falsified.FOREIGN)(connection)
    store = opened(copy)
    found = verified(store)
    store.close()
    assert (found.verdict, found.entry) == (CheckVerdict.FAIL, 1)
    assert "brought none" in found.sentence


@pytest.mark.parametrize("seed", range(8))
def test_any_changed_digit_is_found(copy: Path, seed: int) -> None:
    what = falsified.random_bits(copy, np.random.default_rng(seed))
    store = opened(copy)
    found = verified(store)
    store.close()
    assert found.verdict is CheckVerdict.FAIL, what
    assert found.entry is not None


def test_what_can_be_recomputed_is_compared_in_memory_too() -> None:
    store = MemoryStore()
    fill(store)
    assert {verify_campaign(name, store).verdict for name in ("money", "prices", "tables")} == {CheckVerdict.PASS}
