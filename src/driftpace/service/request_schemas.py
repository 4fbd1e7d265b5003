"""Request bodies and parameters: strict types, no unknown names, bounded lengths."""

import re
from typing import Annotated, Any, Literal, TypeVar, cast

from fastapi import Path, Query
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError
from pydantic_core.core_schema import no_info_after_validator_function

from driftpace.errors import ParameterError
from driftpace.losses import loss_names, parse_loss
from driftpace.metrics import metric_names

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
AMOUNT_PATTERN = r"^[0-9]{1,12}(\.[0-9]{1,6})?$"
PRICE_PATTERN = r"^[0-9]{1,9}(\.[0-9]{1,6})?$"
CURRENCY_PATTERN = r"^[A-Z]{3}$"
REASON_PATTERN = r"^[^\x00-\x08\x0b-\x1f]*[^\x00-\x1f\s][^\x00-\x08\x0b-\x1f]*$"
_TEXT = r"^[^\x00-\x08\x0b-\x1f]*$"
_MAX_NAMES = 100
_MAX_COLUMNS = 1000

CampaignName = Annotated[str, Path(pattern=NAME_PATTERN, max_length=100, description="Name of the campaign.")]


def _plain_digits(value: Any) -> Any:
    """Return a whole number of an address; "1_0" and " 1" are Python, not numbers."""
    if isinstance(value, str) and not re.fullmatch(r"-?[0-9]{1,18}(\.0+)?", value):
        raise PydanticKnownError("int_parsing")
    return value


def _whole(value: Any) -> Any:
    """Return 3 for 3.0, which JSON does not distinguish."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


PLAIN_DIGITS, WHOLE = BeforeValidator(_plain_digits), BeforeValidator(_whole)
Limit = Annotated[int, Query(ge=1, le=500, description="Page size."), PLAIN_DIGITS]
ColumnName = Annotated[str | None, Query(min_length=1, max_length=200)]
ColumnNames = Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]] | None, Query(max_length=1000)]
Sheet = Annotated[str | None, Query(min_length=1, max_length=200, description="Sheet of an Excel workbook.")]
Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=100)]
Key = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]
Word = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]+$")]
SegmentName = Annotated[str, Field(min_length=1, max_length=400, pattern=r"^[^\x00]+$")]
Reason = Annotated[str, Field(min_length=1, max_length=2000, pattern=REASON_PATTERN)]
Amount = (
    Annotated[int, Field(ge=0, le=10**12)]
    | Annotated[float, Field(ge=0, le=1e12)]
    | Annotated[str, Field(pattern=AMOUNT_PATTERN)]
)
Price = (
    Annotated[int, Field(ge=0, le=10**9)]
    | Annotated[float, Field(ge=0, le=1e9)]
    | Annotated[str, Field(pattern=PRICE_PATTERN)]
)
Currency = Annotated[str, Field(pattern=CURRENCY_PATTERN)]
Tier = Annotated[tuple[Annotated[int, Field(ge=1, le=10**9), WHOLE], Price], Field(strict=False)]
Gap = Literal["mean", "largest", "run"]
Share = Annotated[float, Field(gt=0, lt=1)]
Count = Annotated[int, Field(ge=0, le=10**9), WHOLE]
Period = Annotated[int, Field(ge=1, le=10**9), WHOLE]


def _limit_keys(max_keys: int) -> Any:
    """Return a validator that refuses an object with too many keys at once, instead of one error for each."""

    def check(value: Any) -> Any:
        if isinstance(value, dict) and len(value) > max_keys:
            raise ValueError(f"an object of at most {max_keys:,} names")
        return value

    return check


_Value = TypeVar("_Value")
PerSegment = Annotated[dict[SegmentName, _Value], Field(max_length=100_000), BeforeValidator(_limit_keys(100_000))]
Words = Annotated[dict[Word, Word], Field(max_length=_MAX_COLUMNS), BeforeValidator(_limit_keys(_MAX_COLUMNS))]


class _RegisteredLoss:
    """Accept the names in the registry of losses, and list them in the schema."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(schema), "examples": [*loss_names(), "quantile(0.9)"]}

    @staticmethod
    def _check(name: str) -> str:
        try:
            parse_loss(name)
        except ParameterError:
            *others, last = (repr(known) for known in loss_names())
            raise PydanticKnownError("literal_error", {"expected": f"{', '.join(others)} or {last}"}) from None
        return name


class _TargetMetric:
    """Accept the metrics in which targets can be given, and list them in the schema."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(schema), "enum": list(metric_names(targets=True))}

    @staticmethod
    def _check(name: str) -> str:
        known = metric_names(targets=True)
        if name not in known:
            *others, last = map(repr, known)
            raise PydanticKnownError("literal_error", {"expected": f"{', '.join(others)} or {last}"})
        return name


class RequestModel(BaseModel):
    """Base of all request bodies: strict, so that "1" is not a number."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    _names = model_validator(mode="before")(_limit_keys(_MAX_NAMES))

    def given(self) -> dict[str, Any]:
        """Return the values that were given."""
        return self.model_dump(exclude_none=True, exclude_unset=True)


