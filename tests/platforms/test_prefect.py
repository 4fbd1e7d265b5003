"""The flow of Prefect works; skipped where Prefect is not installed, make platforms runs it."""

from pathlib import Path

import pytest

from driftpace import FleetCampaign
from tests.platforms.conftest import label

pytestmark = pytest.mark.filterwarnings("ignore")


def test_a_flow_asks_delivers_and_closes(shops: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_HOME", str(shops / "prefect"))
    testing = pytest.importorskip("prefect.testing.utilities")
    from examples.prefect_flow import period

    where = {"pool": str(shops / "pool.csv"), "folder": str(shops), "storage": str(shops / "driftpace.db")}
    with testing.prefect_test_harness(server_startup_timeout=120):
        asked = period("shops", "2026-W46", **where)
        assert asked["missing"] > 0
        assert not asked["closed"]
        label(shops / "tasks-2026-W46.csv", shops / "labels-2026-W46.csv")
        assert period("shops", "2026-W46", **where)["closed"]
        assert period("shops", "2026-W46", **where)["closed"]
    assert [one.key for one in FleetCampaign.open("shops", storage=shops / "driftpace.db").ledger()] == ["2026-W46"]
