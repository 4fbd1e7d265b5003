"""The fields of the what-if form."""

from dataclasses import dataclass

from driftpace.campaign.definition import Definition
from driftpace.service.dashboard.formats import by_number

USUAL_HORIZON = 12
"""Periods that are planned where nobody says how many, and no money ends."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One number to play with; ``slider`` is how its slider moves: "times" (from a fifth to five times) or "even"."""

    name: str
    label: str
    hint: str
    unit: str = ""
    least: str = "0"
    most: str = ""
    step: str = "any"
    slider: str = ""


def fields(definition: Definition, *, longest: int) -> tuple[Field, ...]:
    """Return the form for a campaign.

    >>> [field.unit for field in fields(Definition.of({"name": "a", "target": "y", "epsilon": 0.1}), longest=520)]
    ['', '', '', '', 'periods']
    """
    currency = str((definition.budget or {}).get("currency", ""))
    tiers = (definition.budget or {}).get("tiers")
    return (
        Field(
            name="epsilon",
            label="Target",
            hint="how much worse than the best model is accepted",
            slider="times",
        ),
        Field(
            name="budget",
            label="Budget",
            hint="from this period on; empty: whatever it takes",
            unit=currency,
            slider="times",
        ),
        Field(name="fixed", label="Price of an order", hint="for each period in which rows are bought", unit=currency),
        Field(
            name="per_sample",
            label="Price of a row",
            hint=f"for each label; empty: {by_number(tiers)}" if tiers else "for each label",
            unit=currency,
        ),
        Field(
            name="horizon",
            label="Horizon",
            hint=f"periods to look ahead; empty: as long as the money lasts, {USUAL_HORIZON} without a budget",
            unit="periods",
            least="1",
            most=str(longest),
            step="1",
            slider="even",
        ),
    )
