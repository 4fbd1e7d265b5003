"""What people read about the measured excess loss, and about a target that the rows do not support."""

import pytest

from driftpace.campaign.log_text import describe_entry
from driftpace.campaign.records import FAILED, SKIP
from driftpace.campaign.serialization import report_json, status_json
from driftpace.campaign.text import order_lines, order_sentence, report_lines
from driftpace.records import Outcome, Verdict
from driftpace.storage.base import Entry
from driftpace.storage.codec import encode
from tests.reference.audits import AUDIT, WORDS, order, report, status


@pytest.mark.parametrize(
    ("verdict", "label"), [(Verdict.PASS, "Measured"), (Verdict.WARN, "Warning"), (Verdict.FAIL, "Failed")]
)
def test_a_report_says_what_was_measured_once_under_its_verdict(verdict: Verdict, label: str) -> None:
    lines = report_lines(report(verdict), "W32")
    (line,) = [line for line in lines if WORDS in line[1]]
    assert line[0] == label


def test_too_few_periods_to_judge_are_shown_without_a_verdict() -> None:
    lines = report_lines(report(Verdict.PASS, judged=False), "W32")
    assert ("Measured", f"P{WORDS}") in lines
    assert not any(label == "Measured" for label, _ in report_lines(report(judged=False, audit=None), "W32"))


def test_an_unsupported_period_is_not_met() -> None:
    lines = dict(report_lines(report(), "W32"))
    assert lines["Accuracy"].startswith("not met: the rows delivered show a larger excess loss")
    assert lines["Accuracy"].endswith("expected excess loss 0.023 (target 0.02)")
    assert not report().outcome.promised
    assert report_json(report())["promised"] is False


def test_an_order_whose_rows_do_not_support_the_target_fails() -> None:
    unsupported = order(outcome=Outcome.UNSUPPORTED)
    assert (unsupported.code, order().code) == (FAILED, SKIP)
    assert (
        order_sentence(unsupported) == "All rows of period 33 (W33) are received, and they do not support the target."
    )
    failed = dict(order_lines(unsupported))["Failed"]
    assert failed.startswith("not met: the rows delivered")
    assert "expected excess loss 0.024 (target 0.02)" in failed


def test_an_order_says_that_its_aim_was_corrected() -> None:
    assert dict(order_lines(order()))["Measured"] == f"P{WORDS} (target 0.02)"


def test_the_log_and_the_json_have_the_audit() -> None:
    body = {"report": encode(report()), "served": None}
    text = describe_entry(Entry(kind="certified", at="2026-11-15T10:00:00Z", seq=9, body=body))
    assert f"; p{WORDS}" in text.sentence
    assert text.title == "Target not met"
    last = status_json(status(report()))["last"]
    assert last["audit"]["mean"] == AUDIT.mean
    assert last["audit"]["interval"] == list(AUDIT.interval)
    assert last["audit"]["sentence"] == f"p{WORDS}"
    assert report_json(report(audit=None))["audit"] is None
