"""``driftpace amend``: map unseen categories to known ones."""

from collections.abc import Iterable
from typing import Annotated

import typer

from driftpace.cli.options import DryRun, Name, Reason, Shown, Storage, Who
from driftpace.cli.output import Form


def amend(
    name: Name,
    unknown_category: Annotated[
        list[str],
        typer.Option(
            "--unknown-category",
            metavar="COLUMN=CATEGORY",
            help="Treat any unknown category of the column as this known one; may be repeated.",
            show_default=False,
        ),
    ],
    reason: Reason,
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Map unseen categories of a column to a known one.

    Without a mapping, rows with a category that the campaign does not know are rejected. Rows added before are not changed.

    Example: driftpace amend churn --unknown-category plan=basic --reason "plans change"
    """
    from driftpace.cli.options import user_name
    from driftpace.cli.output import NOTHING_WRITTEN, print_answer, print_json, print_note
    from driftpace.cli.stores import opened_campaign

    with opened_campaign(storage, name) as campaign:
        before = campaign.definition
        mapping = parse_mapping(unknown_category, before.categories)
        status = campaign.amend(unknown_categories=mapping, reason=reason, who=user_name(who), dry_run=dry_run)
    changed = any(before.unknown_categories.get(column) != category for column, category in mapping.items())
    if form is Form.JSON:
        from driftpace.campaign.serialization import status_json

        print_json(status_json(status))
    else:
        when = "from now on" if changed else "already set:"
        from driftpace.campaign.text import describe_mapping

        print_answer(f"{name}: {when} {describe_mapping(mapping)}.", [("Next", status.todo)])
    if dry_run or not changed:
        print_note(NOTHING_WRITTEN)


def parse_mapping(options: Iterable[str], columns: Iterable[str]) -> dict[str, str]:
    """Return the category for each column; where a text has several =, the split that gives a known column.

    >>> parse_mapping(["city=Milan", "a=b=c"], ["city", "a=b"])
    {'city': 'Milan', 'a=b': 'c'}
    """
    from driftpace.errors import ParameterError

    known = set(columns)
    mapping: dict[str, str] = {}
    for text in options:
        places = [place for place, char in enumerate(text) if char == "="]
        if not places:
            raise ParameterError(f"--unknown-category must be COLUMN=CATEGORY, such as city=Milan; got {text!r:.80}.")
        place = next((place for place in places if text[:place] in known), places[0])
        column, category = text[:place], text[place + 1 :]
        if mapping.setdefault(column, category) != category:
            raise ParameterError(
                f"--unknown-category must give one category for each column; got {mapping[column]!r:.80} and "
                f"{category!r:.80} for {column!r:.80}."
            )
    return mapping
