"""The JSON form of each record, the same on the command line (``--format json``) and in the REST interface.

Numbers that are not finite become null, money an exact decimal string with its currency, verdicts and outcomes strings.
"""

import math
from typing import Any

from driftpace.campaign.records import (
    Contradictions,
    Decision,
    Erasure,
    Lateness,
    LedgerRow,
    Order,
    Receipt,
    Revision,
    Served,
    Status,
    Undone,
)
from driftpace.records import (
    AnnotatorReport,
    Assumption,
    Audit,
    MetricReport,
    Money,
    Plan,
    Request,
    Retraining,
    StepReport,
)
from driftpace.storage.base import Entry, Head
from driftpace.tables.cell_counts import FilledCells, MappedCategories

_LEFT_OUT = ("tracker", "fleet", "request", "report", "reports", "orders", "history", "encoding", "erased")
"""Parts of a log entry that only a replay needs, or that have their own JSON form."""


def order_json(order: Order) -> dict[str, Any]:
    """Return an order; ``code`` is the exit code of ``driftpace ask``."""
    return {
        "campaign": order.campaign,
        "period": order.period,
        "key": order.key,
        "samples": order.samples,
        "received": order.received,
        "missing": order.missing,
        "closed": order.closed,
        "code": order.code,
        **request_json(order.request),
        "risk_bound": number(order.risk_bound),
        "outcome": order.outcome.value,
        "outcome_sentence": order.outcome.sentence,
        "promised": order.outcome.promised,
        "cost": money_json(order.cost),
        "approved": decision_json(order.approved),
        "overridden": decision_json(order.overridden),
    }


def request_json(request: Request) -> dict[str, Any]:
    """Return the request of the tracker with its reason."""
    return {
        "reason": request.reason,
        "samples_theory": request.samples_theory,
        "interval": list(request.interval),
        "epsilon": number(request.epsilon),
        "risk_bound": number(request.risk_bound),
        "outcome": request.outcome.value,
        "outcome_sentence": request.outcome.sentence,
        "promised": request.outcome.promised,
        "status": request.status,
        "assumptions": assumptions_json(request.assumptions),
        "cost": money_json(request.cost),
        "money_left": money_json(request.money_left),
        "plan": None if request.plan is None else plan_json(request.plan),
    }


def receipt_json(receipt: Receipt) -> dict[str, Any]:
    """Return the receipt of a delivery."""
    return {
        "rows": receipt.rows,
        "repeated": receipt.repeated,
        "unlabelled": receipt.unlabelled,
        "other_period_rows": receipt.other_period_rows,
        "other_periods": dict(receipt.other_periods),
        "duplicate": receipt.duplicate,
        "order": order_json(receipt.order),
        "report": None if receipt.report is None else report_json(receipt.report),
        "unknown_categories": [mapped_categories_json(mapped) for mapped in receipt.unknown_categories],
        "filled": [filled_cells_json(cells) for cells in receipt.filled],
        "incomplete": receipt.incomplete,
        "without": dict(receipt.without),
        "others": receipt.others,
        "mismatch": None if receipt.mismatch is None else receipt.mismatch.to_values(),
        "effective": receipt.effective,
        "late": [
            {"period": part.period, "key": part.key, "rows": part.rows, "more_labels": part.more_labels}
            for part in receipt.late
        ],
        "revision": revision_json(receipt.revision),
        "more_labels": receipt.more_labels,
        "features": receipt.features,
        "warnings": list(receipt.warnings),
        "contradictions": contradictions_json(receipt.contradictions),
    }


def contradictions_json(found: Contradictions | None) -> dict[str, Any] | None:
    """Return how repeated rows differ from those that were counted."""
    if found is None:
        return None
    return {"rows": found.rows, "examples": list(found.examples), "sources": list(found.sources)}


def filled_cells_json(filled: FilledCells) -> dict[str, Any]:
    """Return missing cells."""
    return {
        "column": filled.column,
        "cells": filled.cells,
        "value": filled.value,
        "not_numbers": filled.not_numbers,
        "example": filled.example,
    }


def undone_json(undone: Undone) -> dict[str, Any]:
    """Return the result of an undo."""
    return {
        "entry": undone.entry,
        "entries": list(undone.entries),
        "kind": undone.kind,
        "period": undone.period,
        "rows": undone.rows,
        "reopened": undone.reopened,
        "written_off": money_json(undone.written_off),
        "revision": revision_json(undone.revision),
        "order": None if undone.order is None else order_json(undone.order),
        "trained": undone.trained,
    }


def erasure_json(erasure: Erasure) -> dict[str, Any]:
    """Return an erasure."""
    values = {name: getattr(erasure, name) for name in Erasure.__slots__}
    return {**values, **{name: list(values[name]) for name in ("entries", "periods", "missing")}}


