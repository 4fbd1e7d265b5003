"""The described response bodies are those that are sent."""

import pytest

from driftpace.campaign.serialization import order_json, report_json, status_json
from driftpace.records import Audit, Outcome
from driftpace.service.response_schemas import OrderResponse, ReportResponse, StatusResponse
from tests.reference import audits


@pytest.mark.parametrize("audit", [audits.AUDIT, None])
def test_a_report_has_the_audit_that_is_described(audit: Audit | None) -> None:
    body = report_json(audits.report(audit=audit))
    assert ReportResponse.model_validate(body).model_dump() == body


def test_an_unsupported_order_is_sent_as_not_promised_and_failed() -> None:
    order = audits.order(outcome=Outcome.UNSUPPORTED)
    sent = OrderResponse.model_validate(order_json(order))
    assert (sent.outcome, sent.promised, sent.code) == ("unsupported", False, 30)
    StatusResponse.model_validate(status_json(audits.status(audits.report(), order)))
