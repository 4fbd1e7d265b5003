"""The configuration file of a campaign: TOML with a comment on every setting."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from driftpace.losses import loss_names

_LINES = """\
# Configuration of a campaign. Create it with: driftpace init --file {file}

name = {name}
{description}
# Column to predict, and feature columns (default: all columns of the first delivery but dates, free text and ids).
target = {target}
{features}
# Column with the name of a segment, such as a shop: each has a model of its own. Default: one model.
{segment}
# What segments learn from each other: true for all, false for nothing, or some of "drift", "start", "slopes" and "common".
{borrow}
# Column by which the rows of a table are put into periods: "wave", or "date:month" for the months of a date (day, week, quarter,
# year); and whether 03/04/2010 is 3 April. Default: every table holds rows of the period it is delivered for.
{period}
{dayfirst}
# Classes of the target: negative, then positive, or three and more. Not needed for numbers, or for 0 and 1.
{classes}
# Features that are texts: their words are columns.
{text}
# Categorical features and all their categories; the first is the reference category.
{categories}
# Category that unknown ones count as, or a list from which their hash selects. Default: the reference category.
{unknown_categories}
# Missing features: "impute" fills them, "drop" leaves their rows out, "refuse" refuses the table.
missing = {missing}
# What missing numbers are filled with, and columns in which a 0/1 column of their own says where. Missing categories count as
# the category "missing" where it is listed, else as the reference category.
{fill}
{indicators}
# Columns with the row ID (a row delivered twice counts once), with the group of rows that belong together, with the weight
# of a row (by default all count alike), and with what a count or amount is a total over (by default a unit).
{id}
{groups}
{weight}
{exposure}
# Column with who labelled a row, where some rows are labelled by several people, and the prices of one more row and one more label.
{annotator}
{row_cost}
{label_cost}
# {numbers} for numbers, {two_classes} for two classes, {several} for any number. l2 is the penalty, or a list to
# select from in every period.
{loss}
{l2}
# The model that a head is fitted on, by its format and hash; create the campaign with --model and the file of the model.
{model}
# Required accuracy: the excess loss allowed over the best model, in units of the loss ...
{epsilon}
# Targets of segments that differ from it.
{epsilons}
# ... or as a share of the best achievable loss: 0.05 is 5 %.
{tolerance}
# ... or a value of a metric of the loss: at_least of accuracy and other shares, at_most of mae and other errors.
{metric}
{at_least}
{at_most}
# The target applies on average over periods; with a confidence, in this share of periods.
{confidence}
# Confidence level of the certificates, rows available in a period, and maximum number of rows in an order.
{certificate_level}
{pool}
{cap}
# Maximum number of orders in a period, such as 1 where labels are ordered once a month. Default: batches, which cost fewer labels.
{orders}
# Number of periods after which the drift may repeat itself, or "quarter", "weekday", "month" or "week". Default: none.
{season}
# Share of each order that is held out to measure the excess loss really reached, such as 0.1. Default: none.
{audit}
# How many periods after their order labels may arrive: the next order does not wait for them. Default: it does.
{delay}
# Numeric columns that may have a curve in place of a line, or true for all; pairs of columns that are multiplied. Default: none.
{splines}
{interactions}
# Whether to fit an intercept, and the random seed of draws.
{fit_intercept}
{seed}
# Most rows that a period takes; deliveries beyond it are refused. Default: a million.
{max_rows}
# Store the labelled rows, so that every result can be recomputed; false deletes them when a period is closed.
keep_rows = {keep_rows}

