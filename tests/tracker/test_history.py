"""The reports of a tracker as columns."""

import pytest

from driftpace.tracker.history import History
from tests.reference.audits import AUDIT, report


def test_the_audit_is_columns_of_numbers() -> None:
    columns = History([report(audit=None), report()]).columns()
    assert "audit" not in columns
    assert columns["measured"] == [None, AUDIT.measured]
    assert columns["measured_mean_error"] == [None, AUDIT.mean_error]
    assert columns["aim"] == [None, AUDIT.aim]
    assert columns["outcome"] == ["unsupported", "unsupported"]
    assert "measured" not in History([report(audit=None)]).columns()


@pytest.mark.parametrize("backend", ["polars", "pandas"])
def test_frames_hold_the_measured_numbers(backend: str) -> None:
    pytest.importorskip(backend)
    frame = History([report()]).to_frame(backend)
    assert list(frame["measured_mean"]) == [AUDIT.mean]
