"""What is answered, for the description of the service; :mod:`driftpace.campaign.serialization` makes the answers themselves."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class Answer(BaseModel):
    """Exactly these names."""

    model_config = ConfigDict(extra="forbid")


class MoneyAnswer(Answer):
    """An amount in words, so that no float rounds it."""

    amount: str
    currency: str


class AssumptionAnswer(Answer):
    """What a promise rests on, and whether it holds; ``judged`` is false where too little came to say."""

    name: str
    verdict: str
    sentence: str
    judged: bool


class DecisionAnswer(Answer):
    """What a person decided; ``risk_bound`` is the risk foretold for an override's own number of rows."""

    samples: int
    asked: int
    reason: str
    who: str
    at: str
    risk_bound: float | None


class PlannedAnswer(Answer):
    """One period of a plan."""

    period: int
    samples: int
    cost: MoneyAnswer | None
    risk: float | None
    gap: float | None


class PlanAnswer(Answer):
    """A plan from this period on."""

    first_period: int
    horizon: int
    epsilon: float | None
    budget: MoneyAnswer | None
    spent: MoneyAnswer | None
    left: MoneyAnswer | None
    goal: str
    value: float | None
    lower: float | None
    holds: bool
    method: str
    reason: str
    periods: list[PlannedAnswer]


class RequestAnswer(Answer):
    """What the tracker said, and why."""

    reason: str
    samples_theory: int
    interval: list[int]
    epsilon: float | None
    risk_bound: float | None
    outcome: str
    outcome_sentence: str
    promised: bool
    status: str | None
    assumptions: list[AssumptionAnswer]
    cost: MoneyAnswer | None
    money_left: MoneyAnswer | None
    plan: PlanAnswer | None


class OrderAnswer(RequestAnswer):
    """How many rows a period is to have; ``code`` is how the command line would end."""

    campaign: str
    period: int
    key: str | None
    samples: int
    received: int
    missing: int
    closed: bool
    code: Literal[0, 10, 20, 30]
    approved: DecisionAnswer | None
    overridden: DecisionAnswer | None


class SelectedAnswer(Answer):
    """Which candidate was chosen."""

    chosen: str
    candidates: list[str]
    scores: list[float | None]


class ReportAnswer(Answer):
    """One closed period."""

    period: int
    asked: int
    samples: int
    samples_theory: int
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
    assumptions: list[AssumptionAnswer]
    cost: MoneyAnswer | None
    selected: SelectedAnswer | None
    seconds: float | None


class ServedAnswer(Answer):
    """How the model before did on the fresh rows."""

    rows: int
    loss: float | None
    error: float | None
    accuracy: float | None


class LedgerAnswer(ReportAnswer):
    """A closed period with what was measured."""

    key: str | None
    closed_at: str
    served: ServedAnswer | None
    overridden: DecisionAnswer | None


class ReportsAnswer(Answer):
    """The ledger; ``next`` is the period to go on after."""

    reports: list[LedgerAnswer]
    next: int | None


class MappedCategoriesAnswer(Answer):
    """Rows with unknown categories in a column, mapped to a listed one; ``examples`` are some of the ``distinct`` ones."""

    column: str
    category: str
    rows: int
    distinct: int
    examples: list[str]


class ReceiptAnswer(Answer):
    """What became of a delivery; ``duplicate`` is the entry that brought it before."""

    rows: int
    repeated: int
    unlabelled: int
    other_period_rows: int
    duplicate: int | None
    order: OrderAnswer
    report: ReportAnswer | None
    unknown_categories: list[MappedCategoriesAnswer]


class StatusAnswer(Answer):
    """Where a campaign stands, and what to do now."""

    name: str
    period: int
    stage: Literal["ask", "labels", "close"]
    todo: str
    target: str
    order: OrderAnswer | None
    last: ReportAnswer | None
    rows: int
    spent: MoneyAnswer | None
    committed: MoneyAnswer | None
    money_left: MoneyAnswer | None
    to_plan: MoneyAnswer | None
    keep_rows: bool
    entries: int
    created_at: str
    updated_at: str


class LastAnswer(Answer):
    """How the last period ended."""

    promised: bool
    outcome: str


class HeadAnswer(Answer):
    """A campaign as a list shows it."""

    name: str
    entries: int
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
    last: LastAnswer | None
    cost: str | None
    spent: str | None
    committed: str | None
    money_left: str | None
    description: str
    created_at: str
    updated_at: str


class CampaignsAnswer(Answer):
    """A page of campaigns; ``next`` is the name to go on after, ``total`` how many match."""

    campaigns: list[HeadAnswer]
    total: int
    next: str | None


class EntryAnswer(BaseModel):
    """An entry of the log, with whatever its kind says."""

    model_config = ConfigDict(extra="allow")
    seq: int
    at: str
    kind: str
    key: str | None


class LogAnswer(Answer):
    """A page of the log; ``next`` is the number to go on after."""

    entries: list[EntryAnswer]
    next: int | None


class DefinitionAnswer(BaseModel):
    """What a campaign is about; what was left out is left out here too."""

    model_config = ConfigDict(extra="allow")
    name: str


class PredictionsAnswer(Answer):
    """What the model says of each row: a number, or a class in your words."""

    predictions: list[float | int | str | None]
    scores: list[float | None]
    probabilities: list[float | None] | None
    unknown_categories: list[MappedCategoriesAnswer]


class HookAnswer(Answer):
    """What became of a call: how many rows were counted, how many are still missing, and whether that closed the period."""

    action: str
    rows: int
    missing: int | None
    closed: bool


class SessionAnswer(Answer):
    """Who is logged in, and what a page sends along as X-CSRF-Token."""

    name: str
    scopes: list[str]
    csrf: str


class HealthAnswer(Answer):
    """All is well."""

    status: Literal["ok"]