def revision_json(revision: Revision | None) -> dict[str, Any] | None:
    """Return the closed periods that were absorbed again."""
    if revision is None:
        return None
    return {
        "periods": list(revision.periods),
        "risk_before": number(revision.risk_before),
        "risk_after": number(revision.risk_after),
        "sentence": revision.sentence,
    }


def mapped_categories_json(mapped: MappedCategories) -> dict[str, Any]:
    """Return rows with unknown categories."""
    return {
        "column": mapped.column,
        "category": mapped.category,
        "rows": mapped.rows,
        "distinct": mapped.distinct,
        "examples": list(mapped.examples),
    }


def report_json(report: StepReport) -> dict[str, Any]:
    """Return the report of a closed period."""
    chosen = report.selected
    return {
        "period": report.period,
        "asked": report.asked,
        "samples": report.samples,
        "samples_theory": report.samples_theory,
        "effective_samples": number(report.effective_samples),
        "epsilon": number(report.epsilon),
        "risk_bound": number(report.risk_bound),
        "certificate": number(report.certificate),
        "rho": number(report.rho),
        "rho_upper": number(report.rho_upper),
        "measures": report.measures,
        "outcome": report.outcome.value,
        "outcome_sentence": report.outcome.sentence,
        "promised": report.outcome.promised,
        "status": report.status,
        "assumptions": assumptions_json(report.assumptions),
        "audit": audit_json(report.audit),
        "metric": metric_json(report.metric),
        "cost": money_json(report.cost),
        "selected": None
        if chosen is None
        else {
            "chosen": chosen.chosen,
            "candidates": list(chosen.candidates),
            "scores": [number(score) for score in chosen.scores],
        },
        "retrain": retraining_json(report.retrain),
        "seconds": number(report.seconds),
    }


def retraining_json(retrain: Retraining | None) -> dict[str, Any] | None:
    """Return the advice on training the base again."""
    if retrain is None:
        return None
    return {
        "due": retrain.due,
        "gain": number(retrain.gain),
        "error": number(retrain.error),
        "lower": number(retrain.lower),
        "threshold": number(retrain.threshold),
        "rows": retrain.rows,
        "periods": retrain.periods,
        "since": retrain.since,
        "way": retrain.way,
        "problem": retrain.problem,
        "sentence": retrain.sentence,
    }


def ledger_json(row: LedgerRow) -> dict[str, Any]:
    """Return a closed period with the evaluation of the previous model."""
    return {
        "key": row.key,
        "closed_at": row.closed_at,
        **report_json(row.report),
        "served": served_json(row.served),
        "overridden": decision_json(row.overridden),
        "late": row.late,
        "others": row.others,
        "mismatch": None if row.mismatch is None else row.mismatch.to_values(),
        "revised": row.revised,
    }


def served_json(served: Served | None) -> dict[str, Any] | None:
    """Return the evaluation of the previous model on the new rows."""
    if served is None:
        return None
    return {
        "rows": served.rows,
        "loss": number(served.loss),
        "error": number(served.error),
        "accuracy": number(served.accuracy),
        "metrics": dict(served.metrics),
    }


def status_json(status: Status) -> dict[str, Any]:
    """Return the status of a campaign."""
    return {
        "name": status.name,
        "period": status.period,
        "stage": status.stage.value,
        "todo": status.todo,
        "target": status.target,
        "order": None if status.order is None else order_json(status.order),
        "last": None if status.last is None else report_json(status.last),
        "rows": status.rows,
        "spent": money_json(status.spent),
        "committed": money_json(status.committed),
        "money_left": money_json(status.money_left),
        "to_plan": money_json(status.to_plan),
        "keep_rows": status.keep_rows,
        "entries": status.entries,
        "created_at": status.created_at,
        "updated_at": status.updated_at,
        "lateness": None if status.lateness is None else lateness_json(status.lateness),
        "annotators": None if status.annotators is None else annotators_json(status.annotators),
        "archived": status.archived,
    }


def annotators_json(report: AnnotatorReport) -> dict[str, Any]:
    """Return how much of the noise is the annotators', and what to buy next."""
    return {
        "rows": report.rows,
        "labels": report.labels,
        "repeated": report.repeated,
        "share": report.share,
        "interval": None if report.interval is None else list(report.interval),
        "spread": report.spread,
        "disagreement": report.disagreement,
        "kappa": report.kappa,
        "labels_per_row": report.labels_per_row,
        "plausible": None if report.plausible is None else list(report.plausible),
        "saving": report.saving,
        "annotators": [
            {
                "name": one.name,
                "labels": one.labels,
                "compared": one.compared,
                "bias": one.bias,
                "interval": None if one.interval is None else list(one.interval),
                "clear": one.clear,
            }
            for one in report.annotators
        ],
        "sentence": report.sentence,
        "agreement": report.agreement,
        "warnings": list(report.warnings),
    }


