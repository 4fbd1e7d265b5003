"""What may be sent, to the letter: no unknown names, no number that is none, nothing longer than it has to be."""

from typing import Annotated, Any

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
from driftpace.losses import loss_names

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
AMOUNT_PATTERN = r"^[0-9]{1,12}(\.[0-9]{1,6})?$"
PRICE_PATTERN = r"^[0-9]{1,9}(\.[0-9]{1,6})?$"
CURRENCY_PATTERN = r"^[A-Z]{3}$"
_TEXT = r"^[^\x00-\x08\x0b-\x1f]*$"
_MOST_NAMES = 100
_MOST_COLUMNS = 1000

Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=100)]
Key = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]
Word = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]+$")]
Reason = Annotated[str, Field(min_length=1, max_length=2000)]
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
Tier = Annotated[list[Price], Field(min_length=2, max_length=2)]
Share = Annotated[float, Field(gt=0, lt=1)]
Count = Annotated[int, Field(ge=0, le=10**9)]
Period = Annotated[int, Field(ge=1, le=10**9)]


def _few(most: int) -> Any:
    """Return a check that refuses an object of too many names at once, rather than find fault with each of them."""

    def check(value: Any) -> Any:
        if isinstance(value, dict) and len(value) > most:
            raise ValueError(f"an object of at most {most:,} names")
        return value

    return check


Words = Annotated[dict[Word, Word], Field(max_length=_MOST_COLUMNS), BeforeValidator(_few(_MOST_COLUMNS))]


class _RegisteredLoss:
    """Accept the names in the registry of losses, and list them in the schema."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(schema), "enum": list(loss_names())}

    @staticmethod
    def _check(name: str) -> str:
        if name not in loss_names():
            *others, last = (repr(known) for known in loss_names())
            raise PydanticKnownError("literal_error", {"expected": f"{', '.join(others)} or {last}"})
        return name


class Sent(BaseModel):
    """Plain values, taken as they are: "1" is no number."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    _names = model_validator(mode="before")(_few(_MOST_NAMES))

    def given(self) -> dict[str, Any]:
        """Return what was sent, without what was left out."""
        return self.model_dump(exclude_none=True, exclude_unset=True)


class Prices(Sent):
    """What labels cost: so much for an order, so much for a row, or tiers (from which row on, price)."""

    fixed: Price | None = None
    per_sample: Price | None = None
    tiers: Annotated[list[Tier], Field(min_length=1, max_length=50)] | None = None
    minimum: Price | None = None
    currency: Annotated[str, Field(pattern=CURRENCY_PATTERN)] | None = None

    def prices(self) -> dict[str, Any]:
        """Return the prices that were sent."""
        return {name: value for name, value in self.given().items() if name in Prices.model_fields}


class MoneySent(Prices):
    """Money to add, for how many more periods, and why; other prices from now on, where any are given."""

    money: Amount
    periods: Annotated[int, Field(ge=0, le=10_000)] = 0
    reason: Reason


class AmendSent(Sent):
    """For columns of words, which of those listed any other word counts as, and why."""

    unknown_categories: Annotated[Words, Field(min_length=1)]
    reason: Reason


class BudgetSent(Prices):
    """What there is to spend, over how many periods."""

    total: Amount
    horizon: Annotated[int, Field(ge=1, le=10_000)]
    gap: Annotated[str, Field(max_length=40)] | None = None
    batches: bool | None = None


class DefinitionSent(Sent):
    """What a campaign is about, as in a campaign file."""

    name: Name
    target: Word
    epsilon: Annotated[float, Field(gt=0, le=1e12)] | None = None
    tolerance: Annotated[float, Field(gt=0, le=1e6)] | None = None
    confidence: Share | None = None
    certificate: Share | None = None
    features: Annotated[list[Word], Field(min_length=1, max_length=1000)] | None = None
    classes: Annotated[list[Word], Field(min_length=2, max_length=2)] | None = None
    categories: (
        Annotated[
            dict[Word, Annotated[list[Word], Field(min_length=2, max_length=1000)]],
            Field(max_length=_MOST_COLUMNS),
            BeforeValidator(_few(_MOST_COLUMNS)),
        ]
        | None
    ) = None
    unknown_categories: Words | None = None
    id: Word | None = None
    groups: Word | None = None
    loss: Annotated[str, _RegisteredLoss()] | None = None
    l2: (
        Annotated[float, Field(ge=0, le=1e12)]
        | Annotated[list[Annotated[float, Field(ge=0, le=1e12)]], Field(min_length=1, max_length=20)]
        | None
    ) = None
    pool: Count | None = None
    cap: Annotated[int, Field(ge=1, le=10**9)] | None = None
    fit_intercept: bool | None = None
    seed: Annotated[int, Field(ge=0, le=2**53)] | None = None
    keep_rows: bool | None = None
    description: Annotated[str, Field(max_length=2000, pattern=_TEXT)] | None = None
    budget: BudgetSent | None = None

    def values_for(self, *, most_columns: int, longest: int) -> dict[str, Any]:
        """Return the values of a definition, within the limits of the service.

        Its categories make no more columns than a table may have, and an order need not plan for more periods than anybody may.
        """
        if self.budget is not None and self.budget.horizon > longest:
            raise ParameterError(
                f"must be at most {longest} here; got {self.budget.horizon}.",
                owner="Budget",
                name="horizon",
            )
        words = sum(len(levels) - 1 for levels in (self.categories or {}).values())
        if words + len(self.features or ()) > most_columns:
            raise ParameterError(
                f"must make at most {most_columns:,} columns; got {words:,}.",
                owner="Campaign",
                name="categories",
            )
        return self.given()


class AskSent(Sent):
    """Your name of the period, and how many rows it can give at most."""

    key: Key | None = None
    pool: Count | None = None


class ApproveSent(Sent):
    """Why, if you like; ``period`` is the one you looked at, and refused where another is open by now."""

    reason: Annotated[str, Field(max_length=2000)] = ""
    period: Period | None = None


class OverrideSent(Sent):
    """A number of your own for the whole period, and why; ``period`` is the one you looked at."""

    samples: Count
    reason: Reason
    period: Period | None = None


class ForgetSent(Sent):
    """Why the rows told so far are taken back; ``period`` is the one you looked at."""

    reason: Reason
    period: Period | None = None


class PlanSent(Prices):
    """What if: another target, another budget, another price. Nothing is changed."""

    epsilon: Annotated[float, Field(gt=0, le=1e12)] | None = None
    budget: Amount | None = None
    horizon: Annotated[int, Field(ge=1, le=10_000)] | None = None
    gap: Annotated[str, Field(max_length=40)] | None = None