def _one_of(*names: str, most: int | None = 1) -> ConfigDict:
    """Return what the schema says of names of which one has to be given, or at least one."""
    options = [{"required": [name], "properties": {name: {"not": {"type": "null"}}}} for name in names]
    return ConfigDict(json_schema_extra={"anyOf" if most is None else "oneOf": cast(Any, options)})


class PricesRequest(RequestModel):
    """Label prices: per order, per row, or tiers of (first row, price per row) in its place; at most nine decimals."""

    fixed: Price | None = None
    per_sample: Price | None = None
    tiers: Annotated[list[Tier], Field(min_length=1, max_length=50)] | None = None
    minimum: Count | None = None
    currency: Currency | None = None

    def prices(self) -> dict[str, Any]:
        """Return the prices that were given."""
        return {name: value for name, value in self.given().items() if name in PricesRequest.model_fields}


class SegmentPricesRequest(RequestModel):
    """Prices of a segment that differ."""

    fixed: Price | None = None
    per_sample: Price | None = None
    minimum: Count | None = None


class MoneyRequest(PricesRequest):
    """Money and periods to add to the budget, with the reason; prices, if given, apply from now on."""

    money: Amount
    periods: Annotated[int, Field(ge=0, le=10_000), WHOLE] = 0
    reason: Reason


class AmendRequest(RequestModel):
    """The category that unlisted categories of each column are mapped to, and classes to add, with the reason."""

    model_config = _one_of("unknown_categories", "new_classes", most=None)

    unknown_categories: Words | None = None
    new_classes: Annotated[list[Word], Field(max_length=100)] = Field(default_factory=list)
    reason: Reason


class BudgetRequest(PricesRequest):
    """A budget over a number of periods; ``order_price``, ``weights`` and ``costs`` are for segments that share it."""

    total: Amount
    horizon: Annotated[int, Field(ge=1, le=10_000), WHOLE]
    gap: Gap | None = None
    batches: bool | None = None
    order_price: Price | None = None
    weights: PerSegment[Annotated[float, Field(gt=0, le=1e12)]] | None = None
    costs: PerSegment[SegmentPricesRequest] | None = None