def lateness_json(lateness: Lateness) -> dict[str, Any]:
    """Return how late labels arrive, what that costs, and which rows are outstanding; None for a price where there is no delay."""
    return {
        "delay": lateness.delay,
        "delay_price": None if lateness.delay_price is None else lateness.delay_price.to_dict(),
        "median": lateness.median,
        "median_price": None if lateness.price is None else lateness.price.to_dict(),
        "shares": [{"periods": periods, "share": share} for periods, share in lateness.shares.items()],
        "outstanding": [{"period": period, "rows": rows} for period, rows in lateness.outstanding.items()],
        "overdue": lateness.overdue,
        "sentence": lateness.sentence,
        "warning": lateness.warning,
    }


def head_json(head: Head) -> dict[str, Any]:
    """Return one line of a list of campaigns."""
    return {
        "name": head.name,
        "entries": head.seq,
        "archived": False,
        **head.summary,
        "created_at": head.created_at,
        "updated_at": head.updated_at,
    }


def entry_json(entry: Entry) -> dict[str, Any]:
    """Return an entry of the log without the parts that only a replay needs."""
    body = {name: value for name, value in entry.body.items() if name not in _LEFT_OUT}
    served = body.get("served")
    if entry.kind == "revised":
        from driftpace.storage.codec import decode

        del body["served"]
        body |= {name: number(decode(body[name])) for name in ("risk_before", "risk_after")}
    elif served is not None and isinstance(served["error"], dict):
        body["served"] = {**served, "error": None}  # the standard error of one row
    return {"seq": entry.seq, "at": entry.at, "kind": entry.kind, "key": entry.key, **body}


def plan_json(plan: Plan) -> dict[str, Any]:
    """Return a plan with one item per period."""
    periods = zip(plan.samples, plan.costs, plan.risks, plan.gaps, strict=True)
    return {
        "first_period": plan.first_period,
        "horizon": plan.horizon,
        "epsilon": number(plan.epsilon),
        "budget": money_json(plan.budget),
        "spent": money_json(plan.spent),
        "left": money_json(plan.left),
        "goal": plan.goal,
        "value": number(plan.value),
        "lower": number(plan.lower),
        "holds": plan.holds,
        "method": plan.method,
        "reason": plan.reason,
        "periods": [
            {
                "period": plan.first_period + place,
                "samples": samples,
                "cost": money_json(cost),
                "risk": number(risk),
                "gap": number(gap),
            }
            for place, (samples, cost, risk, gap) in enumerate(periods)
        ],
    }


def assumptions_json(assumptions: tuple[Assumption, ...]) -> list[dict[str, Any]]:
    """Return assumptions with their verdicts."""
    return [
        {"name": check.name, "verdict": check.verdict.value, "sentence": check.sentence, "judged": check.judged}
        for check in assumptions
    ]


def metric_json(metric: MetricReport | None) -> dict[str, Any] | None:
    """Return what is known of a metric in which the target is given; None where it is given otherwise."""
    if metric is None:
        return None
    interval = metric.interval
    return {
        "name": metric.name,
        "target": metric.target,
        "higher": metric.higher,
        "expected": number(metric.expected),
        "measured": number(metric.measured),
        "error": number(metric.error),
        "mean": number(metric.mean),
        "mean_error": number(metric.mean_error),
        "interval": None if interval is None else [number(end) for end in interval],
        "periods": metric.periods,
        "best": number(metric.best),
        "best_error": number(metric.best_error),
        "out_of_reach": metric.out_of_reach,
        "held_out": metric.held_out,
        "sentence": metric.sentence,
    }


def audit_json(audit: Audit | None) -> dict[str, Any] | None:
    """Return the excess loss measured from labels, with a sentence."""
    if audit is None:
        return None
    return {
        "measured": number(audit.measured),
        "error": number(audit.error),
        "mean": number(audit.mean),
        "mean_error": number(audit.mean_error),
        "promised": number(audit.promised),
        "periods": audit.periods,
        "interval": [number(end) for end in audit.interval],
        "all_periods": audit.all_periods,
        "aim": number(audit.aim),
        "held_out": audit.held_out,
        "sentence": audit.sentence,
    }


def decision_json(decision: Decision | None) -> dict[str, Any] | None:
    """Return the decision of a person."""
    if decision is None:
        return None
    return {name: getattr(decision, name) for name in ("samples", "asked", "reason", "who", "at", "risk_bound")}


def cell_json(value: Any) -> float | int | str | None:
    """Return a cell of a table."""
    return number(float(value)) if isinstance(value, float) else value if isinstance(value, int) else str(value)


def money_json(money: Money | None) -> dict[str, str] | None:
    """Return an amount as a decimal string, which no float rounds.

    >>> money_json(Money.of("12.50", "EUR"))
    {'amount': '12.50', 'currency': 'EUR'}
    """
    return None if money is None else {"amount": format(money.amount, "f"), "currency": money.currency}


def number(value: float | None) -> float | None:
    """Return a finite number, or None.

    >>> number(float("inf")), number(0.5)
    (None, 0.5)
    """
    return None if value is None or not math.isfinite(value) else float(value)
