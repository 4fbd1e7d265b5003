"""A fleet in a folder of Parquet files: the same bits, replaced as a whole, and refused where a file is missing or damaged."""

from pathlib import Path

import pytest

from driftpace import Fleet
from driftpace.errors import ParameterError, StateFileError
from tests.fleet.stores import STORES, Shop, new_fleet, run, same

parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftpace.fleet.parquet.PARTITION", 2)


@pytest.mark.usefixtures("small_parts")
def test_a_folder_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    fleet, shop, folder = new_fleet(), Shop(), tmp_path / "fleet.parquet"
    run(fleet, shop, 2)
    fleet.save(folder)
    fleet.ask()
    fleet.tell(shop.rows("Turin", 4), final=False)
    before = {file.name for file in folder.iterdir()}
    fleet.save(folder)
    after = {file.name for file in folder.iterdir()}
    assert len(before & after) >= 1
    assert len(after) == 3
    loaded = Fleet.load(folder)
    assert loaded.segments == fleet.segments
    assert loaded.ask() == fleet.ask()
    frame = shop.label(fleet.ask())
    for one in (fleet, loaded):
        one.tell(frame)
    assert same(fleet, loaded)


@pytest.mark.usefixtures("small_parts")
def test_the_files_show_the_last_period_of_each_segment(tmp_path: Path) -> None:
    fleet, folder = new_fleet(), tmp_path / "fleet.parquet"
    run(fleet, Shop(), 2)
    fleet.save(folder)
    tables = [parquet.read_table(file).to_pylist() for file in sorted(folder.glob("*.parquet"))]
    rows = [row for table in tables for row in table]
    assert [row["segment"] for row in rows] == list(STORES)
    assert [row["samples"] for row in rows] == [fleet.ledger[name][-1].samples for name in STORES]
    assert {row["period"] for row in rows} == {3}


@pytest.mark.usefixtures("small_parts")
def test_a_program_that_fails_while_it_saves_leaves_the_fleet_of_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, shop, folder = new_fleet(), Shop(), tmp_path / "fleet.parquet"
    run(fleet, shop, 1)
    fleet.save(folder)
    before = Fleet.load(folder)
    run(fleet, shop, 1)

    def full(*_: object, **__: object) -> None:
        raise OSError("no space left")

    for name in ("driftpace.fleet.parquet.atomic_file", "driftpace.fleet.parquet.write_state"):
        with monkeypatch.context() as patch:
            patch.setattr(name, full)
            with pytest.raises(OSError, match="no space left"):
                fleet.save(folder)
        assert same(Fleet.load(folder), before)
    fleet.save(folder)
    assert same(Fleet.load(folder), fleet)
    assert len(list(folder.iterdir())) == 3


@pytest.mark.usefixtures("small_parts")
def test_files_that_are_missing_or_damaged_are_named(tmp_path: Path) -> None:
    fleet, folder = new_fleet(), tmp_path / "fleet.parquet"
    fleet.save(folder)
    part = min(folder.glob("*.parquet"))
    content = part.read_bytes()
    part.write_bytes(content[:-9])
    with pytest.raises(StateFileError, match="was edited or damaged"):
        Fleet.load(folder)
    part.unlink()
    with pytest.raises(StateFileError, match="is missing from the folder"):
        Fleet.load(folder)
    (folder / "fleet.json").unlink()
    with pytest.raises(StateFileError, match=r"has no fleet.json"):
        Fleet.load(folder)
    with pytest.raises(ParameterError, match="must be a new or empty folder"):
        fleet.save(folder)
    with pytest.raises(ParameterError, match="must be in an existing folder"):
        fleet.save(tmp_path / "nowhere" / "fleet.parquet")
