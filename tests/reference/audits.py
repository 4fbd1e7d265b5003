"""Reports and orders with a measured excess loss, made by hand: for tests of what shows them."""

from dataclasses import replace

from driftpace.campaign.records import LedgerRow, Order, Stage, Status
from driftpace.records import Assumption, Audit, Outcome, Request, StepReport, Verdict
from driftpace.records.requests import MEASURED_RISK

AUDIT = Audit(
    measured=0.031,
    error=0.021,
    mean=0.027,
    mean_error=0.004,
    promised=0.02,
    periods=20,
    interval=(0.015, 0.039),
    all_periods=32,
    aim=0.8,
)
WORDS = "romised 0.020, measured 0.027 ± 0.0040 over 20 periods; orders aim 20 % lower"
"""The sentence of the audit but for its first letter, which is a capital one in some places."""


def check(verdict: Verdict = Verdict.WARN, *, judged: bool = True) -> Assumption:
    """Return the check of the measured excess loss."""
    sentence = f"P{WORDS} (target 0.02)." if judged else "Not checked: too few periods were measured."
    return Assumption(name=MEASURED_RISK, verdict=verdict, sentence=sentence, judged=judged)


def report(
    verdict: Verdict = Verdict.WARN,
    *,
    judged: bool = True,
    outcome: Outcome = Outcome.UNSUPPORTED,
    audit: Audit | None = AUDIT,
) -> StepReport:
    """Return the report of period 32."""
    return StepReport(
        period=32,
        asked=60,
        samples=60,
        rho=0.1,
        rho_upper=0.2,
        measures="rho",
        risk_bound=0.023,
        certificate=0.06,
        outcome=outcome,
        epsilon=0.02,
        status="stable",
        assumptions=(check(verdict, judged=judged),),
        audit=audit,
        seconds=0.01,
    )


def ledger_row(period: int = 32, audit: Audit | None = AUDIT) -> LedgerRow:
    """Return a closed period."""
    closed = replace(report(audit=audit), period=period)
    return LedgerRow(key=f"W{period}", closed_at="2026-11-15T10:00:00Z", report=closed)


def order(verdict: Verdict = Verdict.PASS, *, judged: bool = True, outcome: Outcome = Outcome.MET) -> Order:
    """Return the order of period 33, all rows of which are received."""
    request = Request(
        period=33,
        samples=0,
        reason="expected excess loss 0.019 with 60 rows so far; target 0.02: no more rows needed",
        outcome=outcome,
        samples_theory=900,
        interval=(60, 60),
        epsilon=0.02,
        risk_bound=0.024,
        status="stable",
        assumptions=(check(verdict, judged=judged),),
    )
    return Order(
        campaign="churn", period=33, key="W33", samples=60, received=60, missing=0, closed=False, request=request
    )


def status(last: StepReport | None, now: Order | None = None) -> Status:
    """Return the status of a campaign with that last report and order."""
    return Status(
        name="churn",
        period=33,
        stage=Stage.ASK if now is None else Stage.CLOSE,
        todo="Ask how many rows period 33 needs.",
        target="excess loss at most 0.02, on average",
        order=now,
        last=last,
        rows=900,
        spent=None,
        committed=None,
        money_left=None,
        to_plan=None,
        keep_rows=True,
        entries=200,
        created_at="2026-01-01T10:00:00Z",
        updated_at="2026-11-15T10:00:00Z",
    )
