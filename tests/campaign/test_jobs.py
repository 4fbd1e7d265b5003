"""Steps of scheduled jobs do their work once, however often they are run, for one model and for segments."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace import Campaign, FleetCampaign
from driftpace.campaign import jobs
from driftpace.errors import ParameterError, ProtocolError, StorageNotFoundError, UnknownCampaignError

ONE: dict[str, Any] = {
    "name": "prices",
    "target": "price",
    "features": ["size"],
    "id": "row",
    "epsilon": 0.2,
    "seed": 0,
}
SEGMENTS: dict[str, Any] = {**ONE, "name": "shops", "segment": "shop"}


@pytest.fixture(params=["prices", "shops"])
def name(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a campaign of one model, or of two segments, in a store in the working directory, with a pool."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    with Path("pool.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["row", "shop", "size"])
        writer.writerows([f"r{place}", "ab"[place % 2], f"{rng.standard_normal():.3f}"] for place in range(200))
    if request.param == "prices":
        Campaign.create(ONE, storage="driftpace.db")
    else:
        FleetCampaign.create(SEGMENTS, storage="driftpace.db", segments=["a", "b"])
    return str(request.param)


def label(tasks: str, out: str) -> str:
    rng = np.random.default_rng(1)
    with Path(tasks).open() as file:
        rows = list(csv.DictReader(file))
    with Path(out).open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "price": f"{2 * float(row['size']) + rng.standard_normal():.3f}"} for row in rows)
    return out


def test_segments_are_worked_on_by_an_executor(name: str) -> None:
    """Every step of a fleet maps its segments by the executor that is given; a campaign of one model refuses one."""
    mapped: list[int] = []

    class Counting:
        def map(self, function: Any, items: Any) -> Any:
            items = list(items)
            mapped.append(len(items))
            return map(function, items)

    if name == "prices":
        with pytest.raises(
            ParameterError, match=r"jobs\(executor=...\) must be None for 'prices', which has no segments"
        ):
            jobs.ask(name, key="W1", executor=Counting())
        with pytest.raises(ParameterError, match="which has no segments; got 'tcp"):
            jobs.close(name, key="W1", address="tcp://10.0.0.1:8786")
        return
    jobs.ask(name, key="W1", select="pool.csv", out="tasks.csv", executor=Counting())
    asked = len(mapped)
    jobs.tell(name, label("tasks.csv", "labels.csv"), key="W1", executor=Counting())
    told = len(mapped)
    jobs.close(name, key="W1", executor="processes")
    assert 0 < asked < told
    assert jobs.is_complete(name, key="W1")


def test_each_step_counts_once(name: str) -> None:
    asked = jobs.ask(name, key="W1", select="pool.csv", out="tasks.csv", who="cron")
    tasks = Path("tasks.csv").read_bytes()
    assert (asked["file"], asked["key"], asked["period"]) == ("tasks.csv", "W1", 1)
    assert tasks.count(b"\n") == asked["missing"] + 1
    assert jobs.ask(name, key="W1", select="pool.csv", out="tasks.csv") == asked
    assert Path("tasks.csv").read_bytes() == tasks
    assert not jobs.is_complete(name, key="W1")
    labels = label("tasks.csv", "labels.csv")
    told = jobs.tell(name, labels, key="W1")
    assert told["rows"] == asked["missing"]
    assert jobs.tell(name, labels, key="W1")["rows"] == 0
    closed = jobs.close(name, key="W1")
    assert closed["closed"]
    assert jobs.close(name, key="W1") == closed
    assert jobs.is_complete(name, key="W1")
    assert jobs.ask(name, key="W2")["period"] == 2
    assert jobs.close(name, key="W1")["period"] == 1


def test_what_was_not_asked_for_is_not_complete_and_not_closed(name: str) -> None:
    assert not jobs.is_complete(name, key="W1")
    with pytest.raises(ProtocolError, match="there is no period with the key 'W1'; ask for it first"):
        jobs.close(name, key="W1")


def test_the_store_is_named_or_in_the_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StorageNotFoundError):
        jobs.ask(name, key="W1", storage="other.db")
    assert not Path("other.db").exists()
    monkeypatch.setenv("DRIFTPACE_STORAGE", str(Path("driftpace.db").absolute()))
    monkeypatch.chdir("/")
    assert jobs.ask(name, key="W1")["missing"] > 0
    with pytest.raises(UnknownCampaignError, match="there is no campaign named 'other'"):
        jobs.ask("other", key="W1")
