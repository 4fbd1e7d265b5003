"""The assets of Dagster work; skipped where Dagster is not installed, make platforms runs it."""

from pathlib import Path

import pytest

from driftpace import FleetCampaign
from tests.platforms.conftest import label

pytestmark = pytest.mark.filterwarnings("ignore")


def test_assets_of_a_week(shops: Path) -> None:
    dagster = pytest.importorskip("dagster")
    from examples.dagster_assets import Labels, closed_period, tasks

    labels = Labels(
        campaign="shops", storage=str(shops / "driftpace.db"), pool=str(shops / "pool.csv"), folder=str(shops)
    )
    week = "2025-01-13"
    for _ in range(2):
        assert dagster.materialize([tasks], partition_key=week, resources={"labels": labels}).success
    label(shops / f"tasks-{week}.csv", shops / f"labels-{week}.csv")
    for _ in range(2):
        made = dagster.materialize(
            [tasks, closed_period], selection=[closed_period], partition_key=week, resources={"labels": labels}
        )
        assert made.success
    assert [one.key for one in FleetCampaign.open("shops", storage=shops / "driftpace.db").ledger()] == [week]
