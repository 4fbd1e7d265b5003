"""Files that an earlier version saved are read, and go on with the same digits."""

import json
from typing import Any

import pytest

from driftpace import Tracker
from driftpace.storage import MemoryStore
from tests.reference.periods import imported
from tests.storage.golden import cases

EXPECTED: dict[str, Any] = json.loads(cases.EXPECTED.read_text())
DIGITS = 1e-9
"""Other processors and libraries may differ in the last digits of a sum."""


@pytest.mark.parametrize("name", cases.TRACKERS)
def test_a_saved_tracker_continues_with_the_same_digits(name: str) -> None:
    tracker = Tracker.load(cases.path_of(name))
    report = cases.follow(tracker, range(3, 5))
    found = cases.numbers(tracker, report)
    assert found["coef"] == pytest.approx(EXPECTED[name]["coef"], rel=DIGITS)
    assert found["risk"] == pytest.approx(EXPECTED[name]["risk"], rel=DIGITS)
    assert found["samples"] == EXPECTED[name]["samples"]


def test_an_exported_campaign_continues_with_the_same_digits() -> None:
    campaign = imported(cases.CAMPAIGN, storage=MemoryStore())
    assert len(list(campaign.replay())) == len(campaign.log())
    cases.deliver(campaign, 3)
    assert campaign.tracker().coef.tolist() == pytest.approx(EXPECTED["campaign"]["coef"], rel=DIGITS)
    assert campaign.ask().samples == EXPECTED["campaign"]["samples"]
