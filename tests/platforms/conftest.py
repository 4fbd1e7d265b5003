"""A campaign of two shops in a store in the working directory, with a pool, and labels for the rows that are drawn from it."""

import csv
from pathlib import Path

import numpy as np
import pytest

from driftpace import FleetCampaign


@pytest.fixture
def shops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with ``driftpace.db`` and ``pool.csv``."""
    monkeypatch.chdir(tmp_path)
    definition = {"name": "shops", "segment": "shop", "target": "sales", "id": "row", "epsilon": 0.2, "seed": 0}
    FleetCampaign.create(definition, storage=tmp_path / "driftpace.db", segments=["Oslo", "Rome"])
    rng = np.random.default_rng(0)
    with (tmp_path / "pool.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["row", "shop", "price"])
        writer.writerows(
            [f"r{place}", ("Oslo", "Rome")[place % 2], f"{rng.standard_normal():.3f}"] for place in range(200)
        )
    return tmp_path


def label(tasks: Path, labels: Path) -> None:
    """Fill in the target of drawn rows."""
    rng = np.random.default_rng(1)
    with tasks.open() as file:
        rows = list(csv.DictReader(file))
    with labels.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "sales": f"{2 * float(row['price']) + rng.standard_normal():.3f}"} for row in rows)
