"""Response bodies for the OpenAPI description; :mod:`driftpace.campaign.serialization` builds the responses themselves."""

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from starlette.responses import Response


def json_response(value: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a JSON response; serialise in the thread that computed the value."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(text.encode(), status_code=status, media_type="application/json", headers=headers)


class ResponseModel(BaseModel):
    """Base of all response bodies: exactly the fields described."""

    model_config = ConfigDict(extra="forbid")


class MoneyResponse(ResponseModel):
    """An amount as a decimal string, so that no float rounds it."""

    amount: str
    currency: str


class AssumptionResponse(ResponseModel):
    """An assumption of the bounds and its verdict; ``judged`` is false while there is too little data."""

    name: str
    verdict: str
    sentence: str
    judged: bool


class DecisionResponse(ResponseModel):
    """A manual decision; ``risk_bound`` is the expected excess loss predicted for an override."""

    samples: int
    asked: int
    reason: str
    who: str
    at: str
    risk_bound: float | None


class PlannedResponse(ResponseModel):
    """One period of a plan."""

    period: int
    samples: int
    cost: MoneyResponse | None
    risk: float | None
    gap: float | None


class PlanResponse(ResponseModel):
    """A plan that starts with the current period."""

    first_period: int
    horizon: int
    epsilon: float | None
    budget: MoneyResponse | None
    spent: MoneyResponse | None
    left: MoneyResponse | None
    goal: str
    value: float | None
    lower: float | None
    holds: bool
    method: str
    reason: str
    periods: list[PlannedResponse]


class RequestResponse(ResponseModel):
    """The tracker's request for rows, with its reason."""

    reason: str
    samples_theory: int
    interval: list[int]
    epsilon: float | None
    risk_bound: float | None
    outcome: str
    outcome_sentence: str
    promised: bool
    status: str | None
    assumptions: list[AssumptionResponse]
    cost: MoneyResponse | None
    money_left: MoneyResponse | None
    plan: PlanResponse | None


class OrderResponse(RequestResponse):
    """The number of rows a period needs; ``code`` is the exit status of `driftpace ask`."""

    campaign: str
    period: int
    key: str | None
    samples: int
    received: int
    missing: int
    closed: bool
    code: Literal[0, 10, 20, 30]
    approved: DecisionResponse | None
    overridden: DecisionResponse | None


class SelectedResponse(ResponseModel):
    """The selected candidate and the scores."""

    chosen: str
    candidates: list[str]
    scores: list[float | None]


class MetricResponse(ResponseModel):
    """The metric in which the target is given: measured on rows that the model had not seen, beside the target."""

    name: str
    target: float
    higher: bool
    expected: float | None
    measured: float | None
    error: float | None
    mean: float | None
    mean_error: float | None
    interval: list[float | None] | None
    periods: int
    best: float | None
    best_error: float | None
    out_of_reach: bool
    held_out: int
    sentence: str


class AuditResponse(ResponseModel):
    """The excess loss measured from labels: of the period, and the mean of the last ``periods`` beside the promised one.

    ``interval`` is for the mean of all measured periods; orders aim at ``aim`` times their usual share of the target.
    ``held_out`` are the rows held out in the last ``periods``.
    """

    measured: float | None
    error: float | None
    mean: float | None
    mean_error: float | None
    promised: float | None
    periods: int
    interval: list[float | None]
    all_periods: int
    aim: float | None
    held_out: int
    sentence: str


class RetrainingResponse(ResponseModel):
    """What training the base model again would gain, and whether it is due; ``since`` counts the periods since it was trained."""

    due: bool
    gain: float | None
    error: float | None
    lower: float | None
    threshold: float | None
    rows: int
    periods: int
    since: int
    way: str | None
    problem: str | None
    sentence: str


class ReportResponse(ResponseModel):
    """One closed period."""

    period: int
    asked: int
    samples: int
    samples_theory: int
    effective_samples: float | None
    epsilon: float | None
    risk_bound: float | None
    certificate: float | None
    rho: float | None
    rho_upper: float | None
    measures: str | None
    outcome: str
    outcome_sentence: str
    promised: bool
    status: str | None
    assumptions: list[AssumptionResponse]
    audit: AuditResponse | None
    metric: MetricResponse | None
    cost: MoneyResponse | None
    selected: SelectedResponse | None
    retrain: RetrainingResponse | None
    seconds: float | None


class ServedResponse(ResponseModel):
    """The performance of the model in use on the new rows, before it was refitted."""

    rows: int
    loss: float | None
    error: float | None
    accuracy: float | None
    metrics: dict[str, float]


class ColumnDifferenceResponse(ResponseModel):
    """A column in which rows differ from their pool; the statistic is share, median, mean or spread."""

    column: str
    statistic: str
    pool: float
    delivered: float
    sentence: str


class PoolMismatchResponse(ResponseModel):
    """How the rows of a period differ from the pool they were drawn from."""

    rows: int
    columns: list[ColumnDifferenceResponse]
    sentence: str


class LedgerResponse(ReportResponse):
    """A closed period with its measured loss and manual decisions."""

    key: str | None
    closed_at: str
    served: ServedResponse | None
    overridden: DecisionResponse | None
    late: int
    others: int
    mismatch: PoolMismatchResponse | None
    revised: bool


class ReportsResponse(ResponseModel):
    """A page of the ledger; ``next`` is the ``after`` of the next page."""

    reports: list[LedgerResponse]
    next: int | None


class LedgerColumnResponse(ResponseModel):
    """A column of the ledger; ``shown`` says whether tables for people have it."""

    key: str
    heading: str
    description: str
    kind: str
    shown: bool


class LedgerTableResponse(ResponseModel):
    """A page of the ledger as a table; rows map column keys to plain values, ``next`` is the ``after`` of the next page."""

    columns: list[LedgerColumnResponse]
    rows: list[dict[str, int | float | str | None]]
    next: int | None


class MappedCategoriesResponse(ResponseModel):
    """Rows with unknown categories in a column, mapped to a listed one; ``examples`` are some of the ``distinct`` ones."""

    column: str
    category: str
    rows: int
    distinct: int
    examples: list[str]


class FilledCellsResponse(ResponseModel):
    """Missing cells of a column and what they count as; ``not_numbers`` of them hold a text, such as ``example``."""

    column: str
    cells: int
    value: str
    not_numbers: int
    example: str


class RevisionResponse(ResponseModel):
    """Closed periods that were absorbed again, and the expected excess loss of the current model before and after."""

    periods: list[int]
    risk_before: float | None
    risk_after: float | None
    sentence: str


class UndoneResponse(ResponseModel):
    """The result of an undo; ``entry`` is its log entry, which can be undone too."""

    entry: int
    entries: list[int]
    kind: str
    period: int
    rows: int
    reopened: int | None
    written_off: MoneyResponse | None
    revision: RevisionResponse | None
    order: OrderResponse | None
    trained: int | None


class ErasureResponse(ResponseModel):
    """The result of an erasure; ``entry`` is null where no rows were found, and nothing up to period ``settled`` can change."""

    entry: int | None
    rows: int
    drawn: int
    entries: list[int]
    periods: list[int]
    settled: int
    missing: list[str]
    purged: bool


class LateRowsResponse(ResponseModel):
    """Rows for a closed period, absorbed into it."""

    period: int
    key: str | None
    rows: int
    more_labels: int


class ContradictionsResponse(ResponseModel):
    """Rows that came again with another label or other cells than were counted; they do not count."""

    rows: int
    examples: list[str]
    sources: list[str]


class PreviewResponse(ResponseModel):
    """The first rows of a table as text, and how many it has."""

    columns: list[str]
    rows: list[list[str | None]]
    total: int


class ReceiptResponse(ResponseModel):
    """The result of a delivery; ``duplicate`` is the log entry that delivered it before."""

    rows: int
    repeated: int
    unlabelled: int
    other_period_rows: int
    other_periods: dict[str, int]
    duplicate: int | None
    order: OrderResponse
    report: ReportResponse | None
    unknown_categories: list[MappedCategoriesResponse]
    filled: list[FilledCellsResponse]
    incomplete: int
    without: dict[str, int]
    others: int
    mismatch: PoolMismatchResponse | None
    effective: float | None
    late: list[LateRowsResponse]
    revision: RevisionResponse | None
    more_labels: int
    features: str
    warnings: list[str]
    contradictions: ContradictionsResponse | None
    preview: PreviewResponse | None = None


class LateShareResponse(ResponseModel):
    """The share of the labels that arrive so many periods late."""

    periods: int
    share: float


class OutstandingResponse(ResponseModel):
    """Rows of a closed period that are without a label."""

    period: int
    rows: int


class DelayPriceResponse(ResponseModel):
    """How many times as many labels a delay takes; numbers are null where they are unknown or infinite, as the status says."""

    status: Literal["unknown", "finite", "impossible"]
    periods: int
    value: float | None
    interval: tuple[float | None, float | None]
    sentence: str


class LatenessResponse(ResponseModel):
    """How late labels arrive, what that costs, and which rows are outstanding."""

    delay: int | None
    delay_price: DelayPriceResponse | None
    median: int
    median_price: DelayPriceResponse | None
    shares: list[LateShareResponse]
    outstanding: list[OutstandingResponse]
    overdue: int
    sentence: str
    warning: str


class AnnotatorResponse(ResponseModel):
    """The labels of one annotator, and how far they are from the others' on the same rows."""

    name: str
    labels: int
    compared: int
    bias: float | None
    interval: list[float] | None
    clear: bool


class AnnotatorsResponse(ResponseModel):
    """How much of the noise is the annotators', and how many labels a row to buy."""

    rows: int
    labels: int
    repeated: int
    share: float | None
    interval: list[float] | None
    spread: float | None
    disagreement: float | None
    kappa: float | None
    labels_per_row: int | None
    plausible: list[int] | None
    saving: float | None
    annotators: list[AnnotatorResponse]
    sentence: str
    agreement: str
    warnings: list[str]


class StatusResponse(ResponseModel):
    """The status of a campaign and the next step."""

    name: str
    period: int
    stage: Literal["ask", "labels", "close"]
    todo: str
    target: str
    order: OrderResponse | None
    last: ReportResponse | None
    rows: int
    spent: MoneyResponse | None
    committed: MoneyResponse | None
    money_left: MoneyResponse | None
    to_plan: MoneyResponse | None
    keep_rows: bool
    entries: int
    created_at: str
    updated_at: str
    lateness: LatenessResponse | None
    annotators: AnnotatorsResponse | None
    archived: bool


class LastResponse(ResponseModel):
    """The outcome of the last period."""

    promised: bool
    outcome: str


class TotalsResponse(ResponseModel):
    """How many segments there are of each kind, and their rows."""

    segments: int
    missing: int
    received: int
    incomplete: int
    set_aside: int
    failed: int
    not_met: int
    outcomes: dict[str, int]


class HeadResponse(ResponseModel):
    """A campaign in a list; ``segments`` counts those of a fleet."""

    name: str
    entries: int
    archived: bool
    period: int
    key: str | None
    stage: Literal["ask", "labels", "close"]
    todo: str
    target: str
    missing: int
    received: int
    rows: int
    failed: bool
    exhausted: bool
    last: LastResponse | None
    cost: str | None
    spent: str | None
    committed: str | None
    money_left: str | None
    delay: int | None
    description: str
    segments: TotalsResponse | None = None
    created_at: str
    updated_at: str


class AlertItem(ResponseModel):
    """Something about a campaign that somebody should look at; ``key`` stays the same for as long as it holds in a period."""

    campaign: str
    kind: Literal["overdue", "unsupported", "money"]
    period: int
    sentence: str
    key: str


class AlertsResponse(ResponseModel):
    """The alerts that hold, by campaign."""

    alerts: list[AlertItem]


class CampaignsResponse(ResponseModel):
    """A page of campaigns; ``next`` is the ``after`` of the next page, ``total`` the number of matches."""

    campaigns: list[HeadResponse]
    total: int
    next: str | None


class EntryResponse(BaseModel):
    """An entry of the log; further fields depend on its kind."""

    model_config = ConfigDict(extra="allow")
    seq: int
    at: str
    kind: str
    key: str | None


class LogResponse(ResponseModel):
    """A page of the log; ``next`` is the ``after`` of the next page."""

    entries: list[EntryResponse]
    next: int | None


class RefusalResponse(ResponseModel):
    """A delivery that was refused: when, by whom it was sent, its file, and why."""

    at: str
    who: str
    source: str
    sentence: str


class RefusalsResponse(ResponseModel):
    """The last deliveries that were refused, oldest first."""

    refusals: list[RefusalResponse]


class DefinitionResponse(BaseModel):
    """The definition of a campaign, without the values that were left out."""

    model_config = ConfigDict(extra="allow")
    name: str


class PredictionsResponse(ResponseModel):
    """The prediction for each row: a number, or a class.

    Of two classes, ``probabilities`` are those of the second; of several ``classes``, those of each.
    """

    predictions: list[float | int | str | None]
    scores: list[float | None] | list[list[float | None]] | None
    probabilities: list[float | None] | list[list[float | None]] | None
    classes: list[str] | None
    unknown_categories: list[MappedCategoriesResponse]
    filled: list[FilledCellsResponse]


class SampleResponse(ResponseModel):
    """Rows to label: ``new`` of them drawn now, out of the ``eligible`` rows of the pool; ``invalid`` counts reasons."""

    ids: list[str]
    weights: list[float] | None
    rows: list[dict[str, float | int | str | None]]
    new: int
    eligible: int
    pool_rows: int
    skipped: int
    invalid: dict[str, int]
    sentence: str


class PoolResponse(ResponseModel):
    """What a pool has shown: the components that its rows vary along, and their share of the variance."""

    rows: int
    columns: int
    components: int
    explained: float
    sentence: str


class NoteResponse(ResponseModel):
    """Something that was inferred: its topic, and a sentence."""

    topic: str
    text: str


class SchemaResponse(ResponseModel):
    """Inferred settings of a definition, to complete and create a campaign with, and notes on what was inferred."""

    definition: dict[str, Any]
    notes: list[NoteResponse]


class HookResponse(ResponseModel):
    """The result of a webhook call: rows counted, rows still missing, and whether the period was closed."""

    action: str
    rows: int
    missing: int | None
    closed: bool


class SessionResponse(ResponseModel):
    """The caller, and the X-CSRF-Token for its writes."""

    name: str
    scopes: list[str]
    campaigns: list[str] | None
    csrf: str


class HealthResponse(ResponseModel):
    """The service is healthy."""

    status: Literal["ok"]