class DefinitionRequest(RequestModel):
    """The definition of a campaign, as in a configuration file."""

    model_config = _one_of("epsilon", "tolerance", "metric")

    name: Name
    target: Word
    segment: Word | None = None
    segments: Annotated[list[SegmentName], Field(max_length=100_000)] | None = None
    epsilons: PerSegment[Annotated[float, Field(gt=0, le=1e12)]] | None = None
    borrow: bool | Annotated[list[Literal["drift", "start", "slopes", "common"]], Field(max_length=4)] | None = None
    period: Word | None = None
    dayfirst: bool | None = None
    epsilon: Annotated[float, Field(gt=0, le=1e12)] | None = None
    tolerance: Annotated[float, Field(gt=0, le=1e6)] | None = None
    metric: Annotated[str, _TargetMetric()] | None = None
    at_least: Share | None = None
    at_most: Annotated[float, Field(gt=0, le=1e12)] | None = None
    confidence: Share | None = None
    certificate_level: Share | None = None
    orders: Annotated[int, Field(ge=1, le=1000), WHOLE] | None = None
    season: Annotated[int, Field(ge=2, le=1000), WHOLE] | Literal["quarter", "weekday", "month", "week"] | None = None
    audit: Annotated[float, Field(gt=0, le=0.5)] | None = None
    delay: Annotated[int, Field(ge=1, le=1000), WHOLE] | None = None
    splines: (
        bool
        | Annotated[list[Word], Field(min_length=1, max_length=50)]
        | Annotated[dict[Word, Literal["natural", "b-spline"]], Field(max_length=50), BeforeValidator(_limit_keys(50))]
        | None
    ) = None
    interactions: bool | Annotated[list[tuple[Word, Word]], Field(min_length=1, max_length=200)] | None = None
    features: Annotated[list[Word], Field(min_length=1, max_length=1000)] | None = None
    classes: Annotated[list[Word], Field(min_length=2, max_length=100)] | None = None
    categories: (
        Annotated[
            dict[Word, Annotated[list[Word], Field(min_length=2, max_length=1000)]],
            Field(max_length=_MAX_COLUMNS),
            BeforeValidator(_limit_keys(_MAX_COLUMNS)),
        ]
        | None
    ) = None
    unknown_categories: (
        Annotated[
            dict[Word, Word | Annotated[list[Word], Field(min_length=1, max_length=1000)]],
            Field(max_length=_MAX_COLUMNS),
            BeforeValidator(_limit_keys(_MAX_COLUMNS)),
        ]
        | None
    ) = None
    missing: Literal["impute", "drop", "refuse"] | None = None
    fill: (
        Annotated[
            dict[Word, Annotated[float, Field(ge=-1e75, le=1e75)]],
            Field(max_length=_MAX_COLUMNS),
            BeforeValidator(_limit_keys(_MAX_COLUMNS)),
        ]
        | None
    ) = None
    indicators: Annotated[list[Word], Field(max_length=1000)] | None = None
    text: Annotated[list[Word], Field(max_length=1000)] | None = None
    id: Word | None = None
    groups: Word | None = None
    weight: Word | None = None
    exposure: Word | None = None
    annotator: Word | None = None
    row_cost: Annotated[float, Field(ge=0, le=1e12)] | None = None
    label_cost: Annotated[float, Field(gt=0, le=1e12)] | None = None
    loss: Annotated[str, _RegisteredLoss()] | None = None
    l2: (
        Annotated[float, Field(ge=0, le=1e12)]
        | Annotated[list[Annotated[float, Field(ge=0, le=1e12)]], Field(min_length=1, max_length=20)]
        | None
    ) = None
    pool: Count | None = None
    cap: Annotated[int, Field(ge=1, le=10**9), WHOLE] | None = None
    max_rows: Annotated[int, Field(ge=1, le=10**9), WHOLE] | None = None
    fit_intercept: bool | None = None
    seed: Annotated[int, Field(ge=0, le=2**53), WHOLE] | None = None
    keep_rows: bool | None = None
    description: Annotated[str, Field(max_length=2000, pattern=_TEXT)] | None = None
    budget: BudgetRequest | None = None

    def values_within(self, *, max_columns: int, max_horizon: int) -> dict[str, Any]:
        """Return the values of the definition; its encoded columns and its horizon must be within the limits of the service."""
        if self.budget is not None and self.budget.horizon > max_horizon:
            raise ParameterError(
                f"must be at most {max_horizon} here; got {self.budget.horizon}.",
                owner="Budget",
                name="horizon",
            )
        columns = sum(len(levels) - 1 for levels in (self.categories or {}).values())
        if columns + len(self.features or ()) > max_columns:
            raise ParameterError(
                f"must make at most {max_columns:,} columns; got {columns:,}.",
                owner="Campaign",
                name="categories",
            )
        if self.segments is not None and self.segment is None:
            raise ParameterError("must be left out without segment; got names.", owner="Campaign", name="segments")
        return {name: value for name, value in self.given().items() if name != "segments"}


class AskRequest(RequestModel):
    """The key of the period, and the number of rows available for labelling."""

    key: Key | None = None
    pool: Count | None = None


class ApproveRequest(RequestModel):
    """An optional reason; ``period`` is refused if it is not the open one."""

    reason: Annotated[str, Field(max_length=2000, pattern=_TEXT)] = ""
    period: Period | None = None


class OverrideRequest(RequestModel):
    """The number of rows for the whole period, with the reason; ``period`` is refused if it is not the open one."""

    samples: Count
    reason: Reason
    period: Period | None = None


class ForgetRequest(RequestModel):
    """The reason for withdrawing the rows of the open period; ``period`` is refused if it is not the open one."""

    reason: Reason
    period: Period | None = None


class UndoRequest(RequestModel):
    """What to undo (a log entry, a delivery by its name, or the period closed last), and why."""

    model_config = _one_of("entry", "delivery", "period")

    entry: Annotated[int, Field(ge=1, le=10**12), WHOLE] | None = None
    delivery: Key | None = None
    period: Period | Key | None = None
    refund: bool = False
    reason: Reason


class EraseRequest(RequestModel):
    """What to erase (rows by their ids, or all rows of old periods), and why; ``dry_run`` says what it would be."""

    model_config = _one_of("ids", "before", "older_than")

    ids: Annotated[list[Word], Field(min_length=1, max_length=10_000)] | None = None
    before: Period | Key | None = None
    older_than: Annotated[int, Field(ge=0, le=100_000), WHOLE] | None = None
    reason: Reason
    dry_run: bool = False


class ArchiveRequest(RequestModel):
    """Why a campaign is archived, or opened again."""

    reason: Annotated[str, Field(max_length=2000, pattern=_TEXT)] = ""


class RetrainRequest(RequestModel):
    """The reason for training the base model again."""

    reason: Reason


class ReleaseRequest(RequestModel):
    """The reason for releasing the rows drawn in the open period."""

    reason: Reason


class PlanRequest(PricesRequest):
    """A target, budget, prices and horizon to plan with; nothing is changed."""

    epsilon: Annotated[float, Field(gt=0, le=1e12)] | None = None
    budget: Amount | None = None
    horizon: Annotated[int, Field(ge=1, le=10_000), WHOLE] | None = None
    gap: Gap | None = None
