"""``driftpace amend``: what words count as that a campaign does not list."""

from collections.abc import Iterable, Mapping
from typing import Annotated

import typer

from driftpace.cli.shared.options import DryRun, Form, Name, Shown, Storage, Who


def amend(
    name: Name,
    other: Annotated[
        list[str],
        typer.Option(
            "--other",
            metavar="COLUMN=WORD",
            help="Any other word in that column counts as this one, which is listed; may be given several times.",
            show_default=False,
        ),
    ],
    reason: Annotated[str, typer.Option("--reason", help="Why, for the log.", show_default=False)],
    form: Shown = Form.TABLE,
    dry_run: DryRun = False,
    who: Who = None,
    storage: Storage = None,
) -> None:
    """Say what words count as that a campaign does not list, from now on.

    Without it, a row with a new word in a column of words is refused. Rows that were told stay as they are.

    Example: driftpace amend churn --other plan=basic --reason "plans come and go"
    """
    from driftpace.cli.shared.options import who_am_i
    from driftpace.cli.shared.printing import print_answer, print_json, print_note
    from driftpace.cli.shared.reading import campaign_at

    with campaign_at(storage, name) as campaign:
        before = campaign.definition
        others = others_of(other, before.categories)
        status = campaign.amend(others=others, reason=reason, who=who_am_i(who), dry_run=dry_run)
    new = any(before.others.get(column) != word for column, word in others.items())
    if form is Form.JSON:
        from driftpace.campaign.serialization import status_json

        print_json(status_json(status))
    else:
        when = "from now on" if new else "as was said before,"
        print_answer(f"{name}: {when} {counts(others)}.", [("Now", status.todo)])
    if dry_run or not new:
        print_note("Nothing was written.")


def others_of(given: Iterable[str], columns: Iterable[str]) -> dict[str, str]:
    """Return the word for each column; a name may hold = itself, and then the column that there is was meant.

    >>> others_of(["city=Milan", "a=b=c"], ["city", "a=b"])
    {'city': 'Milan', 'a=b': 'c'}
    """
    from driftpace.errors import ParameterError

    known = set(columns)
    found: dict[str, str] = {}
    for text in given:
        places = [place for place, sign in enumerate(text) if sign == "="]
        if not places:
            raise ParameterError(f"--other must be COLUMN=WORD, such as city=Milan; got {text!r:.80}.")
        place = next((one for one in places if text[:one] in known), places[0])
        column, word = text[:place], text[place + 1 :]
        if found.setdefault(column, word) != word:
            raise ParameterError(
                f"--other must give one word for each column; got {found[column]!r:.80} and {word!r:.80}."
            )
    return found


def counts(others: Mapping[str, str]) -> str:
    """Return what counts as what, in words.

    >>> counts({"city": "Milan", "plan": "basic"})
    'any other city counts as Milan, any other plan as basic'
    """
    said = [f"any other {column} counts as {word}" for column, word in others.items()]
    return ", ".join([*said[:1], *(one.replace(" counts as ", " as ") for one in said[1:])])
