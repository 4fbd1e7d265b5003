"""What the stores and the states of each release hold, and how they were written: ``python -m tests.storage.releases VERSION``."""

import gzip
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from driftpace import SquaredLoss, Tracker
from driftpace.campaign import Campaign
from driftpace.campaign.export_import import export_campaign
from driftpace.service.auth import make_token
from driftpace.storage import Store, open_store

FOLDER = Path(__file__).parent
RELEASES = ("0.2.0",)
METHODS = {"0.2.0": 3}
"""The number of the method of each release."""

CAMPAIGNS = ("forgotten", "money", "prices", "tables")

DEFINITION = {"name": "prices", "epsilon": 0.1, "seed": 0}
MONEY = {"total": 400, "horizon": 6, "fixed": 5, "per_sample": 1, "currency": "EUR"}


def rows(period: int, part: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of a period."""
    rng = np.random.default_rng((19, period, part))
    X = rng.standard_normal((count, 2))
    return X, X @ np.array([1.0, -0.5]) + 0.05 * period + 0.5 * rng.standard_normal(count)


def close_period(campaign: Campaign, period: int, count: int = 12) -> None:
    """Run a period of two deliveries."""
    campaign.ask(key=f"P{period}", who="Ada")
    for part in range(2):
        X, y = rows(period, part, count // 2)
        ids = [f"{period}-{part}-{place}" for place in range(len(y))]
        campaign.tell(X, y, ids=ids, final=part == 1, delivery=f"{period}.{part}.csv", who="Bob", source="desk")


def fill(store: Store) -> None:
    """Fill a store with campaigns that have closed, open, overridden, undone and drawn periods."""
    prices = Campaign.create(DEFINITION, storage=store, who="Ada")
    for period in (1, 2, 3):
        close_period(prices, period)
    prices.undo(period=3, reason="too early", who="Ada")
    close_period(prices, 3, count=6)
    prices.ask(key="P4", who="Ada")
    prices.record_draw([f"4-0-{place}" for place in range(5)], who="Ada", pool_rows=50, source="pool.csv")
    prices.tell(*rows(4, 0, 3), ids=["4-0-0", "4-0-1", "4-0-2"], final=False, delivery="4.csv", who="Bob")
    prices.override(9, reason="a fair week", who="Eve")
    money = Campaign.create({**DEFINITION, "name": "money", "budget": MONEY}, storage=store)
    close_period(money, 1)
    money.add_money(100, periods=1, reason="more", who="Ada")
    money.ask(key="P2")
    money.approve(reason="as computed", who="Ada")
    forgotten = Campaign.create({**DEFINITION, "name": "forgotten", "keep_rows": False}, storage=store)
    close_period(forgotten, 1)
    forgotten.ask(key="P2")
    forgotten.tell(*rows(2, 0, 3), final=False)
    table: dict[str, Any] = {
        "name": "tables",
        "target": "bought",
        "features": ["age", "city"],
        "loss": "logistic",
        "id": "id",
    }
    table |= {"epsilon": 0.1, "seed": 0, "classes": ["no", "yes"], "categories": {"city": ["Graz", "Wien"]}}
    tables = Campaign.create(table, storage=store)
    tables.ask(key="P1")
    rng = np.random.default_rng(19)
    data = {
        "id": [f"c{place}" for place in range(40)],
        "age": rng.normal(size=40).tolist(),
        "city": ["Graz", "Wien"] * 20,
        "bought": ["no" if value < 0.4 else "yes" for value in rng.random(40)],
    }
    tables.tell_table(data, final=True, who="Ada")
    make_token(store, "desk", ["read"], None)


def write(version: str, postgres: str) -> None:
    """Write the files of a release by the code of that release; ``postgres`` is the address of an empty database."""
    folder = FOLDER / version
    folder.mkdir(exist_ok=True)
    place = folder / "store.db"
    store = open_store(place)
    fill(store)
    export_campaign(Campaign.open("prices", storage=store), folder / "prices.dpc")
    store.close()
    _packed(place)
    served = open_store(postgres)
    fill(served)
    served.close()
    dump = ["pg_dump", "--inserts", "--no-owner", "--no-privileges", postgres]
    (folder / "store.sql").write_bytes(subprocess.run(dump, check=True, capture_output=True).stdout)
    _packed(folder / "store.sql")
    tracker = Tracker(SquaredLoss(), epsilon=0.1, rng=0)
    for period in (1, 2):
        tracker.ask()
        tracker.tell(*rows(period, 0, 30))
    tracker.save(folder / "tracker.json")
    _packed(folder / "tracker.json")


def _packed(path: Path) -> None:
    (path.parent / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    path.unlink()


def unpacked(version: str, name: str, folder: Path) -> Path:
    """Return a copy of a file of a release, unpacked into a folder."""
    path = folder / name
    path.write_bytes(gzip.decompress((FOLDER / version / f"{name}.gz").read_bytes()))
    return path