# Budget and prices. Omit this table if there is no budget.
{budget}"""

_EXAMPLES: Mapping[str, Any] = {
    "description": "customers who will churn",
    "features": ["age", "visits"],
    "segment": "shop",
    "borrow": True,
    "period": "date:month",
    "dayfirst": True,
    "classes": ["no", "yes"],
    "indicators": ["visits"],
    "text": ["comment"],
    "id": "customer",
    "groups": "shop",
    "weight": "survey_weight",
    "exposure": "years_at_risk",
    "annotator": "labelled_by",
    "row_cost": 1.0,
    "label_cost": 1.0,
    "loss": "squared",
    "l2": 0.001,
    "epsilon": 0.02,
    "tolerance": 0.05,
    "metric": "accuracy",
    "at_least": 0.9,
    "at_most": 1.5,
    "confidence": 0.9,
    "certificate_level": 0.95,
    "pool": 5000,
    "cap": 1000000,
    "max_rows": 100000,
    "orders": 1,
    "season": 12,
    "audit": 0.1,
    "delay": 1,
    "splines": ["age"],
    "interactions": [["age", "visits"]],
    "fit_intercept": True,
    "seed": 1,
}
_CATEGORIES: Mapping[str, Any] = {"region": ["north", "south"]}
_MODEL: Mapping[str, Any] = {"format": "lightgbm", "sha256": "4bd8...", "trained_until": "2026-03"}
_FILL: Mapping[str, Any] = {"visits": 4.5}
_EPSILONS: Mapping[str, Any] = {"Oslo": 0.01}
_BUDGET: Mapping[str, Any] = {"total": 5000, "horizon": 12, "fixed": 50, "per_sample": 1.2, "currency": "EUR"}


def template(values: Mapping[str, Any], *, file: str = "campaign.toml") -> str:
    """Return the text of a configuration file: ``values`` are filled in, all other settings are commented out.

    >>> from driftpace.campaign.definition import Definition
    >>> text = template({"name": "churn", "target": "left", "classes": ["no", "yes"], "epsilon": 0.02})
    >>> Definition.of_toml(text).to_values()["classes"]
    ['no', 'yes']
    """
    filled = {name: _line(name, values, example) for name, example in _EXAMPLES.items()}
    return _LINES.format(
        file=file,
        numbers=" or ".join(_value(name) for name in loss_names("regression")),
        two_classes=" or ".join(_value(name) for name in loss_names("classification")),
        several=" or ".join(_value(name) for name in loss_names("multiclass")),
        name=_value(values.get("name", "my-campaign")),
        target=_value(values.get("target", "y")),
        keep_rows=_value(values.get("keep_rows", True)),
        categories=_table("categories", values.get("categories"), _CATEGORIES, inline=True),
        unknown_categories=_table(
            "unknown_categories",
            values.get("unknown_categories"),
            _reference_categories(values.get("categories")),
            inline=True,
        ),
        missing=_value(values.get("missing") or "impute"),
        fill=_table("fill", values.get("fill"), _FILL, inline=True),
        model=_table("model", values.get("model"), _MODEL, inline=True),
        epsilons=_table("epsilons", values.get("epsilons"), _EPSILONS, inline=True),
        budget=_table("budget", values.get("budget"), _BUDGET, inline=False),
        **filled,
    )


def _reference_categories(categories: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the reference category of each column."""
    return {name: listed[0] for name, listed in (categories or _CATEGORIES).items()}


def _line(name: str, values: Mapping[str, Any], example: Any) -> str:
    if values.get(name) is not None:
        return f"{name} = {_value(values[name])}"
    return f"# {name} = {_value(example)}"


def _table(name: str, given: Mapping[str, Any] | None, example: Mapping[str, Any], *, inline: bool) -> str:
    mark = "" if given else "# "
    pairs = [f"{_key(key)} = {_value(value)}" for key, value in (given or example).items()]
    if inline:
        return f"{mark}{name} = {{ {', '.join(pairs)} }}"
    return "".join(f"{mark}{line}\n" for line in (f"[{name}]", *pairs))


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else _value(name)


def _value(value: Any) -> str:
    """Return a value as TOML writes it; its strings are those of JSON, DEL escaped."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {_value(item)}' for key, item in value.items())} }}"
    if isinstance(value, Sequence):
        return f"[{', '.join(_value(item) for item in value)}]"
    return repr(value)
