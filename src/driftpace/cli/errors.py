"""Errors in the terms of the command line: options instead of parameters, one sentence each."""

import re
from collections.abc import Sequence
from typing import Any

from driftpace.errors import DriftpaceError, NoOpenPeriodError, ProtocolError

MAX_SHOWN = 60
"""Characters of a rejected value that are shown."""

_SUBJECTS = {
    ("backtest", "frame"): "FILE",
    ("check_table", "frame"): "FILE",
    ("Campaign.add_money", "money"): "--add",
    ("Campaign.amend", "unknown_categories"): "--unknown-category",
    ("Campaign.amend", "new_classes"): "--new-class",
    ("Campaign.create", "name"): "NAME",
    ("Campaign.predict", "X"): "FILE",
    ("Campaign.sample", "id_column"): "The id column of the campaign",
    ("Campaign.sample", "path"): "--out",
    ("Campaign.sample", "pool"): "--select",
    ("Campaign.sample", "strata"): "--stratify",
    ("Campaign.sample", "choose"): "--choose",
    ("Campaign.tell", "X"): "FILE",
    ("Campaign.tell", "groups"): "FILE",
    ("Campaign.tell", "sample_weight"): "FILE",
    ("Campaign.tell", "ids"): "FILE",
    ("Campaign.tell", "y"): "FILE",
    ("FleetCampaign.create", "name"): "NAME",
    ("FleetCampaign.sample", "pool"): "--select",
    ("FleetCampaign", "segment"): "--segment",
    ("Campaign", "budget.horizon"): "--horizon",
    ("Campaign", "budget.total"): "--budget",
    ("Campaign", "total"): "--budget",
    ("Campaign", "budget.order_price"): "--order-price",
    ("FleetCampaign.add_money", "money"): "--add",
    ("FleetBudget", "total"): "--budget",
    ("FleetBudget", "weights"): "--per-segment",
    ("back_up", "path"): "FILE",
    ("export", "path"): "FILE",
    ("open_store", "storage"): "--storage",
    ("restore", "storage"): "--storage",
    ("seal", "key"): "--key",
    ("read_seal", "seal"): "--seal",
    ("import", "name"): "--as",
    ("import", "path"): "FILE",
    ("LabelStudio", "url"): "--label-studio",
    ("make_token", "expires_days"): "--days",
    ("predict", "path"): "--out",
    ("TieredCost", "tiers"): "--tier",
    ("TieredCost", "tiers[0]"): "--per-sample",
}
"""The options whose parameter in the library has another name, by the owner and the name of that parameter."""

_OWNERS = {
    "Campaign.fit_pool": "--pool",
    "Campaign.predict": "FILE",
    "Campaign.sample": "--select",
    "Campaign.tell": "FILE",
    "FleetCampaign.predict": "FILE",
    "FleetCampaign.sample": "--select",
    "FleetCampaign.tell": "FILE",
    "backtest": "FILE",
    "check_table": "FILE",
    "infer_definition": "--table",
}
"""What an error without a parameter is about, by its owner."""

_EXPECTED = {
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number of fewer digits",
    "int_from_float": "a whole number",
    "float_parsing": "a number",
    "greater_than_equal": "at least {ge:,}",
    "less_than_equal": "at most {le:,}",
}


def in_options(error: DriftpaceError, params: Sequence[Any], *, command: str = "") -> DriftpaceError:
    """Return an error of the library with the option that its parameter was given by.

    Parameters
    ----------
    error : DriftpaceError
        What the library raised.
    params : sequence of click parameters
        Those of the command: an option has the name of its parameter unless ``_SUBJECTS`` says otherwise.
    command : str, optional
        The name of the command.
    """
    if isinstance(error, NoOpenPeriodError):
        return ProtocolError(
            f"{command} needs an open period: run driftpace ask NAME first, for period {error.period}."
        )
    if error.owner is None or error.subject is not None:
        return error
    if error.name is None:
        subject = _OWNERS.get(error.owner)
        return error if subject is None else error.renamed(subject=f"{subject}:")
    subject = subject_of(error.owner, error.name, params)
    return error if subject is None else error.renamed(subject=subject)


def subject_of(owner: str, name: str, params: Sequence[Any]) -> str | None:
    """Return what the command line calls a parameter of the library; None where it has no name here."""
    if (owner, name) in _SUBJECTS:
        return _SUBJECTS[owner, name]
    if owner == "TieredCost" and name.startswith("tiers["):
        return "--tier"
    for param in params:
        if name in (param.name, *(option.lstrip("-").replace("-", "_") for option in param.opts)):
            return shown_name(param)
    return name if owner == "Campaign" else None  # a setting of the configuration file


def shown_name(param: Any) -> str:
    """Return a parameter of a command as the user types it: ``--epsilon``, or the placeholder of an argument."""
    return str(param.metavar or param.name.upper()) if param.param_type_name == "argument" else str(param.opts[0])


def parser_message(error: Any) -> str:
    """Return one sentence for an error of the parser.

    Typer's messages about values name the validation library and not the value; its other messages are kept.
    """
    if getattr(error, "param", None) is not None and hasattr(error.__cause__, "errors"):
        details = error.__cause__.errors()[0]
        name = error.param.get_error_hint().strip("'")
        message = _value_message(name, details["type"], details["input"], details.get("ctx", {}))
        return message or _with_period(error.format_message())
    negative = re.fullmatch(r"-[\d.]+", getattr(error, "option_name", None) or "")
    if negative is not None:
        return f"a number must not be negative here; got {negative[0]}."
    return _with_period(error.format_message())


def _value_message(name: str, kind: str, value: object, context: dict[str, Any]) -> str | None:
    """Return the sentence for a value of a wrong kind; None for kinds not known here.

    >>> _value_message("--port", "less_than_equal", "99999", {"le": 65535})
    '--port must be at most 65,535; got 99999.'
    >>> _value_message("--format", "value_error", "xml", {"error": ValueError("'xml' is not one of 'table', 'json'.")})
    "--format must be table or json; got 'xml'."
    """
    text = str(value)
    is_number = re.fullmatch(r"-?\d+(\.\d+)?", text) is not None
    got = f"{text[:MAX_SHOWN]}{'...' if len(text) > MAX_SHOWN else ''}"
    got = got if is_number else repr(got)
    if kind in _EXPECTED:
        return f"{name} must be {_EXPECTED[kind].format(**context)}; got {got}."
    _, separator, choices = str(context.get("error", "")).partition(" is not one of ")
    if kind == "value_error" and separator:
        *first, last = (choice.strip(" '.") for choice in choices.split(","))
        return f"{name} must be {', '.join(first)}{' or ' if first else ''}{last}; got {got}."
    return None


def _with_period(sentence: str) -> str:
    return sentence if sentence.endswith((".", "?")) else f"{sentence}."
