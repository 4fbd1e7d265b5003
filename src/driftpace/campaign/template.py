"""The campaign file: a commented TOML, filled in where something is known, with the rest to be filled in by its owner."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from driftpace.losses import loss_names

_LINES = """\
# What this campaign is about. Create it with: driftpace init --file {file}

name = {name}
{description}
# The column to predict, and those it is predicted from (left out: every numeric column of the first delivery).
target = {target}
{features}
# A target of two words: the one that means no, then the one that means yes. Leave out for numbers, and for 0 and 1.
{classes}
# Columns of words among the features, with all their words; the first is what the others are compared to.
{categories}
# What any other word of such a column counts as: one of those listed. Left out: rows with another word are refused.
{unknown_categories}
# What tells rows apart (so that a row told twice counts once), and whose rows they are (kept together in cross-validation).
{id}
{groups}
# {numbers} for numbers, {two_classes} for classes. l2 is a penalty, or a list to choose from.
{loss}
{l2}
# How good the model has to stay: how much worse than the best possible one you accept, in units of the loss ...
{epsilon}
# ... or within this share of the best loss: 0.05 is 5 %.
{tolerance}
# In the mean over periods; or in each period with this probability:
{confidence}
# The confidence of the upper bounds that reports carry, how many rows a period can give at most, and the most ever asked for.
{certificate_level}
{pool}
{cap}
# Whether there is an intercept; what all draws begin from, where they are to be the same again.
{fit_intercept}
{seed}
# The rows that were told are kept, so that every result can be computed again; false forgets them when a period is closed.
keep_rows = {keep_rows}

# What labels cost and what there is to spend. Leave the table out when money is no object.
{budget}"""

_EXAMPLES: Mapping[str, Any] = {
    "description": "who leaves next month",
    "features": ["age", "visits"],
    "classes": ["no", "yes"],
    "id": "customer",
    "groups": "shop",
    "loss": "squared",
    "l2": 0.001,
    "epsilon": 0.02,
    "tolerance": 0.05,
    "confidence": 0.9,
    "certificate_level": 0.95,
    "pool": 5000,
    "cap": 1000000,
    "fit_intercept": True,
    "seed": 1,
}
_CATEGORIES: Mapping[str, Any] = {"region": ["north", "south"]}
_BUDGET: Mapping[str, Any] = {"total": 5000, "horizon": 12, "fixed": 50, "per_sample": 1.2, "currency": "EUR"}


def template(values: Mapping[str, Any], *, file: str = "campaign.toml") -> str:
    """Return the text of a campaign file: ``values`` are filled in, everything else is there as a comment.

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
        name=_value(values.get("name", "my-campaign")),
        target=_value(values.get("target", "y")),
        keep_rows=_value(values.get("keep_rows", True)),
        categories=_table("categories", values.get("categories"), _CATEGORIES, inline=True),
        unknown_categories=_table(
            "unknown_categories", values.get("unknown_categories"), _first_words(values.get("categories")), inline=True
        ),
        budget=_table("budget", values.get("budget"), _BUDGET, inline=False),
        **filled,
    )


def _first_words(categories: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the first word of each column: what others are compared to is the least that they can be taken for."""
    return {name: words[0] for name, words in (categories or _CATEGORIES).items()}


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
    if isinstance(value, Sequence):
        return f"[{', '.join(_value(one) for one in value)}]"
    return repr(value)
