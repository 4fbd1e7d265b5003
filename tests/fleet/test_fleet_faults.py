"""What is lost when the program, a file or the rows of some segments fail: nothing that was saved, and no other segment."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from driftpace import Fleet
from driftpace.errors import ParameterError
from tests.fleet.stores import Shop, new_fleet, run, same

ROOT = Path(__file__).parents[2]

KILLED = """
import os, signal, sys
from driftpace import Fleet
from driftpace.errors import ParameterError
from tests.fleet.stores import Shop

def die(done, every):
    os.kill(os.getpid(), signal.SIGKILL)

path = sys.argv[1]
import driftpace.fleet.fleet as module
module.CHUNK = 1
fleet, shop = Fleet.load(path, progress=die), Shop(seed=5)
fleet.tell(shop.label_all(12), key="april")
"""


def test_a_program_that_is_killed_goes_on_from_what_it_saved(tmp_path: Path) -> None:
    path = tmp_path / "fleet.json"
    fleet, shop = new_fleet(), Shop()
    run(fleet, shop, 2)
    march, april = shop.label_all(9), Shop(seed=5).label_all(12)
    fleet.ask()
    fleet.tell(march, key="march")
    fleet.save(path)
    before = path.read_bytes()
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(path)], env=os.environ | {"PYTHONPATH": paths}, capture_output=True
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    assert path.read_bytes() == before
    again = Fleet.load(path)
    for key, rows in (("march", march), ("april", april)):  # all that may not have counted is told again
        delivery = again.tell(rows, key=key)
        assert delivery.repeated == (key == "march")
    fleet.tell(april, key="april")
    assert same(again, fleet)


def test_a_folder_that_goes_away_leaves_the_fleet_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "share"
    folder.mkdir()
    fleet, shop = new_fleet(), Shop()
    run(fleet, shop, 1)
    fleet.save(folder / "fleet.json")
    folder.rename(tmp_path / "gone")
    before = fleet.ask()
    with pytest.raises(ParameterError, match="must be in an existing folder"):
        fleet.save(folder / "fleet.json")
    with pytest.raises(ParameterError, match="must be a readable file"):
        fleet.tell(folder / "rows.csv")
    assert fleet.ask() == before
    (tmp_path / "gone").rename(folder)
    assert Fleet.load(folder / "fleet.json").ask() == before


@pytest.mark.parametrize(("count", "without"), [(400, 12), pytest.param(10_000, 300, marks=pytest.mark.slow)])
def test_segments_without_rows_among_many(count: int, without: int) -> None:
    names = [f"s{number}" for number in range(count)]
    fleet, shop = new_fleet(segments=names), Shop(names)
    empty = set(names[:: count // without][:without])
    frame = pd.DataFrame(shop.label_all(12))
    fleet.ask()
    delivery = fleet.tell(frame[~frame["store"].isin(empty)])
    assert delivery.rows == 12 * (count - without)
    assert not delivery.rejected
    orders = fleet.ask()
    assert {order.segment for order in orders if np.isinf(order.risk)} == empty
    broken = pd.DataFrame(shop.label_all(3))
    broken.loc[broken["store"].isin(empty), "price"] = 1e80
    second = fleet.tell(broken)
    assert set(second.rejected) == empty
    assert second.rows == 3 * (count - without)
    assert fleet.period == 3
    assert {name for name in names if fleet.ledger[name][-1].samples == 0} == empty
