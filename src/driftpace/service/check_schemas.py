"""The response body of a checked table, for the OpenAPI description; ``TableCheck.to_values`` builds the response itself."""

from driftpace.service.response_schemas import ResponseModel


class ColumnResponse(ResponseModel):
    """What a column holds; ``target`` is how it would be understood as a target, null where it cannot be one."""

    name: str
    holds: str
    detail: str
    distinct: int
    missing: int
    target: str | None


class PeriodProposalResponse(ResponseModel):
    """A way to put rows into periods, and why it is proposed."""

    period: str
    reason: str


class LeakResponse(ResponseModel):
    """A feature that may give the target away."""

    feature: str
    target: str
    kind: str
    score: float | None
    others: float | None
    measure: str
    level: str | None


class DriftResponse(ResponseModel):
    """Losses on the last third of the periods: of a model of the first third, of one fitted there, and without features."""

    first: str
    last: str
    stale: float | None
    fresh: float | None
    constant: float | None


class LabelEstimateResponse(ResponseModel):
    """Labels that a target takes, and the excess loss reached as a share of it."""

    tolerance: float
    first: float | None
    later: float | None
    reached: float | None
    best_model_error: float | None


class LineResponse(ResponseModel):
    """A line of the page that ``driftpace check`` prints; an empty label continues the line before."""

    label: str
    text: str


class CheckResponse(ResponseModel):
    """What driftpace would make of a table; ``lines`` say it in words, ``problems`` why a backtest would be refused."""

    name: str
    rows: int
    columns: list[ColumnResponse]
    period: str | None
    proposals: list[PeriodProposalResponse]
    target: str | None
    target_proposed: bool
    candidates: list[str]
    periods: list[str]
    sizes: list[int]
    target_detail: str
    unlabelled: int
    features: list[str]
    coefficients: int
    left_out: dict[str, str]
    notes: list[str]
    warnings: list[str]
    leaks: list[LeakResponse]
    suspects: list[str]
    drift: DriftResponse | None
    labels: list[LabelEstimateResponse]
    l2: float | None
    problems: list[str]
    row_id: str | None
    arguments: list[str]
    command: str
    init_command: str | None
    caution: str | None
    lines: list[LineResponse]
